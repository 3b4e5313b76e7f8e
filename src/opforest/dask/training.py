"""Fit a classifier to blocks: by cells where k-d trees are worthwhile, otherwise by pairs."""

from typing import Any

import dask.array as da
import distributed
import numpy as np

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.boruvka import root_tree
from opforest.core.parts.cell import UnderflowError
from opforest.core.records import Tree
from opforest.core.select.mst import is_kdtree_worthwhile
from opforest.dask.blocks import Blocks, embed_blocks, load_blocks
from opforest.dask.cells import draw_sample, grow_cells, may_use_cells
from opforest.dask.cluster import compute, persist, release
from opforest.dask.executor import DaskExecutor
from opforest.dask.spanning import span_blocks
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.parts import PartsClassifier
from opforest.forest.forest import Forest
from opforest.forest.parts import complete_parts, gather_parts, join_parts


def fit_forest(
    local: OPFClassifier, X: da.Array, y: Any, metric: Metric, client: distributed.Client | None
) -> None:
    """Fit a classifier in the memory of this machine."""
    executor = DaskExecutor(client)
    blocks = load_blocks(embed_blocks(X, metric), y, client)
    n, classes, found = sum(blocks.sizes), blocks.classes, None
    if may_use_cells(n, local.algorithm, metric):
        sample = draw_sample(executor, blocks)
        if is_kdtree_worthwhile(sample, metric, local.algorithm):
            try:
                found = _span_by_cells(executor, blocks, sample, metric)
            except UnderflowError:
                blocks = load_blocks(embed_blocks(X, metric), y, client)  # they were released
    rows, label, tree = found or _span_by_pairs(blocks, metric, local.algorithm, client)
    forest = Forest.train(rows, label, metric, local.algorithm, local.n_jobs, tree)
    local.set_forest(forest, classes)


def _span_by_cells(
    executor: DaskExecutor, blocks: Blocks, sample: Array, metric: Metric
) -> tuple[Array, Array, Tree]:
    """Return all points and labels, and their minimum spanning tree; the blocks are released."""
    cells = grow_cells(executor, blocks, sample, metric)
    joined = join_parts(executor, cells.forests, cells.boxes, metric)
    return gather_parts(executor, cells.forests, joined, sum(blocks.sizes))


def _span_by_pairs(
    blocks: Blocks, metric: Metric, algorithm: str, client: distributed.Client | None
) -> tuple[Array, Array, Tree]:
    task = span_blocks(blocks.points, blocks.begin, metric, algorithm, client)
    merged = persist([task], client)
    (edges,) = compute(merged, client)
    n = sum(blocks.sizes)
    tree = root_tree(n, *(np.require(array, requirements="W") for array in edges))
    label = np.concatenate(compute(blocks.labels, client)).astype(np.int64)
    rows = np.empty((0, 0))
    for begin, block in zip(blocks.begin, blocks.points, strict=True):  # one at a time
        (part,) = compute([block], client)
        if begin == 0:
            rows = np.empty((n, part.shape[1]), part.dtype)
        rows[begin : begin + len(part)] = part
    release([*distributed.futures_of(task), *merged, *blocks.points, *blocks.labels])
    return rows, label, tree


def fit_parts(
    parts: PartsClassifier, X: da.Array, y: Any, metric: Metric, client: distributed.Client | None
) -> None:
    """Fit a classifier whose forest stays on the workers."""
    executor = DaskExecutor(client)
    blocks = load_blocks(embed_blocks(X, metric), y, client)
    n, classes = sum(blocks.sizes), blocks.classes
    try:
        cells = grow_cells(executor, blocks, draw_sample(executor, blocks), metric)
        del blocks
        found = complete_parts(executor, cells.forests, cells.boxes, metric)
    except UnderflowError as error:
        raise ValueError(
            "distinct examples must be at distances above 0, but some differences are lost to "
            "rounding, because their features are too small. Multiply all features by a number, "
            "or use keep='forest'."
        ) from error
    parts.set_parts(executor, found, classes, n, X.shape[1])
