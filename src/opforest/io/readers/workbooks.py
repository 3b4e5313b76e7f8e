"""Checks of workbooks, most of which are archives, before a library unpacks them."""

import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce

from opforest.errors import DataFileError
from opforest.io.compression import BUFFER, check_unpacked

#: Bytes of a cell in memory, where a sheet is a full rectangle.
CELL = 32

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
