"""A lock that one process holds by the name of a file; the end of the process releases it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def lock_name(path: str) -> sqlite3.Connection | None:
    """Create and lock a file; return None if another process, or this one, has locked it.

    SQLite knows how to lock files on each system. Closing the connection releases the lock.
    """
    lock = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return None
    except sqlite3.DatabaseError:  # a file of another program
        lock.close()
        raise
    return lock


@contextmanager
def lock_folder(folder: str) -> Iterator[bool]:
    """Lock a folder, which must exist; yield False if another process has."""
    path = os.path.join(folder, ".lock")
    try:
        lock = lock_name(path)
        while lock is not None and not os.path.exists(path):  # its last owner has just removed it
            lock.close()
            lock = lock_name(path)
    except sqlite3.OperationalError as error:
        raise OSError(
            f"{folder}: it cannot be locked; do you have permission to write there? ({error})"
        ) from None
    except sqlite3.DatabaseError:
        raise OSError(
            f"{folder}: its file .lock is not one of ours. Move it away, or name another folder."
        ) from None
    if lock is None:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            os.remove(path)  # Windows refuses while it is open
        lock.close()
