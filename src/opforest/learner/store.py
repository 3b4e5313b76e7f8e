"""The table of examples on disk: one SQLite file, its transactions, and no trace of deleted rows.

SQLite overwrites deleted rows (``secure_delete``), but it may leave copies in pages where rows once
were and that are still in use. So forgetting ends with a ``VACUUM``, which rewrites the file, and
with emptying the write-ahead log. Until both are done, a note in the table ``meta`` says that they
are due; whoever opens the store next does them.
"""

import json
import os
import sqlite3
import threading
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from opforest.learner.errors import StoreError, explaining
from opforest.learner.values import GENERATED

#: The name of a store that is gone when it is closed.
MEMORY = ":memory:"

#: Says in the file's header that it is a store: "OPFL".
APPLICATION = 0x4F50464C

#: The version of the format that is written, and the newest that can be read.
FORMAT = 1

#: Seconds to wait for others who read, or who are about to leave.
PATIENCE = 5.0

#: Keys that one statement asks for.
KEYS_AT_ONCE = 500

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE example (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, x BLOB NOT NULL, y,
    time INTEGER NOT NULL, crc INTEGER NOT NULL
);
CREATE TABLE snapshot (next INTEGER NOT NULL, ids BLOB NOT NULL, model BLOB NOT NULL);
CREATE TABLE score (
    id INTEGER PRIMARY KEY, time INTEGER NOT NULL, correct INTEGER NOT NULL, total INTEGER NOT NULL
);
"""
COLUMNS = "id, key, x, y, time, crc"


def name_of(id: int, key: str | None) -> str:
    """Return the key that was given, or the one that stands for an example without any."""
    return f"{GENERATED}{id}" if key is None else key


class Row(NamedTuple):
    """An example as the table has it."""

    id: int
    key: str | None
    x: bytes
    y: Any
    time: int  #: microseconds since 1970, by a clock that may go back: nothing relies on it
    crc: int

    @property
    def name(self) -> str:
        """The key that was given, or the one that stands for an example without any."""
        return name_of(self.id, self.key)

    def is_whole(self) -> bool:
        """Tell whether the row is as it was written."""
        return type(self.x) is bytes and self.crc == checksum(self.id, self.key, self.x, self.y)


class Snapshot(NamedTuple):
    """A model in a file's bytes, and which examples it has learned."""

    next: int  #: examples from this id on came later
    ids: bytes
    model: bytes


def checksum(id: int, key: str | None, x: bytes, y: Any) -> int:
    """Return a checksum of all parts of a row."""
    y = int(y) if type(y) is bool else y  # as SQLite has it
    return zlib.crc32(x, zlib.crc32(repr((id, key, y)).encode("utf-8", "surrogatepass")))


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


