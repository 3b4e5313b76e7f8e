"""CSV, TSV and their kin: the delimiter and the header are found out.

The dialect is found by our own few lines, because ``csv.Sniffer`` takes letters for delimiters
and calls numbers a header.
"""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TextIO

import numpy as np

from opforest.io.cells import Cells, Row, take_sample
from opforest.io.columns import ID_NAME, LABEL_NAMES
from opforest.io.data import Data, Reading
from opforest.io.errors import DataFileError

#: What may separate cells; a blank stands for any white space.
DELIMITERS = (",", "\t", ";", "|", " ")


def open_cells(text: TextIO, reading: Reading, path: str, sample: int) -> Cells:
    """Return the table in a stream of text; ``sample`` is how many rows may be looked at."""
    first = list(islice(text, max(2, sample)))
    delimiter = reading.delimiter or find_delimiter(first)
    rows = _rows(chain(first, text), delimiter, path)
    head = next(rows, None)
    if head is None:
        raise DataFileError("the file is empty", path)
    has_header = reading.header
    if has_header is None:
        has_header = not any(map(_is_number, head[1]))
    if has_header:
        names = [name.strip() for name in head[1]]
        return take_sample(names, rows, sample, path)
    return take_sample(None, chain([head], rows), sample, path)


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


def _is_number(cell: str) -> bool:
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
