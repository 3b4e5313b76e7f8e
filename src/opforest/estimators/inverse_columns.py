"""Helper that restores the table given to transformers from the features they returned."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

from opforest.core.metrics.types import Array


def undo(step: Any, X: Array) -> tuple[Array, Array] | None:
    """Return the cells before a transformer, and the column that each feature comes from.

    Columns that it drops are ``None``. Return None if it cannot be undone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from opforest.estimators.inverse_columns import undo
    >>> table = np.array([["red", 1], ["blue", 3]], object)
    >>> step = make_column_transformer((StandardScaler(), [1]), (OneHotEncoder(), [0]))
    >>> cells, sources = undo(step, step.fit_transform(table))
    >>> cells.tolist(), sources.tolist()
    ([['red', 1.0], ['blue', 3.0]], [1, 0, 0])
    """
    sources = np.arange(X.shape[1])
    if isinstance(step, Pipeline):
        for _, one in reversed(step.steps):
            if (found := undo(one, X)) is None:
                return None
            X, sources = found[0], found[1][sources]
        return X, sources
    if isinstance(step, ColumnTransformer):
        return _undo_columns(step, X)
    if _changes_nothing(step, X.shape[1]):
        return X, sources
    if isinstance(step, OneHotEncoder):
        if step.min_frequency is not None or step.max_categories is not None:
            return None  # several categories share a feature
        sources = _list_sources_of_categories(step)
    elif not (isinstance(step, OneToOneFeatureMixin) and hasattr(step, "inverse_transform")):
        return None
    # Codes that were scaled come back with rounding errors.
    is_encoder = isinstance(step, OneHotEncoder | OrdinalEncoder)
    try:
        return step.inverse_transform(np.rint(X) if is_encoder else X), sources
    except ValueError:  # such as a scaler of what an encoder gave
        return None


def _undo_columns(step: ColumnTransformer, X: Array) -> tuple[Array, Array] | None:
    names, n = getattr(step, "feature_names_in_", None), step.n_features_in_
    cells, sources = np.full((len(X), n), None, object), np.empty(X.shape[1], np.int64)
    for name, part, columns in step.transformers_:
        chosen = _find_columns(columns, names, n)
        if not chosen or (isinstance(part, str) and part == "drop"):
            continue
        place = step.output_indices_[name]
        if (found := undo(part, X[:, place])) is None:
            return None
        cells[:, chosen], sources[place] = found[0], np.array(chosen)[found[1]]
    return cells, sources


def _find_columns(columns: Any, names: Sequence[str] | None, n: int) -> list[int]:
    """Return the places of columns as a ``ColumnTransformer`` names them, of n columns."""
    place = {} if names is None else {name: k for k, name in enumerate(names)}
    if isinstance(columns, slice):
        begin, end = place.get(columns.start, columns.start), columns.stop
        if end in place:  # the last name is included
            end = place[end] + 1
        return list(range(n)[begin : end : columns.step])
    listed = np.atleast_1d(np.asarray(columns, object)).tolist()
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        return [k for k, is_chosen in enumerate(listed) if is_chosen]
    return [place[one] if isinstance(one, str) else range(n)[one] for one in listed]


def _list_sources_of_categories(encoder: OneHotEncoder) -> Array:
    dropped = getattr(encoder, "drop_idx_", None)
    widths = [len(categories) - (dropped is not None and dropped[k] is not None)
              for k, categories in enumerate(encoder.categories_)]  # fmt: skip
    return np.repeat(np.arange(len(widths)), widths)


def _changes_nothing(step: Any, n_out: int) -> bool:
    """Return whether a step returns the columns that it gets, or fills in missing cells."""
    if isinstance(step, str | None):
        return step in ("passthrough", None)
    if isinstance(step, SimpleImputer):
        has_all = step.keep_empty_features or not any(one != one for one in step.statistics_)
        return has_all and step.n_features_in_ == n_out
    return isinstance(step, FunctionTransformer) and step.func is None
