"""Rows of arrays and files, which are read piece by piece without filling memory.

Pages of a file that is mapped into memory count as memory of the process until it is unmapped, so
files are read instead.
"""

import hashlib
import mmap
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from opforest.core.metrics.types import Array

#: Bytes at the beginning of a file that identify it, with its size and the time of its last change.
HEAD = 1 << 20

#: Rows of an array whose bytes are read at a time to identify it.
BLOCK = 1 << 16


@dataclass(frozen=True)
class FileRows:
    """The rows of an array that is stored in a file, row by row."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int = 0

    def read(self, begin: int, end: int) -> Array:
        """Return some rows."""
        width = int(np.prod(self.shape[1:], dtype=np.int64))
        end = min(end, self.shape[0])
        size, offset = (end - begin) * width, self.offset + begin * width * self.dtype.itemsize
        rows = np.fromfile(self.path, self.dtype, size, offset=offset)
        if rows.size != size:
            raise ValueError(f"{self.path}: the file has been cut short while it was read.")
        return rows.reshape(end - begin, *self.shape[1:])


def as_bytes(array: Array) -> memoryview:
    """Return the content of a contiguous array."""
    return memoryview(array).cast("B")  # type: ignore[arg-type]


@dataclass(frozen=True)
class ArrayRows:
    """The rows of an array in memory, or of one that is mapped in another way."""

    array: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the array."""
        return self.array.dtype

    def read(self, begin: int, end: int) -> Array:
        """Return some rows."""
        return np.asarray(self.array[begin:end])


Rows = FileRows | ArrayRows


def open_rows(array: Array) -> Rows:
    """Return the rows of an array; those of a memory map are read from its file."""
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):  # not a slice of one
        is_plain = array.flags.c_contiguous and array.mode != "c"
        if is_plain and isinstance(array.filename, str | os.PathLike):
            return FileRows(os.fspath(array.filename), array.dtype, array.shape, array.offset)
    return ArrayRows(array)


def list_runs(n: int, size: int) -> list[tuple[int, int]]:
    """Return the bounds of short runs spread over n rows, about ``size`` rows in total."""
    if n <= size:
        return [(0, n)]
    run = 50
    n_runs = max(1, size // run)
    step = n / n_runs
    shift = np.random.default_rng(0).random(n_runs)
    begins = ((np.arange(n_runs) + shift) * step).astype(np.int64).clip(0, n - run)
    return [(begin, begin + run) for begin in begins.tolist()]


def identify_file(path: str) -> list[Any]:
    """Return values that change with a file, or with the files of a folder."""
    if os.path.isdir(path):
        names = sorted(os.path.join(place, name) for place, _, names in os.walk(path)
                       for name in names)  # fmt: skip
        return [identify_file(name) for name in names]
    status = os.stat(path)
    with open(path, "rb") as stream:
        head = hashlib.sha256(stream.read(HEAD)).hexdigest()
    return [os.path.realpath(path), status.st_size, status.st_mtime_ns, head]


def identify_rows(rows: Rows, n: int) -> list[Any]:
    """Return values that change with an array: a checksum, unless it is in a file."""
    if isinstance(rows, FileRows):
        return [*identify_file(rows.path), rows.dtype.str, list(rows.shape), rows.offset]
    array, digest = rows.array, hashlib.sha256()
    for begin in range(0, n, BLOCK):
        part = rows.read(begin, begin + BLOCK)
        content = repr(part.tolist()).encode() if part.dtype == object else part.tobytes()
        digest.update(content)
    return [array.dtype.str, list(array.shape), digest.hexdigest()]
