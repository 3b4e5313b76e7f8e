"""Conversion of other libraries' errors, and of panics of Rust, to errors about data files."""

import errno
import os
import re
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opforest.errors import DataFileError

if TYPE_CHECKING:
    from opforest.io.columns.table import Table

#: What messages say about files whose bytes contradict each other.
DAMAGED = "damaged, or was not written to its end: write it again, or get a new copy"

#: Errors of the machine or the installation rather than of the file.
NOT_THE_FILE = (DataFileError, ImportError, MemoryError)

#: Error codes that mean that a file has an impossible offset or length.
IMPOSSIBLE = (None, errno.EINVAL, errno.EOVERFLOW)

#: Formats whose libraries report internals, and the names of such files in messages.
OPAQUE = {"parquet": "Parquet", "arrow": "Arrow"}

#: Formats that are archives, and the names of such files in messages.
ARCHIVES = {"npz": "NPZ file", "excel": "workbook"}

#: Messages about content that is valid, but cannot be used.
_NOT_DAMAGED = re.compile(
    r"not supported|unsupported|not (yet )?implemented|datatype", re.IGNORECASE
)

#: The report that Rust prints of a panic.
_REPORT = re.compile(
    rb"\n?thread '[^\n]*' (?:\(\d+\) )?panicked at .*?(?:\nnote: [^\n]*\n|(?=\nthread ')|\Z)",
    re.DOTALL,
)

_hides_panics = False


def wrap_error(
    error: BaseException, name: str, what: str = "the file cannot be read"
) -> DataFileError:
    """Return an error with the first line of a library's message, without advice to its callers."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataFileError(f"{what}: {first.partition(', hint:')[0]}", name)


def is_panic(error: BaseException) -> bool:
    """Return whether an error is a panic; each library has its own class, not an ``Exception``."""
    return type(error).__name__ == "PanicException"


@contextmanager
def convert_errors(name: str, kind: str = "") -> Iterator[None]:
    """Convert errors and panics of a library that reads this file to a ``DataFileError``.

    Errors that are not about the file pass: missing libraries, memory or files, and Ctrl-C. Where
    messages of the library are about internals of a ``kind`` of files, they are left out.
    """
    try:
        with _without_panic_reports():
            yield
    except NOT_THE_FILE:
        raise
    except BaseException as error:
        if isinstance(error, OSError):
            is_about_file = error.errno in IMPOSSIBLE
        else:
            is_about_file = isinstance(error, Exception) or is_panic(error)
        if not is_about_file:
            raise
        if kind in OPAQUE and not _NOT_DAMAGED.search(str(error)):
            raise DataFileError(f"the {OPAQUE[kind]} file is {DAMAGED}", name) from error
        is_broken = isinstance(error, zipfile.BadZipFile | zlib.error) or "Zip error" in str(error)
        if is_broken and kind in ARCHIVES:
            raise DataFileError(f"the {ARCHIVES[kind]} is {DAMAGED}", name) from error
        raise wrap_error(error, name) from error


def protect(table: "Table", kind: str = "") -> "Table":
    """Return a table that converts errors while its cells are read, too."""
    frames, as_text = table.frames, table.as_text

    def convert_frames() -> Iterator[Any]:
        while True:
            with convert_errors(table.path, kind):
                frame = next(frames, None)
            if frame is None:
                return
            yield frame

    def convert_text(columns: Sequence[int]) -> Any:
        with convert_errors(table.path, kind):
            return as_text(columns) if as_text else None

    return replace(table, frames=convert_frames(), as_text=as_text and convert_text)


def hide_panics() -> None:
    """Keep reports of panics out of the standard error of this process from now on.

    Only the owner of a process may ask for it, because file descriptor 2 is redirected while a
    library reads a file. Python gets its own descriptor, and prints without delay.
    """
    global _hides_panics
    try:
        sys.stderr.flush()
        sys.stderr = open(  # noqa: SIM115
            os.dup(2), "w", 1, encoding=sys.stderr.encoding, errors=sys.stderr.errors
        )
    except (AttributeError, OSError, ValueError):
        return  # there is no standard error
    _hides_panics = True


@contextmanager
def _without_panic_reports() -> Iterator[None]:
    """Drop reports of panics, and nothing else, after a call of ``hide_panics``."""
    if not _hides_panics:
        yield
        return
    with tempfile.TemporaryFile() as output:
        stderr = os.dup(2)
        os.dup2(output.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            output.seek(0)
            os.write(2, _REPORT.sub(b"", output.read()))
