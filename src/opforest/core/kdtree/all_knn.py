"""Find the nearest neighbors of all points, one leaf of a k-d tree at a time or by a scan."""

import math

import numpy as np
from numba.np.numpy_support import as_dtype

from opforest.core.jit import borrow, helper, kernel, overload
from opforest.core.kdtree.boxes import HIGH, LOW, distance_to_box, rounded_down
from opforest.core.kdtree.static import LEAF, STACK
from opforest.core.metrics.distances import TILE, accumulate, count_tiles, count_within, measure
from opforest.core.metrics.types import Minkowski

#: With more features than these, the box of a leaf says too little of its points.
FEW_FEATURES = 3


def columns_of(tree) -> np.ndarray:
    """Return the coordinates by feature and place, and behind them room for one more leaf."""
    n, d = tree.points.shape
    columns = np.zeros((d, n + LEAF), tree.points.dtype)
    columns[:, :n] = tree.points.T
    return columns


def measure_leaf(out, x, columns, begin, metric):
    """Write the distances from x to the points at ``LEAF`` places (compiled code only)."""


@overload(measure_leaf)
def _measure_leaf(out, x, columns, begin, metric):
    zero = as_dtype(out.dtype).type(0)
    if metric.instance_class is Minkowski:

        def raise_differences(out, x, columns, begin, metric):
            for j in range(LEAF):
                total = 0.0
                for k in range(x.shape[0]):
                    total += math.pow(abs(x[k] - columns[k, begin + j]), metric.p)
                out[j] = total

        return raise_differences

    def add_features(out, x, columns, begin, metric):
        for j in range(LEAF):
            out[j] = zero
        for k in range(x.shape[0]):
            for j in range(LEAF):
                out[j] = accumulate(out[j], x[k], columns[k, begin + j], metric)

    return add_features


def measure_box(out, columns, begin, box, node, metric):
    """Write lower bounds on the distances from ``LEAF`` points to a box (compiled code only)."""


@overload(measure_box)
def _measure_box(out, columns, begin, box, node, metric):
    zero = as_dtype(out.dtype).type(0)
    if metric.instance_class is Minkowski:

        def raise_differences(out, columns, begin, box, node, metric):
            d = box.shape[2]
            for j in range(LEAF):
                total = 0.0
                for k in range(d):
                    x = columns[k, begin + j]
                    nearest = min(max(x, box[node, LOW, k]), box[node, HIGH, k])
                    total += math.pow(abs(x - nearest), metric.p)
                out[j] = rounded_down(total, d)

        return raise_differences

    def add_features(out, columns, begin, box, node, metric):
        for j in range(LEAF):
            out[j] = zero
        for k in range(box.shape[2]):
            low, high = box[node, LOW, k], box[node, HIGH, k]
            for j in range(LEAF):
                x = columns[k, begin + j]
                nearest = x if x > low else low
                nearest = nearest if nearest < high else high
                out[j] = accumulate(out[j], x, nearest, metric)

    return add_features


@kernel
def find_nearest(tree, columns, leaves, near, reach, metric):
    """Find the neighbors of all points in some leaves.

    Parameters
    ----------
    columns : array
        The ``columns_of`` the tree.
    near : array of shape (n_places, k)
        Takes the places of the k nearest others, by (distance, vertex); −1 where there are none.
    reach : array of shape (n_places,)
        Takes the distance of the last of them; infinity where there are less than k.
    """
    tree = borrow(tree)
    gaps, scratch = np.empty((LEAF, near.shape[1]), reach.dtype), np.empty((3, LEAF), reach.dtype)
    corner = np.empty(tree.points.shape[1], reach.dtype)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, reach.dtype)
    lists = borrow((near, gaps, columns, scratch[0], scratch[1], scratch[2]))
    lent = borrow((corner, stack, bound))
    for leaf in leaves:
        _search_from_leaf(leaf, tree, lists, reach, lent[0], lent[1], lent[2], metric)
    # Keeps these arrays alive until here.
    gaps[0, 0] = scratch[0, 0] = corner[0] = stack[0] = bound[0] = 0


@helper
def _search_from_leaf(leaf, tree, lists, reach, corner, stack, bound, metric):
    nodes, box, _, _ = tree
    near, gaps, columns, _, to_box, limit = lists
    first, last = nodes[leaf].begin, nodes[leaf].end
    for j in range(LEAF):
        limit[j], to_box[j] = -1, 0  # where there is no point
    for i in range(first, last):
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i - first, slot] = np.inf
        limit[i - first] = np.inf
    farthest = _look_into(leaf, leaf, tree, lists, metric)
    stack[0], bound[0] = 0, 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > farthest or node == leaf:
            continue
        below = nodes[node].child
        if below < 0 or box.shape[2] > FEW_FEATURES:
            measure_box(to_box, columns, first, box, node, metric)
            if count_within(to_box, limit) == 0:
                continue
        if below < 0:
            farthest = _look_into(leaf, node, tree, lists, metric)
            continue
        gap = _gap_between(leaf, below, box, corner, metric)
        other = _gap_between(leaf, below + 1, box, corner, metric)
        nearer = below + (other < gap)
        stack[m], bound[m] = 2 * below + 1 - nearer, max(gap, other)
        stack[m + 1], bound[m + 1] = nearer, min(gap, other)
        m += 2
    for i in range(first, last):
        reach[i] = limit[i - first]


@helper
def _gap_between(a, b, box, corner, metric):
    """Return a lower bound on the distance between points of two nodes."""
    for k in range(box.shape[2]):
        corner[k] = max(box[a, LOW, k], min(box[b, LOW, k], box[a, HIGH, k]))
    return distance_to_box(corner, box, b, metric)


@helper
def _look_into(leaf, node, tree, lists, metric):
    """Measure the points of a leaf against those of a node; return the largest reach."""
    nodes, _, vertex, points = tree
    near, gaps, columns, out, to_box, limit = lists
    first, begin = nodes[leaf].begin, nodes[node].begin
    farthest = 0.0
    for i in range(nodes[leaf].end - first):
        if to_box[i] <= limit[i]:
            measure_leaf(out, points[first + i], columns, begin, metric)
            for j in range(nodes[node].end - begin):
                if out[j] <= limit[i] and first + i != begin + j:
                    limit[i] = keep(near, gaps, first + i, i, vertex, begin + j, out[j])
        farthest = max(farthest, limit[i])
    return farthest


@kernel
def scan_for_nearest(rows, tiles, names, part, near, gaps, metric):
    """Find the neighbors of some points by looking at all of them.

    Parameters
    ----------
    names : array
        0, 1, 2 and so on.
    part : array
        The points whose neighbors are wanted.
    near, gaps : arrays of shape (n, k)
        Take the k nearest others, by (distance, index), and their distances.
    """
    out = np.empty(TILE, gaps.dtype)
    n = names.shape[0]
    for i in part:
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i, slot] = np.inf
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            limit = gaps[i, near.shape[1] - 1]
            found = out[: last - first]
            if measure(found, rows[i], i, rows, tiles[tile], first, limit, metric):
                for j in range(last - first):
                    if found[j] <= limit and first + j != i:
                        limit = keep(near, gaps, i, i, names, first + j, found[j])


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
