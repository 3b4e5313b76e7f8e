"""Sources and destinations of data: files, compressed or not, and standard input and output."""

import codecs
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from typing import IO, Any

from opforest._utils.atomic import open_atomic
from opforest.io.compression import ARCHIVE, BUFFER, COMPRESSED, decompress, open_member
from opforest.io.encodings import NAMES, guess_encoding, recode

#: The name of the standard input and output.
STANDARD = "-"


@contextmanager
def link_plain_path(path: str) -> Iterator[str]:
    """Yield a path that every library accepts: a link, if the name is not valid UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        with tempfile.TemporaryDirectory(prefix="opforest-") as folder:
            link = os.path.join(folder, "data")
            os.symlink(os.path.abspath(path), link)
            yield link
    else:
        yield path


class _IteratorStream(io.RawIOBase):
    """A raw stream of the bytes that an iterator yields."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._rest = parts, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        filled = 0
        while filled < len(buffer):
            if not self._rest:
                part = next(self._parts, None)
                if part is None:
                    break
                self._rest = memoryview(part)
            some = self._rest[: len(buffer) - filled]
            buffer[filled : filled + len(some)] = some
            self._rest, filled = self._rest[len(some) :], filled + len(some)
        return filled


class Source:
    """An open file, or the standard input.

    ``stream`` is the decompressed content, ``begin`` its first bytes. A source that ``is_live`` may
    grow later: it must not be read ahead, and cannot be read twice. ``name`` is for errors;
    ``encoding`` is that of its text, if known.
    """

    def __init__(self, path: str, stream: Any, name: str, encoding: str | None = None) -> None:
        self.path, self.name, self.is_compressed = path, name, False
        self.encoding, self._member = encoding, ""
        self._opened = ExitStack()
        self.is_live = path == STANDARD or not os.path.isfile(path)
        self.stream: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self.begin = bytes(self.stream.peek(BUFFER))
        for magic, (_, make) in COMPRESSED.items():
            if self.begin.startswith(magic):
                self._unpack(decompress(self.stream, make, name))
                return
        if self.begin.startswith(ARCHIVE):
            self._open_archive()

    def _unpack(self, parts: Iterator[bytes]) -> None:
        """Replace the content by the decompressed content."""
        self.is_compressed = True
        self.stream = io.BufferedReader(_IteratorStream(parts), BUFFER)
        self.begin = bytes(self.stream.peek(BUFFER))

    def _open_archive(self) -> None:
        """Replace an archive of one table by the table; other formats are archives, too."""
        if self.is_live:  # an archive is read from its end
            whole = self._opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            shutil.copyfileobj(self.stream, whole)
            whole.seek(0)
            self.stream = whole
        found = open_member(self.stream, self.name)
        self.stream.seek(0)
        if found is not None:
            self._member, parts = found
            self._unpack(parts)

    def close(self) -> None:
        """Delete all copies."""
        self._opened.close()

    @property
    def file_name(self) -> str:
        """The name without the ending of compressed files."""
        name = (self._member or self.name).lower()
        for end, _ in COMPRESSED.values():
            name = name.removesuffix(end)
        return name

    def open_text(self) -> Any:
        """Return the content as a stream of UTF-8 without a byte order mark."""
        stream, encoding = self.stream, self.encoding or guess_encoding(self.begin)
        if encoding not in (None, "utf-8"):
            parts = recode(iter(lambda: self.stream.read1(BUFFER), b""), encoding, self.name)
            stream = io.BufferedReader(_IteratorStream(parts), BUFFER)
        elif self.begin.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        begin = stream.peek(BUFFER)
        if b"\r" in begin and b"\n" not in begin:  # line ends of very old computers
            pieces = iter(lambda: stream.read1(BUFFER), b"")
            lines = (piece.replace(b"\r", b"\n") for piece in pieces)
            return io.BufferedReader(_IteratorStream(lines))
        return stream

    def describe_encoding(self) -> list[str]:
        """Return a note if the encoding of the text is a guess."""
        name = None if self.encoding else NAMES.get(guess_encoding(self.begin) or "")
        note = f"the text is not UTF-8, so it is read as {name} (--encoding names another)"
        return [note] if name else []

    def reopen(self) -> AbstractContextManager["Source"]:
        """Open the file once more."""
        return open_source(self.path, self.name, self.encoding)

    def as_file(self) -> str:
        """Return the path of a seekable file with the content, which exists until ``close``."""
        if not self.is_compressed and not self.is_live:
            return self._opened.enter_context(link_plain_path(self.path))
        folder = self._opened.enter_context(tempfile.TemporaryDirectory(prefix="opforest-"))
        copy = os.path.join(folder, "data" + os.path.splitext(self.file_name)[1])
        with open(copy, "wb") as stream:
            shutil.copyfileobj(self.stream, stream)
        return copy


@contextmanager
def open_source(
    path: str, name: str | None = None, encoding: str | None = None
) -> Iterator[Source]:
    """Open a data file, or the standard input for ``-``."""
    is_standard = path == STANDARD
    name = name or ("standard input" if is_standard else path)
    with (
        nullcontext(sys.stdin.buffer) if is_standard else open(path, "rb", BUFFER) as stream,
        closing(Source(path, stream, name, encoding)) as source,
    ):
        yield source


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open the standard output, or a file that is written completely or not at all."""
    if path == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open_atomic(path) as stream:
        yield stream
