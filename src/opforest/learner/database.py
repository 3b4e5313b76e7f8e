"""The SQLite file of a store: opening, checking, settings, transactions and secure deletion.

SQLite overwrites deleted rows (``secure_delete``), but it may leave copies in pages that once held
rows and are still in use. Forgetting therefore ends with a ``VACUUM``, which rewrites the file, and
with emptying the write-ahead log. Until both are done, the entry ``scrub`` in the table ``meta``
records that they are due; the next process that opens the store does them.

Ctrl-C is deferred while a transaction runs and while files are opened or closed
(``defer_interrupts``), so none of these is ever left half done.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from opforest._utils import tuning
from opforest._utils.chunks import run_parallel
from opforest._utils.interrupts import defer_interrupts
from opforest._utils.warn import warn
from opforest.learner import schema
from opforest.learner.commit_counter import CommitCounter, read_count
from opforest.learner.errors import StoreError, wrap_sqlite_errors
from opforest.learner.file_lock import FileLock, identity_of

T = TypeVar("T")

#: The path of a store that is lost when it is closed.
MEMORY = ":memory:"

#: Suffixes of the files of a store, which SQLite and we write.
SUFFIXES = ("", "-wal", "-shm", "-journal", "-lock", "-ack")


class Database:
    """The file of a store, opened by a reader or by the one writer, which creates it."""

    def __init__(self, path: str, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        #: The real path: a store has one lock, under whatever name it is opened.
        self.file = path if path == MEMORY else os.path.realpath(path)
        self.commits = 0
        self.commit_seconds = 0.0  #: time spent waiting for the disk
        self.format = schema.FORMAT  #: of the file
        self._process = os.getpid()
        self._log_is_due = False
        self._has_wal = False
        self._log: Any = None  # identity of the log that was written last
        self._changes = 0  # number counted in the file
        self.lock = FileLock(path, self.file)
        self._counter = CommitCounter(f"{self.file}-ack")
        self._checker: sqlite3.Connection | None = None  # of pages that are not checked yet
        self._reading = threading.RLock()
        self._open()

    # Opening and closing.

    @defer_interrupts
    def _open(self) -> None:
        try:
            with wrap_sqlite_errors(self.path):
                if self.path != MEMORY:
                    self._check_path()
                    self.lock.acquire(self.read_only)
                    self._inspect()
                self.writer = self._connect(self.read_only)
                self._reader = self.writer
                self._prepare()
                if self.path != MEMORY and not self.read_only:
                    self._reader = self._connect(read_only=True)
        except BaseException:
            self.close()
            raise

    def _check_path(self) -> None:
        path = Path(self.path)
        if path.is_dir():
            raise StoreError(f"{path}: it is a folder, not a store.")
        if path.exists() and not path.is_file():
            raise StoreError(f"{path}: it is not a file.")
        if not path.parent.is_dir():
            raise StoreError(f"{path}: there is no folder {path.parent}.")
        if not path.exists() and self.read_only:
            raise StoreError(
                f"{path}: there is no such store. `opforest store create {path}` makes one."
            )

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        if self.path == MEMORY:
            target, mode = "file::memory:", ""
        else:
            target = f"file:{quote(os.fsencode(self.file))}"
            mode = "?mode=ro" if read_only else "?mode=rwc"
            folder, log = os.path.dirname(self.file), Path(f"{self.file}-wal")
            has_log = log.exists() and log.stat().st_size > 0
            if read_only and not os.access(folder, os.W_OK) and not has_log:
                mode += "&immutable=1"  # SQLite cannot create its files there
        return sqlite3.connect(
            target + mode,
            uri=True,
            isolation_level=None,
            timeout=tuning.values.database_timeout,
            check_same_thread=False,
        )

    def _inspect(self) -> None:
        """Check that the file is a store or empty before changing anything."""
        acknowledged = read_count(self._counter.path)  # first: the number may grow
        with closing(self._connect(read_only=True)) as database:
            database.execute("BEGIN")
            is_new, changes = _is_new(database), 0
            if not is_new:
                self._check_format(database)
                changes = self._count_changes(database)
        if changes < acknowledged:
            raise StoreError(
                f"{self.path}: the last {acknowledged - changes} of {acknowledged} changes that "
                f"were acknowledged are missing: its log ({self.file}-wal) was deleted, cut or "
                "damaged, or the file is an older copy. Restore both; or, to continue without "
                f"these changes, delete {self.file}-ack."
            )
        if is_new and self.read_only:
            raise StoreError(
                f"{self.path}: the file is empty; `opforest store create` makes a store."
            )

    def _check_format(self, database: sqlite3.Connection) -> None:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        if application != schema.APPLICATION:
            raise StoreError(f"{self.path}: it is an SQLite database, but not an opforest store.")
        (self.format,) = database.execute("PRAGMA user_version").fetchone()
        if self.format not in schema.FORMATS:
            raise StoreError(
                f"{self.path}: it has format {self.format}, and this version of opforest reads "
                f"format {schema.FORMAT}. It was written by a newer version: install that one."
            )
        difference = schema.find_difference(database, self.format)
        if difference is not None:
            raise self.damage(difference)

    def damage(self, reason: str) -> StoreError:
        """Return an error for a damaged file."""
        return StoreError(f"{self.path}: the file is damaged: {reason}.")

    def _prepare(self) -> None:
        """Make the file a store if it is empty."""
        database = self.writer
        is_new = _is_new(database)
        if not self.read_only:
            database.execute("PRAGMA secure_delete = ON")
            database.execute("PRAGMA synchronous = FULL")
            if self.path != MEMORY:
                (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
                self._has_wal = mode == "wal"  # some file systems cannot
            if is_new:
                self.write(lambda: schema.create_tables(database))
                return
            self._empty_log()
            self._changes = self._count_changes(database)
            self._counter.write(self._changes)
        self._checker = self._connect(read_only=True)

    def call_and_check(self, call: Callable[[], None]) -> None:
        """Call a function while another thread checks all pages of the file.

        If the file is damaged, including the index of keys, its ``StoreError`` takes
        precedence over other errors, which the damage may have caused.
        """
        # No reference may outlive this call: neither in an error stored by ``run_parallel``, whose
        # frames have cursors that lock the file, nor in a thread that has not begun.
        calls, checker = [call], self._checker
        failed: list[BaseException] = []

        def run() -> None:
            try:
                calls.pop()()
            except BaseException as error:
                failed.append(error)
                if not isinstance(error, Exception) and checker is not None:
                    with suppress(sqlite3.Error):  # it has finished
                        checker.interrupt()

        _, damage = run_parallel(run, partial(_find_damage, self.path, checker))
        if damage and (not failed or isinstance(failed[0], Exception)):
            raise StoreError(damage)
        if failed:
            raise failed.pop()

    @defer_interrupts
    def close(self) -> None:
        """Close the file, including connections that an earlier call could not close."""
        if self._checker is not None:
            self._checker.close()
        writer = getattr(self, "writer", None)
        try:
            if writer is not None:
                self._close_connections(getattr(self, "_reader", writer), writer)
        finally:
            self._counter.close(delete=not os.path.exists(f"{self.file}-wal"))
            self.lock.release()

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
        """Close a file that an interrupt left open."""
        if "lock" in vars(self) and self._process == os.getpid():
            self.close()

    # Entries of the table ``meta``.

    @property
    def crc(self) -> str:
        """The column of checksums in queries; format 1 has none."""
        return "crc" if self.format > 1 else "NULL"

    def get(self, name: str, default: Any = None) -> Any:
        """Return an entry of the table ``meta``."""
        return self._get(self.writer, name, default)

    def _get(self, database: sqlite3.Connection, name: str, default: Any) -> Any:
        query = f"SELECT value, {self.crc} FROM meta WHERE name = ?"
        found = database.execute(query, (name,)).fetchone()
        if found is None:
            return default
        self._check_entry(name, *found)
        try:
            return json.loads(found[0])
        except (TypeError, ValueError):
            raise self.damage(f"its entry {name!r} is not JSON") from None

    def _check_entry(self, name: str, value: str, crc: int) -> None:
        if self.format > 1 and crc != schema.checksum(name, value):
            raise self.damage(f"its entry {name!r} fails its checksum")

    def put(self, **values: Any) -> None:
        """Set entries of the table ``meta``, within ``write``."""
        entries = [(name, json.dumps(value)) for name, value in values.items()]
        self.writer.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)",
            [(*entry, schema.checksum(*entry)) for entry in entries],
        )

    def check_entries(self) -> None:
        """Raise a ``StoreError`` if any entry is damaged."""
        if self.format > 1:
            for entry in self.writer.execute("SELECT * FROM meta"):
                self._check_entry(*entry)
            if self.get("next") != self.next_id():
                raise self.damage("the id of the next example is wrong")

    def next_id(self) -> int:
        """Return the id of the next example; ids are never reused."""
        found = self.writer.execute("SELECT seq FROM sqlite_sequence WHERE name = 'example'")
        (last,) = found.fetchone() or (0,)
        return int(last) + 1

    def _count_changes(self, database: sqlite3.Connection) -> int:
        """Return the number of changes that the file has counted; format 1 counts none."""
        found = self._get(database, "changes", None if self.format > 1 else 0)
        if type(found) is not int:
            raise self.damage("it has not counted its changes")
        return found

    # Transactions.

    @defer_interrupts
    def write(self, change: Callable[[], T]) -> T:
        """Run a transaction: all of it is written to the disk, or nothing."""
        alone = self._reading if self._reader is self.writer else nullcontext()
        with alone, wrap_sqlite_errors(self.path, "Nothing was changed."):
            database = self.writer
            try:
                database.execute("BEGIN IMMEDIATE")
                result = change()
                if self.format > 1:
                    self.put(changes=self._changes + 1, next=self.next_id())
                self.lock.check_location()
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

    def _acknowledge(self) -> None:
        """Record that a change is on disk, where the next process looks for it."""
        if self.path == MEMORY:
            return
        self.lock.check_location()
        log = identity_of(f"{self.file}-wal") if self._has_wal else None
        if self._has_wal and (log is None or self._log not in (None, log)):
            raise StoreError(
                f"{self.path}: {self.file}-wal was moved, replaced or deleted while the store was "
                "open. The last change is not acknowledged. Close the store, and open it again."
            )
        self._log = log
        self._counter.write(self._changes)

    def upgrade(self) -> None:
        """Convert an older format to the current one."""
        if self.format == schema.FORMAT or self.read_only:
            return

        def change() -> None:
            schema.upgrade_tables(self.writer)
            self.format = schema.FORMAT

        before = self.format
        try:
            self.write(change)
        except BaseException:
            self.format = before if self._changes == 0 else schema.FORMAT
            raise

    @defer_interrupts
    def read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function that sees the tables at one moment; in any thread."""
        with self._reading, wrap_sqlite_errors(self.path):
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
        with wrap_sqlite_errors(self.path):
            return int(self.writer.execute("PRAGMA data_version").fetchone()[0])

    # Files.

    def size(self) -> int:
        """Return the size of the file and its log in bytes."""
        names = [] if self.path == MEMORY else [self.file, f"{self.file}-wal"]
        return sum(os.path.getsize(name) for name in names if os.path.exists(name))

    def is_own_file(self, path: str) -> bool:
        """Return whether this is a file of the store, under any name."""
        own = [self.file + suffix for suffix in SUFFIXES if self.path != MEMORY]
        if os.path.normcase(os.path.realpath(path)) in map(os.path.normcase, own):
            return True
        identity = identity_of(path)
        return identity is not None and identity in map(identity_of, own)

    @defer_interrupts
    def scrub(self) -> None:
        """Erase all traces of deleted rows from all files."""
        if self.path == MEMORY:
            return
        with wrap_sqlite_errors(
            self.path,
            "The examples are gone from the model and from the table, but traces may be left in "
            "the file. Free some space and open the store again: that erases them.",
        ):
            self.lock.check_location()
            self.writer.execute("VACUUM")
            self.writer.execute("DELETE FROM meta WHERE name = 'scrub'")
            self._empty_log()

    def _empty_log(self) -> None:
        """Write the log to the file and truncate it, unless another connection reads from it."""
        (busy, *_) = self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy and not self._log_is_due:
            warn(
                f"{self.path}: another program is reading, so the write-ahead log could not be "
                "emptied. Forgotten examples may still be in it; the next change, or closing the "
                "store, tries again.",
                RuntimeWarning,
            )
        self._log_is_due = bool(busy)


def _is_new(database: sqlite3.Connection) -> bool:
    """Return whether a database is empty."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(application == 0 and tables == 0)


def _find_damage(path: str, checker: sqlite3.Connection | None) -> str:
    """Return the message for a file with damaged pages, or an empty string."""
    if checker is None:
        return ""
    try:
        with closing(checker), wrap_sqlite_errors(path):
            found = checker.execute("PRAGMA integrity_check(3)").fetchall()
    except StoreError as error:
        return str(error)
    if found == [("ok",)]:
        return ""
    lines = "; ".join(str(line) for (line,) in found)
    reason = f"restore a copy, or export what can be read ({lines[:300]})"
    return f"{path}: the file is damaged: {reason}."
