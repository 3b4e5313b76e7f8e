"""The files of LibOPF and of opf-incremental: data sets, distances, models.

They have no magic number and no checksum; integers are int32 and reals float32, little-endian.
So a file is told by its size, which its first numbers must explain, before anything is read or
allocated. What cannot be true is a ``DataFileError`` that says why: NaN, labels out of range,
counts that lie, predecessors that run in circles. A file is named by its path; or give its
content as bytes.
"""

import os
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from opforest.io.atomic import replacing
from opforest.io.errors import DataFileError
from opforest.io.libopf_model import read_model, read_nodes, write_model
from opforest.io.libopf_source import Source, kind_of_binary, open_source
from opforest.metrics import Array

__all__ = [
    "DataFileError",
    "looks_like",
    "read_dataset",
    "read_distances",
    "read_model",
    "write_dataset",
    "write_distances",
    "write_model",
]

#: The largest int32.
LARGEST = 2**31 - 1

#: The first line of a data set in text: samples, labels, features.
FIRST_LINE = re.compile(rb"[ \t]*(\d{1,10})[ \t]+(\d{1,10})[ \t]+(\d{1,10})[ \t]*\r?(?:\n|\Z)")
WHOLE = re.compile(rb"\d{1,10}")
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def looks_like(source: str | os.PathLike[str] | bytes) -> str | None:
    r"""Tell what kind of file of LibOPF this looks like.

    Parameters
    ----------
    source : path or bytes
        The file, or all of its content.

    Returns
    -------
    str or None
        ``"dataset"``, ``"text"``, ``"distances"``, ``"model"``, ``"incremental model"``; None if
        it is none of these.

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
    r"""Read a data set, binary or text; or the examples of a model.

    Parameters
    ----------
    source : path or bytes
        The file, or all of its content.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The features, as float32.
    y : array of shape (n_samples,)
        The labels, from 1; 0 for samples that have none.
    ids : array of shape (n_samples,)
        What LibOPF calls positions: the rows of a file of distances that belong to them.

    Raises
    ------
    DataFileError
        If there is no data set in the file.

    Examples
    --------
    >>> from opforest.io.libopf import read_dataset
    >>> X, y, ids = read_dataset(b"2 3 1\n7 3 0.5\n9 1 0.25\n")
    >>> y, ids
    (array([3, 1]), array([7, 9]))
    """
    opened = open_source(source)
    header = FIRST_LINE.match(opened.head)
    if header:
        return _read_text(opened, *map(int, header.groups()))
    kind = kind_of_binary(opened)
    if kind in ("model", "incremental model"):
        nodes = read_nodes(opened, kind)
        return nodes.X, nodes.truth, nodes.position
    if kind != "dataset":
        found = "it holds distances" if kind else opened.explain_size()
        raise opened.error(f"it is no data set of LibOPF: {found}.")
    n, n_labels, d = opened.counts
    raw = np.frombuffer(opened.content(), "<i4", offset=12).reshape(n, d + 2)
    X = raw[:, 2:].view("<f4").astype(np.float32)
    opened.check_samples(X, raw[:, 1], n_labels)
    return X, raw[:, 1].astype(np.int64), raw[:, 0].astype(np.int64)


def write_dataset(
    path: str | os.PathLike[str],
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    ids: npt.ArrayLike | None = None,
    text: bool = False,
) -> None:
    """Write a data set, whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    X : array-like of shape (n_samples, n_features)
        The features; they are rounded to float32, which is all that LibOPF has.
    y : array-like of shape (n_samples,)
        The labels, from 1; 0 for samples that have none.
    ids : array-like of shape (n_samples,), default=None
        Their positions; by default they are counted from 0.
    text : bool, default=False
        Whether to write text, with as many digits as it takes to read the same numbers again.

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
    features = _as_float32(X, "X")
    n, d = features.shape
    labels = _as_int32(y, "y", n)
    positions = _as_int32(np.arange(n) if ids is None else ids, "ids", n)
    counts = [n, int(labels.max()), d]
    with replacing(path) as stream:
        if text:
            stream.write("{} {} {}\n".format(*counts).encode())
            for position, label, row in zip(positions, labels, features, strict=True):
                stream.write(f"{position} {label} {' '.join(map(str, row))}\n".encode())
        else:
            raw = np.column_stack((positions, labels, features.view("<i4")))
            stream.write(np.array(counts, "<i4").tobytes() + raw.astype("<i4").tobytes())


