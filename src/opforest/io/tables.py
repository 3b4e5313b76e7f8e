"""Data files of every kind: read whole or in chunks, written without loss."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO

import numpy as np

from opforest.io import arff, arrays, delimited, parquet, svm
from opforest.io.atomic import replacing
from opforest.io.cells import to_chunks
from opforest.io.columns import ID_NAME, LABEL_NAMES, choose_roles
from opforest.io.data import ROWS, Data, Reading, join, regroup, settle_labels
from opforest.io.delimited import KNOWN, is_number
from opforest.io.errors import DataFileError
from opforest.io.source import STANDARD, Source, open_source

#: Formats, and the ends of names that files of each have.
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
    "npy": (".npy",),
    "arff": (".arff",),
    "libsvm": (".libsvm", ".svm", ".svmlight"),
    "libopf": (".dat", ".opf"),
    "libopf-text": (".opf.txt",),
}

#: How files of some formats begin.
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"\x93NUMPY": "npy"}

#: How to write what is no text.
BINARY = {"npz": arrays.write_npz, "npy": arrays.write_npy, "parquet": parquet.write_parquet}

#: Formats that keep names.
NAMED = ("csv", "tsv", "arff", "parquet")

#: Formats whose labels are numbers.
NUMBERED = ("libsvm", "libopf", "libopf-text", "npy")

#: Rows of a file that are looked at to find out what its columns are.
SAMPLE = 100

_SVM = re.compile(rb"\s*[+-]?[\d.]+(e[+-]?\d+)?(\s+(qid|\d+):\S+)+\s*(#|$)", re.IGNORECASE)


def read_table(path: str | os.PathLike[str], reading: Reading | None = None) -> Data:
    r"""Read a data file of any format.

    Parameters
    ----------
    path : path
        The file; ``"-"`` is the standard input. Files packed by gzip are unpacked.
    reading : Reading, default=None
        What is known of the file.

    Returns
    -------
    Data
        Features, labels, ids and names.

    Raises
    ------
    DataFileError
        If it cannot be read; the message says where and why.

    Examples
    --------
    >>> import tempfile
    >>> from opforest.io.tables import read_table
    >>> with tempfile.NamedTemporaryFile("w+", suffix=".csv") as file:
    ...     _ = file.write("width,height,class\n1,2.5,cat\n2,0.5,dog\n")
    ...     file.flush()
    ...     data = read_table(file.name)
    >>> data.feature_names, data.y.tolist()
    (('width', 'height'), ['cat', 'dog'])
    """
    reading = reading or Reading()
    path = os.fspath(path)
    parts = list(_chunks(path, reading, None, 0))
    if not parts:
        raise DataFileError("there are no examples", _name(path))
    text = reading.expected.text_labels if reading.expected else None
    return settle_labels(join(parts), text, _name(path))


def read_chunks(
    path: str | os.PathLike[str],
    reading: Reading | None = None,
    *,
    rows: int = ROWS,
    skip: int = 0,
) -> Iterator[Data]:
    """Yield the examples of a data file in chunks, so that it may be larger than memory.

    What comes from the standard input is kept on disk first if its format is binary; LibSVM, too,
    unless a model knows the number of features. Whether labels are numbers is decided by the
    first chunk, unless a model knows.

    Parameters
    ----------
    path, reading
        As for ``read_table``.
    rows : int
        The number of examples in a chunk; the last one may have fewer.
    skip : int, default=0
        Examples to leave out at the beginning.

    Yields
    ------
    Data
        Some of the examples.
    """
    reading = reading or Reading()
    path = os.fspath(path)
    text = reading.expected.text_labels if reading.expected else None
    for chunk in _chunks(path, reading, rows, skip):
        settled = settle_labels(chunk, text, _name(path))
        if text is None and settled.y is not None:
            text = settled.y.dtype.kind == "U"
        yield settled


def _name(path: str) -> str:
    return "standard input" if path == STANDARD else path


def _chunks(path: str, reading: Reading, rows: int | None, skip: int) -> Iterator[Data]:
    size = rows or ROWS
    with open_source(path) as source:
        kind = reading.format or find_format(source)
        sample = 1 if source.is_live and rows else SAMPLE
        if kind in ("csv", "tsv"):
            if kind == "tsv" and reading.delimiter is None:
                reading = replace(reading, delimiter="\t")
            with source.text() as text:
                cells = delimited.open_cells(text, reading, source.name, sample)
                yield from to_chunks(cells, reading, source.name, size, skip)
        elif kind == "arff":
            with source.text() as text:
                cells = arff.open_cells(text, source.name, sample)
                yield from to_chunks(cells, reading, source.name, size, skip)
        elif kind == "libsvm" and source.is_live and reading.expected:
            found = svm.Survey(reading.expected.n_features, True)
            yield from svm.read_svm(source.binary(), found, reading, source.name, size, skip)
        else:
            with source.file() as file:
                yield from _binary_chunks(kind, file, source.name, reading, size, skip)


def _binary_chunks(
    kind: str, file: str, name: str, reading: Reading, size: int, skip: int
) -> Iterator[Data]:
    if kind == "libsvm":
        yield from _read_svm(file, name, reading, size, skip)
        return
    if kind == "parquet":
        parts = parquet.read_parquet(file, name, reading, max(size, ROWS))
        chunks = regroup(parts, size, skip)
    elif kind == "npy":
        data = arrays.read_npy(file, name, reading)
        chunks = (data.take(slice(k, k + size)) for k in range(skip, len(data), size))
    elif kind == "npz":
        parts = arrays.read_npz(file, name, reading, max(size, ROWS))
        chunks = regroup(parts, size, skip)
    else:
        chunks = _read_libopf(file, name, reading, size, skip)
    for chunk in chunks:
        yield arrays.check(chunk, reading, name, skip)
        skip += len(chunk)


def _read_svm(file: str, name: str, reading: Reading, size: int, skip: int) -> Iterator[Data]:
    """Yield the examples of a LibSVM file, which is read twice: no part of it tells all."""
    with open(file, "rb") as stream:
        found = svm.survey(stream)
    if reading.expected:
        found = found._replace(n_features=reading.expected.n_features)
    with open(file, "rb") as stream:
        yield from svm.read_svm(stream, found, reading, name, size, skip)


def _read_libopf(file: str, name: str, reading: Reading, size: int, skip: int) -> Iterator[Data]:
    from opforest.io import libopf

    try:
        unlabelled = reading.label == "none" or not libopf.has_labels(file)
        for X, y, ids in libopf.read_samples(file, size, skip):
            yield arrays.check_columns(Data(X, None if unlabelled else y, ids), reading, name)
    except DataFileError as error:
        raise DataFileError(error.reason, name, error.line, error.column) from None


def find_format(source: Source) -> str:
    """Return the format of a file: by how it begins, by its name, or by its first line."""
    begin = source.begin
    if not begin:
        raise DataFileError("the file is empty", source.name)
    for magic, kind in MAGIC.items():
        if begin.startswith(magic):
            return kind
    named = format_of(source.name.removesuffix(".gz"))
    if named is not None and not named.startswith("libopf"):
        return named
    return _libopf_kind(source, named) or _by_first_line(begin, source.name)


def _libopf_kind(source: Source, named: str | None) -> str | None:
    """Return the format of a file that is LibOPF's, or is said to be and holds no text."""
    from opforest.io import libopf

    found = libopf.looks_like(source.path) if source.path and not source.is_live else None
    if found == "text":
        return "libopf-text"
    if found == "dataset" or (named is not None and found):
        return "libopf"
    is_binary = b"\0" in source.begin
    return "libopf" if is_binary and (named is not None or source.is_live) else None


