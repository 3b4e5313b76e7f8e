"""Feature names, values and labels of a stream, as rows and codes of a forest.

Nothing here changes a model: functions return the columns and codes as they would be. The
classifier accepts them once nothing can fail any more.
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opforest.core.label_spread.batch import UNLABELED
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.registry import resolve
from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest

if TYPE_CHECKING:
    import pandas as pd
    from river.base.typing import ClfTarget, FeatureName

#: The column of each feature, and the code of each label, in the order of their appearance.
Columns: TypeAlias = "dict[FeatureName, int]"
Codes: TypeAlias = "dict[ClfTarget, int]"


def read_one(x: Mapping["FeatureName", Any], column: Columns) -> tuple[tuple[float, ...], Columns]:
    """Return the values of all columns, and the columns including those of unknown features."""
    if len(x) == len(column):
        values: tuple[Any, ...] = tuple(map(x.get, column))
        try:
            if math.isfinite(math.fsum(values)):  # then all of them are finite numbers
                return values, column
        except (TypeError, ValueError, OverflowError):
            pass
    column = _with_names(column, x)
    return tuple(_number(name, x.get(name, 0.0)) for name in column), column


def read_frame(
    X: "pd.DataFrame", column: Columns, forest: BaseForest | None
) -> tuple[Array, Columns]:
    """Return the rows of a frame, and the columns including those of unknown features."""
    if not X.columns.is_unique:
        raise ValueError("X must have one column for each feature, but names are repeated.")
    column = _with_names(column, X.columns)
    table = np.zeros((len(X), max(_width(forest), len(column))))
    for name in X.columns:
        table[:, column[name]] = _numbers(name, X[name])
    return table, column


def row_of(values: tuple[float, ...], forest: BaseForest | None) -> Array:
    """Return the values as a row for the forest, with 0 in columns that have no value."""
    return np.array(values + (0.0,) * (_width(forest) - len(values)), np.float64)


def with_labels(code: Codes, labels: Iterable[Any], semi_supervised: bool) -> Codes:
    """Return the codes of known labels, extended by new ones; raise if a needed one is missing."""
    missing = [label for label in labels if label is None or label != label]
    if missing and not semi_supervised:
        raise ValueError(
            f"an example to learn must have a label, got {missing[0]!r}. Use "
            "semi_supervised=True to learn examples without labels."
        )
    given = [label for label in labels if label is not None and label == label]
    return extended(code, given if missing else labels)


def codes_of(labels: Iterable[Any], code: Codes) -> Array:
    """Return the codes of labels, ``UNLABELED`` for missing ones."""
    return np.array([code.get(label, UNLABELED) for label in labels])


def extended(known: dict[Any, int], names: Iterable[Any]) -> dict[Any, int]:
    """Return the numbers of known names, extended by new names in their order."""
    new = dict.fromkeys(name for name in names if name not in known)
    return {**known, **{name: len(known) + i for i, name in enumerate(new)}} if new else known


def resolve_for_streams(metric: object, params: Mapping[str, Any] | None) -> Metric:
    """Return the ``Metric`` for a name or a function, if streams can use it."""
    if isinstance(metric, str) and metric in ("correlation", "precomputed"):
        reason = {
            "correlation": "a feature that is new, and 0 in all earlier examples, changes it",
            "precomputed": "it needs the distances to all earlier examples",
        }
        raise ValueError(
            f"metric {metric!r} cannot learn from a stream: {reason[metric]}. Choose a metric such "
            "as 'euclidean' or 'cosine'."
        )
    found = resolve(metric, params)
    if found.positive:
        raise ValueError(
            f"metric {found.name!r} cannot learn from a stream: a feature that is missing counts "
            "as 0, for which it is not defined. Choose a metric such as 'squared_chi_squared'."
        )
    return found


def _width(forest: BaseForest | None) -> int:
    return 1 if forest is None else forest.storage.n_features


def _with_names(column: Columns, names: Iterable["FeatureName"]) -> Columns:
    # Sorted, so that the order of summation does not depend on the order within x.
    new = sorted((name for name in names if name not in column), key=repr)
    return extended(column, new)


def _number(name: "FeatureName", value: Any) -> float:
    try:
        number = math.fsum((value,))  # float() would accept a string
        if math.isfinite(number):
            return number
    except (TypeError, OverflowError):
        pass
    raise ValueError(
        f"feature {name!r} must be a finite number, got {value!r}. Encode or impute it first "
        "(river.preprocessing), or leave it out, which counts as 0."
    )


def _numbers(name: "FeatureName", series: "pd.Series") -> Array:
    values: Array = series.to_numpy()
    if values.dtype.kind in "biuf" and np.isfinite(values).all():
        return values
    return np.array([_number(name, value) for value in series.tolist()])
