"""Rows of text made numbers, and labels, chunk by chunk."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from opforest.io.columns import Roles, choose_roles
from opforest.io.data import Array, Data, Reading, is_whole
from opforest.io.errors import DataFileError

#: What stands for a value that is not there.
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})

Row = tuple[int, list[str]]  #: a line number and the cells


class Cells(NamedTuple):
    """A table of text."""

    names: list[str] | None
    rows: Iterator[Row]
    n_columns: int
    sample: list[Row]  #: the first rows, which come again in ``rows``
    text: set[int] | None = None  #: the columns that hold text, where that is declared


def take_sample(names: list[str] | None, rows: Iterator[Row], size: int, path: str) -> Cells:
    """Return a table whose first rows are looked at beforehand."""
    sample = list(islice(rows, size))
    if not sample:
        raise DataFileError("there are no examples", path)
    n_columns = len(sample[0][1]) if names is None else len(names)
    return Cells(names, chain(sample, rows), n_columns, sample)


def to_chunks(cells: Cells, reading: Reading, path: str, size: int, skip: int) -> Iterator[Data]:
    """Yield the examples of a table; labels are objects unless they are known to be text."""
    rows = _check_width(cells, path)
    text, whole = _kinds(cells)
    declared = text if cells.text is None else cells.text
    roles = choose_roles(cells.names, cells.n_columns, declared, whole, reading, path)
    label = roles.label
    has_words = label is not None and not all(
        is_whole(row[label].strip()) for _, row in cells.sample if label < len(row)
    )
    rows = islice(rows, skip, None)
    while chunk := list(islice(rows, size)):
        data = _convert(chunk, roles, reading.allow_missing, path)
        if data.y is not None and has_words:
            data = replace(data, y=data.y.astype(np.str_))
        yield data


def _check_width(cells: Cells, path: str) -> Iterator[Row]:
    for line, row in cells.rows:
        if len(row) != cells.n_columns:
            before = "the first line" if cells.names is None else "the header"
            raise DataFileError(
                f"the row has {len(row)} cells, but {before} has {cells.n_columns}", path, line
            )
        yield line, row


def _kinds(cells: Cells) -> tuple[set[int], set[int]]:
    """Return which columns of the sample hold text mostly, and which whole numbers only."""
    text, whole = set(), set()
    for k in range(cells.n_columns):
        column = [row[k] for _, row in cells.sample if k < len(row) and not is_missing(row[k])]
        numbers = [number for cell in column if (number := _number(cell)) is not None]
        if 2 * len(numbers) < len(column):  # a few may be errors
            text.add(k)
        elif all(number.is_integer() for number in numbers):
            whole.add(k)
    return text, whole


def is_missing(cell: str) -> bool:
    """Tell whether a cell says that a value is not there."""
    return cell.strip().lower() in MISSING


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return math.nan if is_missing(cell) else None


def _convert(chunk: list[Row], roles: Roles, allow_missing: bool, path: str) -> Data:
    X = _numbers(chunk, roles, path)
    if allow_missing:  # so the numbers will be written, and nothing must be lost
        _check_large(X, chunk, roles, path)
    if not allow_missing and not np.isfinite(X).all():
        i, k = np.argwhere(~np.isfinite(X))[0]
        line, row = chunk[i]
        column = roles.features[k]
        reason = f"{roles.describe(column)} must hold finite numbers, got {row[column]!r}"
        raise DataFileError(reason, path, line, column + 1)
    return Data(
        X,
        _column(chunk, roles.label),
        _ids(chunk, roles.id),
        roles.feature_names,
        roles.label_name,
        np.array([line for line, _ in chunk]),
        None if roles.label is None else roles.label + 1,
    )


def _check_large(X: Array, chunk: list[Row], roles: Roles, path: str) -> None:
    """Refuse whole numbers that 64 bits of floating point cannot hold."""
    for i, k in np.argwhere(np.abs(X) >= 2.0**53):
        (line, row), column = chunk[i], roles.features[k]
        if row[column].strip().lstrip("+-").isdecimal() and int(row[column]) != int(X[i, k]):
            reason = f"{roles.describe(column)} has {row[column]}, which float64 cannot hold"
            raise DataFileError(reason, path, line, column + 1)


def _numbers(chunk: list[Row], roles: Roles, path: str) -> Array:
    columns = roles.features
    try:
        X = np.array([[float(row[k]) for k in columns] for _, row in chunk])
    except ValueError:
        return np.array([_slowly(line, row, roles, path) for line, row in chunk])
    if any("_" in cell for cell in chain.from_iterable(row for _, row in chunk)):
        return np.array([_slowly(line, row, roles, path) for line, row in chunk])
    return X


def _slowly(line: int, row: Sequence[str], roles: Roles, path: str) -> list[float]:
    numbers = []
    for k in roles.features:
        number = _number(row[k])
        if number is None:
            reason = f"{roles.describe(k)} must hold numbers, got {row[k]!r}"
            raise DataFileError(reason, path, line, k + 1)
        numbers.append(number)
    return numbers


def _column(chunk: Iterable[Row], column: int | None) -> Array | None:
    return None if column is None else np.array([row[column].strip() for _, row in chunk], object)


def _ids(chunk: Sequence[Row], column: int | None) -> Array | None:
    ids = _column(chunk, column)
    if ids is None:
        return None
    try:
        numbers = ids.astype(np.int64)
    except (ValueError, OverflowError):
        return ids.astype(np.str_)
    return numbers if (numbers.astype(np.str_) == ids).all() else ids.astype(np.str_)
