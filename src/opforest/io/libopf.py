"""Files of LibOPF and opf-incremental: data sets, distances, models.

They have neither magic number nor checksum; integers are int32 and reals float32, little-endian. A
file is recognized by its size, which its first numbers must explain, before anything is allocated.
Impossible content raises a ``DataFileError``: NaN, labels out of range, wrong counts, cycles of
predecessors.
"""

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from opforest._utils.atomic import open_atomic
from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.errors import DataFileError
from opforest.persistence.libopf.model import read_model, write_model
from opforest.persistence.libopf.nodes import read_nodes
from opforest.persistence.libopf.source import Source, kind_of_binary, open_source

__all__ = [
    "DataFileError",
    "looks_like",
    "read_dataset",
    "read_distances",
    "read_model",
    "read_samples",
    "write_dataset",
    "write_distances",
    "write_model",
]

#: The largest int32.
LARGEST = 2**31 - 1

#: Default number of samples that are read at a time.
SAMPLES = 4096

#: The first line of a data set in text: samples, labels, features.
FIRST_LINE = re.compile(rb"[ \t]*(\d{1,10})[ \t]+(\d{1,10})[ \t]+(\d{1,10})[ \t]*\r?(?:\n|\Z)")
WHOLE = re.compile(rb"\d{1,10}")
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def looks_like(source: str | os.PathLike[str] | bytes) -> str | None:
    r"""Return the kind of LibOPF file that this looks like.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.

    Returns
    -------
    str or None
        ``"dataset"``, ``"text"``, ``"distances"``, ``"model"``, ``"incremental model"`` or None.

    Examples
    --------
    >>> from opforest.io.libopf import looks_like
    >>> looks_like(b"2 1 1\n0 1 0.5\n1 1 0.25\n")
    'text'
    """
    opened = open_source(source)
    if FIRST_LINE.match(opened.head):
        return "text" if _is_plausible(opened) else None
    return kind_of_binary(opened)


def read_dataset(source: str | os.PathLike[str] | bytes) -> tuple[Array, Array, Array]:
    r"""Read a data set, binary or text, or the examples of a model.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The features, as float32.
    y : array of shape (n_samples,)
        The labels, from 1; 0 for samples without a label.
    ids : array of shape (n_samples,)
        LibOPF's positions: their rows in a file of distances.

    Raises
    ------
    DataFileError
        If the file does not hold a data set.

    Examples
    --------
    >>> from opforest.io.libopf import read_dataset
    >>> X, y, ids = read_dataset(b"2 3 1\n7 3 0.5\n9 1 0.25\n")
    >>> y, ids
    (array([3, 1]), array([7, 9]))
    """
    parts = list(read_samples(source))
    X, y, ids = (np.concatenate(part) for part in zip(*parts, strict=True))
    return X, y, ids


def read_samples(
    source: str | os.PathLike[str] | bytes, size: int = SAMPLES
) -> Iterator[tuple[Array, Array, Array]]:
    r"""Read a data set in parts, so that it may be larger than memory.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.
    size : int
        Number of samples in a part; the last one may have fewer.

    Yields
    ------
    X, y, ids : arrays
        Some of the samples, as ``read_dataset`` returns them.

    Examples
    --------
    >>> from opforest.io.libopf import read_samples
    >>> for X, y, ids in read_samples(b"3 2 1\n7 2 0.5\n8 1 0.25\n9 1 0.5\n", size=2):
    ...     print(y, ids)
    [2 1] [7 8]
    [1] [9]
    """
    opened = open_source(source)
    if header := FIRST_LINE.match(opened.head):
        n, n_labels, d = map(int, header.groups())
        yield from _read_text(opened, n, n_labels, d, size)
        return
    kind = kind_of_binary(opened)
    if kind in ("model", "incremental model"):
        nodes = read_nodes(opened, kind)
        for begin in range(0, len(nodes.X), size):
            part = slice(begin, begin + size)
            yield nodes.X[part], nodes.truth[part], nodes.position[part]
        return
    if kind != "dataset":
        found = "it holds distances" if kind else opened.explain_size()
        raise opened.error(f"it is not a LibOPF data set: {found}.")
    _, n_labels, d = opened.counts
    seen = 0
    for raw in opened.rows(12, d + 2, size):
        X, y, ids = raw[:, 2:].view("<f4").astype(np.float32), raw[:, 1], raw[:, 0]
        opened.check_samples(X, y, n_labels, seen)
        seen += len(raw)
        yield X, y.astype(np.int64), ids.astype(np.int64)


