"""Find the nearest neighbors of all points, one leaf of a k-d tree at a time."""

import numpy as np
from numba.np.numpy_support import as_dtype

from opforest.core.jit import borrow, helper, kernel, overload
from opforest.core.kdtree.boxes import HIGH, LOW, distance_to_box
from opforest.core.kdtree.neighbor_list import clear_list, insert_neighbor
from opforest.core.kdtree.static import LEAF, STACK, push_pair
from opforest.core.metrics.distances import accumulate, count_within, distance
from opforest.core.metrics.types import is_separable

#: With more features, boxes of inner nodes are also checked for each point of a leaf.
FEW_FEATURES = 3


def transpose_points(kdtree) -> np.ndarray:
    """Return the coordinates by feature and point, padded by one more leaf."""
    n, d = kdtree.points.shape
    columns = np.zeros((d, n + LEAF), kdtree.points.dtype)
    columns[:, :n] = kdtree.points.T
    return columns


def measure_leaf(out, x, points, columns, begin, metric):
    """Write the distances from x to ``LEAF`` points (compiled code only)."""


@overload(measure_leaf)
def _measure_leaf(out, x, points, columns, begin, metric):
    zero = as_dtype(out.dtype).type(0)

    def measure_each(out, x, points, columns, begin, metric):
        for j in range(min(LEAF, points.shape[0] - begin)):
            out[j] = distance(x, points[begin + j], metric)

    def add_features(out, x, points, columns, begin, metric):
        for j in range(LEAF):
            out[j] = zero
        for k in range(x.shape[0]):
            for j in range(LEAF):
                out[j] = accumulate(out[j], x[k], columns[k, begin + j], metric)

    return add_features if is_separable(metric) else measure_each


def measure_box(out, points, columns, begin, box, node, metric):
    """Write lower bounds on the distances from ``LEAF`` points to a box (compiled code only)."""


@overload(measure_box)
def _measure_box(out, points, columns, begin, box, node, metric):
    zero = as_dtype(out.dtype).type(0)

    def measure_each(out, points, columns, begin, box, node, metric):
        for j in range(min(LEAF, points.shape[0] - begin)):
            out[j] = distance_to_box(points[begin + j], box, node, metric)

    def add_features(out, points, columns, begin, box, node, metric):
        for j in range(LEAF):
            out[j] = zero
        for k in range(box.shape[2]):
            low, high = box[node, LOW, k], box[node, HIGH, k]
            for j in range(LEAF):
                x = columns[k, begin + j]
                nearest = x if x > low else low
                nearest = nearest if nearest < high else high
                out[j] = accumulate(out[j], x, nearest, metric)

    return add_features if is_separable(metric) else measure_each


@kernel
def find_nearest(kdtree, columns, leaves, near, lower_bound, metric):
    """Find the neighbors of all points in some leaves; ``columns`` are the transposed points.

    ``near`` takes the k nearest other points, by (distance, vertex); −1 where there are fewer.
    ``lower_bound`` takes the distance of the last one, a lower bound on those of points that are
    not listed; infinity if all are.
    """
    kdtree = borrow(kdtree)
    dtype, k = lower_bound.dtype, near.shape[1]
    distances, scratch = np.empty((LEAF, k), dtype), np.empty((3, LEAF), dtype)
    corner = np.empty(kdtree.points.shape[1], dtype)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, dtype)
    lists = borrow((near, distances, columns, scratch[0], scratch[1], scratch[2]))
    lent = borrow((corner, stack, bound))
    for leaf in leaves:
        _search_from_leaf(leaf, kdtree, lists, lower_bound, lent, metric)
    # Keeps these arrays alive until here.
    distances[0, 0] = scratch[0, 0] = corner[0] = stack[0] = bound[0] = 0


@helper
def _search_from_leaf(leaf, kdtree, lists, lower_bound, lent, metric):
    nodes, box, _, points = kdtree
    near, distances, columns, _, to_box, limit = lists
    corner, stack, bound = lent
    first, last = nodes[leaf].begin, nodes[leaf].end
    for j in range(LEAF):
        limit[j], to_box[j] = -1, 0  # where there is no point
    for i in range(first, last):
        limit[i - first] = clear_list(near, distances, i, i - first)
    farthest = _visit(leaf, leaf, kdtree, lists, metric)
    stack[0], bound[0] = 0, 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > farthest or node == leaf:
            continue
        below = nodes[node].child
        if below < 0 or box.shape[2] > FEW_FEATURES:
            measure_box(to_box, points, columns, first, box, node, metric)
            if count_within(to_box, limit) == 0:
                continue
        if below < 0:
            farthest = _visit(leaf, node, kdtree, lists, metric)
            continue
        left = _distance_between_boxes(leaf, below, box, corner, metric)
        right = _distance_between_boxes(leaf, below + 1, box, corner, metric)
        m = push_pair(below, left, right, right < left, stack, bound, m)
    for i in range(first, last):
        lower_bound[i] = limit[i - first]


@helper
def _distance_between_boxes(a, b, box, corner, metric):
    """Return a lower bound on the distance between points of two nodes."""
    for k in range(box.shape[2]):
        corner[k] = max(box[a, LOW, k], min(box[b, LOW, k], box[a, HIGH, k]))
    return distance_to_box(corner, box, b, metric)


@helper
def _visit(leaf, node, kdtree, lists, metric):
    """Measure the points of a leaf against those of another; return the largest limit."""
    nodes, _, vertex, points = kdtree
    near, distances, columns, out, to_box, limit = lists
    first, begin = nodes[leaf].begin, nodes[node].begin
    farthest = 0.0
    for i in range(nodes[leaf].end - first):
        if to_box[i] <= limit[i]:
            measure_leaf(out, points[first + i], points, columns, begin, metric)
            for j in range(nodes[node].end - begin):
                if out[j] <= limit[i] and first + i != begin + j:
                    limit[i] = insert_neighbor(
                        near, distances, first + i, i, vertex, begin + j, out[j]
                    )
        farthest = max(farthest, limit[i])
    return farthest
