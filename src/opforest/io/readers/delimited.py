"""CSV, TSV and similar files, read by polars; errors name lines.

The file is cut into blocks of whole rows, so that it may be larger than memory, or endless. Where
polars cannot read a block, a second, slow pass finds out why.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import polars as pl

from opforest._utils import tuning
from opforest._utils.interrupts import defer_interrupts
from opforest._utils.text import count
from opforest.errors import DataFileError
from opforest.io.columns.table import ReadOptions, Table
from opforest.io.readers.dialect import (
    DECIMAL_COMMA,
    Dialect,
    Row,
    find_dialect,
    may_have_extra_rows,
    split_rows,
)
from opforest.io.source import Source

#: Bytes of the longest row, and bytes that show the dialect.
LONGEST, SAMPLE = 1 << 26, 1 << 20

#: Lines to read ahead of a pipe that may begin with titles.
MORE_LINES = 8

_BLANK_LINE = re.compile(rb"^[ \t]*\r?\n", re.MULTILINE)


def read_delimited(source: Source, options: ReadOptions) -> Table:
    """Return the table in a text file."""
    if options.format == "tsv" and options.delimiter is None:
        options = replace(options, delimiter="\t")
    file = Delimited(source, options)

    def as_text(columns: Sequence[int]) -> pl.DataFrame:
        with source.reopen() as fresh:
            frames = Delimited(fresh, options, columns, file.dialect).frames()
            return pl.concat([frame.select(map(str, columns)) for frame in frames])

    return Table(
        source.name, file.dialect.names, file.frames(), is_typed=False, find_line=file.find_line,
        as_text=None if source.is_live else as_text, decimal=file.dialect.decimal,
        had_commas=file.dialect.has_commas, notes=file.notes,
    )  # fmt: skip


class Delimited:
    """A text file, read block by block.

    Columns of ``text`` are kept as written; if there are any, others may be left out. The dialect
    is detected if it is not given.
    """

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        text: Sequence[int] = (),
        dialect: Dialect | None = None,
    ) -> None:
        self._source, self._stream, self.name = source, source.open_text(), source.name
        most = 2 if source.is_live else tuning.values.csv_lines
        head = _read_lines(self._stream, most, options.skip)
        if dialect is None:
            lines = self._decode(head)
            if source.is_live and may_have_extra_rows(lines, options):
                head += _read_lines(self._stream, MORE_LINES, 0)
                lines = self._decode(head)
            dialect = find_dialect(lines, options, self.name)
        schema = [pl.String if source.is_live or k in text else kind
                  for k, kind in enumerate(dialect.schema)]  # fmt: skip
        self.dialect = dialect._replace(schema=tuple(schema))
        self.notes = [*source.describe_encoding(), *dialect.notes]
        self._header = head[dialect.header[0] - 1].strip() if dialect.header else b""
        self._only = list(text)
        self._error: DataFileError | None = None  # raised after the rows before it
        self._is_plain = False  # whether each line of the block is a row
        self._block = b"".join(head[self.dialect.skipped :])
        self._line, self._row = self.dialect.skipped, 0

    def _decode(self, lines: Sequence[bytes]) -> list[str]:
        return [decode(line, i, self.name) for i, line in enumerate(lines, 1)]

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
                more = [stream.read1(tuning.values.csv_block)]
            else:  # whole rows, mostly
                more = [stream.read(tuning.values.csv_block), stream.readline(LONGEST)]
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
        has_headers = bool(self._header) and self._header in block
        rows = self._without_headers(block) if has_headers else block
        frame = None if b"\0" in rows else self._parse_with_polars(rows)
        self._is_plain &= len(rows) == len(block)
        if frame is None:
            frame = self._parse_by_rows(block)
        return _replace_commas(frame) if self.dialect.has_commas else frame

    def _without_headers(self, block: bytes) -> bytes:
        """Return a block without lines that repeat the header, and note them."""
        pattern = re.compile(
            rb"^[ \t]*%b[ \t]*\r?(?:\n|\Z)" % re.escape(self._header), re.MULTILINE
        )
        for found in pattern.finditer(block):
            line = self._line + block.count(b"\n", 0, found.start()) + 1
            self.notes.append(f"line {line} is left out: it repeats the header")
        return pattern.sub(b"", block)

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
        if self._only:  # without empty cells, there is no short or blank line
            frame = self._read(block, mark, self._only)
            if frame is not None and not any(map(_has_empty_cells, frame)):
                return frame
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

    def _read(
        self, block: bytes, mark: bytes, only: list[int] | None = None
    ) -> pl.DataFrame | None:
        schema = [*self.dialect.schema, *[pl.String] * self.dialect.has_tail]
        for kinds in (schema, [pl.String] * len(schema)):
            with suppress(pl.exceptions.PolarsError, ValueError):
                return pl.read_csv(
                    block, has_header=False, separator=mark.decode(),
                    quote_char=None if self.dialect.delimiter == " " else '"',
                    schema={str(k): kind for k, kind in enumerate(kinds)}, columns=only,
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
        return pl.DataFrame({str(k): pl.Series(cells, dtype=pl.String)
                             for k, cells in enumerate(columns)})  # fmt: skip

    def _rows(self, lines: Iterable[str], before: int) -> Iterator[Row]:
        width, tail = self.dialect.width, self.dialect.has_tail
        header = self.dialect.header[1] if self.dialect.header else None
        for line, row in split_rows(lines, self.dialect.delimiter, self.name, before):
            if row == header:
                continue
            if tail and len(row) == width + 1 and not row[-1].strip():
                row = row[:-1]
            if len(row) != width:
                what = "the first line" if self.dialect.names is None else "the header"
                reason = f"the row has {count(len(row), 'cell')}, but {what} has {width}"
                if width == 1 and line < 10:
                    reason += f"; if the lines before it are a title, use --skip {line - 1}"
                elif len(row) == 1:
                    reason += "; if it is a comment or a total, delete it"
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


def _read_lines(stream: Any, most: int, skip: int) -> list[bytes]:
    """Return the first lines, as many as show the dialect after those to skip."""
    lines: list[bytes] = list(islice(iter(lambda: stream.readline(LONGEST), b""), skip))
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
        reason = (f"the file must be text in UTF-8, but {byte} is not valid; --encoding cp1252 "
                  "reads text of Western Windows, and --encoding names others")  # fmt: skip
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


def _has_empty_cells(column: pl.Series) -> bool:
    return bool(column.null_count()) or bool((column.str.strip_chars(" \t") == "").any())


def _replace_commas(frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.col(pl.String)
    is_number = text.str.contains(f"^{DECIMAL_COMMA.pattern}$")
    return frame.with_columns(
        pl.when(is_number).then(text.str.replace(",", ".", literal=True)).otherwise(text)
    )
