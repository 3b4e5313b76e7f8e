"""ARFF, dense and sparse.

SciPy's reader knows neither text nor sparse rows and no lines in its errors, and liac-arff is
no longer kept, so these few lines are ours.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import polars as pl

from opforest.errors import DataFileError
from opforest.io.columns.describe import MISSING_NUMBER, NUMBER
from opforest.io.columns.table import Data, ReadOptions, Table
from opforest.io.readers.delimited import decode
from opforest.io.readers.frames import to_frame
from opforest.io.source import Source

_QUOTED = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|(\S+))\s+(.+)$", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:{_QUOTED}|([^,'\"]*?))\s*(,|$)")
_SPARSE = re.compile(rf"\s*(\d{{1,9}})\s+(?:{_QUOTED}|([^,'\"\s]+))\s*(?:,|$)")
_SIMPLE = re.compile(r"[A-Za-z0-9_.+-]+$", re.ASCII)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_WHOLE, _LEADING_ZERO = r"^(\+?0|[+-]?[1-9]\d{0,17})$", r"^[+-]*0\d"

#: Whole numbers of more digits than a float holds; as ids they must stay as written.
_LONG = r"^[+-]?\d{16,}$"
_NUMERIC = ("numeric", "real", "integer")

#: Rows that are made a data frame at a time.
SOME = 2048

Lines = Iterator[tuple[int, str]]  #: with their numbers


class Attribute(NamedTuple):
    """A column as the header declares it."""

    name: str
    values: list[str] | None  #: of a nominal one
    is_text: bool


def read_arff(source: Source, reading: ReadOptions) -> Table:
    """Return the table in an ARFF file."""
    file = Arff(source)

    def as_text(columns: Sequence[int]) -> pl.DataFrame:
        with source.again() as fresh:
            frames = Arff(fresh, is_text=True).frames()
            return pl.concat([frame[:, list(columns)] for frame in frames])

    declared = {k: "category" if one.values else "number" for k, one in enumerate(file.attributes)
                if one.values or not one.is_text}  # fmt: skip
    return Table(
        source.name, tuple(one.name for one in file.attributes), file.frames(), declared=declared,
        is_typed=False, find_line=file.find_line, as_text=None if source.is_live else as_text,
    )  # fmt: skip


class Arff:
    """A table in ARFF, read some rows at a time; ``is_text`` says that all cells stay text."""

    def __init__(self, source: Source, is_text: bool = False) -> None:
        self.name, self.is_live = source.name, source.is_live
        numbered = enumerate(source.text(), 1)
        self._numbered = ((i, decode(line, i, self.name)) for i, line in numbered)
        self.attributes = _read_header(self._numbered, self.name)
        self._lines = array("q")  # of each row
        self._numeric = [] if is_text or self.is_live else [
            k for k, one in enumerate(self.attributes) if not one.is_text]  # fmt: skip

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the cells: numbers where all of a column are, and text elsewhere.

        Which columns are numbers is decided by the first rows. Where others turn up later, they
        are text there, and whoever joins the parts makes text of the column.
        """
        rows = _rows(self._numbered, self.attributes, self.name, self._lines)
        kinds: dict[int, Any] | None = None
        while some := list(islice(rows, 1 if self.is_live else SOME)):
            numbers = _numbers(some, self._numeric if kinds is None else [*kinds])
            if kinds is None:
                kinds = {k: series.dtype for k, series in numbers.items()}
            same = {k: _as(series, kinds[k]) for k, series in numbers.items()}
            yield pl.DataFrame([
                pl.Series(str(k), column, dtype=pl.String) if same.get(k) is None
                else same[k].alias(str(k))
                for k, column in enumerate(zip(*some, strict=True))
            ])  # fmt: skip

    def find_line(self, row: int) -> int | None:
        """Return the line of a row, counted from 0, as far as the file has been read."""
        return self._lines[row] if row < len(self._lines) else None


def _as(series: pl.Series, kind: Any) -> Any:
    """Return numbers as those of a kind; None if fractions are to be whole numbers."""
    if series.dtype == kind:
        return series
    return series.cast(kind) if kind == pl.Float64 else None


def _numbers(rows: list[list[str]], columns: list[int]) -> dict[int, pl.Series]:
    """Return those of the columns that hold numbers, and cells that are missing, but no text.

    All their cells are looked at together: there may be many columns, and each call takes its time.
    """
    if not columns:
        return {}
    shape = len(rows), len(columns)
    cells = pl.Series([row[k] for row in rows for k in columns], dtype=pl.String)

    def table(cells: pl.Series) -> Any:
        return np.asfortranarray(cells.to_numpy().reshape(shape))

    is_missing = table(cells.str.to_lowercase().is_in(MISSING_NUMBER))
    is_whole, is_number = table(cells.str.contains(_WHOLE)), table(cells.str.contains(NUMBER))
    has_zeros = table(cells.str.contains(_LEADING_ZERO)).any(axis=0)  # 007 may be a label
    is_long = table(cells.str.contains(_LONG)).any(axis=0)
    whole = (is_whole | is_missing).all(axis=0) & is_whole.any(axis=0)
    real = (is_number | is_missing).all(axis=0) & is_number.any(axis=0) & ~(has_zeros | is_long)
    values = {
        kind: table(cells.set(pl.Series(~chosen.ravel()), None).cast(kind, strict=False)
                    .fill_null(0))
        for kind, chosen in ((pl.Int64, is_whole), (pl.Float64, is_number))
    }  # fmt: skip
    found = {}
    for place in np.flatnonzero(whole | real).tolist():
        series = pl.Series(values[pl.Int64 if whole[place] else pl.Float64][:, place])
        gaps = is_missing[:, place]
        found[columns[place]] = series.set(pl.Series(gaps), None) if gaps.any() else series
    return found


