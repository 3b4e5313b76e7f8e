"""The numbers, labels and ids of a table, exactly or not at all."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from opforest._utils.interrupts import defer_interrupts
from opforest.errors import DataFileError
from opforest.io.columns.describe import MISSING_NUMBER, NUMERIC, Column, describe, listed
from opforest.io.columns.forms import clear
from opforest.io.columns.hints import explain_missing, explain_mixed, explain_text, in_likely_form
from opforest.io.columns.roles import Roles
from opforest.io.columns.table import Array, Data, ReadOptions, Table

#: Whole numbers from here on are not all floating-point numbers of 64 bits.
EXACT = 2.0**53


@defer_interrupts  # polars would swallow an interrupt
def to_data(
    table: Table, frame: pl.DataFrame, roles: Roles, reading: ReadOptions, first: int = 0,
    text: bool | None = None,
) -> Data:  # fmt: skip
    """Return the examples in some rows of a table, the first of which has the number ``first``.

    ``text`` tells whether labels are text, where that has been decided.
    """
    columns = describe(frame, table.names, table.declared)
    chosen = [
        replace(clear(columns[k], roles.cells.missing), form=roles.columns[k].form)
        for k in roles.features
    ]
    teller = _Teller(table, first)
    if reading.categories and (roles.text or not reading.lossless):
        X = _features(chosen, roles, reading, teller)
    else:
        X = _numbers(chosen, roles, reading, teller)
    label = None if roles.label is None else columns[roles.label]
    find = table.find_line
    return Data(
        X,
        None if label is None else _labels(label, text, teller, reading.may_lack_labels),
        None if roles.id is None else _ids(columns[roles.id]),
        roles.names,
        None if label is None else label.name,
        None if label is None else label.number,
        None if find is None else lambda i: find(first + i),
        roles.layout,
        tuple(roles.notes),
    )


@dataclass
class _Teller:
    """Says where a cell stands."""

    table: Table
    first: int

    def error(self, column: Column, i: int, reason: str) -> DataFileError:
        find = self.table.find_line
        line = None if find is None else find(self.first + i)
        path = self.table.path
        if line is None:
            return DataFileError(f"row {self.first + i + 1}: {reason}", path)
        return DataFileError(reason, path, line, column.number)


def _numbers(columns: list[Column], roles: Roles, reading: ReadOptions, teller: _Teller) -> Array:
    """Return the features as an array."""
    _check_kinds(columns, roles, reading, teller)
    series = [_boolean(column) if column.kind == "boolean" else column.numbers
              for column in columns]  # fmt: skip
    frame = pl.DataFrame([one.alias(str(k)) for k, one in enumerate(series)])
    if not all(dtype == pl.Float32 for dtype in frame.dtypes):
        frame = frame.cast(pl.Float64)
    X = np.ascontiguousarray(frame.to_numpy())
    X = X if X.flags.writeable else X.copy()
    if not reading.allow_missing:
        _check_finite(X, columns, teller, reading)
    _check_exact(X, columns, teller)
    return X


def _check_kinds(
    columns: list[Column], roles: Roles, reading: ReadOptions, teller: _Teller
) -> None:  # fmt: skip
    for column in columns:
        if column.kind not in NUMERIC and column.kind != "empty":
            raise _no_numbers(column, roles, reading, teller)


def _boolean(column: Column) -> pl.Series:
    if column.is_text:
        return (column.words.str.to_lowercase() == "true").cast(pl.Float64)
    return column.cells.cast(pl.Float64)


def _no_numbers(
    column: Column, roles: Roles, reading: ReadOptions, teller: _Teller
) -> DataFileError:  # fmt: skip
    """Return the error about a column that holds no numbers; all of them, if it is text."""
    seen = {roles.columns[k].kind for k in roles.features}
    is_new = reading.expected is None
    if is_new and not reading.categories and seen & {"category", "text"}:
        return DataFileError(explain_text(roles, reading), teller.table.path)
    if column.kind in ("other", "date"):
        reason = f"{column} must hold numbers, got {_type(column)}; --drop {column.option}"
        return DataFileError(reason, teller.table.path)
    remedy = explain_mixed(column, roles, reading) if is_new else ""
    column = column if not is_new else in_likely_form(column)
    i = int(column.bad.arg_max() or 0)
    before = "" if is_new else ", as in training"
    reason = f"{column} must hold numbers{before}{_such_as(column)}, got {column.cells[i]!r}"
    return teller.error(column, i, f"{reason}{remedy}")


def _such_as(column: Column) -> str:
    """Say what stands around the numbers of a column."""
    prefix, suffix = column.form.affix
    return f" such as '{prefix}1{suffix}'" if prefix or suffix else ""


def _type(column: Column) -> str:
    return "dates" if column.kind == "date" else str(column.cells.dtype)


def _check_finite(X: Array, columns: list[Column], teller: _Teller, reading: ReadOptions) -> None:
    if np.isfinite(X).all():
        return
    bad = ~np.isfinite(X)
    missing = [column for k, column in enumerate(columns) if np.isnan(X[:, k]).any()]
    i, k = (int(place) for place in np.argwhere(bad)[0])
    cell = columns[k].cells[i]
    shown = repr("" if cell is None else cell)
    reason = f"{columns[k]} must hold finite numbers, got {shown}"
    if missing:
        names = listed([column.option for column in missing], 20)
        rows = int(np.isnan(X).any(axis=1).sum())
        reason += f"; {rows} of {len(X)} rows have missing cells, in {names}: "
        reason += explain_missing(missing, reading)
    raise teller.error(columns[k], i, reason)


def _check_exact(X: Array, columns: list[Column], teller: _Teller) -> None:
    """Refuse whole numbers that floating point cannot hold."""
    table = teller.table
    for k in np.flatnonzero((np.abs(X) >= EXACT).any(axis=0) if len(X) else []).tolist():
        column = columns[k]
        cells = column.plain if column.is_text else column.cells
        if cells.dtype.is_float() and table.as_text is not None:
            written = table.as_text([column.number - 1]).to_series()
            cells = written[teller.first : teller.first + len(X)]
        for i in np.flatnonzero(np.abs(X[:, k]) >= EXACT).tolist():
            cell = cells[i]
            if isinstance(cell, str):
                cell = cell.strip()
                is_whole = cell.lstrip("+-").isdecimal() and cell.isascii()
                lost = is_whole and _digits(cell) != f"{float(X[i, k]):.0f}".lstrip("-")
            else:
                lost = isinstance(cell, int) and int(X[i, k]) != cell
            if lost:
                shown = str(cell) if len(str(cell)) < 40 else f"a number of {len(cell)} digits"
                reason = f"{column} has {shown}, which float64 cannot hold; if it is an id, "
                raise teller.error(column, i, f"{reason}--drop {column.option} leaves it out")


def _digits(cell: str) -> str:
    return cell.lstrip("+-").lstrip("0") or "0"


def _features(columns: list[Column], roles: Roles, reading: ReadOptions, teller: _Teller) -> Any:
    """Return the features in a data frame: numbers as float64, all else as text."""
    series = []
    numbers = [column for k, column in enumerate(columns) if k not in roles.text]
    _check_kinds(numbers, roles, reading, teller)  # before one of them is found to have holes
    for k, column in enumerate(columns):
        if k in roles.text and reading.lossless and not column.is_text:
            reason = f"{column} holds {_type(column)}, which would become text; --drop "
            raise DataFileError(f"{reason}{column.option}", teller.table.path)
        if k in roles.text and reading.lossless:
            cells = column.cells.cast(pl.String)  # as it is written
        elif k in roles.text:
            cells = column.words if column.is_text else column.cells.cast(pl.String)
        else:
            cells = pl.Series(_numbers([column], roles, reading, teller)[:, 0]).fill_nan(None)
        series.append(cells.alias(column.name or str(column.number)))
    return pl.DataFrame(series)


# Labels and ids.


def _labels(column: Column, text: bool | None, teller: _Teller, may_lack: bool) -> Array:
    """Return labels: whole numbers where all are, else text; ``""`` for one that may be missing."""
    cells = column.cells
    if column.is_text:
        words = cells.cast(pl.String).str.strip_chars().fill_null("")
        if may_lack and (gone := words.str.to_lowercase().is_in(MISSING_NUMBER)).any():
            return np.array(words.set(gone, "").to_list(), np.str_)
        if text is None:
            text = teller.table.is_typed or not bool(
                words.str.contains(r"^[+-]?(0|[1-9]\d{0,17})(\.0*)?$").all()
            )
        if text:
            return np.array(words.to_list(), np.str_)
        whole = words.str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
        if whole.null_count():
            i = int(whole.is_null().arg_max() or 0)
            reason = "the label is missing"
            if words[i].lower() not in MISSING_NUMBER:
                reason = f"the label must be a whole number, as all before, got {words[i]!r}"
            raise teller.error(column, i, reason)
        return whole.to_numpy()
    dtype = cells.dtype
    if not (dtype.is_numeric() or dtype == pl.Boolean) or dtype.is_decimal():
        reason = f"labels must be text or numbers, and {column} has the type {dtype}"
        raise DataFileError(reason, teller.table.path)
    return _numeric_labels(column, text, teller, may_lack)


def _numeric_labels(
    column: Column, text: bool | None, teller: _Teller, may_lack: bool
) -> Array:  # fmt: skip
    cells = column.cells.cast(pl.Int64) if column.cells.dtype == pl.Boolean else column.cells
    wanting = cells.is_null() | (cells.is_nan() if cells.dtype.is_float() else False)
    known = cells.filter(~wanting)
    if wanting.any() and may_lack and (known == known.cast(pl.Int64, strict=False)).all():
        words = cells.cast(pl.Int64, strict=False).cast(pl.String).fill_null("")
        return np.array(words.to_list(), np.str_)
    if wanting.any():
        raise teller.error(column, int(wanting.arg_max() or 0), "the label is missing")
    y = cells.to_numpy()
    path = teller.table.path
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.rint(y))).all():
        raise DataFileError(
            f"labels must be whole numbers or text, got fractions in {column}; --label names "
            "another column",
            path,
        )
    if len(y) and y.dtype.kind in "uf" and not (abs(float(y.min())) < 2**63 and y.max() < 2**63):
        raise DataFileError(f"labels must be below 2^63, got {y.max()}", path)
    whole = y.astype(np.int64)
    return whole.astype(np.str_) if text else whole


def _ids(column: Column) -> Array:
    cells = column.cells
    if not column.is_text:
        return cells.to_numpy() if cells.dtype.is_numeric() else np.array(cells.cast(pl.String))
    words = cells.str.strip_chars().fill_null("")
    numbers = words.cast(pl.Int64, strict=False)
    if numbers.null_count() == 0 and (numbers.cast(pl.String) == words).all():
        return numbers.to_numpy()
    return np.array(words.to_list(), np.str_)
