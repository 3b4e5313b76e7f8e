"""Workbooks, most of which are archives: checked before a library unpacks them, and read."""

import os
import re
import shlex
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

import polars as pl

from opforest._utils.extras import install_command
from opforest._utils.text import count
from opforest.errors import DataFileError
from opforest.io.columns.extra_rows import SAMPLE, count_titles, describe_title, find_units
from opforest.io.columns.table import Choice, ReadOptions, Table, UndecidedError
from opforest.io.compression import BUFFER, check_unpacked
from opforest.io.source import Source

#: Bytes of a cell in memory, where a sheet is a full rectangle.
CELL = 32

#: Most rows of titles above a table in a sheet.
MOST_TITLES = 20

#: The name that polars gives to a column of a sheet without a name.
_UNNAMED = re.compile(r"__UNNAMED__\d+")

#: Members of archives: sheets of Microsoft's and of OpenDocument's, and pictures.
_SHEET = re.compile(r"xl/worksheets/.*\.xml", re.IGNORECASE)
_TABLES = "content.xml"
_PICTURE = re.compile(r"(?:xl/media|Pictures|Thumbnails)/", re.IGNORECASE)

_PLACE = re.compile(rb"""\sr\s*=\s*["']\s*([A-Z]{0,9})(\d{1,9})\s*["']""", re.IGNORECASE)
_ROW = re.compile(rb"<(?:\w+:)?row[\s>/]")
_CELL = re.compile(rb"<(?:\w+:)?c[\s>/]")

#: The member with texts that cells share, the start of each text, and a cell's reference to one.
_TEXTS = re.compile(r"xl/sharedStrings\.xml", re.IGNORECASE)
_TEXT = re.compile(rb"<(?:\w+:)?si[\s>/]")
_REFERENCE = re.compile(rb"""\st\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v>(\d{1,9})<""")

