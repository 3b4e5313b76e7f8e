"""File locks of a store: one writer for each file, under whatever name it is opened.

SQLite names the log of a file after the file, so a file that is opened under two names has two
logs, each of which lacks the changes in the other. Hence a file with several names (hard links, or
a mount of the file alone) is refused, and a writer locks the file itself, wherever it is moved.

Closing *any* descriptor of a file releases the POSIX locks that the process holds on it, including
SQLite's. The descriptor that holds our lock is therefore closed only when this process has no
store open on that file; until then it is parked.
"""

import os
import sqlite3
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

from opforest._utils.name_lock import lock_name
from opforest.learner.errors import StoreError

try:
    import fcntl
except ImportError:  # Windows, where an open file can be neither moved nor deleted
    fcntl = None  # type: ignore[assignment]

#: The byte that a writer locks: beyond the end of any file, and beyond the bytes SQLite locks.
BYTE = 1 << 62

Identity = tuple[int, int]

# Finalizers of stores run in any thread, at any moment: the mutex is re-entrant, and each change of
# these tables is a single operation.
_mutex = threading.RLock()
_stores: dict[int, Identity] = {}  # open in this process, readers included, by id of the lock
_descriptors: dict[int, Identity] = {}  # open in this process, for locks
_parked: set[int] = set()  # open, but no longer holding a lock


def identity_of(path: str) -> Identity | None:
    """Return the device and inode of a file, or None if there is no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class FileLock:
    """The right of a store to use its file; ``path`` is the name of the store in errors."""

    def __init__(self, path: str, file: str) -> None:
        self.path, self.file = path, file
        self.identity: Identity | None = None
        self._name_lock: sqlite3.Connection | None = None
        self._descriptor: int | None = None

    def acquire(self, read_only: bool) -> None:
        """Register a reader, or become the only writer; refuse a file with several names."""
        if not read_only:
            self._name_lock = lock_name(f"{self.file}-lock")  # as all versions do
            if self._name_lock is None:
                raise self._busy()
            if fcntl is not None:
                self._lock_file()
        elif os.path.exists(self.file):
            _refuse_aliases(self.path, self.file)
        identity = identity_of(self.file)
        if identity is not None:
            with _mutex:
                _stores[id(self)] = identity
            self.identity = identity

    def _busy(self) -> StoreError:
        return StoreError(
            f"{self.path}: another process is learning into this store, and there is only one "
            "writer at a time. Open it for reading only, or end the other process."
        )

    def _lock_file(self) -> None:
        """Lock the file itself, so that no process writes to it under a later name."""
        try:
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                f"{self.path}: it cannot be opened: do you have permission to write there? "
                f"({error.strerror})"
            ) from None
        found = os.fstat(descriptor)
        with _mutex:
            _descriptors[descriptor] = (found.st_dev, found.st_ino)
        self._descriptor = descriptor
        _refuse_aliases(self.path, self.file)
        try:
            _set_lock(descriptor, is_locked=True)
        except (BlockingIOError, PermissionError):
            raise self._busy() from None
        except OSError as error:
            raise StoreError(
                f"{self.path}: its file system cannot lock files ({error.strerror}), so another "
                "process could write to it at the same time. Move it to another file system."
            ) from None

    def check_location(self) -> None:
        """Raise a ``StoreError`` if the file is no longer where it was opened."""
        if self.identity is not None and identity_of(self.file) != self.identity:
            raise StoreError(
                f"{self.path}: the file was moved, replaced or deleted while it was open, so "
                "changes are no longer saved. Those acknowledged earlier are in the file and in "
                f"{self.file}-wal: put both back, and open the store again."
            )

    def release(self) -> None:
        """Let others open the file, once all connections to it are closed."""
        with _mutex:
            self.identity = None
            _stores.pop(id(self), None)
            if self._descriptor is not None:
                with suppress(OSError):
                    _set_lock(self._descriptor, is_locked=False)
                _parked.add(self._descriptor)
                self._descriptor = None
            _close_parked()
        if self._name_lock is not None:
            self._name_lock.close()
            self._name_lock = None


def _close_parked() -> None:
    """Close descriptors of files that no store of this process has open."""
    for descriptor in tuple(_parked):
        if _descriptors.get(descriptor) not in _stores.values():
            with suppress(KeyError):  # a finalizer in this thread has closed it
                _parked.remove(descriptor)
                del _descriptors[descriptor]
                os.close(descriptor)


def _set_lock(descriptor: int, is_locked: bool) -> None:
    if hasattr(fcntl, "F_OFD_SETLK") and sys.maxsize > 2**32:
        kind = fcntl.F_WRLCK if is_locked else fcntl.F_UNLCK
        # A ``struct flock`` of Linux: kind, whence, start, length, process.
        request = struct.pack("hhqqi4x", kind, os.SEEK_SET, BYTE, 1, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if is_locked else fcntl.LOCK_UN)


def _refuse_aliases(path: str, file: str) -> None:
    """Raise a ``StoreError`` if the file has another name, and therefore another log."""
    names = os.stat(file).st_nlink
    if names > 1:
        raise StoreError(
            f"{path}: the file has {names} names (hard links). SQLite keeps a log beside each "
            "name, and changes in one log are missing under the other name. Keep one of the names, "
            "or copy the file; symbolic links are fine."
        )
    mount = _mount_of(file)
    if mount is not None and mount != _mount_of(os.path.dirname(file)):
        raise StoreError(
            f"{path}: the file is mounted there without its folder. SQLite keeps a log beside each "
            "name, and changes in one log are missing under the other name. Mount the folder."
        )


def _mount_of(path: str) -> str | None:
    """Return the mount that a file or folder is on, or None if it is unknown."""
    try:
        descriptor = os.open(path, os.O_PATH)  # closing one of these releases no locks
        try:
            lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines()
        finally:
            os.close(descriptor)
    except (OSError, AttributeError):
        return None
    return next((line for line in lines if line.startswith("mnt_id:")), None)


def _forget_parent() -> None:
    """Close the descriptors of the parent in a forked process; the parent keeps its locks."""
    global _mutex
    _mutex = threading.RLock()
    for descriptor in _descriptors:
        with suppress(OSError):
            os.close(descriptor)
    for table in (_stores, _descriptors, _parked):
        table.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
