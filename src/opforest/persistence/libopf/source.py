"""Binary and text files that may be LibOPF's."""

import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.errors import DataFileError

#: Bytes that are read to recognize a file; an incremental model needs all of them.
HEAD = 1 << 16

#: Bytes before the nodes, and of each node: its numbers without features and neighbors, and its
#: entry in the order by cost.
MODEL, INCREMENTAL = (32, 32), (28, 36)


@dataclass(frozen=True)
class Source:
    """A file, or its content."""

    path: str | None  #: None if only the content is known
    size: int
    head: bytes  #: the beginning; all, if there is no path

    @property
    def counts(self) -> tuple[int, int, int]:
        """The first three integers of most files; −1 where the file is shorter."""
        numbers = np.frombuffer(self.head[: min(12, len(self.head) // 4 * 4)], "<i4").tolist()
        n, n_labels, d = (*numbers, -1, -1, -1)[:3]
        return n, n_labels, d

    def rows(self, offset: int, width: int, size: int) -> Iterator[Array]:
        """Yield arrays of ``size`` rows of ``width`` integers, from a byte offset on."""
        left = (self.size - offset) // (4 * width)
        with self._open() as stream:
            stream.seek(offset)
            while left > 0:
                wanted = min(size, left)
                content = stream.read(4 * width * wanted)
                if len(content) < 4 * width * wanted:
                    raise self.error("it became shorter while it was read.")
                yield np.frombuffer(content, "<i4").reshape(wanted, width)
                left -= wanted

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, with their numbers from 1."""
        with self._open() as stream:
            yield from ((i, line) for i, line in enumerate(stream, 1) if line.strip())

    def content(self) -> bytes:
        """Return the whole content."""
        with self._open() as stream:
            content = stream.read(self.size)
        if len(content) != self.size:
            raise self.error("it became shorter while it was read.")
        return content

    def _open(self) -> IO[bytes]:
        return io.BytesIO(self.head) if self.path is None else open(self.path, "rb")

    def error(self, reason: str, line: int | None = None, column: int | None = None) -> Exception:
        """Return a ``DataFileError`` about this file."""
        return DataFileError(reason, self.path, line, column)

    def explain_size(self) -> str:
        """Return why the size is wrong."""
        n, _, d = self.counts
        size = f"{count(n, 'sample')} of {count(d, 'feature')}"
        if n < 1 or d < 1:
            return f"its header has {size}"
        return f"{size} take {12 + n * (8 + 4 * d)} bytes, not {self.size}"

    def check_samples(self, X: Array, y: Array, n_labels: int, first: int = 0) -> None:
        """Raise an error unless features are finite and labels in range; number from ``first``."""
        finite = np.isfinite(X).all(axis=1)
        if not finite.all():
            bad = first + int(finite.argmin())
            raise self.error(f"sample {bad} has a feature that is not finite.")
        in_range = (y >= 0) & (y <= n_labels)
        if not in_range.all():
            bad = int(in_range.argmin())
            raise self.error(
                f"sample {first + bad} has the label {y[bad]}, which is not in 0..{n_labels}."
            )


def open_source(source: str | os.PathLike[str] | bytes) -> Source:
    """Read the beginning of a file, given by its path or content."""
    if isinstance(source, bytes):
        return Source(None, len(source), source)
    mode = os.stat(source).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe would block
        raise DataFileError("it is not a regular file.", source)
    with open(source, "rb") as stream:
        status = os.fstat(stream.fileno())
        return Source(os.fspath(source), status.st_size, stream.read(HEAD))


def kind_of_binary(source: Source) -> str | None:
    """Return the kind of a file, which follows from its size, or None.

    Only a model of one node could be of two kinds; it is read as LibOPF's.
    """
    n, n_labels, d = source.counts
    if n < 1:
        return None
    if source.size == 4 + 4 * n * n:
        return "distances"
    if d < 1 or n_labels < 0:
        return None
    if source.size == 12 + n * (8 + 4 * d):
        return "dataset"
    if source.size == MODEL[0] + n * (MODEL[1] + 4 * d):
        return "model"
    if source.size >= INCREMENTAL[0] + n * (INCREMENTAL[1] + 4 * d):
        return "incremental model" if find_nodes(source) is not None else None
    return None


def find_nodes(source: Source) -> Array | None:
    """Return the offsets of the nodes of an incremental model, in integers, or None.

    Nodes differ in length: each has a list of neighbors.
    """
    n, _, d = source.counts
    if source.size % 4:
        return None
    raw = np.frombuffer(source.content(), "<i4")
    begin, at = np.empty(n, np.int64), INCREMENTAL[0] // 4
    for node in range(n):
        begin[node] = at
        neighbors = int(raw[at + 7]) if at + 7 < len(raw) else -1
        if neighbors < 0:
            return None
        at += 8 + neighbors + d
    return begin if at + n == len(raw) else None
