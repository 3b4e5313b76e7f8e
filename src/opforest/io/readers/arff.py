"""ARFF files with dense rows.

SciPy's reader knows neither text nor line numbers, and liac-arff is no longer maintained.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from opforest._utils import tuning
from opforest._utils.text import count
from opforest.errors import DataFileError
from opforest.io.columns.column import MISSING_NUMBER, NUMBER
from opforest.io.columns.table import ReadOptions, Table
from opforest.io.readers.delimited import decode
from opforest.io.source import Source

_QUOTED = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|(\S+))\s+(.+)$", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:{_QUOTED}|([^,'\"]*?))\s*(,|$)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")
_WHOLE = r"^(\+?0|[+-]?[1-9]\d{0,17})$"

#: Numbers that stay as written: 007 may be a label, and more digits than a float holds an id.
_NOT_FLOAT = r"^[+-]*0\d|^[+-]?\d{16,}$"

Lines = Iterator[tuple[int, str]]  #: with their numbers


class Attribute(NamedTuple):
    """A column as the header declares it."""

    name: str
    values: list[str] | None  #: of a nominal attribute
    is_text: bool


def read_arff(source: Source, options: ReadOptions) -> Table:
    """Return the table in an ARFF file."""
    file = Arff(source)

    def as_text(columns: Sequence[int]) -> pl.DataFrame:
        with source.reopen() as fresh:
            frames = Arff(fresh, is_text=True).frames()
            return pl.concat([frame[:, list(columns)] for frame in frames])

    declared = {k: "category" if one.values else "number" for k, one in enumerate(file.attributes)
                if one.values or not one.is_text}  # fmt: skip
    return Table(
        source.name, tuple(one.name for one in file.attributes), file.frames(), declared=declared,
        is_typed=False, find_line=file.find_line, as_text=None if source.is_live else as_text,
        notes=source.describe_encoding(),
    )  # fmt: skip


class Arff:
    """An ARFF file, read some rows at a time; ``is_text`` keeps all cells as text."""

    def __init__(self, source: Source, is_text: bool = False) -> None:
        self.name, self.is_live = source.name, source.is_live
        lines = enumerate(source.open_text(), 1)
        self._numbered = ((i, decode(line, i, self.name)) for i, line in lines)
        self.attributes = self._read_header()
        self._lines = array("q")  # of each row
        self._numeric = [] if is_text or self.is_live else [
            k for k, one in enumerate(self.attributes) if not one.is_text]  # fmt: skip

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the cells, as numbers where all cells of a column are, and else as text.

        The first rows decide which columns are numbers; where later rows have text, they are text.
        """
        rows = self._rows()
        kinds: dict[int, Any] | None = None
        while some := list(islice(rows, 1 if self.is_live else tuning.values.arff_rows)):
            numbers = _to_numbers(some, self._numeric if kinds is None else list(kinds))
            if kinds is None:
                kinds = {k: series.dtype for k, series in numbers.items()}
            same = {k: series.cast(kinds[k]) for k, series in numbers.items()
                    if kinds[k] in (series.dtype, pl.Float64)}  # fmt: skip
            yield pl.DataFrame([
                same[k].alias(str(k)) if k in same else pl.Series(str(k), cells, dtype=pl.String)
                for k, cells in enumerate(zip(*some, strict=True))
            ])  # fmt: skip

    def find_line(self, row: int) -> int | None:
        """Return the line of a row, counted from 0, as far as the file has been read."""
        return self._lines[row] if row < len(self._lines) else None

    def _error(self, reason: str, line: int, column: int | None = None) -> DataFileError:
        return DataFileError(reason, self.name, line, column)

    def _read_header(self) -> list[Attribute]:
        attributes: list[Attribute] = []
        for line, content in self._numbered:
            content = content.strip()
            keyword = content.split(None, 1)[0].lower() if content else ""
            if keyword == "@data":
                if not attributes:
                    raise self._error("@data must follow attributes, but there are none", line)
                return attributes
            if keyword == "@attribute":
                attributes.append(self._parse_attribute(content, line))
            elif keyword != "@relation" and not keyword.startswith("%") and content:
                raise self._error(f"a line of the header cannot be read: {content!r}", line)
        raise DataFileError("there is no line @data", self.name)

    def _parse_attribute(self, content: str, line: int) -> Attribute:
        found = _ATTRIBUTE.match(content)
        if not found:
            raise self._error("@attribute must have a name and a type", line)
        name, kind = _unquote(found), found[4].strip()
        if kind.startswith("{") and kind.endswith("}"):
            return Attribute(name, self._split(kind[1:-1], line), True)
        kind = kind.split()[0].lower()
        if kind not in (*_NUMERIC, "string", "date"):
            raise self._error(f"attributes of type {kind!r} cannot be read", line)
        return Attribute(name, None, kind not in _NUMERIC)

    def _rows(self) -> Iterator[list[str]]:
        known = {k: {*one.values, "?"} for k, one in enumerate(self.attributes) if one.values}
        width = len(self.attributes)
        for line, content in self._numbered:
            content = content.strip()
            if not content or content.startswith("%"):
                continue
            if content.startswith("{"):
                reason = "sparse rows cannot be read; write all cells of a row, or a LibSVM file"
                raise self._error(reason, line)
            row = self._split(content, line)
            if len(row) != width:
                reason = f"the row has {count(len(row), 'cell')}, but the header has {width}"
                raise self._error(reason, line)
            for k, values in known.items():
                if row[k] not in values:
                    name, allowed = self.attributes[k].name, ", ".join(sorted(values - {"?"})[:8])
                    reason = f"column {name!r} must be one of {allowed}, got {row[k]!r}"
                    raise self._error(reason, line, k + 1)
            self._lines.append(line)
            yield row

    def _split(self, content: str, line: int) -> list[str]:
        if "'" not in content and '"' not in content:
            return [cell.strip() for cell in content.split(",")]
        cells, place, comma = [], 0, ","
        while comma:
            found = _CELL.match(content, place)
            if not found:
                raise self._error("quotes must be closed and followed by a comma", line)
            cells.append(_unquote(found))
            place, comma = found.end(), found[4]
        return cells


def _unquote(found: re.Match[str]) -> str:
    """Return the text in single or double quotes, or without quotes: groups 1, 2 and 3."""
    quoted = found[1] if found[1] is not None else found[2]
    if quoted is None:
        return found[3] or ""
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted)


def _to_numbers(rows: list[list[str]], columns: list[int]) -> dict[int, pl.Series]:
    """Return those of the columns that hold nothing but numbers and missing cells.

    All columns are converted together: there may be many, and each call to polars takes time.
    """
    n, found = len(rows), dict[int, pl.Series]()
    cells = pl.Series([row[k] for k in columns for row in rows], dtype=pl.String)
    missing = cells.str.to_lowercase().is_in(MISSING_NUMBER)
    is_real = cells.str.contains(NUMBER) & ~cells.str.contains(_NOT_FLOAT)
    for kind, fits in ((pl.Float64, is_real), (pl.Int64, cells.str.contains(_WHOLE))):
        values = cells.set(~fits, None).cast(kind, strict=False)
        accepted, filled = (
            mask.to_numpy().reshape(len(columns), n) for mask in (fits | missing, fits)
        )
        for place in np.flatnonzero(accepted.all(axis=1) & filled.any(axis=1)).tolist():
            found[columns[place]] = values[place * n : (place + 1) * n]
    return found
