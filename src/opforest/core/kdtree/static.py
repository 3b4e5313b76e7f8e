"""A k-d tree with bounding boxes over a fixed set of points."""

from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import HIGH, LOW, distance_to_box
from opforest.core.metrics.distances import distance

#: Points in a leaf, at the most.
LEAF = 12

#: Deeper than any tree of halves.
STACK = 128


#: The record of a node: its places, and the first of its two children, which are neighbors; −1 for
#: a leaf.
NODE = np.dtype([("begin", np.int64), ("end", np.int64), ("child", np.int64)])


class StaticKDTree(NamedTuple):
    """Points in the order of the tree, and nodes: children follow their parents."""

    nodes: np.ndarray  #: records of type NODE
    box: np.ndarray  #: by node: its corners
    vertex: np.ndarray  #: by place: the vertex there
    points: np.ndarray  #: by place


@helper
def most_nodes(n):
    """Return how many nodes a tree of n points has at the most."""
    return 4 * (n // LEAF + 1)  # leaves of at least LEAF / 2 points


def build_kdtree(rows, chosen) -> StaticKDTree:
    """Return the tree of the chosen rows."""
    vertex = np.array(chosen, np.int64)
    points = np.ascontiguousarray(rows[vertex])
    size = most_nodes.py_func(len(vertex))
    nodes, box = np.empty(size, NODE), np.empty((size, 2, rows.shape[1]), rows.dtype)
    m = split_all(points, vertex, nodes, box)
    return StaticKDTree(nodes[:m], box[:m], vertex, points)


@helper
def _bound(points, begin, end, box, node):
    """Fit a box around the points at some places."""
    for k in range(box.shape[2]):
        low = high = points[begin, k]
        for place in range(begin + 1, end):
            low = min(low, points[place, k])
            high = max(high, points[place, k])
        box[node, LOW, k], box[node, HIGH, k] = low, high


@helper
def widest_axis(box, node):
    """Return the axis along which a box is widest."""
    widest = 0
    for k in range(1, box.shape[2]):
        if (
            box[node, HIGH, k] - box[node, LOW, k]
            > box[node, HIGH, widest] - box[node, LOW, widest]
        ):
            widest = k
    return widest


@helper
def _swap(points, vertex, i, j):
    vertex[i], vertex[j] = vertex[j], vertex[i]
    for k in range(points.shape[1]):
        points[i, k], points[j, k] = points[j, k], points[i, k]


@helper
def _guess_median(points, left, right, axis):
    """Return the median of three medians of three points, or of one where there are few."""
    step = (right - left) // 8
    if step < 4:
        return points[(left + right) // 2, axis]
    low = _median(points, left, step, axis)
    middle = _median(points, left + 3 * step, step, axis)
    high = _median(points, left + 6 * step, step, axis)
    return max(min(low, middle), min(max(low, middle), high))


@helper
def _median(points, first, step, axis):
    a, b, c = points[first, axis], points[first + step, axis], points[first + 2 * step, axis]
    return max(min(a, b), min(max(a, b), c))


@helper
def _halve(points, vertex, begin, end, axis):
    """Reorder the places so that the lower half by this axis comes first; return the middle."""
    middle = (begin + end) // 2
    left, right = begin, end - 1
    while left < right:
        pivot = _guess_median(points, left, right, axis)
        i, j = left, right
        while i <= j:
            while points[i, axis] < pivot:
                i += 1
            while points[j, axis] > pivot:
                j -= 1
            if i <= j:
                _swap(points, vertex, i, j)
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            break
    return middle


@kernel
def split_all(points, vertex, nodes, box):
    """Split points into halves until leaves are small; return the number of nodes.

    Points and their vertices are put into the order of the leaves.
    """
    stack = np.empty(STACK, np.int64)
    stack[0] = 0
    height = 1
    nodes[0].begin = 0
    nodes[0].end = vertex.shape[0]
    m = 1
    while height > 0:
        height -= 1
        node = stack[height]
        begin, end = nodes[node].begin, nodes[node].end
        _bound(points, begin, end, box, node)
        nodes[node].child = -1
        if end - begin > LEAF:
            middle = _halve(points, vertex, begin, end, widest_axis(box, node))
            nodes[node].child = m
            nodes[m].begin = begin
            nodes[m].end = middle
            nodes[m + 1].begin = middle
            nodes[m + 1].end = end
            stack[height], stack[height + 1] = m + 1, m
            height += 2
            m += 2
    return m


@kernel
def count_looks(tree, sample, metric):
    """Return how many points a search for a nearest neighbor measures, on average."""
    nodes, box, _, points = borrow(tree)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, points.dtype)
    looks = 0
    for i in sample:
        x = points[i]
        best = np.inf
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = stack[m]
            if bound[m] >= best:
                continue
            if nodes[node].child < 0:
                looks += nodes[node].end - nodes[node].begin
                for place in range(nodes[node].begin, nodes[node].end):
                    if place != i:
                        best = min(best, distance(x, points[place], metric))
                continue
            m = push_children(nodes[node].child, box, x, stack, bound, m, metric)
    return looks / sample.shape[0]


@helper
def push_children(below, box, x, stack, bound, m, metric):
    """Put two children on the stack, the one with the nearer box on top; return its height."""
    left = distance_to_box(x, box, below, metric)
    right = distance_to_box(x, box, below + 1, metric)
    nearer = below + (right < left)
    stack[m], bound[m] = 2 * below + 1 - nearer, max(left, right)
    stack[m + 1], bound[m + 1] = nearer, min(left, right)
    return m + 2