def read_distances(source: str | os.PathLike[str] | bytes) -> Array:
    """Read a file of distances, as ``opf_distance`` writes them.

    Parameters
    ----------
    source : path or bytes
        The file, or all of its content.

    Returns
    -------
    array of shape (n, n)
        The distances, as float32. With the ids of a data set,
        ``OPFClassifier("precomputed").fit(D[np.ix_(ids, ids)], y)`` learns from them.

    Raises
    ------
    DataFileError
        If there are no distances in the file.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.io.libopf import read_distances
    >>> read_distances(np.int32(1).tobytes() + np.float32(0).tobytes())
    array([[0.]], dtype=float32)
    """
    opened = open_source(source)
    if kind_of_binary(opened) != "distances":
        raise opened.error("it is no file of distances: its size is not 4 + 4 n² bytes.")
    n = opened.counts[0]
    table = np.frombuffer(opened.content(), "<f4", offset=4).reshape(n, n).astype(np.float32)
    wrong = ~((table >= 0) & np.isfinite(table))
    if wrong.any():
        u, v = np.argwhere(wrong)[0].tolist()
        raise opened.error(f"the distance from {u} to {v} cannot be {table[u, v]}.")
    return table


def write_distances(path: str | os.PathLike[str], D: npt.ArrayLike) -> None:
    """Write distances for LibOPF, whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    D : array-like of shape (n, n)
        The distances; they are rounded to float32.

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
    with replacing(path) as stream:
        stream.write(np.array([len(table)], "<i4").tobytes() + table.tobytes())


def _is_plausible(source: Source) -> bool:
    """Tell whether the second line, and the number of lines, are as the first one says."""
    header, *lines = source.head.split(b"\n")
    n, _, d = map(int, header.split())
    if source.size <= len(source.head):
        if sum(not line.isspace() and line != b"" for line in lines) != n:
            return False
    elif len(lines) < 2:
        return True  # nothing but a long line can be seen of it
    return len(lines[0].split()) == d + 2


def _read_text(source: Source, n: int, n_labels: int, d: int) -> tuple[Array, Array, Array]:
    if n < 1 or d < 1 or n * (d + 2) * 2 > source.size:  # a digit and a space for each
        raise source.error(f"it is too short for {n} samples of {d} features.", 1)
    X, y, ids = np.empty((n, d), np.float32), np.empty(n, np.int64), np.empty(n, np.int64)
    seen = 0
    for number, line in enumerate(source.content().splitlines()[1:], 2):
        values = line.split()
        if not values:
            continue
        if seen == n or len(values) != d + 2:
            more = f"must have {d + 2} values, got {len(values)}" if seen < n else "is one too many"
            raise source.error(f"the line {more}.", number)
        ids[seen], y[seen], X[seen] = _parse(values, source, number)
        seen += 1
    if seen < n:
        raise source.error(f"it ends after {seen} of {n} samples.")
    source.check_samples(X, y, n_labels)
    return X, y, ids


def _parse(values: list[bytes], source: Source, line: int) -> tuple[int, int, list[float]]:
    """Return position, label and features."""
    for column, value in enumerate(values, 1):
        if not (WHOLE if column <= 2 else NUMBER).fullmatch(value):
            kind = "a whole number" if column <= 2 else "a number"
            shown = value[:20].decode("ascii", "replace")
            raise source.error(f"there must be {kind}, got {shown!r}.", line, column)
    position, label, numbers = int(values[0]), int(values[1]), [float(v) for v in values[2:]]
    if max(position, label) > LARGEST:
        raise source.error(f"position and label must be from 0 to {LARGEST}.", line)
    largest = int(np.abs(numbers).argmax())
    if abs(numbers[largest]) > float(np.finfo(np.float32).max):
        raise source.error("the feature is too large for float32.", line, largest + 3)
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
            "LibOPF has no other labels: number the classes from 1."
        )
    if array.min() < 0 or array.max() > LARGEST:
        raise ValueError(f"{name} must be from 0 to {LARGEST}, got {array.min()} to {array.max()}.")
    return array.astype("<i4")
