"""Minimum spanning tree of examples that are distributed in blocks.

An edge of the tree of all examples is in the minimum spanning forest of any set of edges that
contains it. So it is enough to span each block, and the edges between each pair of blocks, and then
to merge these forests, four at a time. The dashboard shows the names of the task functions.
"""

from collections import defaultdict
from typing import Any, NamedTuple

import distributed
import numpy as np
from dask.delayed import delayed

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.cells import order_cells
from opforest.core.mst.kruskal import Edges, list_edges, merge_forests
from opforest.core.mst.prim import span
from opforest.core.parts.cell import bound_points
from opforest.core.select.mst import probe, span_best, span_between
from opforest.dask.cluster import compute, submit


class Outline(NamedTuple):
    """What decides whether edges between two blocks can be in the tree of all examples."""

    box: Array  #: the corners of the bounding box
    first: Array  #: the first point
    longest: float  #: the longest edge of the tree of the block


def span_blocks(
    points: list[Any],
    begin: list[int],
    metric: Metric,
    algorithm: str,
    client: distributed.Client | None,
) -> Any:
    """Return a task whose result is the edges of the minimum spanning tree of all blocks.

    It is a future if there is one block. No block is empty; ``begin`` has the ids of their first
    examples.
    """
    make, merge = delayed(opforest_span, pure=False), delayed(opforest_merge, pure=False)
    tasks = [make([block], [i], metric, algorithm) for block, i in zip(points, begin, strict=True)]
    trees = submit(tasks, client)
    pairs = np.argwhere(np.triu(np.ones((len(points),) * 2, np.bool_), 1))
    if metric.is_indexable and len(points) > 2:
        outline = delayed(opforest_outline, pure=False)
        outlines = compute([outline(*two) for two in zip(points, trees, strict=True)], client)
        pairs = find_near_pairs(outlines, metric)
    forests: dict[tuple[int, int], Any] = {(i, i): tree for i, tree in enumerate(trees)}
    for i, j in pairs.tolist():
        two, first = [points[i], points[j]], [begin[i], begin[j]]
        forests[i, j] = make(two, first, metric, algorithm)
    while len(forests) > 1:
        # Four neighboring forests of this triangle share vertices, so their union has few edges.
        squares = defaultdict(list)
        for (i, j), forest in forests.items():
            squares[i // 2, j // 2].append(forest)
        forests = {place: merge(square) for place, square in squares.items()}
    (tree,) = forests.values()
    return tree


def find_near_pairs(outlines: list[Outline], metric: Metric) -> Array:
    """Return the pairs of blocks between which the tree of all examples may have edges.

    Consider the trees of all blocks and the tree of their first points. They contain a path between
    any a in block A and b in block B: within A to its first point, between first points, and within
    B. No edge of it is longer than the longest one of A's tree, of B's tree, and of the path
    between their first points. If A's and B's boxes are farther from each other than that, the edge
    from a to b is the largest one of a cycle, and thus in no minimum spanning tree.
    """
    n, kernel = len(outlines), metric.kernel
    boxes = np.stack([outline.box for outline in outlines])
    longest = np.array([outline.longest for outline in outlines])
    between = _find_bottlenecks(np.stack([outline.first for outline in outlines]), metric)
    limit = np.maximum(between, np.maximum.outer(longest, longest))
    is_near = np.zeros((n, n), np.bool_)
    for i in range(n):
        others, separation = order_cells(boxes, np.arange(n), i, kernel)
        is_near[i, others] = separation <= limit[i, others]
    return np.argwhere(np.triu(is_near, 1))


def _find_bottlenecks(points: Array, metric: Metric) -> Array:
    """Return, for each pair of points, the longest edge between them in their spanning tree."""
    n = len(points)
    edges = list_edges(span(points, metric.kernel), np.arange(n))
    bottleneck, cluster = np.zeros((n, n)), np.arange(n)
    for u, v, weight in zip(*edges, strict=True):
        a, b = cluster == cluster[u], cluster == cluster[v]
        bottleneck[np.ix_(a, b)] = bottleneck[np.ix_(b, a)] = weight
        cluster[b] = cluster[u]
    return bottleneck


def opforest_outline(points: Array, tree: Edges) -> Outline:
    """Return the outline of a block."""
    return Outline(bound_points(points), points[0], float(tree.weight.max(initial=0)))


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
    edges = list_edges(span_between(rows, len(blocks[0]), metric, probed), name)
    is_between = (edges.u < begin[1]) & (edges.v >= begin[1])  # the trees of blocks have the others
    return Edges(*(array[is_between] for array in edges))


def opforest_merge(forests: list[Edges]) -> Edges:
    """Return the minimum spanning forest of the union of several."""
    return merge_forests(forests)
