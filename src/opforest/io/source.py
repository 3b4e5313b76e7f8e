"""Sources and destinations of data: files, compressed or not, and standard input and output."""

import bz2
import codecs
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any

from opforest._utils import tuning
from opforest._utils.atomic import open_atomic
from opforest._utils.extras import install_command
from opforest.errors import DataFileError

#: The name of the standard input and output.
STANDARD = "-"

BUFFER = 1 << 16

#: Bytes that are decompressed at a time: few, because each may become thousands.
PIECE = 1 << 10

#: A compressed file may expand to this many times its size; a small one to more.
MAX_EXPANSION = 100

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _make_zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(f".zst files need zstandard: {install_command('cli')}") from error
    return zstandard.ZstdDecompressor().decompressobj()


#: First bytes of compressed files, the endings of their names, and their decompressors.
COMPRESSED: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": (".gz", lambda: zlib.decompressobj(31)),
    b"\xfd7zXZ\0": (
        ".xz",
        lambda: lzma.LZMADecompressor(memlimit=tuning.values.max_unpacked_bytes),
    ),
    b"BZh": (".bz2", bz2.BZ2Decompressor),
    b"\x28\xb5\x2f\xfd": (".zst", _make_zstandard),
}


def wrap_error(
    error: BaseException, name: str, what: str = "the file cannot be read"
) -> DataFileError:
    """Return an error with the first line of a library's message, without advice to its callers."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataFileError(f"{what}: {first.partition(', hint:')[0]}", name)


def check_unpacked(size: int, compressed: int, name: str, what: str = "the file") -> None:
    """Raise an error if ``compressed`` bytes unpack to far too many, ``size``."""
    if size > max(tuning.values.max_unpacked_bytes, MAX_EXPANSION * compressed):
        raise DataFileError(f"{what} unpacks to more than {MAX_EXPANSION} times its size, which no "
                            "table does; unpack it yourself if it is one", name)  # fmt: skip


def _decompress(stream: Any, make: Callable[[], Any], name: str) -> Iterator[bytes]:
    decompressor, read, written = make(), 0, 0
    while more := stream.read(PIECE):
        read += len(more)
        while more:
            if decompressor.eof:  # several files, one after another, with zeros in between
                more = more.lstrip(b"\0")
                if not more:
                    break
                decompressor = make()
            try:
                part = decompressor.decompress(more)
            except MemoryError:
                raise
            except Exception as error:  # each library has its own errors
                raise wrap_error(error, name, "the file cannot be unpacked") from None
            written += len(part)
            check_unpacked(written, read, name)
            yield part
            more = decompressor.unused_data
    if not decompressor.eof:
        raise DataFileError("the file cannot be unpacked: it is cut short", name)


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
    grow later: it must not be read ahead, and cannot be read twice. ``name`` is for errors.
    """

    def __init__(self, path: str, stream: Any, name: str) -> None:
        self.path, self.name, self.is_compressed = path, name, False
        self.is_live = path == STANDARD or not os.path.isfile(path)
        self.stream: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self.begin = bytes(self.stream.peek(BUFFER))
        for magic, (_, make) in COMPRESSED.items():
            if self.begin.startswith(magic):
                self.is_compressed = True
                parts = _decompress(self.stream, make, name)
                self.stream = io.BufferedReader(_IteratorStream(parts), BUFFER)
                self.begin = bytes(self.stream.peek(BUFFER))
                return

    @property
    def file_name(self) -> str:
        """The name without the ending of compressed files."""
        name = self.name.lower()
        for end, _ in COMPRESSED.values():
            name = name.removesuffix(end)
        return name

    def open_text(self) -> Any:
        """Return the content as a stream of UTF-8 without a byte order mark."""
        stream = self.stream
        if self.begin.startswith(UTF_16):
            stream = io.BufferedReader(_IteratorStream(self._recode()), BUFFER)
        elif self.begin.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        begin = stream.peek(BUFFER)
        if b"\r" in begin and b"\n" not in begin:  # line ends of very old computers
            pieces = iter(lambda: stream.read1(BUFFER), b"")
            lines = (piece.replace(b"\r", b"\n") for piece in pieces)
            return io.BufferedReader(_IteratorStream(lines))
        return stream

    def _recode(self) -> Iterator[bytes]:
        try:
            for text in codecs.iterdecode(iter(lambda: self.stream.read1(BUFFER), b""), "utf-16"):
                yield text.encode()
        except UnicodeDecodeError as error:
            reason = f"the file is not valid UTF-16: {error.reason}"
            raise DataFileError(reason, self.name) from None

    def reopen(self) -> AbstractContextManager["Source"]:
        """Open the file once more."""
        return open_source(self.path, self.name)

    @contextmanager
    def as_file(self) -> Iterator[str]:
        """Yield the path of a seekable file with the content."""
        if not self.is_compressed and not self.is_live:
            with link_plain_path(self.path) as path:
                yield path
            return
        with tempfile.TemporaryDirectory(prefix="opforest-") as folder:
            copy = os.path.join(folder, "data" + os.path.splitext(self.file_name)[1])
            with open(copy, "wb") as stream:
                shutil.copyfileobj(self.stream, stream)
            yield copy


@contextmanager
def open_source(path: str, name: str | None = None) -> Iterator[Source]:
    """Open a data file, or the standard input for ``-``."""
    if path == STANDARD:
        yield Source(path, sys.stdin.buffer, name or "standard input")
        return
    with open(path, "rb", BUFFER) as stream:
        yield Source(path, stream, name or path)


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
