"""A k-d tree over a fixed set of points, with boxes."""

from typing import NamedTuple

import numpy as np

from opforest._jit import helper, kernel
from opforest.kernels.boxes import distance_to_box
from opforest.kernels.distances import distance

#: Points in a leaf, at the most.
LEAF = 12

#: Deeper than any tree of halves.
STACK = 128


class KDTree(NamedTuple):
    """Points in the order of the tree, and nodes: children follow their parents."""

    vertex: np.ndarray  #: by place: the vertex there
    points: np.ndarray  #: by place
    begin: np.ndarray  #: by node: its places
    end: np.ndarray
    child: np.ndarray  #: by node: the first of its two children, which are neighbours; −1: a leaf
    low: np.ndarray  #: by node: the corners of its box
    high: np.ndarray


@helper
def most_nodes(n):
    """Return how many nodes a tree of n points has at the most."""
    return 4 * (n // LEAF + 1)  # leaves of at least LEAF / 2 points


def build_kdtree(rows, chosen) -> KDTree:
    """Return the tree of the chosen rows."""
    vertex = np.array(chosen, np.int64)
    points = np.ascontiguousarray(rows[vertex])
    size = most_nodes.py_func(len(vertex))
    begin, end, child = (np.empty(size, np.int64) for _ in range(3))
    low, high = (np.empty((size, rows.shape[1]), rows.dtype) for _ in range(2))
    m = split_all(points, vertex, begin, end, child, low, high)
    return KDTree(vertex, points, begin[:m], end[:m], child[:m], low[:m], high[:m])


@helper
def _bound(points, begin, end, low, high):
    """Fit a box around the points at some places."""
    for k in range(low.shape[0]):
        low[k] = high[k] = points[begin, k]
    for place in range(begin + 1, end):
        for k in range(low.shape[0]):
            low[k] = min(low[k], points[place, k])
            high[k] = max(high[k], points[place, k])


@helper
def widest_axis(low, high):
    """Return the axis along which a box is widest."""
    widest = 0
    for k in range(1, low.shape[0]):
        if high[k] - low[k] > high[widest] - low[widest]:
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
def split_all(points, vertex, begin, end, child, low, high):
    """Split points into halves until leaves are small; return the number of nodes.

    Points and their vertices are put into the order of the leaves.
    """
    stack = np.empty(STACK, np.int64)
    stack[0] = 0
    height = 1
    begin[0], end[0] = 0, vertex.shape[0]
    m = 1
    while height > 0:
        height -= 1
        node = stack[height]
        _bound(points, begin[node], end[node], low[node], high[node])
        child[node] = -1
        if end[node] - begin[node] > LEAF:
            axis = widest_axis(low[node], high[node])
            middle = _halve(points, vertex, begin[node], end[node], axis)
            child[node] = m
            begin[m], end[m] = begin[node], middle
            begin[m + 1], end[m + 1] = middle, end[node]
            stack[height], stack[height + 1] = m + 1, m
            height += 2
            m += 2
    return m


@kernel
def count_looks(tree, sample, metric):
    """Return how many points a search for a nearest neighbour measures, on average."""
    stack = np.empty(STACK, np.int64)
    bound = np.empty(STACK, tree.points.dtype)
    looks = 0
    for i in sample:
        x = tree.points[i]
        zero = x[0] - x[0]
        best = zero + np.inf
        stack[0], bound[0] = 0, zero
        m = 1
        while m > 0:
            m -= 1
            node = stack[m]
            below = tree.child[node]
            if bound[m] >= best:
                continue
            if below < 0:
                looks += tree.end[node] - tree.begin[node]
                for place in range(tree.begin[node], tree.end[node]):
                    if place != i:
                        best = min(best, distance(x, tree.points[place], metric))
                continue
            m = push_children(tree, x, below, stack, bound, m, zero, metric)
    return looks / sample.shape[0]


@helper
def push_children(tree, x, below, stack, bound, m, zero, metric):
    """Put two children on the stack, the one with the nearer box on top; return its height."""
    left = distance_to_box(x, tree.low[below], tree.high[below], zero, metric)
    right = distance_to_box(x, tree.low[below + 1], tree.high[below + 1], zero, metric)
    if left <= right:
        stack[m], bound[m] = below + 1, right
        stack[m + 1], bound[m + 1] = below, left
    else:
        stack[m], bound[m] = below, left
        stack[m + 1], bound[m + 1] = below + 1, right
    return m + 2
