"""A k-d tree with bounding boxes over a fixed set of points."""

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest._utils.chunks import run_parallel
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import HIGH, LOW, distance_to_box
from opforest.core.metrics.distances import distance

#: The largest number of points in a leaf.
LEAF = 12

#: The size of a stack of nodes; no tree of halves is as deep.
STACK = 128

#: Subtrees that each thread builds: enough to share the work evenly.
SUBTREES_PER_JOB = 4

#: The record of a node: the range of its points, and the first of its two children, which are
#: adjacent; −1 for a leaf.
NODE = np.dtype([("begin", np.int64), ("end", np.int64), ("child", np.int64)])


class StaticKDTree(NamedTuple):
    """Points in the order of the tree, and nodes: children follow their parents."""

    nodes: np.ndarray  #: records of type NODE
    box: np.ndarray  #: by node: its corners
    vertex: np.ndarray  #: the vertex of each point
    points: np.ndarray


@helper
def max_nodes(n):
    """Return the largest number of nodes of a tree of n points."""
    return 4 * (n // LEAF + 1)  # leaves of at least LEAF / 2 points


def build_kdtree(rows, chosen, n_jobs=1) -> StaticKDTree:
    """Return the tree of the chosen rows, which is the same for any number of threads."""
    vertex = np.array(chosen, np.int64)
    points = np.ascontiguousarray(rows[vertex])
    size = count_nodes(len(vertex))
    nodes, box = np.empty(size, NODE), np.empty((size, 2, rows.shape[1]), rows.dtype)
    tree = StaticKDTree(nodes, box, vertex, points)
    nodes[0] = 0, len(vertex), -1
    if n_jobs == 1 or len(vertex) < tuning.values.few_for_threads:
        split_below(points, vertex, nodes, box, 0, 1)
    else:
        _split_by_threads(tree, n_jobs)
    return tree


@lru_cache(maxsize=1024)
def count_nodes(n):
    """Return the number of nodes of a tree of n points, which depends on nothing else."""
    return 1 if n <= LEAF else 1 + count_nodes(n // 2) + count_nodes(n - n // 2)


def _split_by_threads(tree, n_jobs):
    """Split the top level by level, and the subtrees below one by one."""
    nodes, box, vertex, points = tree
    level = [(0, 1)]  # nodes, and the numbers of the first nodes below them
    while 0 < len(level) < SUBTREES_PER_JOB * n_jobs:
        calls = [partial(_split_one, points, vertex, nodes, box, *place) for place in level]
        run_parallel(*calls, n_jobs=n_jobs)
        below = []
        for node, child in level:
            if nodes["child"][node] >= 0:
                size = nodes["end"][child] - nodes["begin"][child]
                below += [(child, child + 2), (child + 1, child + 1 + count_nodes(size))]
        level = below
    calls = [partial(split_below, points, vertex, nodes, box, *place) for place in level]
    run_parallel(*calls, n_jobs=n_jobs)


def take_subtree(tree, node) -> StaticKDTree:
    """Return the subtree of a node; its points and vertices are views, its places begin at 0."""
    begin, end, child = tree.nodes[node].tolist()
    below = slice(child, child + count_nodes(end - begin) - 1) if child >= 0 else slice(0)
    nodes = np.append(tree.nodes[node : node + 1], tree.nodes[below])
    nodes["begin"] -= begin
    nodes["end"] -= begin
    nodes["child"][nodes["child"] >= 0] -= child - 1
    box = np.concatenate((tree.box[node : node + 1], tree.box[below]))
    return StaticKDTree(nodes, box, tree.vertex[begin:end], tree.points[begin:end])


@helper
def _bound(points, begin, end, box, node):
    """Fit a box around a range of points."""
    for k in range(box.shape[2]):
        low = high = points[begin, k]
        for i in range(begin + 1, end):
            low = min(low, points[i, k])
            high = max(high, points[i, k])
        box[node, LOW, k], box[node, HIGH, k] = low, high


@helper
def widest_axis(box, node):
    """Return the axis along which a box is widest."""
    low, high = box[node, LOW], box[node, HIGH]
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
    """Return the median of three medians of three points, or of one if there are few."""
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
    """Reorder the points so that the lower half by this axis comes first; return the middle."""
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
def split_below(points, vertex, nodes, box, node, m):
    """Split a node and all below it, which are numbered from m; return the next number.

    Points and vertices are sorted into the order of the leaves.
    """
    stack = np.empty(STACK, np.int64)
    stack[0] = node
    n_stacked = 1
    while n_stacked > 0:
        n_stacked -= 1
        node = stack[n_stacked]
        _split_node(points, vertex, nodes, box, node, m)
        if nodes[node].child >= 0:
            stack[n_stacked], stack[n_stacked + 1] = m + 1, m
            n_stacked += 2
            m += 2
    return m


@kernel
def _split_one(points, vertex, nodes, box, node, m):
    """Split a node, but not those below it."""
    _split_node(points, vertex, nodes, box, node, m)


@helper
def _split_node(points, vertex, nodes, box, node, m):
    """Fit the box of a node; if it is large, halve it into the nodes m and m + 1."""
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


@kernel
def count_visited(kdtree, sample, metric):
    """Return how many points a search for a nearest neighbor visits, on average."""
    nodes, box, _, points = borrow(kdtree)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, points.dtype)
    n_visited = 0
    for i in sample:
        x = points[i]
        best = np.inf
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = nodes[stack[m]]
            if bound[m] >= best:
                continue
            if node.child >= 0:
                m = push_children(node.child, box, x, stack, bound, m, metric)
                continue
            n_visited += node.end - node.begin
            for j in range(node.begin, node.end):
                if j != i:
                    best = min(best, distance(x, points[j], metric))
    return n_visited / sample.shape[0]


@helper
def push_pair(below, left, right, is_right_first, stack, bound, m):
    """Push two children with these lower bounds, one of them on top; return the new size."""
    top = below + is_right_first
    stack[m], bound[m] = 2 * below + 1 - top, max(left, right)
    stack[m + 1], bound[m + 1] = top, min(left, right)
    return m + 2


@helper
def push_children(below, box, x, stack, bound, m, metric):
    """Push two children, the one with the nearer box on top; return the new size."""
    left = distance_to_box(x, box, below, metric)
    right = distance_to_box(x, box, below + 1, metric)
    return push_pair(below, left, right, right < left, stack, bound, m)
