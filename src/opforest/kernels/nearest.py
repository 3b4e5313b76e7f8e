"""The nearest neighbours of all points in a k-d tree, found for all points of a leaf together."""

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.boxes import distance_to_box
from opforest.kernels.distances import distance
from opforest.kernels.kdtree import LEAF, STACK


@kernel
def find_nearest(tree, leaves, near, reach, metric):
    """Find the neighbours of all points in some leaves.

    Parameters
    ----------
    near : array of shape (n_places, k)
        Takes the places of the k nearest others, by (distance, vertex); −1 where there are none.
    reach : array of shape (n_places,)
        Takes the distance of the last of them; infinity where there are less than k.
    """
    tree = borrow(tree)
    k, d = near.shape[1], tree.points.shape[1]
    gaps = np.empty((LEAF, k), reach.dtype)
    corner = np.empty(d, reach.dtype)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, reach.dtype)
    lent = borrow((near, reach, gaps, corner, stack, bound))
    for leaf in leaves:
        _search_from_leaf(
            leaf, tree.vertex, tree.points, tree.begin, tree.end, tree.child, tree.low, tree.high,
            lent[0], lent[1], lent[2], lent[3], lent[4], lent[5], metric,
        )  # fmt: skip
    gaps[0, 0] = corner[0] = stack[0] = bound[0] = 0  # their last use, and not before they are free


@helper
def _search_from_leaf(
    leaf, vertex, points, begin, end, child, low, high, near, reach, gaps, corner, stack, bound,
    metric,
):  # fmt: skip
    first, last = begin[leaf], end[leaf]
    for i in range(first, last):
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i - first, slot] = np.inf
        reach[i] = np.inf
    farthest = _look_into(leaf, leaf, vertex, points, begin, end, low, high, near, reach, gaps,
                          metric)  # fmt: skip
    stack[0], bound[0] = 0, 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > farthest or node == leaf:
            continue
        below = child[node]
        if below < 0:
            farthest = _look_into(
                leaf, node, vertex, points, begin, end, low, high, near, reach, gaps, metric
            )
            continue
        gap = _gap_between(leaf, below, low, high, corner, metric)
        other = _gap_between(leaf, below + 1, low, high, corner, metric)
        nearer = below + (other < gap)
        stack[m], bound[m] = 2 * below + 1 - nearer, max(gap, other)
        stack[m + 1], bound[m + 1] = nearer, min(gap, other)
        m += 2


@helper
def _gap_between(a, b, low, high, corner, metric):
    """Return a distance than which no points of two nodes are nearer to each other."""
    for k in range(low.shape[1]):
        corner[k] = max(low[a, k], min(low[b, k], high[a, k]))
    zero = corner[0] - corner[0]
    return distance_to_box(corner, low[b], high[b], zero, metric)


@helper
def _look_into(leaf, node, vertex, points, begin, end, low, high, near, reach, gaps, metric):
    """Measure the points of a leaf against those of a node; return the largest reach."""
    first, last = begin[leaf], end[leaf]
    other_first, other_last = begin[node], end[node]
    for i in range(first, last):
        x, limit = points[i], reach[i]
        zero = x[0] - x[0]
        if distance_to_box(x, low[node], high[node], zero, metric) > limit:
            continue
        for j in range(other_first, other_last):
            gap = distance(x, points[j], metric)
            if gap <= limit and i != j:
                limit = keep(near, gaps, i, i - first, vertex, j, gap)
        reach[i] = limit
    farthest = reach[first]
    for i in range(first + 1, last):
        farthest = max(farthest, reach[i])
    return farthest


@helper
def keep(near, gaps, i, row, vertex, j, gap):
    """Put j into the list of i by (distance, vertex); return the distance of its new last.

    Distances in the list stand in another row of ``gaps``; j should not be farther than the last.
    """
    slot = near.shape[1] - 1
    if gap == gaps[row, slot] and near[i, slot] >= 0 and vertex[j] > vertex[near[i, slot]]:
        return gap
    while slot > 0 and (
        gap < gaps[row, slot - 1]
        or (
            gap == gaps[row, slot - 1]
            and (near[i, slot - 1] < 0 or vertex[j] < vertex[near[i, slot - 1]])
        )
    ):
        near[i, slot], gaps[row, slot] = near[i, slot - 1], gaps[row, slot - 1]
        slot -= 1
    near[i, slot], gaps[row, slot] = j, gap
    return gaps[row, near.shape[1] - 1]
