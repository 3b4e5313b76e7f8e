"""Serialize transformers as numbers and names, without code.

A transformer is restored through its public interface: it is fitted to one suitable row, and then
its learned attributes are set. So nothing private of scikit-learn is touched, and invalid data
fail in scikit-learn's own checks.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from opforest.errors import ModelFileError
from opforest.estimators.relevance import LEAST_RELEVANCE, RelevanceScaler
from opforest.persistence.container import require
from opforest.persistence.header import is_json_scalar

#: The attributes that each transformer learns.
LEARNED: dict[type, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_"),
    RobustScaler: ("center_", "scale_"),
    MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    MaxAbsScaler: ("scale_", "max_abs_"),
    RelevanceScaler: ("mean_", "scale_", "relevance_"),
    SimpleImputer: ("statistics_",),
    OneHotEncoder: ("categories_",),
    OrdinalEncoder: ("categories_",),
}
BY_NAME = {kind.__name__: kind for kind in LEARNED}

#: Strings that scikit-learn accepts in place of a transformer.
PLACEHOLDERS = ("passthrough", "drop")

#: The most features, and levels of nested transformers, that a file may have.
MAX_FEATURES, MAX_DEPTH = 10**6, 8

#: Parameters that are not saved: the learned attributes decide what they mean.
DERIVED = ("categories", "copy", "dtype")

#: Parameters that must have their default value.
UNSUPPORTED = ("max_categories", "min_frequency", "add_indicator")


def dump_transformer(transformer: Any) -> Any:
    """Return the parameters and learned attributes of a transformer as data for JSON.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from opforest.persistence.transformers import dump_transformer, restore_transformer
    >>> data = dump_transformer(MaxAbsScaler().fit([[1.0, -4.0]]))
    >>> restore_transformer(data).transform([[0.5, 2.0]])
    array([[0.5, 0.5]])
    """
    kind = type(transformer)
    if isinstance(transformer, str) and transformer in PLACEHOLDERS:
        return transformer
    if kind is FunctionTransformer and transformer.func is None:  # a remainder that passes through
        return "passthrough"
    if kind not in LEARNED and kind not in (ColumnTransformer, Pipeline):
        known = ", ".join([*BY_NAME, "ColumnTransformer", "Pipeline"])
        raise ValueError(
            f"a {kind.__name__} cannot be saved, only {known}. Transform the data before the "
            "pipeline, or use one of these."
        )
    check_is_fitted(transformer)
    names = getattr(transformer, "feature_names_in_", None)
    data: dict[str, Any] = {
        "kind": kind.__name__,
        "names": None if names is None else _to_plain(names),
        "n_features": getattr(transformer, "n_features_in_", None),
    }
    if kind is Pipeline:
        steps = [[name, dump_transformer(step)] for name, step in transformer.steps]
        return {**data, "steps": steps}
    if kind is ColumnTransformer:
        return {**data, **_dump_column_transformer(transformer)}
    learned = {name: _to_plain(getattr(transformer, name)) for name in LEARNED[kind]}
    return {**data, "parameters": _dump_parameters(transformer), "learned": learned}


def _dump_parameters(transformer: Any) -> dict[str, Any]:
    defaults = type(transformer)().get_params()
    parameters = {}
    for name, value in transformer.get_params(deep=False).items():
        is_other_dtype = name == "dtype" and np.dtype(value) != np.dtype(defaults[name])
        has_text = isinstance(value, list | tuple) and any(isinstance(one, str) for one in value)
        if is_other_dtype or has_text or (name in UNSUPPORTED and value):
            raise ValueError(
                f"a {type(transformer).__name__} with {name}={value!r} cannot be saved."
            )
        if name not in DERIVED and not _is_same(value, defaults[name]):
            parameters[name] = _to_plain(value)
    return parameters


def _is_same(value: Any, default: Any) -> bool:
    if isinstance(value, float) and isinstance(default, float) and math.isnan(value):
        return math.isnan(default)
    return type(value) is type(default) and bool(value == default)


def _to_plain(value: Any) -> Any:
    """Return a scalar, or lists of scalars, for JSON."""
    if isinstance(value, list | tuple | range | np.ndarray):
        return [_to_plain(one) for one in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"a transformer that has learned {value} cannot be saved: fill in missing values "
            "first, and leave out columns without values."
        )
    if is_json_scalar(value):
        return value
    raise ValueError(
        f"a transformer with {value!r} of type {type(value).__name__} cannot be saved."
    )


def _dump_column_transformer(transformer: ColumnTransformer) -> dict[str, Any]:
    parts = []
    for name, part, columns in transformer.transformers_:
        if isinstance(columns, slice) or callable(columns):
            raise ValueError(
                "columns of a ColumnTransformer must be named, or numbered, to be saved."
            )
        columns = _to_plain(columns)
        if isinstance(columns, list) and columns and isinstance(columns[0], bool):
            columns = [k for k, is_chosen in enumerate(columns) if is_chosen]
        parts.append([name, dump_transformer(part), columns])
    more = ("sparse_threshold", "verbose_feature_names_out")
    return {"parts": parts, "parameters": {name: getattr(transformer, name) for name in more}}


class _Plan(NamedTuple):
    """How to restore a transformer."""

    transformer: Any  #: not fitted
    cells: list[Any]  #: a row that it can be fitted to
    set_learned: Callable[[Any], None]  #: sets the attributes of the fitted transformer


def restore_transformer(data: Any) -> Any:
    """Return the transformer that was dumped; raise a ``ValueError`` if ``data`` is invalid."""
    try:
        plan = _plan(data, MAX_DEPTH)
        if isinstance(plan.transformer, str):
            return plan.transformer
        names = data["names"] if _needs_names(data) else None
        with np.errstate(all="ignore"):  # the row may have large numbers
            row = _make_row(plan.cells, names)
            fitted = plan.transformer.fit(row, [0])  # some of its parts may need a label
        plan.set_learned(fitted)
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # scikit-learn's checks raise errors of many types
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise ModelFileError(f"a transformer of its preparation is invalid: {reason}") from error
    return fitted


def _needs_names(data: dict[str, Any]) -> bool:
    if data["kind"] == "Pipeline":
        first = data["steps"][0][1]
        return isinstance(first, dict) and _needs_names(first)
    return data["kind"] == "ColumnTransformer" and data["names"] is not None


def _make_row(cells: list[Any], names: list[str] | None) -> Any:
    """Return a data frame or an array of one row."""
    if names is not None:
        columns = {name: [cell] for name, cell in zip(names, cells, strict=True)}
        return frame_library().DataFrame(columns)
    is_text = any(isinstance(cell, str) for cell in cells)
    return np.array([cells], object if is_text else np.float64)


def frame_library() -> Any:
    """Return pandas, or polars if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        try:
            import polars
        except ImportError as error:
            raise ImportError("columns with names need pandas or polars") from error
        return polars
    return pandas


