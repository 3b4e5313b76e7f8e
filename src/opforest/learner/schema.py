"""Database schema of a store in each version of the format, and its migrations."""

import sqlite3
import struct
import zlib
from typing import Any

#: SQLite's ``application_id`` of a store: "OPFL".
APPLICATION = 0x4F50464C

#: The version of the format that is written, and all that can be read.
FORMAT, FORMATS = 2, (1, 2)

#: Versions 0.1 and 0.2 of opforest: only examples have checksums.
FIRST = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "example": """
CREATE TABLE example (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, x BLOB NOT NULL, y,
    time INTEGER NOT NULL, crc INTEGER NOT NULL
)
""",
    "snapshot": (
        "CREATE TABLE snapshot (next INTEGER NOT NULL, ids BLOB NOT NULL, model BLOB NOT NULL)"
    ),
    "score": """
CREATE TABLE score (
    id INTEGER PRIMARY KEY, time INTEGER NOT NULL, correct INTEGER NOT NULL, total INTEGER NOT NULL
)
""",
}

SECOND = FIRST | {
    "meta": (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT, crc INTEGER NOT NULL) WITHOUT ROWID"
    ),
    "snapshot": """
CREATE TABLE snapshot (
    next INTEGER NOT NULL, ids BLOB NOT NULL, model BLOB NOT NULL, crc INTEGER NOT NULL
)
""",
    "score": """
CREATE TABLE score (
    id INTEGER PRIMARY KEY, time INTEGER NOT NULL, correct INTEGER NOT NULL,
    total INTEGER NOT NULL, crc INTEGER NOT NULL
)
""",
}

TABLES = {1: FIRST, 2: SECOND}

#: The table that SQLite adds for AUTOINCREMENT.
SEQUENCE = {"sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)"}


def create_tables(database: sqlite3.Connection) -> None:
    """Create the tables of a new store, within a transaction."""
    for statement in TABLES[FORMAT].values():
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {FORMAT}")


def find_difference(database: sqlite3.Connection, format: int) -> str | None:
    """Return how the tables of a file differ from those of a store, or None."""
    found = database.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if {"trigger", "view"} & {kind for kind, *_ in found}:
        return "it contains triggers or views, which no store has"
    sql = {name: text for kind, name, text in found if kind == "table"}
    for name, statement in (TABLES[format] | SEQUENCE).items():
        if sql.get(name) != statement.strip():
            return f"the definition of its table {name!r} has changed"
    if ("index", "sqlite_autoindex_example_1", None) not in found:
        return "the index of keys is missing"
    return None


def checksum(*values: Any) -> int:
    """Return a checksum of numbers, text and bytes."""
    total = 0
    for value in values:
        part = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        total = zlib.crc32(part, zlib.crc32(b"%d:" % len(part), total))
    return total


def upgrade_tables(database: sqlite3.Connection) -> None:
    """Add checksums to the tables of format 1, within a transaction."""
    settings = database.execute("SELECT name, value FROM meta").fetchall()
    scores = database.execute("SELECT id, time, correct, total FROM score").fetchall()
    snapshots = [
        row for row in database.execute("SELECT next, ids, model FROM snapshot").fetchall()
        if matches_examples(database, *row[:2])
    ]  # fmt: skip
    for table, rows in (
        ("meta", [(*row, checksum(*row)) for row in settings]),
        ("snapshot", [(*row, checksum(*row[:2])) for row in snapshots]),  # models have their own
        ("score", [(*row, checksum(*row[1:])) for row in scores]),
    ):
        database.execute(f"DROP TABLE {table}")
        database.execute(SECOND[table])
        for row in rows:
            database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    database.execute(f"PRAGMA user_version = {FORMAT}")


def matches_examples(database: sqlite3.Connection, next: Any, ids: Any) -> bool:
    """Return whether a snapshot without a checksum has exactly the examples before ``next``."""
    found = database.execute("SELECT id FROM example WHERE id < ? ORDER BY id", (next,)).fetchall()
    return bool(ids == struct.pack(f"<{len(found)}q", *(id for (id,) in found)))
