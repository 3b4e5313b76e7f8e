"""No command writes to a file that it reads, nor two results to one file.

Only ``update``, ``stream``, ``store`` and ``serve`` change a file in place: the model or the store
that they are told to teach.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from opforest.io.source import STANDARD


def keep_apart(reads: Iterable[str | None], writes: Iterable[str | None]) -> None:
    """Raise an error if a command would write to a file that it reads, or to one file twice.

    Files are known by device and inode, and by where their names lead, so that links, hard links
    and other spellings are noticed. Nothing is opened.

    Parameters
    ----------
    reads : iterable of str or None
        What the command reads: files, folders, ``-`` for the standard input, None for nothing.
    writes : iterable of str or None
        What it writes: files, ``-`` for the standard output, None for nothing.
    """
    read: dict[Any, str] = {}
    folders: dict[str, str] = {}
    for path in filter(None, reads):
        if path != STANDARD and os.path.isdir(path):
            folders[os.path.realpath(path)] = path
        for file in _files_of(path):
            read.update(dict.fromkeys(_marks(file, sys.stdin), file))
    written: dict[Any, str] = {}
    for path in filter(None, writes):
        marks = _marks(path, sys.stdout)
        source = next((read[mark] for mark in marks if mark in read), None) or next(
            (folders[one] for one in folders if _is_within(path, one)), None
        )
        if source is not None:
            raise ValueError(
                f"{_name(path, 'standard output')} must not be written, because this command reads "
                f"{_name(source, 'standard input') if source != path else 'it'}: name another file."
            )
        other = next((written[mark] for mark in marks if mark in written), None)
        if other is not None:
            raise ValueError(
                f"{path} and {other} are the same file: each result needs a file of its own."
            )
        written.update(dict.fromkeys(marks, path))


def _files_of(path: str) -> Iterator[str]:
    """Yield a file, or the files in a folder."""
    if path == STANDARD or not os.path.isdir(path):
        yield path
        return
    for folder, _, names in os.walk(path, followlinks=True):
        yield from (os.path.join(folder, name) for name in names)


def _marks(path: str, standard: Any) -> list[Any]:
    """Return what a file is known by; nothing for devices and pipes, which hold nothing."""
    marks: list[Any] = [STANDARD] if path == STANDARD and standard is sys.stdout else []
    status = None
    with suppress(OSError, ValueError, AttributeError):  # it is not there, or a stream in memory
        status = os.fstat(standard.fileno()) if path == STANDARD else os.stat(path)
    if status is not None and stat.S_ISREG(status.st_mode):
        marks.append((status.st_dev, status.st_ino))
    if path != STANDARD and (status is None or stat.S_ISREG(status.st_mode)):
        marks.append(os.path.normcase(os.path.realpath(path)))
    return marks


def _is_within(path: str, folder: str) -> bool:
    """Tell whether a file would be one of a folder that is read."""
    return path != STANDARD and os.path.realpath(path).startswith(os.path.join(folder, ""))


def _name(path: str, standard: str) -> str:
    return standard if path == STANDARD else path
