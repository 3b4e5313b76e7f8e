"""Exceptions for invalid stores, keys and rows."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opforest.errors import StoreError as StoreError


class UnknownKeyError(ValueError):
    """No example has this key."""


class KeyConflictError(ValueError):
    """Another example already has this key.

    Attributes
    ----------
    row : int
        The index of the row.
    key : str
        The key.
    """

    def __init__(self, row: int, key: str) -> None:
        self.row, self.key = row, key
        super().__init__(
            f"row {row}: there is another example with the key {key!r}. Pass replace=True to "
            "replace it, or choose another key."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row, self.key)


class RowError(ValueError):
    """A row of features is not what the store expects.

    Attributes
    ----------
    row : int or None
        The index of the row.
    column : str or int or None
        The name of the feature, or its index.
    """

    def __init__(
        self, reason: str, row: int | None = None, column: str | int | None = None
    ) -> None:
        self.row, self.column = row, column
        super().__init__(reason)


#: Explanations of SQLite's errors, by primary code.
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: do you have permission to write there?",
    sqlite3.SQLITE_PERM: "it cannot be opened: permission was denied",
    sqlite3.SQLITE_BUSY: "another program has locked it",
    sqlite3.SQLITE_LOCKED: "another program has locked it",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore a copy, or export what can be read",
    sqlite3.SQLITE_NOTADB: "it is neither an opforest store nor any other SQLite database",
    sqlite3.SQLITE_TOOBIG: "an example is too large",
}


@contextmanager
def wrap_sqlite_errors(path: str, outcome: str = "") -> Iterator[None]:
    """Convert SQLite's errors to a ``StoreError`` that ends with the outcome of the failed call."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
            code = sqlite3.SQLITE_CORRUPT
        reason = REASONS.get(code, "SQLite failed")
        detail = "" if code == sqlite3.SQLITE_NOTADB else f" ({error})"
        message = f"{os.fspath(path)}: {reason}{detail}. {outcome}"
        raise StoreError(message.rstrip()) from error