def _plan(data: Any, depth: int) -> _Plan:
    if isinstance(data, str):
        require(data in PLACEHOLDERS, f"{data[:50]!r} is unknown.")
        return _Plan(data, [], lambda fitted: None)
    require(depth > 0 and isinstance(data, dict), "it is not an object, or nested too deep.")
    require("names" in data, "it has no entry 'names'.")
    names, n, kind = data["names"], data.get("n_features"), data.get("kind")
    require(type(n) is int and 0 < n <= MAX_FEATURES, "its number of features is out of range.")
    if names is not None:
        are_strings = isinstance(names, list) and all(type(name) is str for name in names)
        require(are_strings and len(names) == n == len(set(names)), "its names are invalid.")
    if kind == "Pipeline":
        return _plan_pipeline(data, depth)
    if kind == "ColumnTransformer":
        return _plan_columns(data, depth)
    require(type(kind) is str and kind in BY_NAME, f"its kind cannot be {str(kind)[:50]!r}.")
    return _plan_leaf(data, BY_NAME[kind])


def _plan_leaf(data: dict[str, Any], kind: type) -> _Plan:
    n, names = data["n_features"], data["names"]
    learned: Any = data.get("learned")
    is_valid = isinstance(learned, dict) and set(learned) == set(LEARNED[kind])
    require(is_valid, "its learned attributes are invalid.")
    parameters = _restore_parameters(data.get("parameters"), kind().get_params())
    values: dict[str, Any] = {}
    if "categories_" in learned:
        categories = learned["categories_"]
        _check_categories(categories, n)
        parameters["categories"] = [
            np.array(one, object if isinstance(one[0], str) else None) for one in categories
        ]
        cells = [one[0] for one in categories]
    else:
        values = {name: _restore_array(value, n, kind, name) for name, value in learned.items()}
        statistics = values.get("statistics_")
        cells = [0.0] * n if statistics is None else statistics.tolist()

    def set_learned(fitted: Any) -> None:
        for name, value in values.items():
            is_unset = getattr(fitted, name) is None
            require((value is None) == is_unset, f"{name} does not match its parameters.")
            setattr(fitted, name, value)
        if names is not None:
            fitted.feature_names_in_ = np.array(names, object)

    return _Plan(kind(**parameters), cells, set_learned)


