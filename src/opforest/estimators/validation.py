"""Helpers that check parameters, labels, ids and the scales of features."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from opforest._utils.warn import warn
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest

#: NumPy's kinds of integer types, and of types whose values always are labels.
INTEGERS = "biu"
LABELS = INTEGERS + "U"

#: Examples of these types are kept as they are; all others are converted to the first.
PRECISIONS = (np.float64, np.float32)

ALGORITHMS = ("auto", "brute", "kd_tree")

#: A larger ratio between the spreads of two features is worth a warning.
THOUSANDFOLD = 1000.0

#: At most about this many rows, evenly spaced, estimate how far features spread.
ROWS_FOR_SPREAD = 50_000

#: Metrics for which the scale of a feature does not matter.
SCALE_FREE = ("canberra", "hamming", "precomputed")


def scaling_code(estimator: str) -> str:
    """Return Python code that puts a scaler in front of the estimator of this name."""
    return f"opforest.make_pipeline(StandardScaler(), {estimator}())"


def warn_about_scales(
    X: npt.NDArray[Any],
    metric: str,
    names: Sequence[str] | None = None,
    remedy: str = scaling_code("OPFClassifier"),
) -> None:
    """Warn, once, if features differ in spread more than a thousandfold, and name the worst two.

    ``remedy`` is Python code or a command that scales them.
    """
    if metric in SCALE_FREE or len(X) < 2 or X.shape[1] < 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X[:: 1 + len(X) // ROWS_FOR_SPREAD].std(axis=0, dtype=np.float64)
    known = np.flatnonzero((spread > 0) & np.isfinite(spread))
    if len(known) < 2:
        return
    largest, smallest = known[spread[known].argmax()], known[spread[known].argmin()]
    ratio = spread[largest] / spread[smallest]
    if not ratio > THOUSANDFOLD:
        return
    wide, narrow = (f"feature {k + 1}" if names is None else repr(str(names[k]))
                    for k in (largest, smallest))  # fmt: skip
    warn(
        f"features differ in spread: the deviation of {wide} is {ratio:.3g} times that of "
        f"{narrow}, so distances hardly depend on the latter. Scale them: {remedy}."
    )


def check_algorithm(algorithm: object, metric: Metric) -> None:
    """Raise a ``ValueError`` unless this is an algorithm that supports the metric."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {list(ALGORITHMS)}, got {algorithm!r}.")
    if algorithm == "kd_tree" and not metric.is_indexable:
        raise ValueError(
            f"algorithm='kd_tree' does not support metric {metric.name!r}. Use 'auto' or 'brute', "
            "or a metric of the Euclidean family, 'cosine', 'correlation', 'squared_chord', "
            "'manhattan', 'chebyshev', or 'minkowski' with p >= 1."
        )


def encode(
    y: Array, known: Array, classes: npt.ArrayLike | None = None
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return all classes in order, and the labels as indices of them.

    ``known`` holds the classes known so far, in order; it may be empty.
    """
    if classes is None and known.dtype == y.dtype != object and len(known):
        label = np.searchsorted(known, y)
        if (known.take(label, mode="clip") == y).all():  # there are no new classes
            return known, label
    announced = np.asarray([] if classes is None else classes)
    parts = [part for part in (known, announced, y) if len(part)]
    if any(part.dtype.kind not in INTEGERS for part in parts):
        unique_labels(*parts)  # raises an error if labels cannot be compared
    parts = [np.unique(part) for part in parts]
    all_classes = np.unique(np.concatenate(parts))
    for labels in parts:
        with np.errstate(invalid="ignore"):
            same = labels.astype(all_classes.dtype).astype(labels.dtype)
        if not np.array_equal(same, labels):
            raise ValueError(
                f"labels of types {[str(part.dtype) for part in parts]} cannot be distinguished as "
                f"{all_classes.dtype}. Convert them to one type first."
            )
    return all_classes, np.searchsorted(all_classes, y)


def encode_known(y: Array, classes: Array) -> npt.NDArray[np.int64]:
    """Return the labels of an evaluation set as indices of the known classes."""
    is_known = np.isin(y, classes)
    if not is_known.all():
        raise ValueError(
            f"the evaluation set has the class {y[~is_known].tolist()[0]!r}, which is not one of "
            f"the {len(classes)} known classes. Leave its examples out, or learn some first."
        )
    return np.searchsorted(classes, y)


def as_one_row(x: Any) -> Any:
    """Return one example as a table of one row."""
    if hasattr(x, "to_frame"):  # a row of a data frame
        return x.to_frame().T.infer_objects()
    return x if np.ndim(x) == 2 else np.atleast_1d(x)[None]


def check_labels(y: Array) -> None:
    """Raise a ``ValueError`` if these are not class labels."""
    if y.dtype.kind not in LABELS:
        check_classification_targets(y)


def check_ids(ids: npt.ArrayLike, forest: BaseForest) -> npt.NDArray[np.int64]:
    """Validate the ids of examples to forget, and return them in ascending order."""
    try:
        array = np.atleast_1d(np.asarray(ids))
    except ValueError:  # the lists have different lengths
        array = np.empty((1, 1), object)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"ids must be integers, as in forest_.ids, got an array of shape {array.shape} and "
            f"type {array.dtype}."
        )
    ordered, times = np.unique(array, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"ids must be unique, got {ordered[times > 1][0]} more than once.")
    forest.find_vertices(ordered)
    return ordered.astype(np.int64)


def require_count(name: str, value: object, least: int) -> None:
    """Raise a ``ValueError`` unless a parameter is an integer of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def require_fraction(name: str, value: Any, most: float = 1.0, least_open: bool = False) -> None:
    """Raise a ``ValueError`` unless a parameter is a number from 0 to ``most``."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most or (least_open and value == 0):
        begin = "above 0" if least_open else "from 0"
        raise ValueError(f"{name} must be a number {begin} and up to {most}, got {value!r}.")


def check_voters(voters: Any) -> int | str:
    """Return the number of voters or "auto"; raise a ``ValueError`` if it is neither."""
    if isinstance(voters, str) and voters == "auto":
        return voters
    if not isinstance(voters, Integral) or isinstance(voters, bool) or voters < 1:
        raise ValueError(f"voters must be an integer of at least 1 or 'auto', got {voters!r}.")
    return int(voters)
