"""Embeddings: points whose Euclidean distances order pairs as other metrics do.

Sums run through the features in order, so that a row's point does not depend on the rows beside it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def square_roots(X: Array) -> Array:
    """Return the square roots, for ``"squared_chord"``."""
    return np.sqrt(X)


def unit_rows(X: Array) -> Array:
    """Return rows of length 1, for ``"cosine"``."""
    largest = np.abs(X).max(axis=1)
    if not largest.all():
        raise ValueError(
            f"metric 'cosine' is undefined for a zero vector, and row {int(largest.argmin())} of X "
            "is one. Remove such examples or choose a metric such as 'euclidean'."
        )
    return _normalised(X / largest[:, None])


def centred_unit_rows(X: Array) -> Array:
    """Return rows of mean 0 and length 1, for ``"correlation"``."""
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


def _normalised(X: Array) -> Array:
    total = np.zeros(len(X), X.dtype)
    for column in X.T:
        total += column * column
    return X / np.sqrt(total)[:, None]
