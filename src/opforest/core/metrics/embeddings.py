"""Embed examples so that squared Euclidean distances order pairs as the metric does.

Features are summed in order, so that the embedding of a row does not depend on other rows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def normalize_rows(X: Array) -> Array:
    """Scale rows to length 1: their squared distances are twice the cosine distance."""
    largest = np.abs(X).max(axis=1)
    if not largest.all():
        raise ValueError(
            "metrics 'cosine' and 'chord' are undefined for a zero vector, and row "
            f"{int(largest.argmin())} of X is one. Remove such examples or choose a metric such as "
            "'euclidean'."
        )
    return _normalize(X / largest[:, None])


def normalize_centered_rows(X: Array) -> Array:
    """Subtract its mean from each row and scale it to length 1, as for the correlation."""
    extent = X.max(axis=1) - X.min(axis=1)
    if not extent.all():
        raise ValueError(
            "metric 'correlation' is undefined for a vector whose features are all equal, and row "
            f"{int(extent.argmin())} of X is one. Remove such examples or choose a metric such as "
            "'euclidean'."
        )
    scaled = (X - X.min(axis=1)[:, None]) / extent[:, None]  # large offsets would cost precision
    return _normalize(scaled - (_add_columns(scaled) / X.shape[1])[:, None])


def root_distributions(X: Array) -> Array:
    """Return the square roots of distributions: rows that sum to 1."""
    total = _add_columns(X)
    wrong = np.flatnonzero(~(np.abs(total - 1) <= 1e-4))
    if len(wrong):
        raise ValueError(
            "metric 'bhattacharyya' is defined for distributions, whose features sum to 1, and "
            f"those of row {wrong[0]} of X sum to {total[wrong[0]]:.6g}. Divide each row by its "
            "sum, or choose 'squared_chord'."
        )
    return np.sqrt(X)


def _normalize(X: Array) -> Array:
    return np.asarray(X / np.sqrt(_add_columns(X * X))[:, None])


def _add_columns(X: Array) -> Array:
    total = np.zeros(len(X), X.dtype)
    for column in X.T:
        total += column
    return total
