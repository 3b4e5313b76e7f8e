"""scikit-learn's transformers as data: numbers, names and nothing that could run.

A transformer is made again through its own public interface: it is fitted to one row that suits it,
and then given what was learned. So nothing private of scikit-learn is touched, and data that make
no sense fail where they would fail for anybody.
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

#: What each transformer learns of every feature.
LEARNED: dict[type, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_"),
    RobustScaler: ("center_", "scale_"),
    MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    MaxAbsScaler: ("scale_", "max_abs_"),
    SimpleImputer: ("statistics_",),
    OneHotEncoder: ("categories_",),
    OrdinalEncoder: ("categories_",),
}
BY_NAME = {kind.__name__: kind for kind in LEARNED}
ENCODERS = (OneHotEncoder, OrdinalEncoder)

#: What may stand for a transformer.
WORDS = ("passthrough", "drop")

#: Features of a table, and steps within steps, that a file may ask for.
MANY_FEATURES, DEEP = 10**6, 8

#: Parameters that are settled by what was learned.
SETTLED = ("categories", "copy", "dtype")


def names_of_kinds() -> str:
    """Return the names of the transformers that can be saved."""
    return ", ".join([*BY_NAME, "ColumnTransformer", "Pipeline"])


def to_data(transformer: Any) -> Any:
    """Return a fitted transformer as data that JSON can hold.

    Parameters
    ----------
    transformer : transformer or str
        One of those that ``names_of_kinds`` lists.

    Returns
    -------
    dict or str
        Its parameters, and what it has learned.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from opforest.persistence.transformers import from_data, to_data
    >>> data = to_data(MaxAbsScaler().fit([[1.0, -4.0]]))
    >>> from_data(data).transform([[0.5, 2.0]])
    array([[0.5, 0.5]])
    """
    kind = type(transformer)
    if isinstance(transformer, str) and transformer in WORDS:
        return transformer
    if kind is FunctionTransformer and transformer.func is None:  # a remainder that passes through
        return "passthrough"
    if kind not in LEARNED and kind not in (ColumnTransformer, Pipeline):
        raise ValueError(
            f"a {kind.__name__} cannot be saved, only {names_of_kinds()}. Transform the data "
            "before the pipeline, or use one of these."
        )
    check_is_fitted(transformer)
    names = getattr(transformer, "feature_names_in_", None)
    data: dict[str, Any] = {
        "kind": kind.__name__,
        "names": None if names is None else [_plain(name) for name in names],
        "n_features": getattr(transformer, "n_features_in_", None),
    }
    if kind is Pipeline:
        return {**data, "steps": [[name, to_data(step)] for name, step in transformer.steps]}
    if kind is ColumnTransformer:
        return {**data, **_column_transformer_data(transformer)}
    data["parameters"] = _parameters(transformer)
    data["learned"] = {
        name: None if value is None else _listed(value, name)
        for name in LEARNED[kind]
        for value in [getattr(transformer, name)]
    }
    return data


def _parameters(transformer: Any) -> dict[str, Any]:
    defaults = type(transformer)().get_params()
    parameters = {}
    for name, value in transformer.get_params(deep=False).items():
        if name in ("max_categories", "min_frequency", "add_indicator") and value:
            raise ValueError(
                f"a {type(transformer).__name__} with {name}={value!r} cannot be saved."
            )
        if name == "dtype" and np.dtype(value) != np.dtype(defaults[name]):
            raise ValueError(
                f"a {type(transformer).__name__} with dtype={value!r} cannot be saved."
            )
        if name not in SETTLED and not _same(value, defaults[name]):
            parameters[name] = [_plain(one) for one in value] \
                if isinstance(value, tuple | list) else _plain(value)  # fmt: skip
    return parameters


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, float) and isinstance(default, float) and math.isnan(value):
        return math.isnan(default)
    return type(value) is type(default) and bool(value == default)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"a transformer that has learned {value} cannot be saved: fill in missing values "
            "first, and leave out columns that have none."
        )
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ValueError(
        f"a transformer with {value!r} of type {type(value).__name__} cannot be saved."
    )


def _listed(value: Any, name: str) -> list[Any]:
    if name == "categories_":
        return [[_plain(one) for one in categories] for categories in value]
    return [_plain(one) for one in value]


def _column_transformer_data(transformer: ColumnTransformer) -> dict[str, Any]:
    parts = []
    for name, part, columns in transformer.transformers_:
        if isinstance(columns, np.ndarray | range):
            columns = list(columns)
        if isinstance(columns, slice) or callable(columns):
            raise ValueError(
                "columns of a ColumnTransformer must be named, or numbered, to be saved."
            )
        if isinstance(columns, list) and columns and isinstance(columns[0], bool | np.bool_):
            columns = [k for k, chosen in enumerate(columns) if chosen]
        plain = [_plain(one) for one in columns] if isinstance(columns, list) else _plain(columns)
        parts.append([name, to_data(part), plain])
    more = ("sparse_threshold", "verbose_feature_names_out")
    return {"parts": parts, "parameters": {name: getattr(transformer, name) for name in more}}


# And back.


class _Plan(NamedTuple):
    """A transformer that is to be made again."""

    transformer: Any
    cells: list[Any]  #: a row that it can be fitted to
    give: Callable[[Any], None]  #: gives what was learned to the fitted one


def from_data(data: Any) -> Any:
    """Return the transformer that ``to_data`` was given, or say in a ``ValueError`` what is wrong.

    Parameters
    ----------
    data : dict
        What ``to_data`` has returned, or anything.
    """
    try:
        plan = _plan(data, DEEP)
        if isinstance(plan.transformer, str):
            return plan.transformer
        names = data["names"]
        with np.errstate(all="ignore"):  # a row of large numbers is as good as any
            fitted = plan.transformer.fit(_row(plan.cells, names if _needs_names(data) else None))
        plan.give(fitted)
    except (AttributeError, TypeError, LookupError, ArithmeticError, AssertionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"a transformer of the preparation makes no sense: {reason}") from error
    return fitted


def _demand(condition: object, complaint: str) -> None:
    if not condition:
        raise ValueError(f"a transformer of the preparation is none: {complaint}.")


def _needs_names(data: dict[str, Any]) -> bool:
    if data["kind"] == "Pipeline":
        first = data["steps"][0][1]
        return isinstance(first, dict) and _needs_names(first)
    return data["kind"] == "ColumnTransformer" and data["names"] is not None


def _row(cells: list[Any], names: list[str] | None) -> Any:
    """Return one row as a transformer takes it."""
    if names is not None:
        columns = {name: [cell] for name, cell in zip(names, cells, strict=True)}
        return frame_library().DataFrame(columns)
    is_text = any(isinstance(cell, str) for cell in cells)
    row = np.empty((1, len(cells)), object if is_text else np.float64)
    row[0, :] = cells
    return row


def frame_library() -> Any:
    """Return pandas, or else polars."""
    try:
        import pandas
    except ImportError:
        try:
            import polars
        except ImportError as error:
            raise ImportError("columns with names need pandas or polars") from error
        return polars
    return pandas


def _plan(data: Any, deep: int) -> _Plan:
    if isinstance(data, str):
        _demand(data in WORDS, f"{data[:50]!r}")
        return _Plan(data, [], lambda fitted: None)
    _demand(deep > 0 and isinstance(data, dict), "it is not an object, or too deep")
    _demand("names" in data, "it does not say whether its features have names")
    names, n = data["names"], data.get("n_features")
    _demand(type(n) is int and 0 < n <= MANY_FEATURES, "its number of features cannot be")
    if names is not None:
        _demand(isinstance(names, list) and len(names) == n
                and all(type(name) is str for name in names), "its names cannot be")  # fmt: skip
        _demand(len(set(names)) == n, "names come twice")
    kind = data.get("kind")
    if kind == "Pipeline":
        return _plan_pipeline(data, deep)
    if kind == "ColumnTransformer":
        return _plan_columns(data, n, names, deep)
    _demand(type(kind) is str and kind in BY_NAME, f"its kind cannot be {str(kind)[:50]!r}")
    return _plan_leaf(data, BY_NAME[str(kind)], n, names)


def _plan_leaf(data: dict[str, Any], kind: type, n: int, names: list[str] | None) -> _Plan:
    learned, parameters = data.get("learned"), data.get("parameters")
    _demand(isinstance(learned, dict) and set(learned) == set(LEARNED[kind]), "it learned nothing")
    _demand(isinstance(parameters, dict), "it has no parameters")
    assert isinstance(learned, dict)
    assert isinstance(parameters, dict)
    defaults = kind().get_params()
    for name, value in parameters.items():
        plain = isinstance(value, list) and all(type(one) in (int, float) for one in value)
        _demand(name in defaults and name not in SETTLED, f"it has no parameter {name[:50]!r}")
        _demand(plain or value is None or type(value) in (bool, int, float, str), "a parameter")
    given = {name: tuple(value) if isinstance(value, list) else value
             for name, value in parameters.items()}  # fmt: skip
    if kind in ENCODERS:
        categories = learned["categories_"]
        _demand(isinstance(categories, list) and len(categories) == n, "its categories cannot be")
        for one in categories:
            _demand(isinstance(one, list) and one and len({*map(type, one)}) == 1
                    and type(one[0]) in (str, int, float, bool)
                    and len(set(one)) == len(one), "its categories cannot be")  # fmt: skip
        arrays = [np.array(one, object if isinstance(one[0], str) else None) for one in categories]
        given["categories"] = arrays
        cells = [one[0] for one in categories]

        def give_names(fitted: Any) -> None:
            _name(fitted, names)

        return _Plan(kind(**given), cells, give_names)
    values = {name: _array(value, n, kind, name) for name, value in learned.items()}
    text = values.get("statistics_")
    cells = [0.0] * n if text is None else text.tolist()

    def give(fitted: Any) -> None:
        for name, value in values.items():
            learned_nothing = getattr(fitted, name) is None
            _demand((value is None) == learned_nothing, f"{name} does not fit its parameters")
            setattr(fitted, name, value)
        _name(fitted, names)

    return _Plan(kind(**given), cells, give)


def _name(fitted: Any, names: list[str] | None) -> None:
    if names is not None:
        fitted.feature_names_in_ = np.array(names, object)


def _array(value: Any, n: int, kind: type, name: str) -> Any:
    if value is None:
        _demand(kind in (StandardScaler, RobustScaler), f"{name} is missing")
        return None
    _demand(isinstance(value, list) and len(value) == n, f"{name} is not that of {n} features")
    types = {*map(type, value)}
    if kind is SimpleImputer and types == {str}:
        return np.array(value, object)
    _demand(types <= {int, float}, f"{name} is not a list of numbers")
    array = np.array(value, np.float64)
    _demand(np.isfinite(array).all(), f"{name} is not finite")
    _demand(name != "scale_" or array.all(), "a scale is 0")
    return array


def _plan_pipeline(data: dict[str, Any], deep: int) -> _Plan:
    steps = data.get("steps")
    _demand(isinstance(steps, list) and 0 < len(steps) <= 100, "it has no steps")
    assert isinstance(steps, list)
    for step in steps:
        _demand(isinstance(step, list) and len(step) == 2 and type(step[0]) is str, "a step")
    plans = [(name, _plan(one, deep - 1)) for name, one in steps]
    cells = next((plan.cells for _, plan in plans if any(isinstance(c, str) for c in plan.cells)),
                 None)  # fmt: skip
    cells = cells or next((plan.cells for _, plan in plans if plan.cells), [0.0])
    if len(cells) != data["n_features"]:
        cells = next((plan.cells for _, plan in plans if plan.cells), [0.0])

    def give(fitted: Any) -> None:
        for (_, step), (_, plan) in zip(fitted.steps, plans, strict=True):
            plan.give(step)

    return _Plan(Pipeline([(name, plan.transformer) for name, plan in plans]), cells, give)


def _plan_columns(data: dict[str, Any], n: int, names: list[str] | None, deep: int) -> _Plan:
    parts, parameters = data.get("parts"), data.get("parameters")
    _demand(isinstance(parts, list) and 0 < len(parts) <= 1000, "it has no parts")
    _demand(isinstance(parameters, dict), "it has no parameters")
    assert isinstance(parts, list)
    assert isinstance(parameters, dict)
    cells: list[Any] = [0.0] * n
    place = {name: k for k, name in enumerate(names or ())}
    made, plans = [], {}
    for part in parts:
        _demand(isinstance(part, list) and len(part) == 3 and type(part[0]) is str, "a part")
        name, one, columns = part
        plan = _plan(one, deep - 1)
        chosen = columns if isinstance(columns, list) else [columns]
        _demand(not plan.cells or len(plan.cells) == len(chosen), "a part has other columns")
        for k, column in enumerate(chosen):
            index = place.get(column) if type(column) is str else column
            _demand(type(index) is int and 0 <= index < n, "a column is not there")
            if plan.cells:
                cells[int(index or 0)] = plan.cells[k]
        made.append((name, plan.transformer, columns))
        plans[name] = plan
    rest = made.pop() if made[-1][0] == "remainder" else ("remainder", "drop", [])
    _demand(made, "it has no parts but the remainder")
    threshold = parameters.get("sparse_threshold", 0.3)
    verbose = parameters.get("verbose_feature_names_out", True)
    _demand(type(threshold) in (int, float) and type(verbose) is bool, "a parameter")
    _demand(len(plans) == len(parts), "parts have the same name")

    def give(fitted: Any) -> None:
        for name, part, columns in fitted.transformers_:
            _demand(name != "remainder" or "remainder" not in plans or list(columns) == rest[2],
                    "its remainder is another")  # fmt: skip
            if name in plans and not isinstance(part, str):
                plans[name].give(part)

    whole = ColumnTransformer(
        made, sparse_threshold=threshold, verbose_feature_names_out=verbose, remainder=rest[1]
    )
    return _Plan(whole, cells, give)
