"""CSV, TSV and similar files: the dialect is detected, polars reads, and errors name lines.

``csv.Sniffer`` takes letters for delimiters and numbers for a header, so the dialect is detected
here. The file is cut into blocks of whole rows, so that it may be larger than memory, or endless.
Where polars cannot read a block, a second, slow pass finds out why.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from opforest._utils.interrupts import defer_interrupts
from opforest._utils.numerals import looks_like_number
from opforest.errors import DataFileError
from opforest.io.columns.describe import MISSING_NUMBER, NUMBER
from opforest.io.columns.headers import find_header, is_number
from opforest.io.columns.table import ReadOptions, Table
from opforest.io.source import Source

#: Possible delimiters; a blank stands for any white space.
DELIMITERS = (",", "\t", ";", "|", " ")

#: Bytes of a block, bytes of the longest row, lines and bytes that show the dialect.
BLOCK, LONGEST, LINES, SAMPLE = 1 << 23, 1 << 26, 1000, 1 << 20

#: Cells that show the decimal mark; most columns of a table.
MANY_CELLS, MANY_COLUMNS = 20_000, 100_000

#: A number with a decimal comma.
_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*", re.ASCII)
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
_NUMBER = re.compile(NUMBER.replace("(?i:inf|infinity)", "(?i:inf|infinity|nan)"), re.ASCII)
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]*0\d", re.ASCII)
_QUOTED = re.compile(r'"[^"]*"')
_LETTER = re.compile(r"[^\W\d_]")
_BLANK_WITHIN = re.compile(r"\d\s\d")
_BLANK_LINE = re.compile(rb"^[ \t]*\r?\n", re.MULTILINE)

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


def read_delimited(source: Source, options: ReadOptions) -> Table:
    """Return the table in a text file."""
    if options.format == "tsv" and options.delimiter is None:
        options = replace(options, delimiter="\t")
    file = Delimited(source, options)

    def as_text(columns: Sequence[int]) -> pl.DataFrame:
        with source.reopen() as fresh:
            frames = Delimited(fresh, options, columns).frames()
            return pl.concat([frame[:, list(columns)] for frame in frames])

    return Table(
        source.name, file.dialect.names, file.frames(), is_typed=False, find_line=file.find_line,
        as_text=None if source.is_live else as_text, decimal=file.dialect.decimal,
        had_commas=file.dialect.has_commas, notes=file.dialect.notes,
    )  # fmt: skip


class Delimited:
    """A text file, read block by block; columns of ``text`` are kept as written."""

    def __init__(self, source: Source, options: ReadOptions, text: Sequence[int] = ()) -> None:
        self._source, self._stream, self.name = source, source.open_text(), source.name
        head = _read_lines(self._stream, 2 if source.is_live else LINES)
        lines = [decode(line, i + 1, self.name) for i, line in enumerate(head)]
        found = find_dialect(lines, options, self.name)
        schema = [pl.String if source.is_live or k in text else kind
                  for k, kind in enumerate(found.schema)]  # fmt: skip
        self.dialect = found._replace(schema=tuple(schema))
        self._error: DataFileError | None = None  # raised after the rows before it
        self._is_plain = False  # whether each line of the block is a row
        self._block = b"".join(head[self.dialect.skipped :])
        self._line, self._row = self.dialect.skipped, 0

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the cells, some rows at a time."""
        while True:
            block, rest = self._read_block()
            if not block:
                return
            frame = self._parse(block)
            self._block = block  # for find_line
            if len(frame):
                yield frame
            if self._error is not None:
                raise self._error
            self._line += len(frame) if self._is_plain else block.count(b"\n")
            self._row += len(frame)
            self._block = rest

    def _read_block(self) -> tuple[bytes, bytes]:
        """Return whole rows, and the bytes after them."""
        block, stream = self._block, self._stream
        while True:
            if self._source.is_live:
                more = [stream.read1(BLOCK)]
            else:
                more = [stream.read(BLOCK), stream.readline(LONGEST)]  # mostly, a row ends here
            if not more[0]:
                return block, b""
            block = b"".join([block, *more])
            end = _find_last_end(block)
            if end:
                return block[:end], block[end:]
            if len(block) > LONGEST:
                reason = f"a row is longer than {LONGEST >> 20} MB; is a quote not closed?"
                raise DataFileError(reason, self.name, self._line + 1)

    @defer_interrupts  # polars would swallow an interrupt
    def _parse(self, block: bytes) -> pl.DataFrame:
        self._is_plain = False
        frame = None if b"\0" in block else self._parse_with_polars(block)
        if frame is None:
            return self._parse_by_rows(block)
        return _replace_commas(frame) if self.dialect.has_commas else frame

    def _parse_with_polars(self, block: bytes) -> pl.DataFrame | None:
        """Return what polars reads; None where that may be wrong."""
        dialect, mark = self.dialect, self.dialect.delimiter.encode()
        if dialect.delimiter == " ":
            block, mark = b"\n".join(b"\t".join(row) for line in block.splitlines()
                                     if (row := line.split())), b"\t"  # fmt: skip
        elif b'"' in block:  # polars has no blanks beside quotes
            beside = re.escape(mark) + rb' +"|" +' + re.escape(mark)
            if dialect.is_padded or re.search(beside, block):
                return None
        elif dialect.is_padded:
            block = re.sub(rb" *%b *" % re.escape(mark), mark, block)
        frame = self._read(block, mark)
        if frame is not None and b'"' not in block:
            is_whole = self._has_full_rows(frame, block, mark)
            self._is_plain = is_whole and dialect.delimiter != " "
            if not is_whole:
                block = _BLANK_LINE.sub(b"", block)  # polars takes them for rows
                frame = self._read(block, mark)
        if frame is None or not self._has_full_rows(frame, block, mark):
            return None
        if dialect.has_tail:
            tail = frame.to_series(dialect.width)
            return None if (tail.str.strip_chars() != "").any() else frame[:, : dialect.width]
        return frame

    def _read(self, block: bytes, mark: bytes) -> pl.DataFrame | None:
        schema = [*self.dialect.schema, *[pl.String] * self.dialect.has_tail]
        for kinds in (schema, [pl.String] * len(schema)):
            with suppress(pl.exceptions.PolarsError, ValueError):
                return pl.read_csv(
                    block, has_header=False, separator=mark.decode(),
                    quote_char=None if self.dialect.delimiter == " " else '"',
                    schema={str(k): kind for k, kind in enumerate(kinds)},
                    decimal_comma=self.dialect.has_commas, raise_if_empty=False,
                )  # fmt: skip
        return None

    def _has_full_rows(self, frame: pl.DataFrame, block: bytes, mark: bytes) -> bool:
        """Return whether no row is short: polars fills short rows with missing cells."""
        if frame.to_series(-1).null_count() == 0:
            return True
        if b'"' in block:
            return False
        wanted = frame.width - 1
        return block.count(mark) == wanted * len(frame) and not (
            wanted == 0 and _BLANK_LINE.search(block)
        )

    def _parse_by_rows(self, block: bytes) -> pl.DataFrame:
        """Read a block row by row, and find the first error."""
        lines = (decode(line, self._line + i + 1, self.name)
                 for i, line in enumerate(io.BytesIO(block)))  # fmt: skip
        rows: list[list[str]] = []
        try:
            rows.extend(row for _, row in self._rows(lines, self._line))
        except DataFileError as error:
            self._error = error
        columns = zip(*rows, strict=True) if rows else [()] * self.dialect.width
        frame = pl.DataFrame({str(k): pl.Series(cells, dtype=pl.String)
                              for k, cells in enumerate(columns)})  # fmt: skip
        return _replace_commas(frame) if self.dialect.has_commas else frame

    def _rows(self, lines: Iterable[str], before: int) -> Iterator[Row]:
        width, tail = self.dialect.width, self.dialect.has_tail
        for line, row in split_rows(lines, self.dialect.delimiter, self.name, before):
            if tail and len(row) == width + 1 and not row[-1].strip():
                row = row[:-1]
            if len(row) != width:
                what = "the first line" if self.dialect.names is None else "the header"
                reason = f"the row has {len(row)} cells, but {what} has {width}"
                raise DataFileError(reason, self.name, line)
            yield line, row

    def find_line(self, row: int) -> int | None:
        """Return the line of a row, counted from 0; None if it is gone."""
        if self._source.is_live:
            return self._find_row(row - self._row, io.BytesIO(self._block), self._line)
        with self._source.reopen() as source:
            before = self.dialect.skipped
            return self._find_row(row, islice(source.open_text(), before, None), before)

    def _find_row(self, row: int, lines: Iterable[bytes], before: int) -> int | None:
        rows = self._rows((line.decode("utf-8", "replace") for line in lines), before)
        found = next(islice(rows, row, None), None) if row >= 0 else None
        return None if found is None else found[0]


