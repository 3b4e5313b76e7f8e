"""Embed examples so that a simpler metric orders the points as the metric orders the examples.

Features are summed in order, so that the embedding of a row does not depend on other rows.
"""

import math
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


class LinearEmbedding:
    """Divide features by numbers, or multiply rows by a triangular matrix.

    ``scale`` has one number for each feature, or is the matrix. ``what`` names the parameter in
    errors. Two of them are equal if their numbers are.
    """

    def __init__(self, scale: Array, what: str) -> None:
        self.scale, self.what = scale, what

    def __call__(self, X: Array) -> Array:
        """Return the points, computed in double precision."""
        if X.shape[1] != len(self.scale):
            raise ValueError(
                f"{self.what} is for {len(self.scale)} features, but X has {X.shape[1]}: give one "
                "entry for each feature."
            )
        rows = X.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # too large points are refused later
            if self.scale.ndim == 1:
                return np.asarray(rows / self.scale)
            # A matrix product would round a row in another way if it has other rows beside it.
            points = np.zeros_like(rows)
            for column, weights in zip(rows.T, self.scale, strict=True):
                points += column[:, None] * weights
        return points

    def invert(self, points: Array) -> Array:
        """Return the examples, up to rounding; NaN for a feature that does not count."""
        if self.scale.ndim == 2:
            return np.linalg.solve(self.scale.T, points.astype(np.float64).T).T
        is_lost = np.isinf(self.scale)
        return np.asarray(np.where(is_lost, np.nan, points * np.where(is_lost, 1, self.scale)))

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same numbers."""
        return isinstance(other, LinearEmbedding) and np.array_equal(self.scale, other.scale)

    def __hash__(self) -> int:
        """Return a hash of the numbers."""
        return hash(self.scale.tobytes())


class SphereEmbedding:
    """Map latitudes and longitudes in radians to the unit sphere.

    Squared distances of its points are those of the chords, which order pairs as the arcs do.
    """

    n_features = 2  #: of an example; a point has three

    def __call__(self, X: Array) -> Array:
        """Return the points on the sphere."""
        if X.shape[1] != 2:
            raise ValueError(
                "metric 'haversine' needs two features, the latitude and the longitude in radians, "
                f"got {X.shape[1]}."
            )
        wrong = np.abs(X) > np.array([math.pi / 2, 2 * math.pi]) * (1 + 1e-6)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            name, most = (("latitude", "π/2"), ("longitude", "2π"))[column]
            raise ValueError(
                f"metric 'haversine' needs latitudes and longitudes in radians, but the {name} of "
                f"row {row} of X is {X[row, column]:.6g}, beyond ±{most}. np.radians(X) converts "
                "degrees."
            )
        # NumPy's functions may round an element in another way at another place of an array.
        points = [
            (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
            for lat, lon in X.tolist()
        ]
        return np.array(points, np.float64).reshape(-1, 3)

    def invert(self, points: Array) -> Array:
        """Return the latitudes and longitudes, up to rounding and whole turns."""
        x, y, z = points.astype(np.float64).T
        return np.column_stack((np.arcsin(np.clip(z, -1, 1)), np.arctan2(y, x)))

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is one, too."""
        return isinstance(other, SphereEmbedding)

    def __hash__(self) -> int:
        """Return the same number for each."""
        return hash(SphereEmbedding)


def factorize(matrix: Array) -> Array | None:
    """Return the lower triangular L with L Lᵀ = ``matrix``; None if it is not positive definite.

    LAPACK rounds in another way on another machine, where a saved model would get new numbers.
    """
    rest, factor = matrix.copy(), np.zeros_like(matrix)
    for k in range(len(matrix)):
        if not 0 < rest[k, k] < np.inf:
            return None
        factor[k:, k] = rest[k:, k] / math.sqrt(rest[k, k])
        rest[k + 1 :, k + 1 :] -= factor[k + 1 :, k, None] * factor[k + 1 :, k]
    return factor


def invert_triangle(lower: Array) -> Array:
    """Return the inverse of a lower triangular matrix, rounded alike on all machines."""
    inverse = np.zeros_like(lower)
    for k in range(len(lower)):
        row = np.zeros(len(lower))
        row[k] = 1.0
        for j in range(k):
            row -= lower[k, j] * inverse[j]
        inverse[k] = row / lower[k, k]
    return inverse