def write_dataset(
    path: str | os.PathLike[str], X: npt.ArrayLike, y: npt.ArrayLike,
    ids: npt.ArrayLike | None = None, text: bool = False,
) -> None:  # fmt: skip
    """Write a data set, completely or not at all.

    Parameters
    ----------
    path : path
        The file.
    X : array-like of shape (n_samples, n_features)
        The features, which are rounded to float32.
    y : array-like of shape (n_samples,)
        The labels, from 1; 0 for samples without a label.
    ids : array-like of shape (n_samples,), default=None
        Their positions; by default counted from 0.
    text : bool, default=False
        Whether to write text, with enough digits to read the same numbers again.

    Examples
    --------
    >>> import tempfile
    >>> from opforest.io.libopf import read_dataset, write_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset(f"{folder}/a.dat", [[0.1], [0.2]], [1, 2])
    ...     X, y, ids = read_dataset(f"{folder}/a.dat")
    >>> y, ids
    (array([1, 2]), array([0, 1]))
    """
    with open_atomic(path) as stream:
        write_samples(stream, X, y, ids, text)


def write_samples(stream: IO[bytes], X: Any, y: Any, ids: Any, text: bool) -> None:
    """Write a data set to a stream, as ``write_dataset`` does to a file."""
    features = _as_float32(X, "X")
    n, d = features.shape
    labels = _as_int32(y, "y", n)
    positions = _as_int32(np.arange(n) if ids is None else ids, "ids", n)
    counts = [n, int(labels.max()), d]
    if text:
        stream.write("{} {} {}\n".format(*counts).encode())
        for position, label, row in zip(positions, labels, features, strict=True):
            stream.write(f"{position} {label} {' '.join(map(str, row))}\n".encode())
    else:
        raw = np.column_stack((positions, labels, features.view("<i4")))
        stream.write(np.array(counts, "<i4").tobytes() + raw.astype("<i4").tobytes())


def read_distances(source: str | os.PathLike[str] | bytes) -> Array:
    """Read a file of distances, as ``opf_distance`` writes it.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.

    Returns
    -------
    array of shape (n, n)
        The distances, as float32. With the ids of a data set,
        ``OPFClassifier("precomputed").fit(D[np.ix_(ids, ids)], y)`` learns from them.

    Raises
    ------
    DataFileError
        If the file does not hold distances.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.io.libopf import read_distances
    >>> read_distances(np.int32(1).tobytes() + np.float32(0).tobytes())
    array([[0.]], dtype=float32)
    """
    opened = open_source(source)
    if kind_of_binary(opened) != "distances":
        raise opened.error("it is not a file of distances: its size is not 4 + 4 n² bytes.")
    n = opened.counts[0]
    table = np.frombuffer(opened.content(), "<f4", offset=4).reshape(n, n).astype(np.float32)
    wrong = ~((table >= 0) & np.isfinite(table))
    if wrong.any():
        u, v = np.argwhere(wrong)[0].tolist()
        raise opened.error(f"the distance from {u} to {v} cannot be {table[u, v]}.")
    return table


