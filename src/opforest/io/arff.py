"""ARFF, dense and sparse.

SciPy's reader knows neither text nor sparse rows and no lines in its errors, and liac-arff is
no longer kept, so these few lines are ours.
"""

import re
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import polars as pl

from opforest.columns.data import Data, Reading, Table
from opforest.errors import DataFileError
from opforest.io.delimited import decode
from opforest.io.frames import to_frame
from opforest.io.source import Source

_QUOTED = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|(\S+))\s+(.+)$", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:{_QUOTED}|([^,'\"]*?))\s*(,|$)")
_SPARSE = re.compile(rf"\s*(\d{{1,9}})\s+(?:{_QUOTED}|([^,'\"\s]+))\s*(?:,|$)")
_SIMPLE = re.compile(r"[A-Za-z0-9_.+-]+$", re.ASCII)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")

#: Rows that are made a data frame at a time.
SOME = 2048

Lines = Iterator[tuple[int, str]]  #: with their numbers


class Attribute(NamedTuple):
    """A column as the header declares it."""

    name: str
    values: list[str] | None  #: of a nominal one
    is_text: bool


def read_arff(source: Source, reading: Reading) -> Table:
    """Return the table in an ARFF file."""
    path = source.name
    numbered = ((i, decode(line, i, path)) for i, line in enumerate(source.text(), 1))
    attributes = _read_header(numbered, path)
    lines = array("q")  # of each row

    def frames() -> Iterator[pl.DataFrame]:
        rows = _rows(numbered, attributes, path, lines)
        while some := list(islice(rows, 1 if source.is_live else SOME)):
            yield pl.DataFrame({str(k): pl.Series(column, dtype=pl.String)
                                for k, column in enumerate(zip(*some, strict=True))})  # fmt: skip

    declared = {k: "category" if one.values else "number" for k, one in enumerate(attributes)
                if one.values or not one.is_text}  # fmt: skip
    return Table(
        path, tuple(one.name for one in attributes), frames(), declared=declared, is_typed=False,
        find_line=lambda row: lines[row] if row < len(lines) else None,
    )  # fmt: skip


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
    for line, content in numbered:
        content = content.strip()
        if not content or content.startswith("%"):
            continue
        if content.startswith("{"):
            row = _sparse_row(content, attributes, path, line)
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


def _sparse_row(content: str, attributes: list[Attribute], path: str, line: int) -> list[str]:
    row = [one.values[0] if one.values else "0" for one in attributes]
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
