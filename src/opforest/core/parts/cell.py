"""The forest of one cell: the edges of the minimum spanning tree that are certain within it.

``core.mst.cells`` explains which edges are certain. Each cell needs only the bounding boxes of the
others. Distinct points are numbered by place in the k-d tree, so that neighbors in space are near
each other in memory; duplicates follow, each joined to the first of them by an edge of weight 0.
"""

import heapq
from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import kernel
from opforest.core.kdtree.boxes import HIGH, LOW
from opforest.core.kdtree.static import StaticKDTree, build_kdtree
from opforest.core.mst.boruvka import find_first
from opforest.core.mst.cells import measure_borders, order_cells, span_cell
from opforest.core.mst.fragments import Pool
from opforest.core.parts.planes import find_cells

#: The number of boxes of a cell that all cells know.
N_COARSE = 32


class UnderflowError(ValueError):
    """Distinct examples are at distance 0, because the difference is lost to rounding."""


class CellExamples(NamedTuple):
    """The examples of a cell, in the order of their ids."""

    points: np.ndarray
    id: np.ndarray
    label: np.ndarray


class CellForest(NamedTuple):
    """The forest of a cell; the vertices of its k-d tree are ids."""

    tree: StaticKDTree
    border: np.ndarray  #: by place: a lower bound on the distances to other cells
    fragment: np.ndarray  #: by place: the tree of the forest, counted within the cell
    coarse: np.ndarray  #: nodes that contain all points, the boxes of which all cells know
    id: np.ndarray  #: of each example, in ascending order
    number: np.ndarray  #: of each example: its place, or that of a duplicate behind them
    label: np.ndarray  #: by number
    certain: Pool  #: edges by number, in ascending order
    uncertain: Pool  #: edges by place that may not be in the tree of all points


def join_examples(pieces) -> CellExamples:
    """Return the examples of several pieces of a cell."""
    joined = CellExamples(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))
    if (np.diff(joined.id) < 0).any():
        order = np.argsort(joined.id)
        joined = CellExamples(*(array[order] for array in joined))
    return joined


def bound_points(points):
    """Return the corners of the bounding box of points."""
    return np.stack((points.min(axis=0), points.max(axis=0)))


def grow_cell(examples, boxes, me, metric) -> CellForest:
    """Return the forest of cell ``me``; ``boxes`` are the bounding boxes of all cells."""
    points, ids, label = examples
    first = find_first(points)
    is_first = first == np.arange(len(points), dtype=np.int32)
    tree = build_kdtree(points, np.flatnonzero(is_first))
    row, duplicates = tree.vertex, np.flatnonzero(~is_first)
    tree = tree._replace(vertex=ids[row])
    border, fragment = np.empty(len(row), points.dtype), np.empty(len(row), np.int32)
    others = order_cells(boxes, np.arange(len(boxes)), me, metric)
    measure_borders(tree.points, boxes, *others, border, metric)
    spanned = span_cell(tree, border, fragment, metric)
    if any(len(pool.weight) and pool.weight.min() == 0 for pool in spanned[:2]):
        raise UnderflowError
    number = np.empty(len(points), np.int32)
    number[row] = np.arange(len(row), dtype=np.int32)
    number[duplicates] = np.arange(len(row), len(points), dtype=np.int32)
    stars = Pool(
        number[first[duplicates]], number[duplicates], np.zeros(len(duplicates), points.dtype)
    )
    return CellForest(tree, border, fragment, _choose_coarse(tree), ids, number,
                      label[np.append(row, duplicates)], Pool.concatenate((stars, spanned.certain)),
                      spanned.uncertain)  # fmt: skip


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


def find_places(forest, ids):
    """Return which of these ids, in ascending order, are in a cell, and their numbers."""
    row = np.minimum(np.searchsorted(forest.id, ids), len(forest.id) - 1)
    here = np.flatnonzero(forest.id[row] == ids)
    return here, forest.number[row[here]]


def list_cell_examples(forest) -> CellExamples:
    """Return the examples of a cell."""
    tree, n_duplicates = forest.tree, len(forest.id) - len(forest.tree.points)
    place = np.append(np.arange(len(tree.points)), forest.certain.u[:n_duplicates])
    return CellExamples(tree.points[place[forest.number]], forest.id, forest.label[forest.number])


def list_cell_links(forest) -> Pool:
    """Return the certain edges of a cell, between ids."""
    ids = np.empty(len(forest.id), np.int64)
    ids[forest.number] = forest.id
    return Pool(ids[forest.certain.u], ids[forest.certain.v], forest.certain.weight)


def sort_by_cell(examples, planes):
    """Return examples sorted by cell, in the same order within each, and where cells begin."""
    cell = find_cells(examples.points, planes)
    order = np.argsort(cell, kind="stable")
    begin = np.searchsorted(cell[order], np.arange(len(planes.axis) + 2))
    return CellExamples(*(array[order] for array in examples)), begin


@kernel
def has_cycle(n, u, v):
    """Return whether edges between n vertices form a cycle."""
    group = np.arange(n)
    for e in range(u.shape[0]):
        a, b = find_group(group, np.int64(u[e])), find_group(group, np.int64(v[e]))
        if a == b:
            return True
        group[max(a, b)] = min(a, b)
    return False
