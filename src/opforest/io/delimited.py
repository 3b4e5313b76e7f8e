"""CSV, TSV and their kin: the delimiter and the header are found out.

The dialect is found by our own few lines, because ``csv.Sniffer`` takes letters for delimiters
and calls numbers a header.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TextIO

import numpy as np

from opforest.io.cells import Cells, Row, is_missing, take_sample
from opforest.io.columns import ID_NAME, LABEL_NAMES
from opforest.io.data import Data, Reading
from opforest.io.errors import DataFileError

#: Names that only a header has.
KNOWN = {ID_NAME, *LABEL_NAMES}

#: A number with a comma where others have a point.
_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")

#: What may separate cells; a blank stands for any white space.
DELIMITERS = (",", "\t", ";", "|", " ")


def open_cells(text: TextIO, reading: Reading, path: str, sample: int) -> Cells:
    """Return the table in a stream of text; ``sample`` is how many rows may be looked at."""
    first = _without_comments(list(islice(text, max(2, sample))))
    delimiter = reading.delimiter or find_delimiter(first)
    rows = _rows(chain(first, text), delimiter, path)
    looked_at = list(islice(rows, len(first)))
    if not looked_at:
        raise DataFileError("the file is empty", path)
    rows = chain(looked_at, rows)
    if delimiter != "," and any(_COMMA.fullmatch(cell) for _, row in looked_at for cell in row):
        rows = ((line, [_with_point(cell) for cell in row]) for line, row in rows)
        looked_at = [(line, [_with_point(cell) for cell in row]) for line, row in looked_at]
    if all(row[-1].strip() == "" and len(row) > 1 for _, row in looked_at):  # all end with one
        rows = ((line, row[:-1] if row[-1].strip() == "" else row) for line, row in rows)
        looked_at = [(line, row[:-1]) for line, row in looked_at]
    has_header = reading.header
    if has_header is None:
        has_header = _is_header([row for _, row in looked_at])
    if has_header:
        names = [name.strip() for name in next(rows)[1]]
        return take_sample(names, rows, sample, path)
    return take_sample(None, rows, sample, path)


def _without_comments(lines: list[str]) -> list[str]:
    """Return the lines with blank ones for comments at the beginning, which must not count."""
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return ["\n"] * n + lines[n:]


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell


def _is_header(rows: list[list[str]]) -> bool:
    """Tell whether the first row has the names of the columns.

    It has if none of its cells is a number; if one is a name that we know; or if its numbers only
    count the columns and it has a word where all others have numbers.
    """
    head, *others = rows
    names = [cell.strip().lower() for cell in head]
    if not any(map(is_number, names)) or KNOWN & set(names):
        return True
    counts = [(k, name) for k, name in enumerate(names) if is_number(name)]
    if not any(all(name == str(k + first) for k, name in counts) for first in (0, 1)):
        return False
    return any(
        all(k < len(row) and is_number(row[k]) for row in others)
        for k, name in enumerate(names)
        if others and not is_number(name) and not is_missing(name)
    )


def find_delimiter(lines: list[str]) -> str:
    """Return what separates the cells: what all lines have equally often, and most often."""
    lines = [line for line in lines if line.strip()]
    best, most = ",", 1
    for delimiter in DELIMITERS:
        try:
            widths = {len(row) for _, row in _rows(iter(lines), delimiter, "")}
        except DataFileError:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    return best


def _rows(lines: Iterable[str], delimiter: str, path: str) -> Iterator[Row]:
    if delimiter == " ":
        yield from ((i, line.split()) for i, line in enumerate(lines, 1) if line.strip())
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise DataFileError(f"the row cannot be read: {error}", path, reader.line_num) from None


def is_number(cell: str) -> bool:
    """Tell whether a cell is one that no header has."""
    try:
        float(cell)
    except ValueError:
        return False
    return cell.strip().lower() not in ("nan", "inf", "infinity")


def write_delimited(stream: TextIO, data: Data, delimiter: str) -> None:
    """Write a header and all examples; numbers keep all their digits."""
    write_header(stream, data, delimiter)
    write_rows(stream, data, delimiter)


def write_header(stream: TextIO, data: Data, delimiter: str) -> None:
    """Write the names of the columns."""
    names = list(data.feature_names or (f"f{k + 1}" for k in range(data.X.shape[1])))
    if data.ids is not None:
        names.insert(0, ID_NAME)
    if data.y is not None:
        names.append(data.label_name or LABEL_NAMES[0])
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerow(names)


def write_rows(stream: TextIO, data: Data, delimiter: str) -> None:
    """Write examples; a shorter way to write any of the numbers would change it."""
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    columns = data.X.astype(np.float64).T.tolist()
    if data.ids is not None:
        columns.insert(0, data.ids.tolist())
    if data.y is not None:
        columns.append(data.y.tolist())
    writer.writerows(zip(*columns, strict=True))