def _read_lines(stream: Any, most: int) -> list[bytes]:
    """Return the first lines, as many as show the dialect."""
    lines: list[bytes] = []
    size, seen = 0, 0
    while seen < most and (size < SAMPLE or seen < 2):
        line = stream.readline(LONGEST)
        if not line:
            break
        lines.append(line)
        size += len(line)
        seen += bool(line.strip()) and not (line.startswith((b"#", b"%", b";;")) and seen == 0)
    return lines


def decode(line: bytes, number: int, path: str) -> str:
    """Return a line as text, or raise an error about an invalid byte."""
    if b"\0" in line:
        reason = "the line holds a NUL byte: the file is damaged, or of another --format"
        raise DataFileError(reason, path, number)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#04x}"
        reason = f"the file must be text in UTF-8, but {byte} is not valid; save it in UTF-8"
        raise DataFileError(reason, path, number) from None


def _find_last_end(block: bytes) -> int:
    """Return the end of the last whole row: after a line end outside quotes."""
    end = block.rfind(b"\n") + 1
    if b'"' not in block:
        return end
    inside = block.count(b'"', 0, end) % 2
    while end and inside:
        before = block.rfind(b"\n", 0, end - 1) + 1
        inside = (inside + block.count(b'"', before, end)) % 2
        end = before
    return end


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