def _restore_parameters(parameters: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    require(isinstance(parameters, dict), "it has no parameters.")
    restored = {}
    for name, value in parameters.items():
        require(name in defaults and name not in DERIVED, f"it has no parameter {name[:50]!r}.")
        is_range = isinstance(value, list) and all(type(one) in (int, float) for one in value)
        require(is_range or is_json_scalar(value), f"its parameter {name[:50]!r} is invalid.")
        restored[name] = tuple(value) if is_range else value
    return restored


def _check_categories(categories: Any, n: int) -> None:
    are_lists = isinstance(categories, list) and len(categories) == n
    is_valid = are_lists and all(
        isinstance(one, list) and one and len({*map(type, one)}) == 1
        and type(one[0]) in (str, int, float, bool) and len(set(one)) == len(one)
        for one in categories
    )  # fmt: skip
    require(is_valid, "its categories are invalid.")


def _restore_array(value: Any, n: int, kind: type, name: str) -> Any:
    if value is None:
        require(kind in (StandardScaler, RobustScaler), f"{name} is missing.")
        return None
    require(isinstance(value, list) and len(value) == n, f"{name} must be a list of {n} values.")
    types = {*map(type, value)}
    if kind is SimpleImputer and types == {str}:
        return np.array(value, object)
    require(types <= {int, float}, f"{name} is not a list of numbers.")
    array = np.array(value, np.float64)
    require(np.isfinite(array).all(), f"{name} is not finite.")
    require(name != "scale_" or array.all(), "a scale is 0.")
    if kind is RelevanceScaler:
        require(name != "scale_" or (array > 0).all(), "a deviation is negative.")
        is_relevance = (array >= LEAST_RELEVANCE) & (array <= 1)
        require(name != "relevance_" or is_relevance.all(),
                f"a relevance is not from {LEAST_RELEVANCE} to 1.")  # fmt: skip
    return array


def _plan_pipeline(data: dict[str, Any], depth: int) -> _Plan:
    plans = [(name, _plan(step, depth - 1)) for name, step in data["steps"]]
    rows = [plan.cells for _, plan in plans if plan.cells] or [[0.0]]
    with_text = [row for row in rows if any(isinstance(cell, str) for cell in row)]
    cells = (with_text or rows)[0]
    if len(cells) != data["n_features"]:
        cells = rows[0]

    def set_learned(fitted: Any) -> None:
        for (_, step), (_, plan) in zip(fitted.steps, plans, strict=True):
            plan.set_learned(step)

    return _Plan(Pipeline([(name, plan.transformer) for name, plan in plans]), cells, set_learned)


def _plan_columns(data: dict[str, Any], depth: int) -> _Plan:
    plans = {name: _plan(part, depth - 1) for name, part, _ in data["parts"]}
    cells = _merge_cells(data, plans)
    parts = [(name, plans[name].transformer, columns) for name, _, columns in data["parts"]]
    rest = parts.pop() if parts[-1][0] == "remainder" else ("remainder", "drop", [])
    require(parts, "it has only a remainder.")
    verbose = data["parameters"].get("verbose_feature_names_out", True)
    require(type(verbose) is bool, "a parameter is invalid.")
    threshold = data["parameters"].get("sparse_threshold", 0.3)

    def set_learned(fitted: Any) -> None:
        for name, part, columns in fitted.transformers_:
            is_same = name != "remainder" or name not in plans or list(columns) == rest[2]
            require(is_same, "its remainder has other columns.")
            if name in plans and not isinstance(part, str):
                plans[name].set_learned(part)

    whole = ColumnTransformer(
        parts, sparse_threshold=threshold, verbose_feature_names_out=verbose, remainder=rest[1]
    )
    return _Plan(whole, cells, set_learned)


def _merge_cells(data: dict[str, Any], plans: dict[str, _Plan]) -> list[Any]:
    """Return a row for a ColumnTransformer from those of its parts."""
    n, names = data["n_features"], data["names"] or ()
    row: list[Any] = [0.0] * n
    index_of = {name: k for k, name in enumerate(names)}
    for part, _, columns in data["parts"]:
        chosen, cells = columns if isinstance(columns, list) else [columns], plans[part].cells
        require(not cells or len(cells) == len(chosen), "a part has other columns.")
        for k, column in enumerate(chosen):
            index: Any = index_of.get(column) if type(column) is str else column
            require(type(index) is int and 0 <= index < n, "a column does not exist.")
            if cells:
                row[index] = cells[k]
    return row
