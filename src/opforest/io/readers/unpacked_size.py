"""The sizes of Parquet and Arrow files in memory, found before anything is decompressed.

The footer of a Parquet file and the headers of its pages, in Thrift's compact protocol, state them.
The footer may lie; no reader accepts a page that unpacks to more than its header states.

The footer of an Arrow file, a FlatBuffer, lists its batches; each begins with a FlatBuffer that
lists its buffers. A compressed buffer begins with its length.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Bytes of a value in memory, a float64.
WIDTH = 8

#: The physical type of booleans in Parquet, and the deepest nesting of its structures.
BOOLEAN, DEEP = 0, 32

#: Of Arrow, the kind of a message that holds a dictionary; bytes of a block of the footer, and of
#: a node and a buffer of a batch.
DICTIONARY, BLOCK, NODE, BUFFER = 2, 24, 16, 16

#: Values by the numbers of their fields. Of a column: 1 type, 5 values, 6 uncompressed and 7
#: compressed size, 9 and 11 offsets of its pages; of a page: 2 uncompressed and 3 compressed size.
Struct = dict[int, Any]


@contextmanager
def _open_footer(path: str, magic: bytes, head: int) -> Iterator[tuple[Any, int] | None]:
    """Yield a mapped file and the offset of its footer, after ``head`` bytes at least; or None."""
    size, tail = os.path.getsize(path), len(magic) + 4
    if size < head + tail:
        yield None
        return
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        begin = size - tail - int.from_bytes(content[-tail : -len(magic)], "little")
        is_valid = content[-len(magic) :] == magic and begin >= head
        yield (content, begin) if is_valid else None


def measure_parquet(path: str) -> int:
    """Return the bytes that all values of a Parquet file take; 0 if it is not one."""
    with _open_footer(path, b"PAR1", 4) as opened:
        if opened is None:
            return 0
        content, begin = opened
        total = compressed = 0
        for group in _Thrift(content, begin).struct().get(4) or ():
            for chunk in group.get(1) or ():
                column = chunk.get(3) or {}
                compressed += max(0, column[7])
                if compressed > len(content):
                    raise ValueError("its columns have more bytes than the file")
                pages = (_measure_values(page[2], _count_values(page), column)
                         for page in _page_headers(content, column))  # fmt: skip
                total += max(_measure_values(column[6], column[5], column), sum(pages))
        return total


def _measure_values(uncompressed: int, values: int, column: Struct) -> int:
    if uncompressed < 0 or values < 0:
        raise ValueError("a size is negative")
    return max(uncompressed, values * (1 if column[1] == BOOLEAN else WIDTH))


def _count_values(page: Struct) -> int:
    kinds = (page.get(number) for number in (5, 7, 8))  # data, dictionary, data of version 2
    return sum(kind[1] for kind in kinds if kind)


def _page_headers(content: Any, column: Struct) -> Iterator[Struct]:
    first = min(offset for offset in (column[9], column.get(11)) if offset)
    end = first + column[7]
    if first < 0 or end > len(content):
        raise ValueError("a column is outside the file")
    while first < end:
        reader = _Thrift(content, first)
        header = reader.struct()
        yield header
        first, begin = reader.place + header[3], first
        if not begin < first <= len(content):
            raise ValueError("a page is outside the file")


class _Thrift:
    """A reader of Thrift's compact protocol that keeps only integers and structures."""

    def __init__(self, content: Any, place: int) -> None:
        self.content, self.place = content, place

    def byte(self) -> int:
        self.place += 1
        return int(self.content[self.place - 1])

    def unsigned(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number has too many digits")

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def struct(self, deep: int = DEEP) -> Struct:
        if not deep:
            raise ValueError("structures are nested too deeply")
        found: Struct = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 0x0F
            found[number] = kind == 1 if kind in (1, 2) else self.value(kind, deep)
        return found

    def value(self, kind: int, deep: int) -> Any:
        """Return a value of some type; None for one that is skipped."""
        match kind:
            case 4 | 5 | 6:
                return self.signed()
            case 12:
                return self.struct(deep - 1)
            case 9 | 10:
                head = self.byte()
                size = head >> 4 if head >> 4 < 15 else self.unsigned()
                if size > len(self.content) - self.place:
                    raise ValueError("a list is longer than the file")
                return [self.value(head & 0x0F, deep - 1) for _ in range(size)]
            case 1 | 2 | 3:
                return self.byte()
            case 7:
                self.place += 8
            case 8:
                size = self.unsigned()
                self.place += size
            case _:
                raise ValueError(f"there is a value of type {kind}")
        return None


def measure_arrow(path: str) -> int:
    """Return the bytes that all values of an Arrow file take; 0 if it is not one."""
    with _open_footer(path, b"ARROW1", 8) as opened:
        if opened is None:
            return 0
        content, begin = opened
        footer = _FlatTable(content, begin + int.from_bytes(content[begin : begin + 4], "little"))
        blocks = [*footer.vector(2, BLOCK), *footer.vector(3, BLOCK)]
        return sum(_measure_batch(footer, place) for place in blocks)


def _measure_batch(footer: "_FlatTable", place: int) -> int:
    """Return the size of a batch, given the place of its block in the footer."""
    content = footer.content
    offset, length = footer.number("<q", place), footer.number("<i", place + 8)
    begin = offset + (8 if footer.number("<i", offset) == -1 else 4)
    message = _FlatTable(content, begin + footer.number("<I", begin))
    batch = message.table(2)
    if batch is not None and message.integer(1, "<B") == DICTIONARY:
        batch = batch.table(1)
    if batch is None:
        return 0
    values = [batch.number("<q", node) for node in batch.vector(1, NODE)]
    body, is_compressed = offset + length, batch.find(3)
    sizes = []
    for buffer in batch.vector(2, BUFFER):
        at, size = batch.number("<q", buffer), batch.number("<q", buffer + 8)
        if min(at, size) < 0 or body + at + size > len(content):
            raise ValueError("a buffer is outside the file")
        if is_compressed and size >= 8 and (unpacked := batch.number("<q", body + at)) != -1:
            size = unpacked
        sizes.append(size)
    if min([0, *values, *sizes, batch.integer(0)]) < 0:
        raise ValueError("a size is negative")
    return max(sum(sizes), WIDTH * max(sum(values), batch.integer(0)))


class _FlatTable:
    """A table of a FlatBuffer, with numbered fields."""

    def __init__(self, content: Any, place: int) -> None:
        self.content, self.place = content, place
        self.fields = place - self.number("<i", place)

    def number(self, form: str, place: int) -> int:
        if place < 0:
            raise ValueError("an offset is negative")
        return int(struct.unpack_from(form, self.content, place)[0])

    def find(self, field: int) -> int:
        """Return the place of a field; 0 if it is absent."""
        entry = 4 + 2 * field
        if entry >= self.number("<H", self.fields):
            return 0
        offset = self.number("<H", self.fields + entry)
        return self.place + offset if offset else 0

    def integer(self, field: int, form: str = "<q") -> int:
        place = self.find(field)
        return self.number(form, place) if place else 0

    def table(self, field: int) -> "_FlatTable | None":
        place = self.find(field)
        return _FlatTable(self.content, place + self.number("<I", place)) if place else None

    def vector(self, field: int, width: int) -> range:
        """Return the places of the elements of a vector."""
        place = self.find(field)
        if not place:
            return range(0)
        place += self.number("<I", place)
        size = self.number("<I", place)
        if size * width > len(self.content) - place:
            raise ValueError("a list is longer than the file")
        return range(place + 4, place + 4 + size * width, width)
