"""Checks of paths, before a command reads or writes anything.

Only ``update``, ``stream``, ``store`` and ``serve`` change a file in place: their model or store.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from opforest.io.source import STANDARD


def require_distinct(reads: Iterable[str | None], writes: Iterable[str | None]) -> None:
    """Raise an error if a command would write to a file that it reads, or to one file twice.

    Files are compared by device and inode and by their real paths, so that links, hard links and
    different spellings are recognized. ``-`` is the standard input or output; None is ignored.
    """
    read: dict[Any, str] = {}
    folders: dict[str, str] = {}
    for path in filter(None, reads):
        if path != STANDARD and os.path.isdir(path):
            folders[os.path.realpath(path)] = path
        for file in _files_of(path):
            read.update(dict.fromkeys(_identities(file, sys.stdin), file))
    written: dict[Any, str] = {}
    for path in filter(None, writes):
        identities = _identities(path, sys.stdout)
        sources = [read[one] for one in identities if one in read]
        sources += [folder for real, folder in folders.items() if _is_within(path, real)]
        if sources:
            source = "it" if sources[0] == path else _name(sources[0], "standard input")
            raise ValueError(
                f"{_name(path, 'standard output')} must not be written, because this command reads "
                f"{source}: name another file."
            )
        if others := [written[one] for one in identities if one in written]:
            raise ValueError(
                f"{path} and {others[0]} are the same file: each result needs a file of its own."
            )
        written.update(dict.fromkeys(identities, path))


def _files_of(path: str) -> Iterator[str]:
    if path == STANDARD or not os.path.isdir(path):
        yield path
        return
    for folder, _, names in os.walk(path, followlinks=True):
        yield from (os.path.join(folder, name) for name in names)


def _identities(path: str, standard: Any) -> list[Any]:
    """Return what identifies a file; nothing for devices and pipes, which store nothing."""
    found: list[Any] = [STANDARD] if path == STANDARD and standard is sys.stdout else []
    status = None
    with suppress(OSError, ValueError, AttributeError):  # no such file, or a stream in memory
        status = os.fstat(standard.fileno()) if path == STANDARD else os.stat(path)
    if status is not None and stat.S_ISREG(status.st_mode):
        found.append((status.st_dev, status.st_ino))
    if path != STANDARD and (status is None or stat.S_ISREG(status.st_mode)):
        found.append(os.path.normcase(os.path.realpath(path)))
    return found


def _is_within(path: str, folder: str) -> bool:
    return path != STANDARD and os.path.realpath(path).startswith(os.path.join(folder, ""))


def _name(path: str, standard: str) -> str:
    return standard if path == STANDARD else path


def require_folder(path: str) -> None:
    """Raise an error if the folder of a file does not exist."""
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def require_model_path(path: str) -> None:
    """Raise an error if a model cannot be written, or would overwrite a file of another kind."""
    from opforest.apps.cli.models import kind_of_model

    require_folder(path)
    if os.path.isfile(path) and os.path.getsize(path) and kind_of_model(path) is None:
        raise ValueError(f"{path} exists and is not a model: remove it, or name another file.")
