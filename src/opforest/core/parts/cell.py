"""The forest of one cell: the edges of the minimum spanning tree that are certain within it.

Distinct points are numbered by place in the k-d tree, so that neighbors in space are near each
other in memory; duplicates follow, each joined to the first of them by an edge of weight 0.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import kernel
from opforest.core.kdtree.static import StaticKDTree, build_kdtree
from opforest.core.mst.boruvka import find_first
from opforest.core.parts.fragments import grow_fragments
from opforest.core.parts.links import Pool
from opforest.core.parts.planes import find_cells


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
    grown = grow_fragments(tree, boxes, me, metric)
    if any(
        len(pool.weight) and pool.weight.min() == 0 for pool in (grown.certain, grown.uncertain)
    ):
        raise UnderflowError
    number = np.empty(len(points), np.int32)
    number[row] = np.arange(len(row), dtype=np.int32)
    number[duplicates] = np.arange(len(row), len(points), dtype=np.int32)
    stars = Pool(
        number[first[duplicates]], number[duplicates], np.zeros(len(duplicates), points.dtype)
    )
    return CellForest(
        *grown[:4],
        id=ids,
        number=number,
        label=label[np.append(row, duplicates)],
        certain=Pool.concatenate((stars, grown.certain)),
        uncertain=grown.uncertain,
    )


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
