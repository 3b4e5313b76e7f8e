"""Atomic writes: a file is replaced completely or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

#: The message of an error about a folder that does not exist.
NO_FOLDER = "There is no folder"

#: Error codes that mean the disk is full.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a binary stream whose content replaces the file when the context ends without error.

    Until then the old file stays, whatever happens: an error, a kill, a power cut. The new file is
    written beside it, under a name that begins with a dot, synced, and renamed. An error removes
    it; after a kill it remains, and can be deleted. If ``path`` is a link, its target is replaced;
    a device such as /dev/null is written to directly.
    """
    try:
        with _open_beside(path) as stream:
            yield stream
    except Exception as error:  # polars raises errors of its own when the disk is full
        for code in DISK_FULL:
            if os.strerror(code) in str(error):
                raise OSError(code, os.strerror(code), os.fspath(path)) from error
        raise


def _create(partial: Path, path: str | os.PathLike[str]) -> IO[bytes]:
    """Create a file; an error is about the one that it will replace."""
    try:
        return partial.open("xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error


@contextmanager
def _open_beside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    target = Path(os.path.realpath(path))
    if target.is_char_device():
        with target.open("wb") as stream:
            yield stream
        return
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file and cannot be replaced.")
    if not target.parent.is_dir():
        missing = os.path.dirname(os.fspath(path)) or str(target.parent)
        raise FileNotFoundError(errno.ENOENT, NO_FOLDER, missing)
    partial = target.with_name(f".{target.name[:200]}-{secrets.token_hex(8)}")
    try:
        with _create(partial, path) as stream:
            if target.exists():
                shutil.copymode(target, partial)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    with suppress(OSError):  # not every system can sync a folder, which makes the new name durable
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
