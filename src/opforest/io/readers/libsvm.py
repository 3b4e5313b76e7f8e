"""LibSVM's sparse text, ``label 1:value 2:value …``, by scikit-learn's reader.

scikit-learn's writer rounds to 16 digits and drops features that are 0 everywhere.
"""

import io
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import IO

import numpy as np
import polars as pl

from opforest._utils.text import count
from opforest.errors import DataFileError
from opforest.io.columns.table import ROWS, Array, Data, ReadOptions, Table
from opforest.io.source import Source

_ZERO = re.compile(rb"[+-]?(0+\.?0*|\.0+)")
_INDEX = re.compile(rb"(?<!\S)(\d+):")

#: Cells of a dense block of rows; the largest index.
CELLS, LARGEST = 1 << 26, 100_000


def read_svm(source: Source, options: ReadOptions) -> Table:
    """Return the table in a LibSVM file; without labels if all are 0.

    A file is read twice: only the whole of it shows the number of features.
    """
    d, has_labels = (0, True) if source.is_live else _survey(source)
    d = d if options.expected is None else options.expected.n_features
    rows, numbers = _rows(source), array("q")  # the line of each row
    size = 1 if source.is_live else max(1, min(ROWS, CELLS // d))

    def frames() -> Iterator[pl.DataFrame]:
        while chunk := list(islice(rows, size)):
            X, y = _parse(chunk, d, source.name)
            numbers.extend(number for number, _ in chunk)
            frame = pl.DataFrame(X, schema=[str(k) for k in range(d)], orient="row")
            yield frame.with_columns(pl.Series(str(d), y)) if has_labels else frame

    return Table(source.name, None, frames(), (d if has_labels else None, None),
                 find_line=lambda row: numbers[row] if row < len(numbers) else None)  # fmt: skip


def _rows(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not comments, with their numbers."""
    lines = enumerate(source.open_text(), 1)
    return ((i, line) for i, line in lines if line.split(b"#", 1)[0].strip())


def _survey(source: Source) -> tuple[int, bool]:
    """Return the largest index of a file, and whether it has labels."""
    largest, has_labels = 1, False
    with source.reopen() as fresh:
        for number, line in _rows(fresh):
            label, *features = line.split(b"#", 1)[0].split(None, 1)
            has_labels = has_labels or not _ZERO.fullmatch(label)
            for index in _INDEX.findall(features[0]) if features else ():
                if len(index) > 18 or int(index) > LARGEST:
                    reason = f"the index {index[:20].decode()} must be at most {LARGEST}"
                    raise DataFileError(reason, source.name, number)
                largest = max(largest, int(index))
    return largest, has_labels


def _parse(numbered: list[tuple[int, bytes]], d: int, name: str) -> tuple[Array, Array]:
    try:
        return _load([line for _, line in numbered], d)
    except (ValueError, OverflowError) as error:
        for number, line in numbered:
            try:
                _load([line], d)
            except (ValueError, OverflowError) as cause:
                shown = line.strip()[:40].decode("utf-8", "replace")
                reason = "it must be a label and pairs such as 3:0.5, numbered from 1 in order"
                if str(cause).startswith("n_features"):
                    reason = f"there are {count(d, 'feature')}, and it has one with a larger number"
                reason = f"the row cannot be read: {reason}, got {shown!r}"
                raise DataFileError(reason, name, number) from None
        raise DataFileError(f"the file cannot be read: {error}", name) from None


def _load(lines: list[bytes], n_features: int) -> tuple[Array, Array]:
    from sklearn.datasets import load_svmlight_file

    content = io.BytesIO(b"".join(lines))
    sparse, y = load_svmlight_file(content, n_features=n_features, zero_based=False)
    entries = sparse.tocoo()
    X = np.zeros(sparse.shape)
    X[entries.row, entries.col] = entries.data  # toarray would lose −0
    return X, y


def write_svm(stream: IO[bytes], data: Data, _: str) -> None:
    """Write all examples without zeros, except one that shows the number of features."""
    X = data.X.astype(np.float64)
    kept = (X != 0) | np.signbit(X)
    kept[:1, -1] = True
    labels = np.zeros(len(X), np.int64) if data.y is None else data.y
    for row, chosen, label in zip(X, kept, labels.tolist(), strict=True):
        columns = np.flatnonzero(chosen)
        pairs = zip((columns + 1).tolist(), row[columns].tolist(), strict=True)
        stream.write(" ".join([str(label), *(f"{k}:{value!r}" for k, value in pairs)]).encode())
        stream.write(b"\n")