def _read_header(numbered: Lines, path: str) -> list[Attribute]:
    attributes: list[Attribute] = []
    for line, content in numbered:
        content = content.strip()
        keyword = content.split(None, 1)[0].lower() if content else ""
        if keyword == "@data":
            if not attributes:
                raise DataFileError("@data must follow attributes, but there are none", path, line)
            return attributes
        if keyword == "@attribute":
            attributes.append(_attribute(content, path, line))
        elif keyword != "@relation" and not keyword.startswith("%") and content:
            raise DataFileError(f"a line of the header cannot be read: {content!r}", path, line)
    raise DataFileError("there is no line @data", path)


def _attribute(content: str, path: str, line: int) -> Attribute:
    found = _ATTRIBUTE.match(content)
    if not found:
        raise DataFileError("@attribute must have a name and a type", path, line)
    name, kind = _text_of(found.groups()[:3]), found[4].strip()
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, _split(kind[1:-1], path, line), True)
    kind = kind.split()[0].lower()
    if kind not in (*_NUMERIC, "string", "date"):
        raise DataFileError(f"attributes of type {kind!r} cannot be read", path, line)
    return Attribute(name, None, kind not in _NUMERIC)


def _text_of(groups: tuple[str | None, ...]) -> str:
    """Return what one of the ways to write a cell says: in quotes of either kind, or without."""
    *quoted, plain = groups
    inside = next((text for text in quoted if text is not None), None)
    if inside is None:
        return plain or ""
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), inside)


def _split(content: str, path: str, line: int) -> list[str]:
    if "'" not in content and '"' not in content:
        return [cell.strip() for cell in content.split(",")]
    cells, place = [], 0
    while True:
        found = _CELL.match(content, place)
        if not found:
            raise DataFileError("quotes must be closed and followed by a comma", path, line)
        cells.append(_text_of(found.groups()[:3]))
        place = found.end()
        if not found[4]:
            return cells


def _rows(
    numbered: Lines, attributes: list[Attribute], path: str, lines: "array[int]"
) -> Iterator[list[str]]:
    known = {k: {*one.values, "?"} for k, one in enumerate(attributes) if one.values}
    default = [one.values[0] if one.values else "0" for one in attributes]
    for line, content in numbered:
        content = content.strip()
        if not content or content.startswith("%"):
            continue
        if content.startswith("{"):
            row = _sparse_row(content, default, path, line)
        else:
            row = _split(content, path, line)
        if len(row) != len(attributes):
            reason = f"the row has {len(row)} cells, but the header has {len(attributes)}"
            raise DataFileError(reason, path, line)
        for k, values in known.items():
            if row[k] not in values:
                name, allowed = attributes[k].name, ", ".join(sorted(values - {"?"})[:8])
                reason = f"column {name!r} must be one of {allowed}, got {row[k]!r}"
                raise DataFileError(reason, path, line, k + 1)
        lines.append(line)
        yield row


def _sparse_row(content: str, default: list[str], path: str, line: int) -> list[str]:
    row = default.copy()
    inside, place = content[1:-1].strip(), 0
    while place < len(inside) or not content.endswith("}"):
        found = _SPARSE.match(inside, place)
        if not found or not content.endswith("}") or int(found[1]) >= len(row):
            reason = f"a sparse row must be {{index value, …}} of {len(row)} columns"
            raise DataFileError(reason, path, line)
        row[int(found[1])] = _text_of(found.groups()[1:])
        place = found.end()
    return row


def write_arff(stream: IO[bytes], data: Data, _: str) -> None:
    """Write all examples; numbers keep all their digits."""
    frame, lines = to_frame(data, as_text=True), ["@relation opforest\n", ""]
    for k, column in enumerate(frame):
        kind = "numeric" if column.dtype.is_numeric() else "string"
        if data.y is not None and k == frame.width - 1:
            kind = "{" + ",".join(_quote(str(label)) for label in np.unique(data.y).tolist()) + "}"
        lines.append(f"@attribute {_quote(column.name)} {kind}")
    rows = (",".join(map(_show, row)) for row in frame.iter_rows())
    stream.write(("\n".join([*lines, "", "@data", *rows]) + "\n").encode())


def _show(cell: Any) -> str:
    return "?" if cell is None else _quote(cell) if isinstance(cell, str) else repr(cell)


def _quote(text: str) -> str:
    if _SIMPLE.match(text):
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, f"\\{letter}")
    return f"'{escaped}'"
