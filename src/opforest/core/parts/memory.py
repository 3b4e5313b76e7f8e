"""Compute the minimum spanning tree by cells in memory, with threads and in little memory.

The cells are subtrees of the k-d tree of all points.
"""

from functools import partial

import numpy as np

from opforest._utils.chunks import run_parallel
from opforest._utils.heap import trim_heap
from opforest._utils.progress import advance
from opforest.core.kdtree.static import take_subtree
from opforest.core.mst.boruvka import keep_distinct, root_places
from opforest.core.parts.fragments import grow_fragments
from opforest.core.parts.join import join_cells
from opforest.core.parts.links import Pool
from opforest.core.records import Tree

#: The part of the work that is done when the trees of all cells are found, for progress.
WORK_IN_CELLS = 0.85

#: Cells per thread between two reports of progress, for which all threads wait.
CELLS_PER_JOB = 4


class ThreadExecutor:
    """Calls functions of cells in threads of this process."""

    def __init__(self, n_jobs):
        self.n_jobs = n_jobs

    def fetch(self, function, *arguments):
        """Return the results of a function for each set of arguments, as ``map`` does."""
        calls = [partial(function, *values) for values in zip(*arguments, strict=True)]
        return run_parallel(*calls, n_jobs=self.n_jobs)

    hold = fetch

    def share(self, value):
        """Return the value, which all threads can read."""
        return value


def span_by_cells(rows, kdtree, metric, n_jobs, size) -> Tree | None:
    """Return the minimum spanning tree, or None if rounding has merged distinct points.

    Cells have at most ``size`` points, unless a leaf of the k-d tree has more.
    """
    kdtree, first = keep_distinct(rows, kdtree, n_jobs)
    edges = _span_cells(kdtree, metric, n_jobs, size)
    trim_heap()  # the arrays of cells are too small for the system to take back by itself
    return root_places(kdtree, edges, first)


def _span_cells(kdtree, metric, n_jobs, size) -> Pool:
    """Return the edges of the tree, between places."""
    nodes = _list_cells(kdtree, size)
    boxes, executor, cells = kdtree.box[nodes], ThreadExecutor(n_jobs), []
    size = CELLS_PER_JOB * n_jobs
    for k in range(0, len(nodes), size):  # in groups, between which progress is reported
        group = range(k, min(k + size, len(nodes)))
        trees = [take_subtree(kdtree, nodes[i]) for i in group]
        cells += executor.fetch(
            grow_fragments, trees, [boxes] * len(group), group, [metric] * len(group)
        )
        advance(WORK_IN_CELLS * len(cells) / len(nodes))
    joined = join_cells(executor, cells, boxes, metric)
    begin = kdtree.nodes["begin"][nodes].astype(np.int32)
    certain = [Pool(cell.certain.u + shift, cell.certain.v + shift, cell.certain.weight)
               for cell, shift in zip(cells, begin, strict=True)]  # fmt: skip
    del cells
    place = np.empty(int(kdtree.vertex.max(initial=-1)) + 1, np.int32)
    place[kdtree.vertex] = np.arange(len(kdtree.vertex), dtype=np.int32)
    return Pool.concatenate((*certain, Pool(place[joined.u], place[joined.v], joined.weight)))


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
