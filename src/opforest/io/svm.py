"""LibSVM's sparse text, ``label 1:value 2:value …``, by scikit-learn's reader.

Its writer rounds to 16 digits and drops features that are 0 everywhere, so we write ourselves.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TextIO

import numpy as np

from opforest.io.data import Array, Data, Reading
from opforest.io.errors import DataFileError

_ZERO = re.compile(rb"[+-]?(0+\.?0*|\.0+)")
_INDEX = re.compile(rb"(?<!\S)(\d{1,18}):")


class Survey(NamedTuple):
    """What can only be said of a whole file."""

    n_features: int
    has_labels: bool  #: all 0 means that there are none


def survey(lines: Iterable[bytes]) -> Survey:
    """Look through a file for its largest index and for labels, and keep nothing of it."""
    largest, has_labels = 1, False
    for line in filter(_is_row, lines):
        label, *features = line.split(b"#", 1)[0].split(None, 1)
        has_labels = has_labels or not _ZERO.fullmatch(label)
        for index in _INDEX.findall(features[0]) if features else ():
            largest = max(largest, int(index))
    return Survey(largest, has_labels)


def read_svm(
    lines: Iterable[bytes], found: Survey, reading: Reading, path: str, size: int, skip: int
) -> Iterator[Data]:
    """Yield the examples of a file, ``size`` at a time."""
    rows = (pair for pair in enumerate(lines, 1) if _is_row(pair[1]))
    numbered = islice(rows, skip, None)
    while chunk := list(islice(numbered, size)):
        data = _parse(chunk, found.n_features, reading, path)
        yield data if found.has_labels else replace(data, y=None)


def _is_row(line: bytes) -> bool:
    return bool(line.split(b"#", 1)[0].strip())


def _parse(numbered: list[tuple[int, bytes]], n_features: int, reading: Reading, path: str) -> Data:
    try:
        X, y = _load([line for _, line in numbered], n_features)
    except ValueError as error:
        for number, line in numbered:
            try:
                _load([line], n_features)
            except ValueError as cause:
                raise DataFileError(f"the row cannot be read: {cause}", path, number) from None
        raise DataFileError(f"the file cannot be read: {error}", path) from None
    lines = np.array([number for number, _ in numbered])
    _check(X, lines, reading, path)
    return Data(X, None if reading.label == "none" else y, lines=lines)


def _load(lines: list[bytes], n_features: int) -> tuple[Array, Array]:
    from sklearn.datasets import load_svmlight_file

    content = io.BytesIO(b"".join(lines))
    sparse, y = load_svmlight_file(content, n_features=n_features, zero_based=False)
    entries = sparse.tocoo()
    X = np.zeros(sparse.shape)
    X[entries.row, entries.col] = entries.data  # toarray would add them to 0, and −0 be lost
    return X, y


def _check(X: Array, lines: Array, reading: Reading, path: str) -> None:
    if reading.drop or reading.label not in (None, "none"):
        raise DataFileError("LibSVM files have no columns to name: the label comes first", path)
    if not reading.allow_missing and not np.isfinite(X).all():
        i, k = np.argwhere(~np.isfinite(X))[0]
        reason = f"feature {k + 1} must be a finite number, got {X[i, k]}"
        raise DataFileError(reason, path, int(lines[i]))


def write_svm(stream: TextIO, data: Data) -> None:
    """Write all examples; zeros are left out, but for one that says how many features there are."""
    X = data.X.astype(np.float64)
    kept = (X != 0) | np.signbit(X)
    kept[:1, -1] = True
    labels = np.zeros(len(X), np.int64) if data.y is None else data.y
    for row, chosen, label in zip(X, kept, labels.tolist(), strict=True):
        columns = np.flatnonzero(chosen)
        pairs = zip((columns + 1).tolist(), row[columns].tolist(), strict=True)
        stream.write(" ".join([str(label), *(f"{k}:{value!r}" for k, value in pairs)]) + "\n")