def write_distances(path: str | os.PathLike[str], D: npt.ArrayLike) -> None:
    """Write distances for LibOPF, completely or not at all.

    Parameters
    ----------
    path : path
        The file.
    D : array-like of shape (n, n)
        The distances, which are rounded to float32.

    Examples
    --------
    >>> import tempfile
    >>> from opforest.io.libopf import read_distances, write_distances
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_distances(f"{folder}/distances.dat", [[0, 2], [2, 0]])
    ...     read_distances(f"{folder}/distances.dat").tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    table = _as_float32(D, "D")
    if table.shape[0] != table.shape[1] or (table < 0).any():
        raise ValueError(f"D must be a square table of distances, got shape {table.shape}.")
    with open_atomic(path) as stream:
        stream.write(np.array([len(table)], "<i4").tobytes() + table.tobytes())


def _is_plausible(source: Source) -> bool:
    """Return whether the second line and the number of lines agree with the first line."""
    header, *lines = source.head.split(b"\n")
    n, _, d = map(int, header.split())
    if source.size <= len(source.head):
        if sum(not line.isspace() and line != b"" for line in lines) != n:
            return False
    elif len(lines) < 2:
        return True  # only a part of a long line is visible
    return len(lines[0].split()) == d + 2


def _read_text(
    source: Source, n: int, n_labels: int, d: int, size: int
) -> Iterator[tuple[Array, Array, Array]]:
    if n < 1 or d < 1 or n * (d + 2) * 2 > source.size:  # a digit and a space for each
        raise source.error(f"it is too short for {count(n, 'sample')} of {count(d, 'feature')}.", 1)
    lines, seen = islice(source.lines(), 1, None), 0
    while part := list(islice(lines, size)):
        if seen + len(part) > n:
            raise source.error(
                f"there are more samples than the {n} of its header.", part[n - seen][0]
            )
        rows = [_parse(line, d, source, number) for number, line in part]
        ids, y, X = (np.array(column) for column in zip(*rows, strict=True))
        source.check_samples(X, y, n_labels, seen)
        seen += len(part)
        yield X, y, ids
    if seen < n:
        raise source.error(f"it ends after {seen} of {count(n, 'sample')}.")


def _parse(content: bytes, d: int, source: Source, line: int) -> tuple[int, int, Array]:
    """Return position, label and features."""
    values = content.split()
    if len(values) != d + 2:
        raise source.error(f"the line must have {d + 2} values, got {len(values)}.", line)
    for column, value in enumerate(values, 1):
        if not (WHOLE if column <= 2 else NUMBER).fullmatch(value):
            kind = "a whole number" if column <= 2 else "a number"
            shown = value[:20].decode("ascii", "replace")
            raise source.error(f"there must be {kind}, got {shown!r}.", line, column)
    position, label = int(values[0]), int(values[1])
    if max(position, label) > LARGEST:
        raise source.error(f"position and label must be from 0 to {LARGEST}.", line)
    with np.errstate(over="ignore"):
        numbers = np.array([float(value) for value in values[2:]]).astype(np.float32)
    if np.isinf(numbers).any():
        column = int(np.isinf(numbers).argmax()) + 3
        raise source.error("the feature is too large for float32.", line, column)
    return position, label, numbers


def _as_float32(values: Any, name: str) -> Array:
    array = np.asarray(values, np.float64 if not hasattr(values, "dtype") else None)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a table of numbers, got shape {array.shape}.")
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(array, "<f4")
    if not np.isfinite(rounded).all():
        raise ValueError(f"{name} must be finite, and small enough for float32.")
    return rounded


def _as_int32(values: Any, name: str, n: int) -> Array:
    array = np.asarray(values)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be {n} integers, got shape {array.shape} and type {array.dtype}. "
            "Number the classes from 1: LibOPF has no other labels."
        )
    if array.min() < 0 or array.max() > LARGEST:
        raise ValueError(f"{name} must be from 0 to {LARGEST}, got {array.min()} to {array.max()}.")
    return array.astype("<i4")
