"""Convert reduced distances between examples of d features to the units of the metrics."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def sqrt(reduced: Array, d: int) -> Array:
    """Return the square root."""
    return np.asarray(np.sqrt(reduced))


def times(reduced: Array, d: int, factor: float) -> Array:
    """Return a multiple."""
    return np.asarray(reduced * reduced.dtype.type(factor))


def half(reduced: Array, d: int) -> Array:
    """Return one half."""
    return np.asarray(reduced / 2)


def share(reduced: Array, d: int) -> Array:
    """Return the mean over the features."""
    return np.asarray(reduced / d)


def root_of_share(reduced: Array, d: int) -> Array:
    """Return the square root of the mean over the features."""
    return np.asarray(np.sqrt(reduced / d))


def root_of_twice(reduced: Array, d: int) -> Array:
    """Return the square root of twice the value."""
    return np.asarray(np.sqrt(2 * reduced))


def log(reduced: Array, d: int) -> Array:
    """Return LibOPF's logarithm of a squared distance."""
    return np.asarray(1e5 * np.log1p(reduced))


def log_of_root(reduced: Array, d: int) -> Array:
    """Return LibOPF's logarithm of a distance."""
    return np.asarray(1e5 * np.log1p(np.sqrt(reduced)))


def dice(reduced: Array, d: int) -> Array:
    """Return Dice's distance, given Jaccard's."""
    return np.asarray(reduced / (2 - reduced))


def soergel(reduced: Array, d: int) -> Array:
    """Return Soergel's distance, given Bray and Curtis's."""
    return np.asarray(2 * reduced / (1 + reduced))


def kulczynski(reduced: Array, d: int) -> Array:
    """Return Kulczynski's distance, given Bray and Curtis's."""
    with np.errstate(divide="ignore"):  # nothing in common: infinite
        return np.asarray(2 * reduced / (1 - reduced))


def bhattacharyya(reduced: Array, d: int) -> Array:
    """Return Bhattacharyya's distance, given the squared chord distance."""
    with np.errstate(divide="ignore"):  # nothing in common: infinite
        return np.asarray(-np.log1p(-np.minimum(reduced / 2, 1)))


def gaussian(reduced: Array, d: int, gamma: float) -> Array:
    """Return 1 minus the Gaussian kernel."""
    return np.asarray(-np.expm1(-gamma * reduced))


def root(reduced: Array, d: int, p: float) -> Array:
    """Return the p-th root."""
    return np.asarray(reduced ** (1 / p))
