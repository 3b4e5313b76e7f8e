"""The size of an Arrow file in memory, found before any of it is decompressed.

The footer, a FlatBuffer, lists the batches; each begins with a FlatBuffer that lists its buffers. A
compressed buffer begins with its length.
"""

import mmap
import os
import struct
from typing import Any

#: The end of such a file, and the kind of a message that holds a dictionary.
MAGIC, DICTIONARY = b"ARROW1", 2

#: Bytes of a float64, of a block of the footer, and of a node and a buffer of a batch.
WIDTH, BLOCK, NODE, BUFFER = 8, 24, 16, 16


class FlatTable:
    """A table of a FlatBuffer, with numbered fields."""

    def __init__(self, content: Any, place: int) -> None:
        self.content, self.place = content, place
        self.fields = place - self.number("<i", place)

    def number(self, form: str, place: int) -> int:
        """Return the number at a place."""
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
        """Return the value of an integer field."""
        place = self.find(field)
        return self.number(form, place) if place else 0

    def table(self, field: int) -> "FlatTable | None":
        """Return the value of a table field."""
        place = self.find(field)
        return FlatTable(self.content, place + self.number("<I", place)) if place else None

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


def measure_unpacked(path: str) -> int | None:
    """Return the bytes that all values take; None if the file is not Arrow."""
    size = os.path.getsize(path)
    if size < 24:
        return None
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        length = int.from_bytes(content[-10:-6], "little")
        if content[-6:] != MAGIC or length > size - 18:
            return None
        begin = size - 10 - length
        footer = FlatTable(content, begin + int.from_bytes(content[begin : begin + 4], "little"))
        blocks = [*footer.vector(2, BLOCK), *footer.vector(3, BLOCK)]
        return sum(_size_of_batch(footer, place) for place in blocks)


def _size_of_batch(footer: FlatTable, place: int) -> int:
    """Return the size of a batch, given the place of its block in the footer."""
    content = footer.content
    offset, length = footer.number("<q", place), footer.number("<i", place + 8)
    begin = offset + (8 if footer.number("<i", offset) == -1 else 4)
    message = FlatTable(content, begin + footer.number("<I", begin))
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