class Store:
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
        self._log_is_due = False
        self._lock: sqlite3.Connection | None = None
        self._checking: ThreadPoolExecutor | None = None
        self._looking = threading.RLock()
        if path != MEMORY:
            self._check_path(make and not read_only)
        try:
            with explaining(path):
                if not read_only and path != MEMORY:
                    self._take_lock()
                self._writer = self._connect()
                self._reader = self._writer
                self._prepare()
                if path != MEMORY and not read_only:
                    self._reader = self._connect()
        except BaseException:
            self.close()
            raise

    # Opening and closing.

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

    def _take_lock(self) -> None:
        """Become the only writer, by locking a second file until this process ends."""
        lock = sqlite3.connect(f"{self.file}-lock", isolation_level=None, timeout=0,
                               check_same_thread=False)  # fmt: skip
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            lock.close()
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise StoreError(
                f"{self.path}: another process is learning into this store, and there is one "
                "writer at a time. Open it with read_only=True to follow, or end the other one."
            ) from None
        self._lock = lock

    def _connect(self) -> sqlite3.Connection:
        if self.path == MEMORY:
            target, mode = "file::memory:", ""
        else:
            target = f"file:{quote(self.file)}"
            mode = "?mode=ro" if self.read_only else "?mode=rwc"
            folder = os.path.dirname(self.file)
            if self.read_only and not os.access(folder, os.W_OK) and not self._has_log():
                mode += "&immutable=1"  # nobody can write, and SQLite could not make its files
        return sqlite3.connect(
            target + mode, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False
        )

    def _has_log(self) -> bool:
        log = Path(f"{self.file}-wal")
        return log.exists() and log.stat().st_size > 0

    def _prepare(self) -> None:
        """Check that the file is a store; make it one if it is empty and may be written."""
        database = self._writer
        empty = not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application = database.execute("PRAGMA application_id").fetchone()[0]
        is_new = empty and application == 0
        if not self.read_only:
            if application == APPLICATION:
                self._check_format()
            if is_new or application == APPLICATION:
                database.execute("PRAGMA secure_delete = ON")
                database.execute("PRAGMA synchronous = FULL")
                if self.path != MEMORY:
                    database.execute("PRAGMA journal_mode = WAL")
            if is_new:
                self._make_tables()
                return
        if is_new:
            raise StoreError(f"{self.path}: it is empty: nobody has made a store of it yet.")
        if application != APPLICATION:
            raise StoreError(f"{self.path}: it is an SQLite database, but not an opforest store.")
        self._check_format()
        if not self.read_only:
            self._empty_log()
        self._checking = ThreadPoolExecutor(1)
        self._checked = self._checking.submit(self._check_pages)

    def _check_pages(self) -> None:
        """Raise a ``StoreError`` if the file is damaged."""
        with explaining(self.path), closing(self._connect()) as database:
            found = database.execute("PRAGMA quick_check(3)").fetchall()
        if found != [("ok",)]:
            raise StoreError(
                f"{self.path}: the file is damaged: restore a copy, or export what can be read "
                f"({'; '.join(str(line) for (line,) in found)[:300]})."
            )

    def finish_opening(self) -> None:
        """Wait until all pages are checked, which happens while the model is made."""
        if self._checking is not None:
            self._checked.result()

    def _check_format(self) -> None:
        (found,) = self._writer.execute("PRAGMA user_version").fetchone()
        if found != FORMAT:
            raise StoreError(
                f"{self.path}: it is of format {found}, and this version of opforest reads format "
                f"{FORMAT}. It was written by a newer version: install that one."
            )

    def _make_tables(self) -> None:
        with self.writing():
            for statement in TABLES.split(";"):
                if statement.strip():
                    self._writer.execute(statement)
            self._writer.execute(f"PRAGMA application_id = {APPLICATION}")
            self._writer.execute(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        """Close the file."""
        if self._checking is not None:
            self._checking.shutdown()
        reader, writer = getattr(self, "_reader", None), getattr(self, "_writer", None)
        try:
            if reader is not None and reader is not writer:
                reader.close()
            if writer is not None:
                if self._log_is_due:
                    self._empty_log()
                writer.close()
        finally:
            if self._lock is not None:
                self._lock.close()

    # Transactions.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a transaction: all of it is written to the disk, or nothing."""
        alone = self._looking if self._reader is self._writer else nullcontext()
        with alone, explaining(self.path, "Nothing was changed."):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                begin = time.perf_counter()
                self._writer.execute("COMMIT")
                self.commit_seconds += time.perf_counter() - begin
                self.commits += 1
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
        if self._log_is_due:
            self._empty_log()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """See the table as it is at one moment; not for the thread that writes."""
        with self._looking, explaining(self.path):
            nested = self._reader.in_transaction  # the one connection of a store in memory
            if not nested:
                self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                if not nested and self._reader.in_transaction:
                    self._reader.execute("COMMIT")

    def version(self) -> int:
        """Return a number that changes when another process has written."""
        with explaining(self.path):
            return int(self._writer.execute("PRAGMA data_version").fetchone()[0])

    def scrub(self) -> None:
        """Leave no trace of rows that were deleted, in any file."""
        if self.path == MEMORY:
            return
        with explaining(
            self.path,
            "What was to be forgotten is out of the model and out of the table, but traces may be "
            "left in the file. Make room, and open the store again: that wipes them.",
        ):
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

    # Settings.

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value of the table ``meta``."""
        found = self._writer.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        if found is None:
            return default
        try:
            return json.loads(found[0])
        except (TypeError, ValueError):
            raise StoreError(
                f"{self.path}: the file is damaged: its entry {name!r} is not JSON."
            ) from None

    def put(self, **values: Any) -> None:
        """Keep values; within ``writing``."""
        self._writer.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [(name, json.dumps(value)) for name, value in values.items()],
        )

    # Examples.

    def next_id(self) -> int:
        """Return the number of the next example: no number is given twice."""
        found = self._writer.execute("SELECT seq FROM sqlite_sequence WHERE name = 'example'")
        (last,) = found.fetchone() or (0,)
        return int(last) + 1

    def count(self, before: int) -> int:
        """Return how many examples have a smaller id; it counts the others, which is faster."""
        query = "SELECT (SELECT count(*) FROM example) - count(*) FROM example WHERE id >= ?"
        (found,) = self._writer.execute(query, (before,)).fetchone()
        return int(found)

    def add(self, rows: Iterable[tuple[int, str | None, bytes, Any]]) -> None:
        """Add examples; within ``writing``."""
        moment = now()
        self._writer.executemany(
            "INSERT INTO example VALUES (?, ?, ?, ?, ?, ?)",
            [(id, key, x, y, moment, checksum(id, key, x, y)) for id, key, x, y in rows],
        )

    def remove(self, ids: Sequence[int]) -> None:
        """Delete examples and every snapshot of them; within ``writing``."""
        self._writer.executemany("DELETE FROM example WHERE id = ?", [(id,) for id in ids])
        self._writer.execute("DELETE FROM snapshot")
        self.put(removals=self.get("removals", 0) + 1, scrub=True)

    def relabel(self, labelled: Iterable[tuple[Row, Any]]) -> None:
        """Label examples, and delete snapshots, which lack these labels; within ``writing``."""
        self._writer.executemany(
            "UPDATE example SET y = ?, crc = ? WHERE id = ?",
            [(y, checksum(row.id, row.key, row.x, y), row.id) for row, y in labelled],
        )
        self._writer.execute("DELETE FROM snapshot")
        self.put(removals=self.get("removals", 0) + 1)

    def find(self, keys: Sequence[str]) -> dict[str, Row]:
        """Return the examples that have these keys, by key."""
        made = [int(key[1:]) for key in keys if key.startswith(GENERATED) and is_number(key[1:])]
        with explaining(self.path):
            rows = [*self._ask("key", list(keys)), *self._ask("key IS NULL AND id", made)]
        wanted = set(keys)
        return {row.name: row for row in rows if row.name in wanted}

    def _ask(self, column: str, values: list[Any]) -> Iterator[Row]:
        for begin in range(0, len(values), KEYS_AT_ONCE):
            part = values[begin : begin + KEYS_AT_ONCE]
            marks = ", ".join("?" * len(part))
            query = f"SELECT {COLUMNS} FROM example WHERE {column} IN ({marks})"
            yield from map(Row._make, self._writer.execute(query, part))

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Yield examples from an id on, in their order."""
        query = f"SELECT {COLUMNS} FROM example WHERE id >= ? ORDER BY id"
        yield from map(Row._make, self._writer.execute(query, (start,)))

    def ids(self) -> list[int]:
        """Return the numbers of all examples, in order."""
        return [id for (id,) in self._writer.execute("SELECT id FROM example ORDER BY id")]

    def names_of(self, ids: Sequence[int]) -> dict[int, str]:
        """Return keys by id, of those that are there; for any thread."""
        with self.reading() as database:
            query = "SELECT id, key FROM example WHERE id = ?"
            found = [database.execute(query, (id,)).fetchone() for id in ids]
        return {row[0]: name_of(*row) for row in found if row}

    def last(self, count: int) -> list[Row]:
        """Return the newest examples, the newest first; for any thread."""
        with self.reading() as database:
            query = f"SELECT {COLUMNS} FROM example ORDER BY id DESC LIMIT ?"
            return [Row._make(row) for row in database.execute(query, (count,))]

    # Snapshots and scores.

    def take_snapshot(self, snapshot: Snapshot) -> bool:
        """Replace the snapshot; return False if the new one is too large to keep."""
        if len(snapshot.model) >= self._writer.getlimit(sqlite3.SQLITE_LIMIT_LENGTH):
            return False
        with self.writing():
            self._writer.execute("DELETE FROM snapshot")
            self._writer.execute("INSERT INTO snapshot VALUES (?, ?, ?)", snapshot)
        return True

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot; None if there is none, or if it cannot be one."""
        found = self._writer.execute("SELECT next, ids, model FROM snapshot").fetchall()
        if len(found) != 1 or [*map(type, found[0])] != [int, bytes, bytes]:
            return None
        return Snapshot(*found[0])

    def add_score(self, correct: int, total: int) -> None:
        """Note how many of how many examples were predicted correctly; within ``writing``."""
        query = "INSERT INTO score (time, correct, total) VALUES (?, ?, ?)"
        self._writer.execute(query, (now(), correct, total))

    def score(self) -> tuple[int, int]:
        """Return how many of how many examples were predicted correctly before learning them."""
        query = "SELECT correct, total FROM score ORDER BY id DESC LIMIT 1"
        return self._writer.execute(query).fetchone() or (0, 0)

    def scores(self, count: int) -> list[tuple[int, int, int]]:
        """Return time, correct and total at about so many moments; for any thread."""
        with self.reading() as database:
            (n,) = database.execute("SELECT coalesce(max(id), 0) FROM score").fetchone()
            step = max(1, -(-n // count))
            query = "SELECT time, correct, total FROM score WHERE id % ? = 0 OR id = ? ORDER BY id"
            return database.execute(query, (step, n)).fetchall()


def is_number(text: str) -> bool:
    """Tell whether this is the number of an example."""
    return text.isascii() and text.isdecimal() and len(text) < 19
