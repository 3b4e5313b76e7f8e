"""Where data comes from: a file, packed or not, or the standard input; and where it goes."""

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

from opforest._utils.atomic import open_atomic
from opforest.errors import DataFileError

#: What names the standard input, and the standard output.
STANDARD = "-"

BUFFER = 1 << 16

#: Bytes that are unpacked at a time: few, because each may become thousands.
PIECE = 1 << 10

#: A packed file may unpack to so many bytes, or to so many times its size, whichever is more.
MUCH, MANY_TIMES = 1 << 27, 100

#: How UTF-16 begins.
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(".zst files need zstandard: pip install 'opforest[cli]'") from error
    return zstandard.ZstdDecompressor().decompressobj()


#: How packed files begin, how their names end, and what unpacks a part of one.
PACKED: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": (".gz", lambda: zlib.decompressobj(31)),
    b"\xfd7zXZ\0": (".xz", lambda: lzma.LZMADecompressor(memlimit=MUCH)),
    b"BZh": (".bz2", bz2.BZ2Decompressor),
    b"\x28\xb5\x2f\xfd": (".zst", _zstandard),
}


def unreadable(
    error: BaseException, name: str, what: str = "the file cannot be read"
) -> DataFileError:  # fmt: skip
    """Return the error that says what another library found, in its first line.

    Advice that is meant for those who call the library is left out.
    """
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataFileError(f"{what}: {first.partition(', hint:')[0]}", name)


def check_unpacked(whole: int, packed: int, name: str, what: str = "the file") -> None:
    """Refuse what unpacks to far more than it is: ``whole`` bytes out of ``packed``."""
    if whole > max(MUCH, MANY_TIMES * packed):
        raise DataFileError(
            f"{what} unpacks to more than {MANY_TIMES} times its size, which no table does; unpack "
            "it yourself if it is one",
            name,
        )


def _unpack(packed: Any, make: Callable[[], Any], name: str) -> Iterator[bytes]:
    """Yield what is packed, unless it is damaged, cut short, or far too much."""
    unpacker, size, taken = make(), 0, 0
    while more := packed.read(PIECE):
        size += len(more)
        while more:
            if unpacker.eof:  # files may be several, one behind another, with zeros in between
                more = more.lstrip(b"\0")
                if not more:
                    break
                unpacker = make()
            try:
                part = unpacker.decompress(more)
            except MemoryError:
                raise
            except Exception as error:  # each library has errors of its own
                raise unreadable(error, name, "the file cannot be unpacked") from None
            taken += len(part)
            check_unpacked(taken, size, name)
            yield part
            more = unpacker.unused_data
    if not unpacker.eof:
        raise DataFileError("the file cannot be unpacked: it is cut short", name)


@contextmanager
def plain_path(path: str) -> Iterator[str]:
    """Have a path that every library takes: one that is text, whatever bytes the name has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        with tempfile.TemporaryDirectory(prefix="opforest-") as folder:
            link = os.path.join(folder, "data")
            os.symlink(os.path.abspath(path), link)
            yield link
    else:
        yield path


class _Parts(io.RawIOBase):
    """A raw stream of what an iterator yields."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._rest = parts, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = 0
        while taken < len(buffer):
            if not self._rest:
                part = next(self._parts, None)
                if part is None:
                    break
                self._rest = memoryview(part)
            some = self._rest[: len(buffer) - taken]
            buffer[taken : taken + len(some)] = some
            self._rest, taken = self._rest[len(some) :], taken + len(some)
        return taken


class Source:
    """An opened file, or the standard input.

    Attributes
    ----------
    path, name : str
        Where it is, and what errors call it.
    begin : bytes
        Its first bytes, unpacked, which are still to be read.
    is_packed : bool
        Whether the file is not what is read.
    is_live : bool
        Whether more may come in later, so that nothing must be read ahead, and nothing twice.
    stream : stream of bytes
        The content, unpacked.
    """

    def __init__(self, path: str, stream: Any, name: str) -> None:
        self.path, self.name, self.is_packed = path, name, False
        self.is_live = path == STANDARD or not os.path.isfile(path)
        self.stream: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self.begin = bytes(self.stream.peek(BUFFER))
        for magic, (_, make) in PACKED.items():
            if self.begin.startswith(magic):
                self.is_packed = True
                self.stream = io.BufferedReader(_Parts(_unpack(self.stream, make, name)), BUFFER)
                self.begin = bytes(self.stream.peek(BUFFER))
                return

    @property
    def file_name(self) -> str:
        """The name without the end that says that it is packed."""
        name = self.name.lower()
        for end, _ in PACKED.values():
            name = name.removesuffix(end)
        return name

    def text(self) -> Any:
        """Return the content as a stream of UTF-8 without a mark at its beginning."""
        stream = self.stream
        if self.begin.startswith(UTF_16):
            stream = io.BufferedReader(_Parts(self._recode()), BUFFER)
        elif self.begin.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        begin = stream.peek(BUFFER)
        if b"\r" in begin and b"\n" not in begin:  # lines end as on very old computers
            pieces = iter(lambda: stream.read1(BUFFER), b"")
            return io.BufferedReader(_Parts(piece.replace(b"\r", b"\n") for piece in pieces))
        return stream

    def _recode(self) -> Iterator[bytes]:
        try:
            for text in codecs.iterdecode(iter(lambda: self.stream.read1(BUFFER), b""), "utf-16"):
                yield text.encode()
        except UnicodeDecodeError as error:
            reason = f"the file is not valid UTF-16: {error.reason}"
            raise DataFileError(reason, self.name) from None

    def again(self) -> AbstractContextManager["Source"]:
        """Open the file once more."""
        return open_source(self.path, self.name)

    @contextmanager
    def file(self) -> Iterator[str]:
        """Have the content in a file that can be read in any order; return its path."""
        if not self.is_packed and not self.is_live:
            with plain_path(self.path) as path:
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
    """Open a file that is written whole or not at all, or the standard output."""
    if path == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open_atomic(path) as stream:
        yield stream
