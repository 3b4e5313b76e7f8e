"""Convert features and labels of a stream to rows and codes of a forest.

These functions do not change a model: they return new columns and codes, which the classifier
accepts when nothing can fail any more.
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opforest.core.label_spread.batch import UNLABELED
from opforest.core.metrics.embeddings import LinearEmbedding
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.registry import resolve
from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest

if TYPE_CHECKING:
    import pandas as pd
    from river.base.typing import ClfTarget, FeatureName

#: The column of each feature, and the code of each label, in order of appearance.
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
    column = _add_features(column, x)
    return tuple(_to_float(name, x.get(name, 0.0)) for name in column), column


def read_frame(
    X: "pd.DataFrame", column: Columns, forest: BaseForest | None
) -> tuple[Array, Columns]:
    """Return the rows of a frame, and the columns including those of unknown features."""
    if not X.columns.is_unique:
        raise ValueError("X must have one column for each feature, but names are repeated.")
    column = _add_features(column, X.columns)
    table = np.zeros((len(X), max(_width(forest), len(column))))
    for name in X.columns:
        table[:, column[name]] = _to_floats(name, X[name])
    return table, column


def make_row(values: tuple[float, ...], forest: BaseForest | None) -> Array:
    """Return the values as a row for the forest, with 0 in columns that have no value."""
    return np.array(values + (0.0,) * (_width(forest) - len(values)), np.float64)


def add_labels(code: Codes, labels: Iterable[Any], semi_supervised: bool) -> Codes:
    """Return codes with new labels added; raise an error if a required label is missing."""
    missing = [label for label in labels if label is None or label != label]
    if missing and not semi_supervised:
        raise ValueError(
            f"an example to learn must have a label, got {missing[0]!r}. Use "
            "semi_supervised=True to learn examples without labels."
        )
    given = [label for label in labels if label is not None and label == label]
    return add_names(code, given if missing else labels)


def encode_labels(labels: Iterable[Any], code: Codes) -> Array:
    """Return the codes of labels, ``UNLABELED`` for missing ones."""
    return np.array([code.get(label, UNLABELED) for label in labels])


def add_names(known: dict[Any, int], names: Iterable[Any]) -> dict[Any, int]:
    """Return a numbering with new names added in their order."""
    new = dict.fromkeys(name for name in names if name not in known)
    return {**known, **{name: len(known) + i for i, name in enumerate(new)}} if new else known


def resolve_for_streams(metric: object, params: Mapping[str, Any] | None) -> Metric:
    """Return the ``Metric`` for a name or a function; raise an error if streams cannot use it."""
    found = resolve(metric, params)
    reason = {
        "correlation": "a feature that is new, and 0 in all earlier examples, changes it",
        "precomputed": "it needs the distances to all earlier examples",
        "haversine": "it has two features, and those of a stream may be more",
    }.get(found.name)
    if isinstance(found.embedding, LinearEmbedding):
        reason = "its parameters are for certain features, and a stream may have others"
    if reason is not None:
        raise ValueError(
            f"metric {metric!r} cannot learn from a stream: {reason}. Choose a metric such as "
            "'euclidean' or 'cosine'."
        )
    if found.positive:
        raise ValueError(
            f"metric {found.name!r} cannot learn from a stream: it is not defined for 0, the value "
            "of missing features. Choose a metric such as 'squared_chi_squared'."
        )
    return found


def _width(forest: BaseForest | None) -> int:
    return 1 if forest is None else forest.storage.n_features


def _add_features(column: Columns, names: Iterable["FeatureName"]) -> Columns:
    # Sorted, so that the order of summation does not depend on the order within x.
    new = sorted((name for name in names if name not in column), key=repr)
    return add_names(column, new)


def _to_float(name: "FeatureName", value: Any) -> float:
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


def _to_floats(name: "FeatureName", series: "pd.Series") -> Array:
    values: Array = series.to_numpy()
    if values.dtype.kind in "biuf" and np.isfinite(values).all():
        return values
    return np.array([_to_float(name, value) for value in series.tolist()])
