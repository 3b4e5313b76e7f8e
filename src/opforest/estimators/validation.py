"""A warning about features whose scale is so small that distances hardly depend on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from opforest._utils.warn import warn
from opforest.core.metrics.metric import Metric

#: A larger ratio between the spreads of two features is worth a warning.
THOUSANDFOLD = 1000.0

#: Metrics for which the scale of a feature does not matter.
SCALE_FREE = ("canberra", "hamming", "precomputed")


def scaled(estimator: str) -> str:
    """Return the Python that puts a scaler in front of an estimator, which is given by its name."""
    return f"opforest.make_pipeline(StandardScaler(), {estimator}())"


def warn_of_spreads(
    X: npt.NDArray[Any],
    metric: str,
    names: Sequence[str] | None = None,
    remedy: str = scaled("OPFClassifier"),
) -> None:
    """Warn, once, if features differ in spread more than a thousandfold, and name the worst.

    ``remedy`` says how to scale them.
    """
    if metric in SCALE_FREE or len(X) < 2 or X.shape[1] < 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0, dtype=np.float64)
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


ALGORITHMS = ("auto", "brute", "kd_tree")


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
