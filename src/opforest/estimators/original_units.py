"""Helpers that show explanations in the units of the table given to a pipeline."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from opforest.core.metrics.types import Array
from opforest.estimators.inverse_columns import undo
from opforest.estimators.preparation import Preparation
from opforest.forest.explanation import Explanation
from opforest.forest.feature_table import FeatureTable, round_cell


def show_original_units(
    why: Explanation, steps: Sequence[Any], x: Sequence[Any] | None = None
) -> Explanation:
    """Return an explanation whose table has the features before the transformers of a pipeline.

    Scalers, and a ``Preparation`` or a ``ColumnTransformer`` of scalers and encoders, are undone,
    from the last step on, up to the first other step.
    ``x`` is the row that was given to the pipeline; without it, it is restored, too.
    """
    table = why.table
    if table is None or not steps:
        return why
    features, differences = table.unsorted()
    cells, sources, names, n_undone = _undo(steps, features)
    if n_undone == 0:
        return why
    by_column = np.full(cells.shape[1], -1.0)
    np.maximum.at(by_column, sources, differences)
    used = np.flatnonzero(by_column >= 0).tolist()  # others were dropped
    rows = cells.tolist()
    if n_undone == len(steps) and x is not None:
        rows[-1] = list(x)
    shown = [f"feature {k}" for k in range(cells.shape[1])] if names is None else names
    restored = FeatureTable.build(
        table.roles,
        [shown[k] for k in used],
        [[round_cell(row[k]) for k in used] for row in rows],
        by_column[used].tolist(),
        names is not None,
    )
    return replace(why, table=restored)


def _undo(steps: Sequence[Any], X: Array) -> tuple[Array, Array, Sequence[Any] | None, int]:
    """Return the cells before the last steps, and how many steps were undone.

    Return also the column that each feature comes from, and the names of the columns, if any.
    """
    sources, names, n_undone = np.arange(X.shape[1]), None, 0
    for step in reversed(steps):
        if isinstance(step, Preparation):
            cells, inner = step.undo(X)
            return cells, inner[sources], step.columns_, n_undone + 1
        is_known = isinstance(step, ColumnTransformer | OneToOneFeatureMixin | SimpleImputer)
        if not is_known or (found := undo(step, X)) is None:
            break
        X, sources, n_undone = found[0], found[1][sources], n_undone + 1
        names = getattr(step, "feature_names_in_", None)
        if isinstance(step, ColumnTransformer):
            break
    return X, sources, names, n_undone


def list_rows(X: Any, steps: Sequence[Any]) -> list[list[Any]]:
    """Return the rows of a table as lists of the cells that the first step uses, in its order."""
    if hasattr(X, "columns"):
        names = getattr(steps[0], "columns_", None) if steps else None
        if steps and isinstance(steps[0], ColumnTransformer):
            names = getattr(steps[0], "feature_names_in_", None)
        columns = {str(name): X[name].to_numpy().tolist() for name in X.columns}
        chosen = columns if names is None else names
        return [list(row) for row in zip(*(columns[name] for name in chosen), strict=True)]
    cells: list[list[Any]] = (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).tolist()
    return cells