def _by_first_line(begin: bytes, name: str) -> str:
    lines = [line for line in begin.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    first = lines[0].strip().lower() if lines else b""
    if b"\0" in begin:
        raise DataFileError("the file has no format that is known; --format names one", name)
    if first.startswith((b"@relation", b"@attribute", b"%")):
        return "arff"
    return "libsvm" if _SVM.match(first) else "csv"


def format_of(path: str) -> str | None:
    """Return the format that files of such a name have."""
    name = path.lower()
    found = [kind for kind, ends in FORMATS.items() if name.endswith(ends)]
    return found[-1] if found else None


def find_output_format(path: str, format: str | None = None) -> str:
    """Return the format to write: the given one, or what the name says."""
    kind = format or format_of(path) or ("csv" if path == STANDARD else None)
    if kind is None:
        known = ", ".join(end for ends in FORMATS.values() for end in ends)
        raise ValueError(f"{path}: the name must end in one of {known}, or the format be given.")
    return str(kind)


def write_table(path: str | os.PathLike[str], data: Data, format: str | None = None) -> None:
    """Write a data file, whole or not at all, or refuse if the format cannot hold the data.

    Numbers and labels are kept to the last bit. Names and ids are kept by CSV, TSV, ARFF, Parquet
    and NPZ, ids by LibOPF's formats as well.

    Parameters
    ----------
    path : path
        The file; ``"-"`` is the standard output.
    data : Data
        The examples.
    format : str, default=None
        One of ``FORMATS``; by default what the name says, CSV for the standard output.

    Raises
    ------
    DataFileError
        If data would be lost.
    """
    path = os.fspath(path)
    kind = find_output_format(path, format)
    check_fit(data, kind, path)
    if kind.startswith("libopf"):
        _write_libopf(path, data, kind)
        return
    with open_output(path) as stream:
        if kind in BINARY:
            BINARY[kind](stream, data)
            return
        text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
        if kind == "arff":
            arff.write_arff(text, data)
        elif kind == "libsvm":
            svm.write_svm(text, data)
        else:
            delimited.write_delimited(text, data, "\t" if kind == "tsv" else ",")
        text.flush()
        text.detach()


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open a file that is written whole or not at all, or the standard output."""
    if path == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(path) as stream:
        yield stream


def _write_libopf(path: str, data: Data, kind: str) -> None:
    from opforest.io import libopf

    if path == STANDARD:
        raise DataFileError("LibOPF's formats can be written to files only", _name(path))
    y = np.zeros(len(data), np.int64) if data.y is None else data.y
    try:
        libopf.write_dataset(path, data.X, y, data.ids, text=kind == "libopf-text")
    except ValueError as error:
        raise DataFileError(str(error), path) from error


def check_fit(data: Data, kind: str, path: str) -> None:
    """Refuse to write what a format cannot hold."""
    y = data.y
    if y is not None and y.dtype.kind not in "iu" and kind in NUMBERED:
        raise DataFileError(
            f"{kind} has room for labels that are numbers only, got {str(y[0])!r}; "
            "--encode-labels numbers them",
            path,
        )
    if kind in NAMED:
        _check_names(data, kind, path)
    if y is not None and y.dtype.kind == "U" and kind in ("csv", "tsv", "arff"):
        padded = y != np.char.strip(y)
        if padded.any():
            reason = f"labels must not begin or end with blanks, got {str(y[padded][0])!r}"
            raise DataFileError(reason, path)
    if kind == "libsvm" and y is not None and len(y) and not y.any():
        raise DataFileError("in LibSVM files, labels that are all 0 mean that there are none", path)
    if kind == "npy" and y is not None and (y.astype(data.X.dtype) != y).any():
        raise DataFileError(f"labels are too large for {data.X.dtype}; NPZ can hold them", path)
    if kind.startswith("libopf"):
        _check_libopf(data, path)


def _check_names(data: Data, kind: str, path: str) -> None:
    """Refuse names that would be read as something else."""
    features = list(data.feature_names or ())
    if not features:
        return
    names = [ID_NAME] * (data.ids is not None) + features
    names += [data.label_name or LABEL_NAMES[0]] * (data.y is not None)
    words = {len(names) - 1} if data.y is not None and data.y.dtype.kind == "U" else set()
    roles = choose_roles(names, len(names), words, (), Reading(), path)
    begin = int(data.ids is not None)
    for k in (roles.id, roles.label):
        if k is not None and begin <= k < begin + len(features):
            reason = f"a feature called {names[k]!r} would be read as an id or a label"
            raise DataFileError(reason, path)
    if kind not in ("csv", "tsv"):
        return
    if any(name != name.strip() or not name for name in names):
        raise DataFileError("names must not be empty, nor begin or end with blanks", path)
    if any(map(is_number, features)) and not {name.lower() for name in names} & KNOWN:
        raise DataFileError("names that are numbers would be read as an example", path)


def _check_libopf(data: Data, path: str) -> None:
    with np.errstate(over="ignore"):
        single = data.X.astype(np.float32)
    if not np.array_equal(single, data.X, equal_nan=True):
        i, k = np.argwhere(~((single == data.X) | np.isnan(data.X)))[0]
        raise DataFileError(
            f"LibOPF's numbers have 32 bits, which cannot hold {data.X[i, k]!r} of example "
            f"{i + 1}; --round rounds them",
            path,
        )
    if data.y is not None and len(data) and not (data.y.min() >= 1 and data.y.max() < 1 << 31):
        raise DataFileError(
            f"LibOPF's labels count from 1, got {data.y.min()}; --encode-labels numbers them", path
        )
    if data.ids is not None and data.ids.dtype.kind not in "iu":
        reason = f"LibOPF's ids are whole numbers, got {str(data.ids[0])!r}; --drop id leaves them"
        raise DataFileError(f"{reason} out", path)
