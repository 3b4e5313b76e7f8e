"""Number of acknowledged changes, in a small file beside the log of a store.

SQLite ends a log at the first checksum that does not match, and cannot distinguish a change that
was being written when the process died from one that was cut off or damaged later. Therefore every
transaction counts itself in the table ``meta``, and after each commit the number is written to
``FILE-ack``. A store that has counted fewer changes than were acknowledged has lost some.

The file is not synced: a kill leaves it exact, but a power failure may leave a number that is too
small, and then a loss may go unnoticed. It is deleted when a store is closed and its log is empty.
"""

import os
import struct
import zlib
from contextlib import suppress

#: Contents of the file: a magic string, the number, and a checksum of both.
RECORD = struct.Struct("<8sQI")
MAGIC = b"OPFL-ack"


def _pack(number: int) -> bytes:
    return RECORD.pack(MAGIC, number, zlib.crc32(MAGIC + number.to_bytes(8, "little")))


def read_count(path: str) -> int:
    """Return the number in a file, or 0 if the file is missing or damaged."""
    try:
        with open(path, "rb") as file:
            content = file.read(RECORD.size + 1)
        number: int = RECORD.unpack(content)[1]
        return number if content == _pack(number) else 0
    except (OSError, struct.error):
        return 0


class CommitCounter:
    """The file of a store that is open for writing; ignored where it cannot be written."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None

    def write(self, number: int) -> None:
        """Record how many changes have been acknowledged."""
        with suppress(OSError):
            if self._file is None:
                flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
                self._file = os.open(self.path, flags, 0o644)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, _pack(number))

    def close(self, delete: bool) -> None:
        """Close the file; delete it if it is no longer needed."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            if delete:
                with suppress(OSError):
                    os.unlink(self.path)
