"""The SQLite file of a store: opening, checking, transactions and secure deletion.

SQLite overwrites deleted rows (``secure_delete``), but it may leave copies in pages that once held
rows and are still in use. Forgetting therefore ends with a ``VACUUM``, which rewrites the file, and
with emptying the write-ahead log. Until both are done, a note in the table ``meta`` says that they
are due; the next process that opens the store does them.

Ctrl-C is deferred while a transaction runs and while files are opened or closed
(``defer_interrupts``), so none of these is ever left half done.
"""

import os
import sqlite3
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from opforest._utils.chunks import call_together
from opforest._utils.interrupts import defer_interrupts
from opforest.learner.acknowledged import Acknowledged, read_acknowledged
from opforest.learner.errors import StoreError, explaining
from opforest.learner.locking import Claim, identity_of
from opforest.learner.tables import APPLICATION, FORMAT, FORMATS, differs, make_tables

T = TypeVar("T")

#: The name of a store that is gone when it is closed.
MEMORY = ":memory:"

#: What follows the name of a store in the names of its files, which SQLite and we write.
ENDINGS = ("", "-wal", "-shm", "-journal", "-lock", "-ack")

#: Seconds to wait for others who read, or who are about to leave.
PATIENCE = 5.0


class Database(ABC):
    """The file, opened by one writer or by a reader.

    Parameters
    ----------
    path : str
        The file, or ``":memory:"``.
    read_only : bool
        Whether to follow what another process writes.
    make : bool
        Whether to make the file if it is not there.
    """

    def __init__(self, path: str, read_only: bool, make: bool) -> None:
        self.path, self.read_only = path, read_only
        #: Where the file really is: one store has one lock, by whatever name it is opened.
        self.file = path if path == MEMORY else os.path.realpath(path)
        self.commit_seconds = 0.0  #: what waiting for the disk took
        self.commits = 0
        self.format = FORMAT  #: of the file
        self._process = os.getpid()
        self._log_is_due = False
        self._has_wal = False
        self._log: Any = None  # identity of the log that was written last
        self._changes = 0  # number counted in the file
        self._claim = Claim(path, self.file)
        self._acknowledged = Acknowledged(f"{self.file}-ack")
        self._checker: sqlite3.Connection | None = None  # its pages are still to be checked
        self._looking = threading.RLock()
        self._open(make)

    # Opening and closing.

    @defer_interrupts
    def _open(self, make: bool) -> None:
        try:
            with explaining(self.path):
                if self.path != MEMORY:
                    self._check_path(make and not self.read_only)
                    self._claim.take(self.read_only)
                    self._look()
                self._writer = self._connect(self.read_only)
                self._reader = self._writer
                self._prepare()
                if self.path != MEMORY and not self.read_only:
                    self._reader = self._connect(read_only=True)
        except BaseException:
            self.close()
            raise

    def _check_path(self, make: bool) -> None:
        path = Path(self.path)
        if path.is_dir():
            raise StoreError(f"{path}: it is a folder, not a store.")
        if path.exists() and not path.is_file():
            raise StoreError(f"{path}: it is not a file.")
        if not path.parent.is_dir():
            raise StoreError(f"{path}: there is no folder {path.parent}.")
        if not path.exists() and not make:
            raise StoreError(
                f"{path}: there is no such store. `opforest store create {path}` makes one."
            )

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        if self.path == MEMORY:
            target, mode = "file::memory:", ""
        else:
            target = f"file:{quote(os.fsencode(self.file))}"
            mode = "?mode=ro" if read_only else "?mode=rwc"
            folder = os.path.dirname(self.file)
            if read_only and not os.access(folder, os.W_OK) and not self._has_log():
                mode += "&immutable=1"  # nobody can write, and SQLite could not make its files
        return sqlite3.connect(
            target + mode, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False
        )

    def _has_log(self) -> bool:
        log = Path(f"{self.file}-wal")
        return log.exists() and log.stat().st_size > 0

    def _look(self) -> None:
        """Check that the file is a store, or nothing yet, before anything is changed."""
        acknowledged = read_acknowledged(self._acknowledged.path)  # first: the number may grow
        with closing(self._connect(read_only=True)) as database:
            database.execute("BEGIN")
            is_new = _is_new(database)
            if not is_new:
                self._check_kind(database)
                changes = self._count_changes(database)
        if is_new and not acknowledged:
            if self.read_only:
                raise StoreError(f"{self.path}: it is empty: nobody has made a store of it yet.")
        elif is_new or changes < acknowledged:
            raise StoreError(
                f"{self.path}: the last {acknowledged - (0 if is_new else changes)} of "
                f"{acknowledged} changes that were acknowledged are missing: its log "
                f"({self.file}-wal) was deleted, cut or damaged, or the file is an older copy. "
                f"Restore both; or, to go on without these changes, delete {self.file}-ack."
            )

    def _check_kind(self, database: sqlite3.Connection) -> None:
        """Raise a ``StoreError`` unless the file is a store that this version reads."""
        (application,) = database.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            raise StoreError(f"{self.path}: it is an SQLite database, but not an opforest store.")
        (self.format,) = database.execute("PRAGMA user_version").fetchone()
        if self.format not in FORMATS:
            raise StoreError(
                f"{self.path}: it is of format {self.format}, and this version of opforest reads "
                f"format {FORMAT}. It was written by a newer version: install that one."
            )
        found = differs(database, self.format)
        if found is not None:
            raise StoreError(f"{self.path}: the file is damaged: {found}.")

    @abstractmethod
    def _count_changes(self, database: sqlite3.Connection) -> int:
        """Return how many changes the file has counted."""

    def _prepare(self) -> None:
        """Make the file a store if it is empty."""
        database = self._writer
        is_new = _is_new(database)
        if not self.read_only:
            database.execute("PRAGMA secure_delete = ON")
            database.execute("PRAGMA synchronous = FULL")
            if self.path != MEMORY:
                (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
                self._has_wal = mode == "wal"  # some file systems cannot
            if is_new:
                self.write(lambda: make_tables(database))
                return
            self._empty_log()
            self._changes = self._count_changes(database)
            self._acknowledged.note(self._changes)
        self._checker = self._connect(read_only=True)

    def call_and_check(self, call: Callable[[], None]) -> None:
        """Call a function while another thread checks all pages of the file.

        Raise a ``StoreError`` if the file is damaged, the index of keys included, whatever else
        the function raises: damage is the likely cause of it.
        """
        failed: list[Exception] = []

        def run() -> None:
            try:
                call()
            except Exception as error:
                failed.append(error)
            except BaseException:  # Ctrl-C need not wait for the other thread
                self._stop_checking()
                raise

        call_together(run, self._check_pages)
        if failed:
            raise failed.pop()  # no cycle of references keeps the file open

    def _check_pages(self) -> None:
        if self._checker is None:
            return
        with closing(self._checker), explaining(self.path):
            found = self._checker.execute("PRAGMA integrity_check(3)").fetchall()
        if found != [("ok",)]:
            raise StoreError(
                f"{self.path}: the file is damaged: restore a copy, or export what can be read "
                f"({'; '.join(str(line) for (line,) in found)[:300]})."
            )

    def _stop_checking(self) -> None:
        with suppress(sqlite3.Error):  # it has finished
            if self._checker is not None:
                self._checker.interrupt()

    @defer_interrupts
    def close(self) -> None:
        """Close the file. Whatever an error has left open is closed by the next call."""
        if self._checker is not None:
            self._checker.close()
        writer = getattr(self, "_writer", None)
        try:
            if writer is not None:
                self._close_connections(getattr(self, "_reader", writer), writer)
        finally:
            is_done = not os.path.exists(f"{self.file}-wal")
            self._acknowledged.close(is_done)
            self._claim.release()

    def _close_connections(self, reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
        try:
            if reader is not writer:
                reader.close()
            if self._log_is_due:
                self._log_is_due = False
                self._empty_log()
        finally:
            writer.close()

    def __del__(self) -> None:
        """Close what an interrupt has left open before anybody could close it."""
        if "_claim" in vars(self) and self._process == os.getpid():
            self.close()

    # Transactions.

    @defer_interrupts
    def write(self, change: Callable[[], T]) -> T:
        """Run a transaction: all of it is written to the disk, or nothing."""
        alone = self._looking if self._reader is self._writer else nullcontext()
        with alone, explaining(self.path, "Nothing was changed."):
            database = self._writer
            try:
                database.execute("BEGIN IMMEDIATE")
                result = change()
                self._note_change(self._changes + 1)
                self._claim.check_place()
                begin = time.perf_counter()
                database.execute("COMMIT")
                self.commit_seconds += time.perf_counter() - begin
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise
        self.commits += 1
        self._changes += 1
        self._acknowledge()
        if self._log_is_due:
            self._empty_log()
        return result

    @abstractmethod
    def _note_change(self, number: int) -> None:
        """Count a change in the file; within ``write``."""

    def _acknowledge(self) -> None:
        """Note that a change is on disk, in files that whoever opens the store next will find."""
        if self.path == MEMORY:
            return
        self._claim.check_place()
        log = identity_of(f"{self.file}-wal") if self._has_wal else None
        if self._has_wal and (log is None or self._log not in (None, log)):
            raise StoreError(
                f"{self.path}: {self.file}-wal was moved, replaced or deleted while the store was "
                "open. The last change is not acknowledged. Close the store, and open it again."
            )
        self._log = log
        self._acknowledged.note(self._changes)

    @defer_interrupts
    def read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """See the table as it is at one moment; for any thread."""
        with self._looking, explaining(self.path):
            database = self._reader
            if database.in_transaction:  # the one connection of a store in memory
                return look(database)
            database.execute("BEGIN")
            try:
                return look(database)
            finally:
                if database.in_transaction:
                    database.execute("COMMIT")

    def version(self) -> int:
        """Return a number that changes when another process has written."""
        with explaining(self.path):
            return int(self._writer.execute("PRAGMA data_version").fetchone()[0])

    def check_place(self) -> None:
        """Raise a ``StoreError`` if the file is no longer where it was opened."""
        self._claim.check_place()

    def is_own_file(self, path: str) -> bool:
        """Return whether this is a file of the store, under any name."""
        if self.path == MEMORY:
            return False
        own = [self.file + ending for ending in ENDINGS]
        identity = identity_of(path)
        if identity is not None and identity in map(identity_of, own):
            return True
        return os.path.normcase(os.path.realpath(path)) in map(os.path.normcase, own)

    @defer_interrupts
    def scrub(self) -> None:
        """Leave no trace of rows that were deleted, in any file."""
        if self.path == MEMORY:
            return
        with explaining(
            self.path,
            "What was to be forgotten is out of the model and out of the table, but traces may be "
            "left in the file. Make room, and open the store again: that wipes them.",
        ):
            self._claim.check_place()
            self._writer.execute("VACUUM")
            self._writer.execute("DELETE FROM meta WHERE name = 'scrub'")
            self._empty_log()

    def _empty_log(self) -> None:
        """Write the log into the file and truncate it, as soon as nobody reads from it."""
        (busy, *_) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy and not self._log_is_due:
            warnings.warn(
                f"{self.path}: another program keeps reading, so the write-ahead log could not be "
                "emptied. What was forgotten may still be in it; the next change, or closing the "
                "store, tries again.",
                RuntimeWarning,
                stacklevel=4,
            )
        self._log_is_due = bool(busy)


def _is_new(database: sqlite3.Connection) -> bool:
    """Tell whether nothing has been written to a file."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(application == 0 and tables == 0)
