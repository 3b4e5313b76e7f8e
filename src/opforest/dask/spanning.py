"""Minimum spanning tree of examples that are distributed in blocks.

An edge of the tree of all examples is in the minimum spanning forest of any set of edges that
contains it. So it is enough to span each block, and the edges between each pair of blocks, and then
to merge these forests, four at a time. The dashboard shows the names of the task functions.
"""

from collections import defaultdict

import numpy as np
from dask.delayed import Delayed, delayed

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.kruskal import Edges, list_edges, merge_forests
from opforest.core.select.mst import probe, span_best, span_between


def span_blocks(points: list[Delayed], sizes: list[int], metric: Metric, algorithm: str) -> Delayed:
    """Return a task whose result is the edges of the minimum spanning tree of all blocks."""
    span, merge = delayed(opforest_span, pure=False), delayed(opforest_merge, pure=False)
    begin = np.cumsum([0, *sizes]).tolist()
    nonempty = [i for i, size in enumerate(sizes) if size]
    forests = {}
    for row, i in enumerate(nonempty):
        forests[row, row] = span([points[i]], [begin[i]], metric, algorithm)
        for column, j in enumerate(nonempty[row + 1 :], row + 1):
            two, first = [points[i], points[j]], [begin[i], begin[j]]
            forests[row, column] = span(two, first, metric, algorithm)
    while len(forests) > 1:
        # Four neighboring forests of this triangle share vertices, so their union has few edges.
        squares = defaultdict(list)
        for (i, j), forest in forests.items():
            squares[i // 2, j // 2].append(forest)
        forests = {place: merge(square) for place, square in squares.items()}
    tree: Delayed
    (tree,) = forests.values()
    return tree


def opforest_span(blocks: list[Array], begin: list[int], metric: Metric, algorithm: str) -> Edges:
    """Return the minimum spanning forest of one block, or of the edges between two.

    ``begin`` has the id of the first example of each block.
    """
    rows = np.concatenate(blocks)
    name = np.concatenate(
        [first + np.arange(len(b)) for first, b in zip(begin, blocks, strict=True)]
    )
    probed = probe(rows, metric, algorithm)
    if len(blocks) == 1:
        return list_edges(span_best(rows, metric, probed, 1), name)
    return list_edges(span_between(rows, len(blocks[0]), metric, probed), name)


def opforest_merge(forests: list[Edges]) -> Edges:
    """Return the minimum spanning forest of the union of several."""
    return merge_forests(forests)
