"""Compute the minimum spanning tree by cells of space, with threads and in little memory.

The cells are subtrees of the k-d tree of all points. The tree of each cell is found on its own.
Consider Kruskal's pass over it: an edge is the smallest one within the cell that leaves the cluster
of either of its ends. If one of the two clusters is farther from all other cells than that, the
edge is the smallest of all that leave the cluster, and belongs to the minimum spanning tree of all
points. These edges join points to fragments, which ``fragments`` joins to one tree.

A lower bound on the distance from a point to other cells is the distance to their boxes, which
never exceeds a distance to a point in them, despite rounding (``kdtree.boxes``).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from opforest._utils.chunks import run_parallel
from opforest._utils.progress import advance
from opforest.core.disjoint_set import find_group
from opforest.core.jit import borrow, kernel
from opforest.core.kdtree.boxes import HIGH, LOW, distance_to_box
from opforest.core.kdtree.static import take_subtree
from opforest.core.mst.boruvka import keep_distinct, root_places, span_distinct
from opforest.core.mst.fragments import Fragments, Pool, join_fragments
from opforest.core.records import Tree

#: The part of the work that is done when the trees of all cells are found, for progress.
WORK_IN_CELLS = 0.85


class LocalTree(NamedTuple):
    """The spanning tree of a cell; ends are places in the tree of all points."""

    certain: Pool  #: edges that belong to the tree of all points
    uncertain: Pool  #: the other ones
    n_fragments: int


def span_by_cells(rows, kdtree, metric, n_jobs, size) -> Tree | None:
    """Return the minimum spanning tree, or None if rounding has merged distinct points.

    Cells have at most ``size`` points, unless a leaf of the k-d tree has more.
    """
    kdtree, first = keep_distinct(rows, kdtree, n_jobs)
    edges = _span_cells(kdtree, metric, n_jobs, _list_cells(kdtree, size))
    return root_places(kdtree, edges, first)


def _list_cells(kdtree, size):
    """Return the highest nodes of at most this many points, in the order of their points."""
    nodes, cells, pending = kdtree.nodes, [], [0]
    while pending:
        node = pending.pop()
        begin, end, child = nodes[node].tolist()
        if end - begin <= size or child < 0:
            cells.append(node)
        else:
            pending += [child + 1, child]
    return np.array(cells)


def _span_cells(kdtree, metric, n_jobs, cells):
    """Return the ends, by place, and weights of all edges of the tree."""
    n, dtype = kdtree.points.shape[0], kdtree.points.dtype
    fragments = Fragments(np.empty(n, np.int32), np.empty(n, dtype))
    calls = [partial(_span_cell, kdtree, cells, k, fragments, metric) for k in range(len(cells))]
    trees = []
    for k in range(0, len(calls), 2 * n_jobs):  # in groups, between which progress is reported
        trees += run_parallel(*calls[k : k + 2 * n_jobs], n_jobs=n_jobs)
        advance(WORK_IN_CELLS * len(trees) / len(calls))
    offset = np.append(0, np.cumsum([tree.n_fragments for tree in trees]))
    for cell, shift in zip(cells, offset, strict=False):
        begin, end, _ = kdtree.nodes[cell].tolist()
        fragments.fragment[begin:end] += np.int32(shift)
    uncertain = Pool.concatenate([tree.uncertain for tree in trees])
    joined = join_fragments(kdtree, cells, fragments, uncertain, metric, n_jobs)
    return Pool.concatenate([*(tree.certain for tree in trees), *joined])


def _span_cell(kdtree, cells, k, fragments, metric):
    subtree = take_subtree(kdtree, cells[k])
    begin, end, _ = kdtree.nodes[cells[k]].tolist()
    fragment, border = fragments.fragment[begin:end], fragments.border[begin:end]
    others = order_cells(kdtree.box, cells, k, metric)
    measure_borders(kdtree.points[begin:end], kdtree.box, *others, border, metric)
    tree = span_cell(subtree, border, fragment, metric)
    for ends in (*tree.certain[:2], *tree.uncertain[:2]):
        ends += begin
    return tree


def span_cell(kdtree, border, fragment, metric) -> LocalTree:
    """Return the spanning tree of a cell by itself, and write the fragments of its points.

    Ends are places in its own k-d tree.
    """
    edges = span_distinct(kdtree, metric, 1, report=_ignore)
    u, v, weight = _sort_edges(*edges, kdtree.vertex)
    is_certain = np.empty(len(weight), np.bool_)
    n_fragments = _certify(u, v, weight, border, is_certain, fragment)
    certain, uncertain = (Pool(u[i], v[i], weight[i]) for i in (is_certain, ~is_certain))
    return LocalTree(certain, uncertain, n_fragments)


def _ignore(fraction):
    """Do nothing with the progress in one cell."""


def order_cells(box, cells, k, metric):
    """Return the other cells, the nearest first, and lower bounds on their distances."""
    others = np.delete(cells, k)
    separation = np.empty(len(others), box.dtype)
    _measure_separations(box, cells[k], others, separation, metric)
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
def measure_borders(points, box, others, separation, border, metric):
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
    """Mark the certain edges, write the fragments they join, and return their number."""
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
    return m