def _replace_commas(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace decimal commas by points."""
    text = pl.col(pl.String)
    is_number = text.str.contains(f"^{_COMMA.pattern}$")
    return frame.with_columns(
        pl.when(is_number).then(text.str.replace(",", ".", literal=True)).otherwise(text)
    )


def find_dialect(lines: list[str], options: ReadOptions, path: str) -> Dialect:
    """Return the layout of a file by its first lines, or ask what they do not show."""
    begin = _skip_comments(lines)
    body = lines[begin:]
    if not any(line.strip() for line in body):
        raise DataFileError("the file is empty", path)
    delimiter = options.delimiter or find_delimiter(body)
    rows = _split_sample(body, delimiter, begin) or list(split_rows(body, delimiter, path, begin))
    if any(len(row) > MANY_COLUMNS for _, row in rows[:2]):
        reason = f"there are {len(rows[0][1])} columns; {MANY_COLUMNS} are the most in text. NPZ "
        raise DataFileError(f"{reason}has no such limit", path)
    decimal = options.decimal or find_decimal([row for _, row in rows])
    has_commas = decimal == "comma only" and delimiter != ","
    if has_commas:
        rows = [(line, [cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell
                        for cell in row]) for line, row in rows]  # fmt: skip
    decimal = decimal if decimal in (".", ",") else ""
    has_header = options.header
    notes: tuple[str, ...] = ()
    if has_header is None:
        has_header, notes = find_header([row for _, row in rows], options, path, rows[0][0])
    data = rows[1:] if has_header else rows
    if not data:
        list(split_rows(body, delimiter, path, begin))  # raises the error, if there is one
        raise DataFileError("there are no examples", path)
    skipped = begin
    width, names = len(data[0][1]), None
    tail = width > 1 and all(len(row) == width and not row[-1].strip() for _, row in data)
    if has_header:
        skipped = data[0][0] - 1 if len(data) else rows[0][0]
        names, width, tail = _match_names([name.strip() for name in rows[0][1]], width, tail)
    elif tail:
        width -= 1
    cells = [[row[k].strip() for _, row in data if k < len(row)] for k in range(width)]
    padded = delimiter not in " \t" and f"{delimiter} " in _QUOTED.sub("", "".join(body[:50]))
    schema = [_find_type(column) for column in cells]
    if decimal == ",":  # what polars takes for a fraction may be thousands
        schema = [pl.String if kind == pl.Float64 else kind for kind in schema]
    return Dialect(delimiter, names, width, tuple(schema), skipped, tail, has_commas, padded,
                   decimal, notes)  # fmt: skip


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
    known = [cell for cell in cells if cell.lower() not in MISSING_NUMBER]
    if known and all(map(_WHOLE.fullmatch, known)):
        return pl.Int64
    if any(map(_LEADING_ZERO.match, known)):
        return pl.String  # 007 may be a label
    return pl.Float64 if known and all(map(_NUMBER.match, known)) else pl.String


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
