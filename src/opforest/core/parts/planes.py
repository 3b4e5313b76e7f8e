"""Planes that divide space into cells with about as many examples in each."""

from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, kernel


class Planes(NamedTuple):
    """A complete binary tree of planes: the children of plane i are 2 i + 1 and 2 i + 2.

    Points below the threshold belong to the first child.
    """

    axis: np.ndarray
    threshold: np.ndarray


def divide_space(sample, n_cells) -> Planes:
    """Return planes for a power of 2 of cells, each at the median of its part of a sample."""
    axis = np.zeros(n_cells - 1, np.int64)
    threshold = np.zeros(n_cells - 1, sample.dtype)
    parts = {0: sample}
    for i in range(n_cells - 1):
        part = parts.pop(i)
        if len(part):
            axis[i] = np.ptp(part, axis=0).argmax()
            threshold[i] = np.median(part[:, axis[i]])
        is_below = part[:, axis[i]] < threshold[i]
        parts[2 * i + 1], parts[2 * i + 2] = part[is_below], part[~is_below]
    return Planes(axis, threshold)


@kernel
def find_cells(points, planes):
    """Return the cell of each point; duplicates are in the same cell."""
    axis, threshold = borrow(planes)
    n_planes = axis.shape[0]
    cell = np.empty(points.shape[0], np.int32)
    for i in range(points.shape[0]):
        plane = 0
        while plane < n_planes:
            plane = 2 * plane + (1 if points[i, axis[plane]] < threshold[plane] else 2)
        cell[i] = plane - n_planes
    return cell
