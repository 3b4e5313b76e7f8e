"""The tables of a store: examples, snapshots and scores."""

import sqlite3
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opforest.learner.database import Database
from opforest.learner.errors import wrap_sqlite_errors
from opforest.learner.schema import checksum, matches_examples
from opforest.learner.validation import GENERATED, OLD_GENERATED, id_of

#: From one prefix of generated keys to the other.
OTHER_SPELLING = str.maketrans(GENERATED + OLD_GENERATED, OLD_GENERATED + GENERATED)

#: Keys or ids looked up in one statement.
VALUES_AT_ONCE = 500

COLUMNS = "id, key, x, y, time, crc"


class Row(NamedTuple):
    """An example in the table."""

    id: int
    key: str | None
    x: bytes
    y: Any
    time: int  #: microseconds since 1970; informative only, as clocks may go back
    crc: int

    @property
    def name(self) -> str:
        """The key, or the one generated for an example without a key."""
        return f"{GENERATED}{self.id}" if self.key is None else self.key

    def is_intact(self) -> bool:
        """Return whether the checksum of this version or of an older one matches."""
        if type(self.x) is not bytes:
            return False
        parts = self.id, self.key, self.x, self.y
        return self.crc in (row_checksum(*parts, self.time), row_checksum(*parts))


class Snapshot(NamedTuple):
    """A saved model and the ids of its examples."""

    next: int  #: the smallest id of later examples
    ids: bytes
    model: bytes


def row_checksum(id: int, key: str | None, x: bytes, y: Any, *time: int) -> int:
    """Return the checksum of a row; older versions left out the time."""
    y = int(y) if type(y) is bool else y  # as SQLite stores it
    return zlib.crc32(x, zlib.crc32(repr((id, key, y, *time)).encode("utf-8", "surrogatepass")))


