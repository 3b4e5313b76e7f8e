"""Deal blocks of examples to cells of space, and find the forests of the cells.

Blocks are released when they are dealt, and the examples of a cell when its forest is found; the
scheduler remembers how they were made. The dashboard shows the names of the task functions.
"""

import os
from math import ceil, log2
from typing import Any, NamedTuple

import distributed
import numpy as np

from opforest._utils import tuning
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import (
    CellExamples,
    bound_points,
    grow_cell,
    join_examples,
    sort_by_cell,
)
from opforest.core.parts.planes import Planes, divide_space
from opforest.dask.blocks import Blocks
from opforest.dask.cluster import persist
from opforest.dask.executor import DaskExecutor

#: The most examples, and the most numbers, of the sample that decides where cells are.
SAMPLE_SIZE, SAMPLE_NUMBERS = 100_000, 2_000_000


class Cells(NamedTuple):
    """The forests of cells, on the workers, and their bounding boxes."""

    forests: list[Any]
    boxes: Array


class Dealt(NamedTuple):
    """A block of examples, sorted by cell."""

    examples: CellExamples
    begin: Array  #: by cell


def draw_sample(executor: DaskExecutor, blocks: Blocks) -> Array:
    """Return some examples of all blocks."""
    n = sum(blocks.sizes)
    (d,) = executor.fetch(count_coordinates, blocks.points[:1])
    fraction = min(SAMPLE_SIZE, max(1, SAMPLE_NUMBERS // max(1, d))) / n
    counts = [min(size, 1 + int(fraction * size)) for size in blocks.sizes]
    return np.concatenate(executor.fetch(take_sample, blocks.points, counts))


def count_coordinates(points: Array) -> int:
    """Return the number of coordinates of points."""
    return int(points.shape[1])


def take_sample(points: Array, size: int) -> Array:
    """Return some rows, the same each time."""
    sample: Array = points[np.random.default_rng(0).choice(len(points), size, replace=False)]
    return sample


def may_use_cells(n: int, algorithm: str, metric: Metric) -> bool:
    """Return whether to span n examples by cells if a k-d tree is worthwhile for a sample."""
    is_large = n >= tuning.values.many_for_parts or algorithm == "kd_tree"
    return metric.is_indexable and algorithm != "brute" and is_large


def count_cells(n: int, client: distributed.Client | None) -> int:
    """Return a number of cells, a power of 2, for n examples."""
    n_threads = sum(client.nthreads().values()) if client else os.cpu_count() or 1
    most = tuning.values.examples_per_part
    size = min(most, max(ceil(n / (2 * n_threads or 1)), int(most * tuning.values.smallest_part)))
    exponent = max(0, ceil(log2(n / max(1, size))))
    return 1 << exponent


def grow_cells(executor: DaskExecutor, blocks: Blocks, sample: Array, metric: Metric) -> Cells:
    """Return the forests of cells; the blocks are released."""
    client, kernel = executor.client, metric.kernel
    planes = divide_space(sample, count_cells(sum(blocks.sizes), client))
    everywhere = [executor.share(planes)] * len(blocks.sizes)
    tasks = executor.plan(deal, blocks.points, blocks.labels, blocks.begin, everywhere)
    dealt = persist(tasks, client, used=[*blocks.points, *blocks.labels])
    counts = np.array(executor.fetch(count_dealt, dealt))
    pieces = []
    for j in np.flatnonzero(counts.any(axis=0)).tolist():
        sources = [dealt[i] for i in np.flatnonzero(counts[:, j])]
        pieces.append(executor.plan(take_piece, sources, [j] * len(sources)))
    n = len(pieces)
    cells = executor.plan(join_examples, pieces)
    (boxes,) = executor.plan(np.stack, [executor.plan(bound_cell, cells)])
    forests = executor.plan(grow_cell, cells, [boxes] * n, range(n), [kernel] * n)
    *forests, boxes = persist([*forests, boxes], client, used=dealt)
    (corners,) = executor.fetch(np.asarray, [boxes])
    return Cells(forests, corners)


def deal(points: Array, labels: Array, first: int, planes: Planes) -> Dealt:
    """Return the examples of a block sorted by cell; ``first`` is the id of the first."""
    ids = np.arange(first, first + len(points))
    return Dealt(*sort_by_cell(CellExamples(points, ids, labels), planes))


def count_dealt(dealt: Dealt) -> Array:
    """Return how many examples of a block are in each cell."""
    return np.diff(dealt.begin)


def take_piece(dealt: Dealt, cell: int) -> CellExamples:
    """Return the examples of a block that are in a cell."""
    chosen = slice(*dealt.begin[cell : cell + 2])
    return CellExamples(*(array[chosen] for array in dealt.examples))


def bound_cell(examples: CellExamples) -> Array:
    """Return the corners of the bounding box of a cell."""
    corners: Array = bound_points(examples.points)
    return corners
