"""The table of examples on disk, with the settings, snapshots and scores of a store."""

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opforest.learner.database import MEMORY, Database
from opforest.learner.errors import StoreError, explaining
from opforest.learner.tables import FORMAT, checksum, has_all, upgrade
from opforest.learner.validation import GENERATED

__all__ = ["MEMORY", "Row", "Snapshot", "Store", "name_of"]

#: Keys that one statement asks for.
KEYS_AT_ONCE = 500

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
        """Tell whether the row is as it was written, by this version or by an older one."""
        if type(self.x) is not bytes:
            return False
        parts = self.id, self.key, self.x, self.y
        return self.crc in (row_checksum(*parts, self.time), row_checksum(*parts))


class Snapshot(NamedTuple):
    """A model in a file's bytes, and which examples it has learned."""

    next: int  #: examples from this id on came later
    ids: bytes
    model: bytes


def row_checksum(id: int, key: str | None, x: bytes, y: Any, *time: int) -> int:
    """Return a checksum of all parts of a row; older versions left out the time."""
    y = int(y) if type(y) is bool else y  # as SQLite has it
    return zlib.crc32(x, zlib.crc32(repr((id, key, y, *time)).encode("utf-8", "surrogatepass")))


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


class Store(Database):
    """The tables of a store: those who write call within ``write``."""

    # Settings.

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value of the table ``meta``."""
        return self._get(self._writer, name, default)

    def _get(self, database: sqlite3.Connection, name: str, default: Any = None) -> Any:
        crc = "crc" if self.format > 1 else "NULL"
        query = f"SELECT value, {crc} FROM meta WHERE name = ?"
        found = database.execute(query, (name,)).fetchone()
        if found is None:
            return default
        if self.format > 1 and found[1] != checksum(name, found[0]):
            raise self._damaged(f"its entry {name!r} is not as it was written")
        try:
            return json.loads(found[0])
        except (TypeError, ValueError):
            raise self._damaged(f"its entry {name!r} is not JSON") from None

    def _damaged(self, how: str) -> StoreError:
        return StoreError(f"{self.path}: the file is damaged: {how}.")

    def put(self, **values: Any) -> None:
        """Keep values; within ``write``."""
        entries = [(name, json.dumps(value)) for name, value in values.items()]
        self._writer.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)",
            [(*entry, checksum(*entry)) for entry in entries],
        )

    def _count_changes(self, database: sqlite3.Connection) -> int:
        """Return how many changes the file has counted; older versions count none."""
        found = self._get(database, "changes", None if self.format > 1 else 0)
        if type(found) is not int:
            raise self._damaged("it has not counted its changes")
        return found

    def _note_change(self, number: int) -> None:
        if self.format > 1:
            self.put(changes=number, next=self.next_id())

    def check_entries(self) -> None:
        """Raise a ``StoreError`` if an entry is damaged, whether or not anybody asks for it."""
        if self.format > 1:
            for name, value, crc in self._writer.execute("SELECT * FROM meta"):
                if crc != checksum(name, value):
                    raise self._damaged(f"its entry {name!r} is not as it was written")
            if self.get("next") != self.next_id():
                raise self._damaged("the number of the next example is not as it was written")

    def upgrade(self) -> None:
        """Write an older format anew, as this version has it."""
        if self.format < FORMAT and not self.read_only:

            def change() -> None:
                upgrade(self._writer)
                self.format = FORMAT

            before = self.format
            try:
                self.write(change)
            except BaseException:
                self.format = before if self._changes == 0 else FORMAT
                raise

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
        """Add examples; within ``write``."""
        moment = now()
        self._writer.executemany(
            "INSERT INTO example VALUES (?, ?, ?, ?, ?, ?)",
            [
                (id, key, x, y, moment, row_checksum(id, key, x, y, moment))
                for id, key, x, y in rows
            ],
        )

    def remove(self, ids: Sequence[int]) -> None:
        """Delete examples and every snapshot of them; within ``write``."""
        self._writer.executemany("DELETE FROM example WHERE id = ?", [(id,) for id in ids])
        self._writer.execute("DELETE FROM snapshot")
        self.put(removals=self.get("removals", 0) + 1, scrub=True)

    def relabel(self, labeled: Iterable[tuple[Row, Any]]) -> None:
        """Label examples, and delete snapshots, which lack these labels; within ``write``."""
        self._writer.executemany(
            "UPDATE example SET y = ?, crc = ? WHERE id = ?",
            [(y, row_checksum(row.id, row.key, row.x, y, row.time), row.id) for row, y in labeled],
        )
        self._writer.execute("DELETE FROM snapshot")
        self.put(removals=self.get("removals", 0) + 1)

    def find(self, keys: Sequence[str]) -> dict[str, Row]:
        """Return the examples that have these keys, by key."""
        made = [int(key[1:]) for key in keys if key.startswith(GENERATED) and is_number(key[1:])]
        with explaining(self.path):
            rows = [*self._ask("key", list(keys)), *self._ask("key IS NULL AND id", made)]
        for row in rows:
            if not row.is_whole():
                raise self._damaged(f"its example {row.id} is not as it was written")
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

        def look(database: sqlite3.Connection) -> dict[int, str]:
            query = "SELECT id, key FROM example WHERE id = ?"
            found = [database.execute(query, (id,)).fetchone() for id in ids]
            return {row[0]: name_of(*row) for row in found if row}

        return self.read(look)

    def last(self, count: int) -> list[Row]:
        """Return the newest examples, the newest first; for any thread."""
        query = f"SELECT {COLUMNS} FROM example ORDER BY id DESC LIMIT ?"
        rows = self.read(lambda database: database.execute(query, (count,)).fetchall())
        return [Row._make(row) for row in rows]

    # Snapshots and scores.

    def take_snapshot(self, snapshot: Snapshot) -> bool:
        """Replace the snapshot; return False if the new one is too large to keep."""
        if len(snapshot.model) >= self._writer.getlimit(sqlite3.SQLITE_LIMIT_LENGTH):
            return False

        def change() -> None:
            self._writer.execute("DELETE FROM snapshot")
            crc = checksum(snapshot.next, snapshot.ids)
            self._writer.execute("INSERT INTO snapshot VALUES (?, ?, ?, ?)", (*snapshot, crc))

        self.write(change)
        return True

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot; None if there is none, or if it is not as it was written."""
        crc = "crc" if self.format > 1 else "NULL"
        query = f"SELECT next, ids, model, {crc} FROM snapshot"
        found = self._writer.execute(query).fetchall()
        if len(found) != 1 or [*map(type, found[0][:3])] != [int, bytes, bytes]:
            return None
        *parts, sum = found[0]
        snapshot = Snapshot(*parts)
        if self.format > 1:
            is_whole = sum == checksum(snapshot.next, snapshot.ids)
        else:
            is_whole = has_all(self._writer, snapshot.next, snapshot.ids)
        return snapshot if is_whole else None

    def add_score(self, correct: int, total: int) -> None:
        """Note how many of how many examples were predicted correctly; within ``write``."""
        score = now(), correct, total
        query = "INSERT INTO score (time, correct, total, crc) VALUES (?, ?, ?, ?)"
        self._writer.execute(query, (*score, checksum(*score)))

    def score(self) -> tuple[int, int]:
        """Return how many of how many examples were predicted correctly before learning them."""
        query = f"SELECT {self._score} FROM score ORDER BY id DESC LIMIT 1"
        found = self._whole_scores(self._writer.execute(query).fetchall())
        return found[0][1:] if found else (0, 0)

    def scores(self, count: int) -> list[tuple[int, int, int]]:
        """Return time, correct and total at about so many moments; for any thread."""

        def look(database: sqlite3.Connection) -> list[Any]:
            (n,) = database.execute("SELECT coalesce(max(id), 0) FROM score").fetchone()
            step = max(1, -(-n // count))
            query = f"SELECT {self._score} FROM score WHERE id % ? = 0 OR id = ? ORDER BY id"
            return database.execute(query, (step, n)).fetchall()

        return self._whole_scores(self.read(look))

    @property
    def _score(self) -> str:
        return "time, correct, total, crc" if self.format > 1 else "time, correct, total, NULL"

    def _whole_scores(self, rows: list[Any]) -> list[tuple[int, int, int]]:
        """Return scores without their checksums, or raise a ``StoreError`` if one is damaged."""
        if self.format > 1 and any(crc != checksum(*score) for *score, crc in rows):
            raise self._damaged("a score is not as it was written")
        return [(time, correct, total) for time, correct, total, _ in rows]


def is_number(text: str) -> bool:
    """Tell whether this is the number of an example."""
    return text.isascii() and text.isdecimal() and len(text) < 19
