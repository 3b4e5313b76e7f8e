"""The size of a Parquet file in memory, found before any of it is decompressed.

Footer and page headers state it in Thrift's compact protocol. The footer may lie; no reader accepts
a page that unpacks to more than its header states.
"""

import mmap
import os
from collections.abc import Iterator
from typing import Any

#: The end of such a file.
MAGIC = b"PAR1"

#: The physical type of booleans, and the bytes of any other value in memory.
BOOLEAN, WIDTH = 0, 8

#: The deepest nesting of structures.
DEEP = 32

#: Values by the numbers of their fields. Of a column: 1 type, 5 values, 6 uncompressed and 7
#: compressed size, 9 and 11 offsets of its pages; of a page: 2 uncompressed and 3 compressed size.
Struct = dict[int, Any]


class Thrift:
    """A reader of Thrift's compact protocol that keeps only integers and structures."""

    def __init__(self, content: Any, place: int) -> None:
        self.content, self.place = content, place

    def byte(self) -> int:
        """Return the next byte."""
        self.place += 1
        return int(self.content[self.place - 1])

    def length(self) -> int:
        """Return an unsigned integer."""
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number has too many digits")

    def integer(self) -> int:
        """Return a signed integer."""
        value = self.length()
        return (value >> 1) ^ -(value & 1)

    def struct(self, deep: int = DEEP) -> Struct:
        """Return a structure."""
        if not deep:
            raise ValueError("structures are nested too deeply")
        found: Struct = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            kind = head & 0x0F
            found[number] = kind == 1 if kind in (1, 2) else self.value(kind, deep)
        return found

    def value(self, kind: int, deep: int) -> Any:
        """Return a value of some type; None for one that is skipped."""
        match kind:
            case 4 | 5 | 6:
                return self.integer()
            case 12:
                return self.struct(deep - 1)
            case 9 | 10:
                head = self.byte()
                size = head >> 4 if head >> 4 < 15 else self.length()
                if size > len(self.content) - self.place:
                    raise ValueError("a list is longer than the file")
                return [self.value(head & 0x0F, deep - 1) for _ in range(size)]
            case 1 | 2 | 3:
                return self.byte()
            case 7:
                self.place += 8
            case 8:
                size = self.length()
                self.place += size
            case _:
                raise ValueError(f"there is a value of type {kind}")
        return None


def measure_unpacked(path: str) -> int | None:
    """Return the bytes that all values take; None if the file is not Parquet."""
    size = os.path.getsize(path)
    if size < 12:
        return None
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        length = int.from_bytes(content[-8:-4], "little")
        if content[-4:] != MAGIC or length > size - 12:
            return None
        footer = Thrift(content, size - 8 - length).struct()
        total, compressed = 0, 0
        for group in footer.get(4) or ():
            for chunk in group.get(1) or ():
                column = chunk.get(3) or {}
                compressed += max(0, column[7])
                if compressed > size:
                    raise ValueError("its columns have more bytes than the file")
                pages = (_size_of(page[2], _count_values(page), column)
                         for page in _page_headers(content, column))  # fmt: skip
                total += max(_size_of(column[6], column[5], column), sum(pages))
    return total


def _size_of(uncompressed: int, values: int, column: Struct) -> int:
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
        reader = Thrift(content, first)
        header = reader.struct()
        yield header
        first, begin = reader.place + header[3], first
        if not begin < first <= len(content):
            raise ValueError("a page is outside the file")
