"""Deal examples to cells: a file for each cell, written piece by piece."""

import hashlib
import json
import os
from typing import Any, NamedTuple

import numpy as np

from opforest._utils.atomic import open_atomic
from opforest._utils.progress import advance, begin_phase
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import CellExamples
from opforest.core.parts.planes import Planes, divide_space, find_cells
from opforest.out_of_core.plan import Plan
from opforest.out_of_core.rows import as_bytes
from opforest.out_of_core.source import ExampleRows

#: Examples of which planes are the medians, and numbers in them, at most.
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
    if not os.path.exists(listing):
        begin_phase("dealing", examples.n)
        entries = _deal(examples, metric, plan, folder)
        with open_atomic(listing) as stream:
            stream.write(json.dumps(entries).encode("ascii"))
    with open(listing, "rb") as stream:
        entries = json.loads(stream.read())
    dtype, shape = entries["dtype"], (len(entries["cells"]), 2, entries["n_coordinates"])
    files = [CellFile(os.path.join(folder, name), n, shape[2], dtype, checksum)
             for name, n, checksum, _ in entries["cells"]]  # fmt: skip
    boxes = np.array([box for *_, box in entries["cells"]], dtype).reshape(shape)
    return DealtCells(files, boxes)


def _deal(examples: ExampleRows, metric: Metric, plan: Plan, folder: str) -> dict[str, Any]:
    """Write the files, and return what describes them."""
    size = min(SAMPLE, max(1, SAMPLE_NUMBERS // examples.n_features))
    planes = divide_space(examples.sample_points(size, metric), plan.n_cells)
    cells = [_CellWriter(os.path.join(folder, f"cell-{j:05}")) for j in range(plan.n_cells)]
    n_coordinates = 0
    for begin in range(0, examples.n, plan.piece):
        end = min(begin + plan.piece, examples.n)
        points = examples.embed(begin, end, metric)
        n_coordinates = points.shape[1]
        write_piece(points, examples.read_codes(begin, end), begin, planes, cells)
        advance(begin / examples.n)
    listed = [[os.path.basename(one.path), one.n, one.digest.hexdigest(), one.list_box()]
              for one in cells if one.n]  # fmt: skip
    for one in cells:
        one.sync()
    return {"dtype": examples.dtype.name, "n_coordinates": n_coordinates, "cells": listed}


class _CellWriter:
    """A file that grows piece by piece, its checksum and its bounding box."""

    def __init__(self, path: str) -> None:
        self.path, self.n, self.digest = path, 0, hashlib.sha256()
        self._low: Array | None = None
        self._high: Array | None = None
        if os.path.exists(path):
            os.remove(path)  # of a fit that was stopped

    def append(self, rows: Array) -> None:
        """Write more examples."""
        content = as_bytes(rows.view(np.uint8))
        with open(self.path, "ab") as stream:
            stream.write(content)
        self.digest.update(content)
        self.n += len(rows)
        low, high = rows["points"].min(axis=0), rows["points"].max(axis=0)
        self._low = low if self._low is None else np.minimum(self._low, low)
        self._high = high if self._high is None else np.maximum(self._high, high)

    def list_box(self) -> list[Any]:
        """Return the corners of the bounding box; numbers are exact as text."""
        assert self._low is not None
        assert self._high is not None
        return [self._low.tolist(), self._high.tolist()]

    def sync(self) -> None:
        """Make sure that the file is on disk."""
        if self.n:
            with open(self.path, "rb") as stream:
                os.fsync(stream.fileno())


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
