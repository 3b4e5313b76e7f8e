"""LibSVM's sparse text, ``label 1:value 2:value …``, by scikit-learn's reader.

Its writer rounds to 16 digits and drops features that are 0 everywhere, so we write ourselves.
"""

import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import IO, TextIO

import numpy as np

from opforest.io.data import Array, Data, Reading
from opforest.io.errors import DataFileError


def read_svm(
    stream: IO[bytes], reading: Reading, path: str, size: int | None, skip: int
) -> Iterator[Data]:
    """Yield the examples of a file; all at once if ``size`` is None.

    A chunk does not say how many features there are, so a model must, or all is read first.
    """
    expected = reading.expected.n_features if reading.expected else None
    if size is None or expected is None:
        data = _parse(list(enumerate(stream, 1)), expected, reading, path)
        if data.y is not None and not data.y.any():  # all 0: there are no labels
            data = replace(data, y=None)
        data = data.take(slice(skip, None))
        for begin in range(0, len(data), size or len(data)):
            yield data.take(slice(begin, begin + (size or len(data))))
        return
    numbered = (pair for pair in enumerate(stream, 1) if _is_row(pair[1]))
    lines = islice(numbered, skip, None)
    while chunk := list(islice(lines, size)):
        yield _parse(chunk, expected, reading, path)


def _is_row(line: bytes) -> bool:
    return bool(line.split(b"#", 1)[0].strip())


def _parse(
    numbered: list[tuple[int, bytes]], n_features: int | None, reading: Reading, path: str
) -> Data:
    numbered = [pair for pair in numbered if _is_row(pair[1])]
    if not numbered:
        raise DataFileError("there are no examples", path)
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


def _load(lines: list[bytes], n_features: int | None) -> tuple[Array, Array]:
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