#: Elements of OpenDocument with their attributes, and whether a cell is empty.
_PART = re.compile(rb"<(?:\w+:)?(table|table-row|(?:covered-)?table-cell)((?:\s[^>]*?)?)(/?)>")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["'](\d{1,12})["']""")


def read_excel(source: Source, options: ReadOptions) -> Table:
    """Return the table in a sheet of a workbook: the one that is named, or the only one."""
    try:
        import fastexcel  # noqa: F401
    except ImportError as error:
        raise ImportError(f"Excel files need fastexcel: {install_command('cli')}") from error
    name = source.name
    with unpack_workbook(source.as_file(), name) as workbook:

        def read(skip: int, after: int = 0, **chosen: Any) -> Any:
            return pl.read_excel(
                workbook, engine="calamine", raise_if_empty=False,
                read_options={"header_row": skip, "skip_rows": after}, **chosen,
            )  # fmt: skip

        sheets = read(options.skip, sheet_id=0)
        title = _choose_sheet(sheets, options.sheet, name)
        read_sheet = partial(read, sheet_name=title)
        sheet, notes = _drop_extra_rows(sheets[title], read_sheet, options.skip)
    if not len(sheet):
        raise DataFileError(f"there are no examples in the sheet {title!r}", name)
    if any(_UNNAMED.fullmatch(one) for one in sheet.columns[1:2]) and len(sheet) > 1:
        reason = f"the first row of the sheet, {sheet.columns[0]!r}, names one column only; if it "
        raise DataFileError(f"{reason}is a title: --skip {options.skip + 1}", name)
    names = [one or f"column {k}" for k, one in enumerate(_names_of(sheet), 1)]
    frame = pl.DataFrame([cells.alias(str(k)) for k, cells in enumerate(sheet)])
    return Table(name, tuple(names), iter([frame]), notes=notes)


def _names_of(sheet: pl.DataFrame) -> list[str]:
    """Return the names of columns as the sheet has them; "" where there is none."""
    return ["" if _UNNAMED.fullmatch(one) else one for one in sheet.columns]


def _drop_extra_rows(
    sheet: pl.DataFrame, read: Callable[[int, int], pl.DataFrame], skip: int
) -> tuple[pl.DataFrame, list[str]]:
    """Return a sheet without titles above its table and units below its names, with notes.

    ``read`` reads it, given the numbers of rows to skip before and after the row of names.
    """
    notes = []
    for _ in range(MOST_TITLES):
        names = _names_of(sheet)
        if not count_titles([names, *_as_text(sheet)]):
            break
        if any(names):
            notes.append(f"a row above the table is left out: {describe_title(names)}")
        skip += 1
        sheet = read(skip, 0)
    if units := find_units(_as_text(sheet)):
        n = len(sheet)
        parts = (read(skip, after) for after in range(1, MOST_TITLES))
        sheet = next((part for part in parts if len(part) < n), sheet)  # blank rows may precede it
        notes.append(f"a row below the names is left out: it has the units of the columns, {units}")
    return sheet, notes


def _as_text(sheet: pl.DataFrame) -> list[list[str]]:
    """Return the first rows of a sheet as text."""
    rows = sheet.head(SAMPLE).rows()
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def _choose_sheet(sheets: dict[str, pl.DataFrame], wanted: str | None, name: str) -> str:
    """Return the title of the sheet to read, or ask."""
    titles = list(sheets)
    if wanted is not None:
        if wanted in titles:
            return wanted
        if wanted.isdecimal() and 1 <= int(wanted) <= len(titles):
            return titles[int(wanted) - 1]
        known = ", ".join(map(repr, titles))
        raise DataFileError(f"there is no sheet {wanted!r}; the sheets are {known}", name)
    full = [title for title, sheet in sheets.items() if len(sheet)]
    if not full:
        raise DataFileError("there are no examples", name)
    if len(full) == 1:
        return full[0]
    choices = []
    for title in full:
        rows, columns = sheets[title].shape
        size = f"{count(rows, 'row')}, {count(columns, 'column')}"
        choices.append(Choice({"sheet": title}, f"--sheet {shlex.quote(title)}", size))
    offered = ", ".join(choice.option for choice in choices[:8])
    reason = f"{len(full)} sheets hold tables: choose {offered}"
    raise UndecidedError(reason, name, "Which sheet holds the table?", choices)


@contextmanager
def unpack_workbook(path: str, name: str) -> Iterator[str]:
    """Yield the path of an uncompressed copy of a workbook.

    An archive may lie about its size, and two libraries may find different archives in one file.
    So it is decompressed here, up to a limit.
    """
    if not zipfile.is_zipfile(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="opforest-") as folder:
        copy = os.path.join(folder, "workbook" + os.path.splitext(name)[1][:8])
        stored = os.path.getsize(path)
        lengths: list[int] = []
        references: list[int] = []
        whole = 0
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as plain:
            for info in archive.infolist():
                if _PICTURE.match(info.filename) or info.is_dir():
                    continue
                content = bytearray()
                with archive.open(info) as packed:
                    while part := packed.read(BUFFER):
                        whole += len(part)
                        check_unpacked(whole, stored, name, "the archive")
                        content += part
                if _SHEET.fullmatch(info.filename):
                    _check_span(_measure_sheet(content), stored, name)
                    references += list(map(int, _REFERENCE.findall(content)))
                elif _TEXTS.fullmatch(info.filename):
                    lengths = list(map(len, _TEXT.split(content)[1:]))
                elif info.filename == _TABLES:
                    _check_span(_measure_tables(content), stored, name)
                plain.writestr(info.filename, content)
        whole += sum(lengths[k] for k in references if k < len(lengths))
        check_unpacked(whole, stored, name, "the archive")
        yield copy


def _check_span(span: tuple[int, int], stored: int, name: str) -> None:
    """Raise an error if the rectangle around the cells of a sheet is huge."""
    rows, columns = span
    try:
        check_unpacked(CELL * rows * columns, stored, name)
    except DataFileError:
        reason = f"the cells of a sheet span {rows} rows and {columns} columns, which no file of "
        reason += "this size fills; delete the cells that are far from the table"
        raise DataFileError(reason, name) from None


def _measure_sheet(content: bytearray) -> tuple[int, int]:
    """Return the numbers of rows and columns of a sheet of Microsoft's."""
    parts = _ROW.split(content)
    rows, columns = len(parts) - 1, max(len(_CELL.findall(part)) for part in parts)
    for letters, digits in _PLACE.findall(content):
        number = reduce(lambda total, letter: 26 * total + letter - 64, letters.upper(), 0)
        rows, columns = max(rows, int(digits)), max(columns, number)
    return rows, columns


def _measure_tables(content: bytearray) -> tuple[int, int]:
    """Return the numbers of rows and columns of OpenDocument's tables, without empty cells."""
    rows = columns = last = times = column = 0
    for kind, attributes, is_empty in _PART.findall(content):
        found = _REPEATED.search(attributes)
        repeated = int(found[1]) if found else 1
        if kind == b"table":
            last = times = 0
        elif kind == b"table-row":
            last, times, column = last + times, repeated, 0
        else:
            column += repeated
            if not is_empty:
                rows, columns = max(rows, last + times), max(columns, column)
    return rows, columns
