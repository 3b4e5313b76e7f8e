"""Deal examples to cells: a file for each cell, written piece by piece."""

import hashlib
import os
from typing import Any, NamedTuple

import numpy as np

from opforest._utils.progress import advance, begin_phase
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import CellExamples
from opforest.core.parts.planes import Planes, divide_space, find_cells
from opforest.out_of_core.plan import Plan
from opforest.out_of_core.rows import as_bytes
from opforest.out_of_core.source import ExampleRows, load_or_make

#: The most examples, and numbers in them, whose medians are the planes.
SAMPLE, SAMPLE_NUMBERS = 100_000, 2_000_000


class CellFile(NamedTuple):
    """The examples of a cell in a file."""

    path: str
    n: int
    n_coordinates: int
    dtype: str
    checksum: str

    def load(self) -> CellExamples:
        """Return the examples, after a check of the file."""
        with open(self.path, "rb") as stream:
            content = stream.read()
        if hashlib.sha256(content).hexdigest() != self.checksum:
            raise ValueError(
                f"{self.path}: the file is damaged, so the working files of this fit have been "
                "removed. Call it again, and it starts again."
            )
        rows = np.frombuffer(content, row_type(self.n_coordinates, self.dtype))
        return CellExamples(*(rows[name].copy() for name in ("points", "id", "label")))


class DealtCells(NamedTuple):
    """The cells that are not empty, and their bounding boxes."""

    files: list[CellFile]
    boxes: Array


def row_type(n_coordinates: int, dtype: Any) -> np.dtype[Any]:
    """Return the type of an example in a file."""
    return np.dtype([("id", "<i8"), ("label", "<i4"), ("points", dtype, (n_coordinates,))])


def deal_examples(examples: ExampleRows, metric: Metric, plan: Plan, folder: str) -> DealtCells:
    """Write the examples of each cell to a file, unless that was done before an interruption."""
    listing = os.path.join(folder, "cells.json")
    entries = load_or_make(listing, lambda: _deal(examples, metric, plan, folder))
    dtype, shape = entries["dtype"], (len(entries["cells"]), 2, entries["n_coordinates"])
    files = [CellFile(os.path.join(folder, name), n, shape[2], dtype, checksum)
             for name, n, checksum, _ in entries["cells"]]  # fmt: skip
    boxes = np.array([box for *_, box in entries["cells"]], dtype).reshape(shape)
    return DealtCells(files, boxes)


def _deal(examples: ExampleRows, metric: Metric, plan: Plan, folder: str) -> dict[str, Any]:
    """Write the files, and return their description."""
    begin_phase("dealing", examples.n)
    size = min(SAMPLE, max(1, SAMPLE_NUMBERS // examples.n_features))
    planes = divide_space(examples.sample_points(size, metric), plan.n_cells)
    cells = [_CellWriter(os.path.join(folder, f"cell-{j:05}")) for j in range(plan.n_cells)]
    for begin in range(0, examples.n, plan.piece):
        end = min(begin + plan.piece, examples.n)
        points = examples.embed(begin, end, metric)
        write_piece(points, examples.read_codes(begin, end), begin, planes, cells)
        advance(begin / examples.n)
    listed = [one.finish() for one in cells if one.n]
    return {"dtype": examples.dtype.name, "n_coordinates": points.shape[1], "cells": listed}


class _CellWriter:
    """A file that grows piece by piece, its checksum and its bounding box."""

    def __init__(self, path: str) -> None:
        self.path, self.n, self._digest = path, 0, hashlib.sha256()
        self._low: Any = np.inf
        self._high: Any = -np.inf
        if os.path.exists(path):
            os.remove(path)  # of a fit that was stopped

    def append(self, rows: Array) -> None:
        """Write more examples."""
        content = as_bytes(rows.view(np.uint8))
        with open(self.path, "ab") as stream:
            stream.write(content)
        self._digest.update(content)
        self.n += len(rows)
        self._low = np.minimum(self._low, rows["points"].min(axis=0))
        self._high = np.maximum(self._high, rows["points"].max(axis=0))

    def finish(self) -> list[Any]:
        """Make sure that the file is on disk, and return its name, size, checksum and box."""
        with open(self.path, "rb") as stream:
            os.fsync(stream.fileno())
        box = [self._low.tolist(), self._high.tolist()]  # exact as text
        return [os.path.basename(self.path), self.n, self._digest.hexdigest(), box]


def write_piece(
    points: Array, label: Array, begin: int, planes: Planes, cells: list[_CellWriter]
) -> None:
    """Append a piece of the examples to the files of their cells."""
    cell = find_cells(points, planes).astype(np.uint16)  # short numbers are sorted faster
    order = np.argsort(cell, kind="stable")
    rows = np.empty(len(points), row_type(points.shape[1], points.dtype))
    rows["points"], rows["label"] = points, label
    rows["id"] = np.arange(begin, begin + len(points))
    rows = rows[order]
    ends = np.cumsum(np.bincount(cell, minlength=len(cells))).tolist()
    for one, first, end in zip(cells, [0, *ends], ends, strict=False):
        if end > first:
            one.append(rows[first:end])
