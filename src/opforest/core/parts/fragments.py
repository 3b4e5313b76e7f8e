"""Fragments of the minimum spanning tree that are certain within one cell of space.

The tree of each cell is found on its own. Consider Kruskal's pass over it: an edge is the smallest
one within the cell that leaves the cluster of either of its ends. If one of the two clusters is
farther from all other cells than that, the edge is the smallest of all that leave the cluster, and
belongs to the minimum spanning tree of all points. These edges join points to fragments.

A lower bound on the distance from a point to other cells is the distance to their boxes, which
never exceeds a distance to a point in them, despite rounding (``kdtree.boxes``).
"""

import heapq
from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import borrow, kernel
from opforest.core.kdtree.boxes import HIGH, LOW, distance_to_box
from opforest.core.kdtree.static import StaticKDTree
from opforest.core.mst.boruvka import span_distinct
from opforest.core.parts.links import Pool

#: The number of boxes of a cell that all cells know.
N_COARSE = 32


class Fragments(NamedTuple):
    """The fragments of the tree in one cell."""

    tree: StaticKDTree  #: the points of the cell, none of them twice
    border: np.ndarray  #: by place: a lower bound on the distances to other cells
    fragment: np.ndarray  #: by place: the number of its fragment
    coarse: np.ndarray  #: nodes that contain all points, the boxes of which all cells know
    certain: Pool  #: edges of the tree of all points, by place, in ascending order
    uncertain: Pool  #: the other edges of the tree of the cell


def grow_fragments(tree, boxes, me, metric) -> Fragments:
    """Return the fragments of cell ``me``; ``boxes`` are the bounding boxes of all cells."""
    n, dtype = tree.points.shape[0], tree.points.dtype
    border, fragment = np.empty(n, dtype), np.empty(n, np.int32)
    _measure_borders(tree.points, boxes, *order_cells(boxes, me, metric), border, metric)
    u, v, weight = _sort_edges(*span_distinct(tree, metric, 1, report=_ignore), tree.vertex)
    is_certain = np.empty(len(weight), np.bool_)
    _certify(u, v, weight, border, is_certain, fragment)
    certain, uncertain = (Pool(u[i], v[i], weight[i]) for i in (is_certain, ~is_certain))
    return Fragments(tree, border, fragment, _choose_coarse(tree), certain, uncertain)


def _ignore(fraction):
    """Do nothing with the progress in one cell."""


def _choose_coarse(tree):
    """Return nodes that contain all points, splitting those with the largest boxes."""
    size = (tree.box[:, HIGH] - tree.box[:, LOW]).max(axis=1)
    heap, leaves = [(-float(size[0]), 0)], []
    while heap and len(heap) + len(leaves) < N_COARSE:
        _, node = heapq.heappop(heap)
        child = int(tree.nodes["child"][node])
        if child < 0:
            leaves.append(node)
        else:
            for below in (child, child + 1):
                heapq.heappush(heap, (-float(size[below]), below))
    return np.sort(np.array(leaves + [node for _, node in heap]))


def order_cells(boxes, me, metric):
    """Return the other cells, the nearest first, and lower bounds on their distances."""
    others = np.delete(np.arange(len(boxes)), me)
    separation = np.empty(len(others), boxes.dtype)
    _measure_separations(boxes, me, others, separation, metric)
    order = np.argsort(separation, kind="stable")
    return others[order], separation[order]


@kernel
def _measure_separations(box, cell, others, separation, metric):
    corner = np.empty(box.shape[2], box.dtype)
    for i in range(others.shape[0]):
        for axis in range(box.shape[2]):
            nearest = min(box[others[i], LOW, axis], box[cell, HIGH, axis])
            corner[axis] = max(box[cell, LOW, axis], nearest)
        separation[i] = distance_to_box(corner, box, others[i], metric)


@kernel
def _measure_borders(points, box, others, separation, border, metric):
    """Write lower bounds on the distances from points to all points of other cells."""
    for i in range(points.shape[0]):
        best = np.inf
        for j in range(others.shape[0]):
            if separation[j] >= best:
                break
            best = min(best, distance_to_box(points[i], box, others[j], metric))
        border[i] = best


def _sort_edges(u, v, weight, vertex):
    """Sort edges by (weight, smaller vertex, larger vertex)."""
    order = np.argsort(weight)
    ordered = weight[order]
    if (ordered[1:] == ordered[:-1]).any():  # ties are slower to sort
        a, b = vertex[u], vertex[v]
        order = np.lexsort((np.maximum(a, b), np.minimum(a, b), weight))
    return u[order], v[order], weight[order]


@kernel
def _certify(u, v, weight, border, is_certain, fragment):
    """Mark the certain edges, and write the fragments they join."""
    u, v, weight, border, is_certain, fragment = borrow(
        (u, v, weight, border, is_certain, fragment)
    )
    n = border.shape[0]
    group, part = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    least = border.copy()
    for e in range(u.shape[0]):
        a, b = find_group(group, u[e]), find_group(group, v[e])
        is_certain[e] = max(least[a], least[b]) > weight[e]
        if is_certain[e]:
            c, d = find_group(part, u[e]), find_group(part, v[e])
            part[max(c, d)] = min(c, d)
        group[max(a, b)] = min(a, b)
        least[min(a, b)] = min(least[a], least[b])
    m = 0
    for i in range(n):
        c = find_group(part, np.int32(i))
        if c == i:
            fragment[i] = m
            m += 1
        else:
            fragment[i] = fragment[c]
