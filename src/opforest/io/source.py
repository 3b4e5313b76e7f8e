"""Where data comes from: a file, packed or not, or the standard input."""

import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TextIO

from opforest.io.errors import DataFileError

#: What names the standard input, and the standard output.
STANDARD = "-"

BUFFER = 1 << 16

#: What a packed file that is damaged raises.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


class Source:
    """An opened file, or the standard input.

    Attributes
    ----------
    name : str
        What errors call it.
    begin : bytes
        Its first bytes, which are still to be read.
    is_live : bool
        Whether more may come in later, so that nothing must be read ahead.
    """

    def __init__(self, path: str, stream: Any) -> None:
        self.path = path
        self.is_live = path == STANDARD or not os.path.isfile(path)
        self.name = "standard input" if path == STANDARD else path
        self._stream = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        if self.peek().startswith(b"\x1f\x8b"):
            unpacked = gzip.GzipFile(fileobj=self._stream)
            self._stream = io.BufferedReader(unpacked, BUFFER)
            self.path = ""
        try:
            self.begin = self.peek()
        except DAMAGED as error:
            raise DataFileError(f"the file cannot be unpacked: {error}", self.name) from None

    def peek(self) -> bytes:
        """Return the next bytes without reading them."""
        return bytes(self._stream.peek(BUFFER))

    @property
    def suffix(self) -> str:
        """The end of the name, that of what is packed if it is."""
        name = self.name.lower()
        return os.path.splitext(name.removesuffix(".gz"))[1]

    def binary(self) -> IO[bytes]:
        """Return the content as a stream of bytes."""
        return self._stream

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open the content as text in UTF-8."""
        if self.begin.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataFileError("the file is text in UTF-16; save it in UTF-8", self.name)
        stream = io.TextIOWrapper(self._stream, "utf-8-sig", newline="")
        try:
            yield stream
        except UnicodeDecodeError as error:
            reason = f"the file must be text in UTF-8, but byte {error.object[error.start]:#04x} is"
            raise DataFileError(f"{reason} none", self.name, self._line_of_bad_text()) from None
        except DAMAGED as error:
            raise DataFileError(f"the file cannot be unpacked: {error}", self.name) from None
        finally:
            stream.detach()

    def _line_of_bad_text(self) -> int | None:
        if self.is_live or not self.path:
            return None
        with open(self.path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.decode("utf-8", "replace").encode() != line:
                    return number
        return None

    @contextmanager
    def file(self) -> Iterator[str]:
        """Have the content in a file that can be read in any order; return its path."""
        if self.path and not self.is_live:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="opforest-") as folder:
            copy = os.path.join(folder, "data" + self.suffix)
            with open(copy, "wb") as stream:
                shutil.copyfileobj(self._stream, stream)
            yield copy


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a data file, or the standard input for ``-``."""
    if path == STANDARD:
        yield Source(path, sys.stdin.buffer)
        return
    with open(path, "rb", BUFFER) as stream:
        yield Source(path, stream)
