"""Files that are written whole or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

#: What it is called that there is no more room.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` when all has been written.

    Until then there is what was there before, whatever happens: an error, a kill, a power cut.
    The new file grows beside the old one, under a name that begins with a dot, and is synced and
    then renamed. An error removes it; a kill leaves it behind, and it is safe to delete.

    Parameters
    ----------
    path : path
        The file. If it is a link, what it leads to is replaced; a device such as /dev/null
        is written to.

    Yields
    ------
    file
        A binary stream.
    """
    try:
        with _beside(path) as stream:
            yield stream
    except Exception as error:  # polars has errors of its own
        for code in FULL:
            if os.strerror(code) in str(error):
                raise OSError(code, os.strerror(code), os.fspath(path)) from error
        raise


@contextmanager
def _beside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    target = Path(os.path.realpath(path))
    if target.is_char_device():
        with target.open("wb") as stream:
            yield stream
        return
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file and cannot be replaced.")
    partial = target.with_name(f".{target.name[:200]}-{secrets.token_hex(8)}")
    try:
        with partial.open("xb") as stream:
            if target.exists():
                shutil.copymode(target, partial)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder lasts, where the system lets us."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
