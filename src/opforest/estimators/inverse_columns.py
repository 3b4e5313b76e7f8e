"""The table that a ``ColumnTransformer`` was given, restored from the features that it returned."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

Array = npt.NDArray[Any]


def undo_columns(step: ColumnTransformer, X: Array) -> tuple[Array, Array] | None:
    """Return the cells before a transformer, and the column that each feature comes from.

    Columns that it drops are ``None``. Return None if one of its parts cannot be undone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from opforest.estimators.inverse_columns import undo_columns
    >>> table = np.array([["red", 1], ["blue", 3]], object)
    >>> step = make_column_transformer((StandardScaler(), [1]), (OneHotEncoder(), [0]))
    >>> cells, sources = undo_columns(step, step.fit_transform(table))
    >>> cells.tolist(), sources.tolist()
    ([['red', 1.0], ['blue', 3.0]], [1, 0, 0])
    """
    names, n = getattr(step, "feature_names_in_", None), step.n_features_in_
    cells = np.full((len(X), n), None, object)
    sources: list[int] = []
    for _, part, columns in step.transformers_:
        chosen = find_columns(columns, names, n)
        if not chosen or (isinstance(part, str) and part == "drop"):
            continue
        local = list_sources(part, len(chosen))
        if local is None:
            return None
        features = X[:, len(sources) : len(sources) + len(local)]
        try:
            cells[:, chosen] = _invert(part, features)
        except ValueError:  # such as a scaler of what an encoder gave
            return None
        sources += [chosen[k] for k in local]
    return (cells, np.array(sources)) if len(sources) == X.shape[1] else None


def find_columns(columns: Any, names: Sequence[str] | None, n: int) -> list[int]:
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


def list_sources(step: Any, n: int) -> list[int] | None:
    """Return which of n columns each feature comes from; None if that is not known."""
    if isinstance(step, Pipeline):
        sources: list[int] | None = list(range(n))
        for _, one in step.steps:
            inner = None if sources is None else list_sources(one, len(sources))
            sources = None if inner is None or sources is None else [sources[k] for k in inner]
        return sources
    if isinstance(step, OneHotEncoder):
        return _list_sources_of_categories(step)
    if _changes_nothing(step):
        return list(range(n))
    is_invertible = isinstance(step, OneToOneFeatureMixin) and hasattr(step, "inverse_transform")
    return list(range(n)) if is_invertible else None


def _list_sources_of_categories(encoder: OneHotEncoder) -> list[int] | None:
    if encoder.min_frequency is not None or encoder.max_categories is not None:
        return None  # several categories share a feature
    dropped = getattr(encoder, "drop_idx_", None)
    sources: list[int] = []
    for k, categories in enumerate(encoder.categories_):
        sources += [k] * (len(categories) - (dropped is not None and dropped[k] is not None))
    return sources


def _changes_nothing(step: Any) -> bool:
    """Return whether a step returns the columns that it gets, or fills in missing cells."""
    if isinstance(step, str | None):
        return step in ("passthrough", None)
    if isinstance(step, SimpleImputer):
        has_all = step.keep_empty_features or not any(one != one for one in step.statistics_)
        return has_all and not step.add_indicator
    return isinstance(step, FunctionTransformer) and step.func is None


def _invert(step: Any, X: Any) -> Any:
    """Return the columns that a step of ``list_sources`` was given."""
    if isinstance(step, Pipeline):
        for _, one in reversed(step.steps):
            X = _invert(one, X)
        return X
    if _changes_nothing(step):
        return X
    # Codes that were scaled come back with rounding errors.
    is_encoder = isinstance(step, OneHotEncoder | OrdinalEncoder)
    return step.inverse_transform(np.rint(X) if is_encoder else X)
