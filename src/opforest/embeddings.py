"""Where metrics measure: points whose squared Euclidean distances order pairs as the metric does.

Sums run through the features in order, so that a row's point does not depend on the rows beside it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def unit_rows(X: Array) -> Array:
    """Return the rows at length 1: their squared distances are twice the cosine's."""
    largest = np.abs(X).max(axis=1)
    if not largest.all():
        raise ValueError(
            f"metric 'cosine' is undefined for a zero vector, and row {int(largest.argmin())} of X "
            "is one. Remove such examples or choose a metric such as 'euclidean'."
        )
    return _normalised(X / largest[:, None])


def centred_unit_rows(X: Array) -> Array:
    """Return the rows less their means, at length 1; as for the correlation."""
    spread = X.max(axis=1) - X.min(axis=1)
    if not spread.all():
        raise ValueError(
            "metric 'correlation' is undefined for a vector whose features are all equal, and row "
            f"{int(spread.argmin())} of X is one. Remove such examples or choose a metric such as "
            "'euclidean'."
        )
    scaled = (X - X.min(axis=1)[:, None]) / spread[:, None]  # offsets cost no precision
    total = np.zeros(len(X), X.dtype)
    for column in scaled.T:
        total += column
    return _normalised(scaled - (total / X.shape[1])[:, None])


def roots_of_shares(X: Array) -> Array:
    """Return the square roots of rows that sum to 1: distributions."""
    total = np.zeros(len(X), X.dtype)
    for column in X.T:
        total += column
    wrong = np.flatnonzero(~(np.abs(total - 1) <= 1e-4))
    if len(wrong):
        raise ValueError(
            "metric 'bhattacharyya' is defined for distributions, whose features sum to 1, and "
            f"those of row {wrong[0]} of X sum to {total[wrong[0]]:.6g}. Divide each row by its "
            "sum, or choose 'squared_chord'."
        )
    return np.sqrt(X)


def _normalised(X: Array) -> Array:
    total = np.zeros(len(X), X.dtype)
    for column in X.T:
        total += column * column
    return X / np.sqrt(total)[:, None]
