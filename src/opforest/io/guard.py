"""The one place where what other libraries do with a damaged file becomes an error of ours."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from opforest.errors import DataFileError
from opforest.io.columns.table import Table
from opforest.io.panics import is_panic, unreported
from opforest.io.source import unreadable

#: What is true of the machine or the installation rather than of the file.
NOT_THE_FILE = (DataFileError, ImportError, MemoryError)

#: What the system says if a file names an offset or a length that cannot be.
IMPOSSIBLE = (None, errno.EINVAL, errno.EOVERFLOW)


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads a file into a ``DataFileError``.

    Panics of Rust are no ``Exception``, so that nothing else would stop them. What is not about
    the file passes: missing libraries and memory, files that are not there, Ctrl-C.
    """
    try:
        with unreported():
            yield
    except NOT_THE_FILE:
        raise
    except OSError as error:
        if error.errno not in IMPOSSIBLE:
            raise
        raise unreadable(error, name) from error
    except Exception as error:
        raise unreadable(error, name) from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise unreadable(error, name) from error


def guard(table: Table) -> Table:
    """Return a table whose cells are read under guard, too."""
    as_text = table.as_text

    def as_guarded_text(columns: Any) -> Any:
        with guarded(table.path):
            return as_text(columns) if as_text else None

    frames = _frames(table.frames, table.path)
    return replace(table, frames=frames, as_text=as_guarded_text if as_text else None)


def _frames(frames: Iterator[Any], name: str) -> Iterator[Any]:
    while True:
        with guarded(name):
            frame = next(frames, None)
        if frame is None:
            return
        yield frame
