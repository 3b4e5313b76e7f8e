"""The dialect of a text file: delimiter, header, decimal mark and types, by its first lines.

``csv.Sniffer`` takes letters for delimiters and numbers for a header, so it is detected here.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from opforest._utils.numerals import looks_like_number
from opforest.errors import DataFileError
from opforest.io.columns.column import FINITE, MISSING_NUMBER
from opforest.io.columns.extra_rows import (
    count_titles,
    describe_title,
    drop_repeated_names,
    find_units,
)
from opforest.io.columns.headers import find_header, is_number
from opforest.io.columns.table import ReadOptions

#: Possible delimiters; a blank stands for any white space.
DELIMITERS = (",", "\t", ";", "|", " ")

#: Cells that show the decimal mark; most columns of a table.
MANY_CELLS, MANY_COLUMNS = 20_000, 100_000

#: A number with a decimal comma.
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*", re.ASCII)
_MARKS = {
    kind: re.compile(rf"[+-]?({pattern})([eE][+-]?\d+)?", re.ASCII)
    for kind, pattern in {
        "decimal comma": r"\d*,(\d{1,2}|\d{4,})|0\d*,\d{3}|\d{4,},\d{3}",
        "decimal point": r"\d*\.(\d{1,2}|\d{4,})|0\d*\.\d{3}|\d{4,}\.\d{3}",
        "comma": r"[1-9]\d{0,2},\d{3}",
        "point": r"[1-9]\d{0,2}\.\d{3}",
        "commas": r"[1-9]\d{0,2}(,\d{3}){2,}(\.\d*)?|[1-9]\d{0,2},\d{3}\.\d+",
        "points": r"[1-9]\d{0,2}(\.\d{3}){2,}(,\d*)?|[1-9]\d{0,2}\.\d{3},\d+",
    }.items()
}  #: numbers with a comma or a point, and what it may mean
_NUMBER = re.compile(rf"{FINITE}|[+-]?(?i:inf|infinity|nan)", re.ASCII)
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]*0\d", re.ASCII)
_MISSING = frozenset(MISSING_NUMBER)
_QUOTED = re.compile(r'"[^"]*"')
_LETTER = re.compile(r"[^\W\d_]")
_SEPARATOR = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_BLANK_WITHIN = re.compile(r"\d\s\d")

Row = tuple[int, list[str]]  #: a line number and the cells


class Dialect(NamedTuple):
    """The layout of a file."""

    delimiter: str
    names: tuple[str, ...] | None
    width: int  #: the number of columns
    schema: tuple[Any, ...]  #: their types, by the first rows
    skipped: int  #: lines before the first example
    has_tail: bool = False  #: whether rows end with a delimiter
    has_commas: bool = False  #: whether numbers have a comma instead of a point
    is_padded: bool = False  #: whether blanks follow delimiters
    decimal: str = ""  #: the decimal mark of cells, if the first rows show it
    notes: tuple[str, ...] = ()  #: decisions made without an option
    header: Row | None = None  #: as it is written


def split_rows(lines: Iterable[str], delimiter: str, path: str, before: int = 0) -> Iterator[Row]:
    """Yield rows with their line numbers; ``before`` lines precede these."""
    if delimiter == " ":
        yield from ((before + i, line.split()) for i, line in enumerate(lines, 1) if line.strip())
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True)
    while True:
        line = before + reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            reason = str(error)
            if "unexpected end" in reason:
                reason = "a quote is not closed"
            elif "field larger" in reason:
                size = csv.field_size_limit()
                reason = f"a cell has more than {size} characters; is a quote not closed?"
            raise DataFileError(f"the row cannot be read: {reason}", path, line) from None
        if row is None:
            return
        if row and (len(row) > 1 or row[0].strip()):
            yield line, row


def find_dialect(lines: list[str], options: ReadOptions, path: str) -> Dialect:
    """Return the layout of a file by its first lines, or ask what they do not show."""
    begin = options.skip + _skip_comments(lines[options.skip :])
    delimiter = options.delimiter
    if found := _SEPARATOR.fullmatch(lines[begin].rstrip("\r\n") if begin < len(lines) else ""):
        delimiter, begin = delimiter or found[1], begin + 1
    body = lines[begin:]
    if not any(line.strip() for line in body):
        raise DataFileError("the file is empty", path)
    rows, delimiter, notes = _split_table(body, delimiter, options, path, begin)
    if any(len(row) > MANY_COLUMNS for _, row in rows[:2]):
        reason = f"there are {len(rows[0][1])} columns; {MANY_COLUMNS} are the most in text. NPZ "
        raise DataFileError(f"{reason}has no such limit", path)
    decimal = options.decimal or find_decimal([row for _, row in rows])
    has_commas = decimal == "comma only" and delimiter != ","
    if has_commas:
        notes.append(_describe_commas(rows))
        rows = [(line, [cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell
                        for cell in row]) for line, row in rows]  # fmt: skip
    decimal = decimal if decimal in (".", ",") else ""
    has_header = options.header
    rows = drop_repeated_names(rows)
    if has_header is None:
        has_header, more = find_header([row for _, row in rows], options, path, rows[0][0])
        notes += more
    data = rows[1:] if has_header else rows
    if has_header and (units := find_units([row for _, row in data])):
        notes.append(f"line {data[0][0]} is left out: it has the units of the columns, {units}")
        data = data[1:]
    if not data:
        list(split_rows(body, delimiter, path, begin))  # raises the error, if there is one
        raise DataFileError("there are no examples", path)
    width, names = len(data[0][1]), None
    tail = width > 1 and all(len(row) == width and not row[-1].strip() for _, row in data)
    if has_header:
        names, width, tail = _match_names([name.strip() for name in rows[0][1]], width, tail)
    elif tail:
        width -= 1
    cells = [list(map(str.strip, [row[k] for _, row in data if k < len(row)]))
             for k in range(width)]  # fmt: skip
    padded = delimiter not in " \t" and f"{delimiter} " in _QUOTED.sub("", "".join(body[:50]))
    schema = [_find_type(column) for column in cells]
    if decimal == ",":  # what polars takes for a fraction may be thousands
        schema = [pl.String if kind == pl.Float64 else kind for kind in schema]
    return Dialect(delimiter, names, width, tuple(schema), data[0][0] - 1, tail, has_commas, padded,
                   decimal, tuple(notes), rows[0] if has_header else None)  # fmt: skip


def may_have_extra_rows(lines: list[str], options: ReadOptions) -> bool:
    """Return whether two lines may be titles, or names and units: the second has no number."""
    body = lines[options.skip + _skip_comments(lines[options.skip :]) :]
    rows = _split_sample(body, options.delimiter or find_delimiter(body))
    return len(rows) > 1 and not any(map(looks_like_number, rows[-1][1]))


def _split_table(
    body: list[str], delimiter: str | None, options: ReadOptions, path: str, before: int
) -> tuple[list[Row], str, list[str]]:
    """Return the rows of a sample without titles above the table, the delimiter, and notes."""
    chosen = delimiter or find_delimiter(body)
    rows = _split_sample(body, chosen, before)
    n = count_titles([row for _, row in rows]) if options.header is None else 0
    if n == 0:
        return rows or list(split_rows(body, chosen, path, before)), chosen, []
    notes = [f"line {line} is left out: {describe_title(row)}" for line, row in rows[:n]]
    skipped = rows[n][0] - 1 - before
    rows, chosen, more = _split_table(body[skipped:], delimiter, options, path, before + skipped)
    return rows, chosen, notes + more


def _describe_commas(rows: list[Row]) -> str:
    """Return a note on decimal commas, with the first cell that has one."""
    cells = (cell.strip() for _, row in rows for cell in row)
    cell = next(filter(_MARKS["decimal comma"].fullmatch, cells))
    return f"numbers have decimal commas: {cell!r} is read as {cell.replace(',', '.')}"


def _skip_comments(lines: list[str]) -> int:
    """Return the number of comments and blank lines before the table."""
    shared = sum(";" in line for line in lines) * 2 > len(lines)
    marks = ("#", "%") if shared else ("#", "%", ";")
    return next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(marks)),
                len(lines))  # fmt: skip


def _split_sample(lines: list[str], delimiter: str, before: int = 0) -> list[Row]:
    """Return the rows of a sample, which may end within quotes; none if the first is invalid."""
    rows: list[Row] = []
    with suppress(DataFileError):
        rows.extend(split_rows(lines, delimiter, "", before))
    return rows


def _match_names(names: list[str], width: int, tail: bool) -> tuple[tuple[str, ...], int, bool]:
    """Return names for all columns; the header may be a cell shorter or longer than the rows."""
    if len(names) == width + 1 and (not names[-1] or names[-1].startswith("Unnamed: ")):
        names.pop()
        tail = False
    elif len(names) == width - 1 and tail:
        width -= 1
    elif len(names) == width - 1:
        names.insert(0, "")  # as R writes the names of rows
    elif len(names) == width and tail and not names[-1]:
        names.pop()
        width -= 1
    else:
        tail, width = False, len(names)
    return tuple(name or f"column {k + 1}" for k, name in enumerate(names)), width, tail


def _find_type(cells: list[str]) -> Any:
    """Return the type of a column, by its first cells."""
    known = [cell for cell in cells if cell.lower() not in _MISSING]
    if known and all(map(_WHOLE.fullmatch, known)):
        return pl.Int64
    if any(map(_LEADING_ZERO.match, known)):
        return pl.String  # 007 may be a label
    return pl.Float64 if known and all(map(_NUMBER.fullmatch, known)) else pl.String


def find_decimal(rows: list[list[str]]) -> str:
    """Return the decimal mark of a file with commas in its cells; "" if they are ambiguous.

    ``"comma only"`` if no number has a point, so that each comma is a decimal mark.
    """
    cells = [cell.strip() for row in rows for cell in row if "," in cell]
    if not cells:
        return ""
    pointed = (cell.strip() for row in rows for cell in row if "." in cell)
    cells += islice(pointed, MANY_CELLS)
    found = {kind for kind, pattern in _MARKS.items() if any(map(pattern.fullmatch, cells))}
    has_comma, has_point = found & {"decimal comma", "points"}, found & {"decimal point", "commas"}
    if bool(has_comma) == bool(has_point):
        return ""
    if has_comma and found <= {"decimal comma", "comma"}:
        return "comma only"
    return "," if has_comma else "."


def find_delimiter(lines: list[str]) -> str:
    """Return the delimiter: it occurs equally often in most lines, with numbers between.

    The first line, which may be a header, may have one cell more or less.
    """
    lines = [line for line in lines if line.strip()][:100]
    best, most = ",", (False, 0.0, 0.0, 1)
    for delimiter in DELIMITERS:
        rows = [row for _, row in _split_sample(lines, delimiter)]
        widths = [len(row) for row in rows[1:] or rows]
        if not widths or max(widths) < 2:
            continue
        width = max(set(widths), key=widths.count)
        alike = widths.count(width) / len(widths)
        cells = [cell for row in rows[1:20] or rows for cell in row[:1000]]
        numbers = sum(map(_may_be_number, cells)) / max(1, len(cells))
        fits = len(rows[0]) > 1 and abs(len(rows[0]) - width) <= 1
        score = (fits, round(alike, 2), round(numbers, 1), width)
        if delimiter == " " and most[:2] == (True, 1) and _has_words(best, lines, cells):
            continue
        if width > 1 and score > most:
            best, most = delimiter, score
    return best


def _has_words(delimiter: str, lines: list[str], pieces: list[str]) -> bool:
    """Return whether cells have several words; ``pieces`` are cells split at blanks."""
    if delimiter == "\t":  # a tab is white space, too
        cells = (cell.strip() for line in lines for cell in line.split("\t"))
        return any(" " in cell and _LETTER.search(cell) for cell in cells)
    return any(delimiter in piece and not _may_be_number(piece) for piece in pieces)


def _may_be_number(cell: str) -> bool:
    """Return whether a cell is a number without a blank, which may be the delimiter."""
    return is_number(cell) or (looks_like_number(cell) and not _BLANK_WITHIN.search(cell))
