"""Where data comes from: a file, packed or not, or the standard input."""

import bz2
import codecs
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from opforest.errors import DataFileError

#: What names the standard input, and the standard output.
STANDARD = "-"

BUFFER = 1 << 16

#: A packed file may unpack to so many bytes, or to so many times its size, whichever is more.
MUCH, MANY_TIMES = 1 << 27, 100


def _zstandard(stream: Any) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(".zst files need zstandard: pip install 'opforest[cli]'") from error
    return _Zstandard(stream, zstandard.ZstdDecompressor().decompressobj)


class _Zstandard:
    """What a stream holds that zstandard has packed, a little at a time; cut short is an error."""

    def __init__(self, stream: Any, make: Callable[[], Any]) -> None:
        self._stream, self._make, self._frame, self._rest = stream, make, make(), b""

    def read(self, size: int) -> bytes:
        while not self._rest and (packed := self._stream.read(1024)):
            while packed:
                self._rest += self._frame.decompress(packed)
                packed = self._frame.unused_data if self._frame.eof else b""
                if packed:
                    self._frame = self._make()
        if not self._rest and not self._frame.eof:
            raise EOFError("it is cut short")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


#: How packed files begin, how their names end, and what unpacks them.
PACKED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": (".gz", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"\xfd7zXZ\0": (".xz", lzma.LZMAFile),
    b"BZh": (".bz2", bz2.BZ2File),
    b"\x28\xb5\x2f\xfd": (".zst", _zstandard),
}


def unreadable(
    error: BaseException, name: str, what: str = "the file cannot be read"
) -> DataFileError:  # fmt: skip
    """Return the error that says what another library found, in its first line."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataFileError(f"{what}: {first}", name)


class _Counted:
    """A packed stream that counts what is read of it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.count = stream, 0

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._stream.read(BUFFER if size is None or size < 0 else size)
        self.count += len(content)
        return content


def _unpacking(packed: Any, unpack: Callable[[Any], Any], name: str) -> Callable[[Any], int]:
    """Return a function that fills a buffer with what is packed, unless it is far too much."""
    counted, taken = _Counted(packed), 0
    unpacked = unpack(counted)

    def fill(buffer: Any) -> int:
        nonlocal taken
        try:
            content = unpacked.read(len(buffer))
        except Exception as error:  # each library has errors of its own
            if isinstance(error, MemoryError):
                raise
            raise DataFileError(f"the file cannot be unpacked: {error}", name) from None
        taken += len(content)
        if taken > max(MUCH, MANY_TIMES * counted.count):
            raise DataFileError(
                f"the file unpacks to more than {MANY_TIMES} times its size, which no table does; "
                "unpack it yourself if it is one",
                name,
            )
        buffer[: len(content)] = content
        return len(content)

    return fill


class _Reader(io.RawIOBase):
    """A raw stream made of a function that fills a buffer."""

    def __init__(self, fill: Callable[[Any], int]) -> None:
        self._fill = fill

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._fill(buffer)


class Source:
    """An opened file, or the standard input.

    Attributes
    ----------
    name : str
        What errors call it.
    begin : bytes
        Its first bytes, unpacked, which are still to be read.
    is_live : bool
        Whether more may come in later, so that nothing must be read ahead.
    stream : stream of bytes
        The content, unpacked.
    """

    def __init__(self, path: str, stream: Any) -> None:
        self.path, self.is_packed = path, False
        self.is_live = path == STANDARD or not os.path.isfile(path)
        self.name = "standard input" if path == STANDARD else path
        self.stream: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        begin = bytes(self.stream.peek(BUFFER))
        for magic, (_, unpack) in PACKED.items():
            if begin.startswith(magic):
                fill = _unpacking(self.stream, unpack, self.name)
                self.stream = io.BufferedReader(_Reader(fill), BUFFER)
                self.is_packed = True
        self.begin = bytes(self.stream.peek(BUFFER)) if self.is_packed else begin

    @property
    def file_name(self) -> str:
        """The name without the end that says that it is packed."""
        name = self.name.lower()
        for end, _ in PACKED.values():
            name = name.removesuffix(end)
        return name

    def text(self) -> Any:
        """Return the content as a stream of UTF-8 without a mark at its beginning."""
        for mark, code in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
            if self.begin.startswith(mark):
                return io.BufferedReader(_Reader(self._recode(code)), BUFFER)
        if self.begin.startswith(b"\xef\xbb\xbf"):
            self.stream.read(3)
        return self.stream

    def _recode(self, code: str) -> Callable[[Any], int]:
        decoder, rest = codecs.getincrementaldecoder(code)(), bytearray()

        def fill(buffer: Any) -> int:
            more = b"-"
            while not rest and more:
                more = self.stream.read(BUFFER // 4)
                try:
                    text = decoder.decode(more, final=not more)
                except UnicodeDecodeError as error:
                    reason = f"the file is not valid UTF-16: {error.reason}"
                    raise DataFileError(reason, self.name) from None
                rest.extend(text.encode("utf-8"))
            taken = min(len(rest), len(buffer))
            buffer[:taken] = rest[:taken]
            del rest[:taken]
            return taken

        return fill

    @contextmanager
    def file(self) -> Iterator[str]:
        """Have the content in a file that can be read in any order; return its path."""
        if not self.is_packed and not self.is_live:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="opforest-") as folder:
            copy = os.path.join(folder, "data" + os.path.splitext(self.file_name)[1])
            with open(copy, "wb") as stream:
                shutil.copyfileobj(self.stream, stream)
            yield copy


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a data file, or the standard input for ``-``."""
    if path == STANDARD:
        yield Source(path, sys.stdin.buffer)
        return
    with open(path, "rb", BUFFER) as stream:
        yield Source(path, stream)


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open a file that is written whole or not at all, or the standard output."""
    from opforest._atomic import replacing

    if path == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(path) as stream:
        yield stream
