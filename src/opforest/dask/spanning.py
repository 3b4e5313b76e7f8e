"""Minimum spanning tree of examples that are distributed in blocks.

An edge of the tree of all examples is in the minimum spanning forest of any set of edges that
contains it. So it is enough to span each block, and the edges between each pair of blocks, and then
to merge these forests, four at a time. The dashboard shows the names of the task functions.
"""

from collections import defaultdict
from typing import Any

import numpy as np
from dask.array import Array as DaskArray
from dask.delayed import Delayed, delayed
from sklearn.utils import check_array

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.kruskal import Edges, list_edges, merge_forests
from opforest.core.select.mst import probe, span_best, span_between
from opforest.estimators.validation import PRECISIONS


def embed_blocks(X: DaskArray, metric: Metric) -> list[Delayed]:
    """Return tasks that check the blocks of a matrix and embed their examples."""
    options = {"ensure_min_samples": 0, "ensure_min_features": 0}
    dtype = check_array(X._meta, dtype=PRECISIONS, **options).dtype
    empty = np.empty((0, X.shape[1]), dtype)
    embed, blocks = delayed(opforest_embed, pure=False), X.to_delayed().ravel()
    names = _name_blocks(X.chunks[0])
    return [embed(block, name, empty, metric) for block, name in zip(blocks, names, strict=True)]


def _name_blocks(sizes: tuple[float, ...]) -> list[str]:
    """Return names of blocks for error messages; sizes may be unknown (NaN)."""
    if np.isnan(sizes).any():
        return [f"block {i} of X" for i in range(len(sizes))]
    first = np.cumsum((0, *sizes[:-1]))
    return [f"block {i} of X, which begins with row {row}" for i, row in enumerate(first)]


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


def opforest_embed(block: Any, name: str, empty: Array, metric: Metric) -> Array:
    """Check a block of examples and return its points; ``empty`` if it has no rows."""
    if len(block) == 0:
        return empty
    try:
        points = metric.embed(check_array(block, dtype=empty.dtype, input_name="X"))
        metric.check_function(points)
        return points
    except (ValueError, TypeError) as error:  # TypeError for pandas' NA
        raise ValueError(f"{error}\nThis is {name}; rows are counted from there.") from None


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