class Store:
    """The tables of a database. Methods that write are called within ``Database.write``."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def _execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self.database.writer.execute(query, values)

    # Examples.

    def count(self, before: int) -> int:
        """Return how many examples have a smaller id; counting the others is faster."""
        query = "SELECT (SELECT count(*) FROM example) - count(*) FROM example WHERE id >= ?"
        return int(self._execute(query, (before,)).fetchone()[0])

    def add(self, rows: Iterable[tuple[int, str | None, bytes, Any]]) -> None:
        """Insert examples."""
        moment = time.time_ns() // 1000
        self.database.writer.executemany(
            "INSERT INTO example VALUES (?, ?, ?, ?, ?, ?)",
            [(*row, moment, row_checksum(*row, moment)) for row in rows],
        )

    def remove(self, ids: Sequence[int]) -> None:
        """Delete examples, and the snapshot that contains them."""
        self.database.writer.executemany("DELETE FROM example WHERE id = ?", [(id,) for id in ids])
        self._invalidate(scrub=True)

    def relabel(self, labeled: Iterable[tuple[Row, Any]]) -> None:
        """Label examples, and delete the snapshot, which lacks these labels."""
        self.database.writer.executemany(
            "UPDATE example SET y = ?, crc = ? WHERE id = ?",
            [(y, row_checksum(row.id, row.key, row.x, y, row.time), row.id) for row, y in labeled],
        )
        self._invalidate()

    def _invalidate(self, **entries: Any) -> None:
        """Delete the snapshot, and make readers load the table again."""
        self._execute("DELETE FROM snapshot")
        self.database.put(removals=self.database.get("removals", 0) + 1, **entries)

    def find(self, keys: Sequence[str]) -> dict[str, Row]:
        """Return the examples with these keys, by the key that was asked for.

        Generated keys have two spellings, ``:3`` and ``#3``; an example that was corrected has one
        of them in the table.
        """
        ids = {key: id for key in keys if (id := id_of(key)) is not None}
        others = {key: key.translate(OTHER_SPELLING) for key in ids}
        database = self.database.writer
        with wrap_sqlite_errors(self.database.path):
            named = {row.key: row for row in _select(database, "key", [*keys, *others.values()])}
            rows = _select(database, "key IS NULL AND id", [*ids.values()])
            unnamed = {row.id: row for row in rows}
        found: dict[str, Row] = {}
        for key in keys:
            row = named.get(key) or unnamed.get(ids.get(key, -1)) or named.get(others.get(key))
            if row is None:
                continue
            if not row.is_intact():
                raise self.database.damage(f"its example {row.id} fails its checksum")
            found[key] = row
        return found

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Yield examples from an id on, in order."""
        query = f"SELECT {COLUMNS} FROM example WHERE id >= ? ORDER BY id"
        yield from map(Row._make, self._execute(query, (start,)))

    def names_of(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the keys of existing examples by id; in any thread."""
        return {id: row.name for id, row in self.rows_of(ids).items()}

    def rows_of(self, ids: Sequence[int]) -> dict[int, Row]:
        """Return existing examples by id; in any thread."""
        rows = self.database.read(lambda database: list(_select(database, "id", ids)))
        return {row.id: row for row in rows}

    def search(self, text: str, count: int) -> list[Row]:
        """Return the first examples, by key, whose key begins with a text; in any thread.

        A generated key must be complete.
        """
        id = id_of(text)

        def look(database: sqlite3.Connection) -> list[Any]:
            exact = f"SELECT {COLUMNS} FROM example WHERE id = ? AND key IS NULL"
            begins = (
                f"SELECT {COLUMNS} FROM example WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
            )
            ends = text + chr(sys.maxunicode)
            found = database.execute(exact, (id,)).fetchall()
            return found + database.execute(begins, (text, ends, count)).fetchall()

        return [Row._make(row) for row in self.database.read(look)][:count]

    def last(self, count: int) -> list[Row]:
        """Return the newest examples, the newest first; in any thread."""
        query = f"SELECT {COLUMNS} FROM example ORDER BY id DESC LIMIT ?"
        rows = self.database.read(lambda database: database.execute(query, (count,)).fetchall())
        return [Row._make(row) for row in rows]

    # Snapshots and scores.

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Replace the snapshot, in its own transaction, unless the new one is too large."""
        limit = self.database.writer.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
        if len(snapshot.model) >= limit:
            return

        def change() -> None:
            self._execute("DELETE FROM snapshot")
            crc = checksum(snapshot.next, snapshot.ids)
            self._execute("INSERT INTO snapshot VALUES (?, ?, ?, ?)", (*snapshot, crc))

        self.database.write(change)

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot, or None if it is missing or damaged."""
        query = f"SELECT next, ids, model, {self.database.crc} FROM snapshot"
        found = self._execute(query).fetchall()
        if len(found) != 1 or [*map(type, found[0][:3])] != [int, bytes, bytes]:
            return None
        *parts, crc = found[0]
        snapshot = Snapshot(*parts)
        if self.database.format > 1:
            is_intact = crc == checksum(snapshot.next, snapshot.ids)
        else:
            is_intact = matches_examples(self.database.writer, snapshot.next, snapshot.ids)
        return snapshot if is_intact else None

    def add_score(self, correct: int, total: int) -> None:
        """Record how many of how many examples were predicted correctly."""
        score = time.time_ns() // 1000, correct, total
        query = "INSERT INTO score (time, correct, total, crc) VALUES (?, ?, ?, ?)"
        self._execute(query, (*score, checksum(*score)))

    def score(self) -> tuple[int, int]:
        """Return how many of how many examples were predicted correctly before learning them."""
        newest = self._execute(f"{self._score_query} ORDER BY id DESC LIMIT 1").fetchall()
        found = self._check_scores(newest)
        return found[0][1:] if found else (0, 0)

    def scores(self, count: int) -> list[tuple[int, int, int]]:
        """Return time, correct and total at about ``count`` moments; in any thread."""

        def look(database: sqlite3.Connection) -> list[Any]:
            (n,) = database.execute("SELECT coalesce(max(id), 0) FROM score").fetchone()
            step = max(1, -(-n // count))
            condition = "WHERE id % ? = 0 OR id = ? ORDER BY id"
            return database.execute(f"{self._score_query} {condition}", (step, n)).fetchall()

        return self._check_scores(self.database.read(look))

    @property
    def _score_query(self) -> str:
        return f"SELECT time, correct, total, {self.database.crc} FROM score"

    def _check_scores(self, rows: list[Any]) -> list[tuple[int, int, int]]:
        """Return scores without their checksums; raise a ``StoreError`` if one is damaged."""
        if self.database.format > 1 and any(crc != checksum(*score) for *score, crc in rows):
            raise self.database.damage("a score fails its checksum")
        return [(time, correct, total) for time, correct, total, _ in rows]


def _select(database: sqlite3.Connection, column: str, values: Sequence[Any]) -> Iterator[Row]:
    """Yield the examples with one of these values in a column."""
    for begin in range(0, len(values), VALUES_AT_ONCE):
        part = values[begin : begin + VALUES_AT_ONCE]
        marks = ", ".join("?" * len(part))
        query = f"SELECT {COLUMNS} FROM example WHERE {column} IN ({marks})"
        yield from map(Row._make, database.execute(query, part))
