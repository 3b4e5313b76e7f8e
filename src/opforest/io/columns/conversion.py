"""Conversion of columns to features, labels and ids: exact, or an error."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from opforest._utils.interrupts import defer_interrupts
from opforest._utils.text import count, join_first
from opforest.errors import DataFileError
from opforest.io.columns.column import (
    MISSING_NUMBER,
    NUMERIC,
    Column,
    describe_columns,
)
from opforest.io.columns.forms import mark_missing
from opforest.io.columns.hints import explain_missing, explain_mixed, explain_text, guess_form
from opforest.io.columns.roles import Roles
from opforest.io.columns.table import Array, Data, ReadOptions, Table, locate_error

#: Types of cells that are neither numbers nor text, as messages name them.
OTHER_TYPES: dict[Any, str] = {
    pl.Struct: "nested objects",
    pl.List: "lists",
    pl.Array: "lists",
    pl.Binary: "bytes",
    pl.Decimal: "decimal numbers",
    pl.Null: "nothing",
}

#: Not all integers from here on are float64.
EXACT = 2.0**53


@defer_interrupts  # polars would swallow an interrupt
def to_data(
    table: Table, frame: pl.DataFrame, roles: Roles, options: ReadOptions, first: int = 0,
    text_labels: bool | None = None,
) -> Data:  # fmt: skip
    """Return the examples in some rows of a table, of which ``first`` is the first.

    ``text_labels`` says whether labels are text, where no model decides that.
    """
    if text_labels is None and options.expected:
        text_labels = options.expected.text_labels
    columns = describe_columns(frame, table)
    chosen = [
        replace(mark_missing(columns[k], roles.cells.missing), form=roles.columns[k].form)
        for k in roles.features
    ]
    convert = _Converter(table, roles, options, first, columns)
    as_frame = options.categories and (roles.text or not options.lossless)
    label = None if roles.label is None else columns[roles.label]
    return Data(
        convert.to_frame(chosen) if as_frame else convert.to_array(chosen),
        None if label is None else convert.to_labels(label, text_labels),
        None if roles.id is None else _to_ids(columns[roles.id]),
        roles.names,
        None if label is None else label.name,
        None if label is None else label.number,
        table.find_line,
        roles.layout,
        tuple(dict.fromkeys([*roles.notes, *table.notes])),
        rows=np.arange(first, first + len(frame)),
    )


@dataclass
class _Converter:
    table: Table
    roles: Roles
    options: ReadOptions
    first: int  #: number of the first row
    columns: list[Column]  #: all of the table

    def _error(self, reason: str) -> DataFileError:
        return DataFileError(reason, self.table.path)

    def _error_at(self, column: Column, i: int, reason: str) -> DataFileError:
        table = self.table
        return locate_error(reason, table.path, self.first + i, table.find_line, column.number)

    # Features.

    def to_array(self, columns: list[Column]) -> Array:
        """Return the features as an array."""
        self._check_kinds(columns)
        series = [_to_bits(column) if column.kind == "boolean" else column.numbers
                  for column in columns]  # fmt: skip
        frame = pl.DataFrame([one.alias(str(k)) for k, one in enumerate(series)])
        if not all(dtype == pl.Float32 for dtype in frame.dtypes):
            frame = frame.cast(pl.Float64)
        X = np.ascontiguousarray(frame.to_numpy())
        X = X if X.flags.writeable else X.copy()
        is_small = X.size == 0 or (X.max() < EXACT and X.min() > -EXACT)
        if is_small:  # so no number is NaN or infinite, either
            return X
        if not self.options.allow_missing and not np.isfinite(X).all():
            raise self._not_finite(X, columns)
        self._check_exact(X, columns)
        return X

    def to_frame(self, columns: list[Column]) -> pl.DataFrame:
        """Return the features in a data frame: numbers as float64, all else as text."""
        text, lossless = self.roles.text, self.options.lossless
        # Kinds first, so that text is reported before missing cells.
        self._check_kinds([column for k, column in enumerate(columns) if k not in text])
        series = []
        for k, column in enumerate(columns):
            if k not in text:
                cells = pl.Series(self.to_array([column])[:, 0]).fill_nan(None)
            elif lossless and not column.is_text:
                raise self._error(f"{column} holds {_name_type(column)}, which would become text; "
                                  f"--drop {column.option}")  # fmt: skip
            elif column.is_text and not lossless:
                cells = column.words
            else:
                cells = column.cells.cast(pl.String)
            series.append(cells.alias(column.name or str(column.number)))
        return pl.DataFrame(series)

    def _check_kinds(self, columns: list[Column]) -> None:
        for column in columns:
            if column.kind not in NUMERIC and column.kind != "empty":
                raise self._not_numeric(column)

    def _not_numeric(self, column: Column) -> DataFileError:
        """Return the error about a column that holds no numbers; about all, if it is text."""
        roles, options, is_new = self.roles, self.options, self.options.expected is None
        kinds = {one.kind for one in roles.feature_columns}
        if is_new and not options.categories and kinds & {"category", "text"}:
            return self._error(explain_text(roles, options))
        if column.kind in ("other", "date"):
            reason = f"{column} must hold numbers, got {_name_type(column)}; --drop {column.option}"
            or_flat = ", or write their members in columns of their own"
            is_nested = column.cells.dtype.base_type() == pl.Struct
            return self._error(f"{reason} leaves it out{or_flat if is_nested else ''}")
        remedy = explain_mixed(column, roles, options) if is_new else ""
        column = guess_form(column) if is_new else column
        prefix, suffix = column.form.affix
        wanted = "" if is_new else ", as in training"
        wanted += f" such as '{prefix}1{suffix}'" if prefix or suffix else ""
        i = int(column.is_invalid.arg_max() or 0)
        remedy = self._explain_footer(i) or remedy
        reason = f"{column} must hold numbers{wanted}, got {column.cells[i]!r}{remedy}"
        return self._error_at(column, i, reason)

    def _explain_footer(self, i: int) -> str:
        """Return advice about a row of totals or a comment: it has no label, or one cell alone."""
        cells = [str("" if column.cells[i] is None else column.cells[i]) for column in self.columns]
        label = self.roles.label
        is_alone = len(cells) > 2 and sum(bool(cell.strip()) for cell in cells) == 1
        if not is_alone and (label is None or cells[label].strip()):
            return ""
        lacks = "only one cell of the row is filled" if is_alone else "the row has no label"
        return f"; {lacks}: if it is a total or a comment, delete it"

    def _not_finite(self, X: Array, columns: list[Column]) -> DataFileError:
        i, k = np.argwhere(~np.isfinite(X))[0].tolist()
        cell, is_missing = columns[k].cells[i], np.isnan(X)
        shown = repr(cell) if str("" if cell is None else cell).strip() else "an empty cell"
        reason = f"{columns[k]} must hold finite numbers, got {shown}"
        if missing := [column for k, column in enumerate(columns) if is_missing[:, k].any()]:
            names = join_first([column.option for column in missing], 20)
            rows = int(is_missing.any(axis=1).sum())
            verb = "has" if rows == 1 else "have"
            reason += f"; {rows} of {count(len(X), 'row')} {verb} missing cells, in {names}"
            footer = self._explain_footer(i) if rows == 1 else ""
            reason += footer or f": {explain_missing(missing, self.options)}"
        return self._error_at(columns[k], i, reason)

    def _check_exact(self, X: Array, columns: list[Column]) -> None:
        """Raise an error about the first integer that float64 cannot hold."""
        table = self.table
        for k in np.flatnonzero((np.abs(X) >= EXACT).any(axis=0) if len(X) else []).tolist():
            column = columns[k]
            cells = column.plain if column.is_text else column.cells
            if cells.dtype.is_float() and table.as_text is not None:
                written = table.as_text([column.number - 1]).to_series()
                cells = written[self.first : self.first + len(X)]
            for i in np.flatnonzero(np.abs(X[:, k]) >= EXACT).tolist():
                if _is_inexact(cells[i], X[i, k]):
                    digits = str(cells[i]).strip()
                    shown = digits if len(digits) < 40 else f"a number of {len(digits)} digits"
                    reason = f"{column} has {shown}, which float64 cannot hold; if it is an id, "
                    raise self._error_at(column, i, f"{reason}--drop {column.option} leaves it out")

    # Labels.

    @property
    def _no_label(self) -> str:
        options = self.options
        can_drop = options.needs_label and options.remedy == "here" and options.expected is None
        return "the label is missing" + ("; --missing drop leaves out such rows" * can_drop)

    def to_labels(self, column: Column, text: bool | None) -> Array:
        """Return labels: integers where all are, else text; "" where one may be missing."""
        dtype = column.cells.dtype
        if column.is_text:
            return self._to_labels_from_text(column, text)
        if not (dtype.is_numeric() or dtype == pl.Boolean) or dtype.is_decimal():
            reason = f"labels must be text or numbers, and {column} holds {_name_type(column)}"
            raise self._error(f"{reason}; --label names another column")
        cells = column.cells.cast(pl.Int64) if dtype == pl.Boolean else column.cells
        missing = cells.is_null() | (cells.is_nan() if cells.dtype.is_float() else False)
        known = cells.filter(~missing)
        if missing.any():
            whole = cells.cast(pl.Int64, strict=False)
            if self.options.may_lack_labels and (known == known.cast(pl.Int64, strict=False)).all():
                return np.array(whole.cast(pl.String).fill_null("").to_list(), np.str_)
            raise self._error_at(column, int(missing.arg_max() or 0), self._no_label)
        y = cells.to_numpy()
        if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.rint(y))).all():
            raise self._error(f"labels must be whole numbers or text, got fractions in {column}; "
                              "--label names another column")  # fmt: skip
        if len(y) and y.dtype.kind in "uf" and max(abs(float(y.min())), y.max()) >= 2**63:
            raise self._error(f"labels must be below 2^63, got {y.max()}")
        labels = y.astype(np.int64)
        return labels.astype(np.str_) if text else labels

    def _to_labels_from_text(self, column: Column, text: bool | None) -> Array:
        words = column.cells.cast(pl.String).str.strip_chars().fill_null("")
        missing = words.str.to_lowercase().is_in(MISSING_NUMBER)
        if self.options.may_lack_labels and missing.any():
            return np.array(words.set(missing, "").to_list(), np.str_)
        if text is None:
            whole = words.str.contains(r"^[+-]?(0|[1-9]\d{0,17})(\.0*)?$")
            text = self.table.is_typed or not bool(whole.all())
        if text:
            return np.array(words.to_list(), np.str_)
        numbers = words.str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
        if numbers.null_count():
            i = int(numbers.is_null().arg_max() or 0)
            reason = f"the label must be a whole number, as all before, got {words[i]!r}"
            raise self._error_at(column, i, self._no_label if missing[i] else reason)
        return numbers.to_numpy()


def _to_bits(column: Column) -> pl.Series:
    is_true = column.words.str.to_lowercase() == "true" if column.is_text else column.cells
    return is_true.cast(pl.Float64)


def _name_type(column: Column) -> str:
    """Return what the cells of a column are that are neither numbers nor text."""
    dtype = column.cells.dtype
    return "dates" if column.kind == "date" else OTHER_TYPES.get(dtype.base_type(), "other values")


def _is_inexact(cell: Any, value: float) -> bool:
    """Return whether a cell is an integer, and this float has another value."""
    if not isinstance(cell, str):
        return isinstance(cell, int) and int(value) != cell
    digits = cell.strip().lstrip("+-")
    if not digits.isdecimal() or not digits.isascii():
        return False
    return (digits.lstrip("0") or "0") != f"{float(value):.0f}".lstrip("-")


def _to_ids(column: Column) -> Array:
    cells = column.cells
    if not column.is_text:
        return cells.to_numpy() if cells.dtype.is_numeric() else np.array(cells.cast(pl.String))
    words = cells.str.strip_chars().fill_null("")
    numbers = words.cast(pl.Int64, strict=False)
    if numbers.null_count() == 0 and (numbers.cast(pl.String) == words).all():
        return numbers.to_numpy()
    return np.array(words.to_list(), np.str_)
