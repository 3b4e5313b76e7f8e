"""Compressed files, and archives of one file: unpacked piece by piece, up to a limit."""

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from opforest._utils import tuning
from opforest._utils.extras import install_command
from opforest.errors import DataFileError
from opforest.io.library_errors import DAMAGED, wrap_error

BUFFER = 1 << 16

#: Bytes that are decompressed at a time: few, because each may become thousands.
PIECE = 1 << 10

#: A compressed file may expand to this many times its size; a small one to more.
MAX_EXPANSION = 100

#: First bytes of zip archives.
ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")

#: Archives that are files of another format, by their names or members; members that programs add.
_FORMAT_ENDS = (".xlsx", ".xlsm", ".xlsb", ".ods", ".npz")
_FORMAT_MEMBERS = ("[content_types].xml", "mimetype", "content.xml")
_ADDED = ("__macosx/", "thumbs.db", "desktop.ini")


def _make_zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(f".zst files need zstandard: {install_command('cli')}") from error
    return zstandard.ZstdDecompressor().decompressobj()


#: First bytes of compressed files, the endings of their names, and their decompressors.
COMPRESSED: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": (".gz", lambda: zlib.decompressobj(31)),
    b"\xfd7zXZ\0": (
        ".xz",
        lambda: lzma.LZMADecompressor(memlimit=tuning.values.max_unpacked_bytes),
    ),
    b"BZh": (".bz2", bz2.BZ2Decompressor),
    b"\x28\xb5\x2f\xfd": (".zst", _make_zstandard),
}


def check_unpacked(size: int, compressed: int, name: str, what: str = "the file") -> None:
    """Raise an error if ``compressed`` bytes unpack to far too many, ``size``."""
    if size > max(tuning.values.max_unpacked_bytes, MAX_EXPANSION * compressed):
        raise DataFileError(f"{what} unpacks to more than {MAX_EXPANSION} times its size, which no "
                            "table does; unpack it yourself if it is one", name)  # fmt: skip


def decompress(stream: Any, make: Callable[[], Any], name: str) -> Iterator[bytes]:
    """Yield the content of a compressed stream, up to a limit."""
    decompressor, read, written = make(), 0, 0
    while more := stream.read(PIECE):
        read += len(more)
        while more:
            if decompressor.eof:  # several files, one after another, with zeros in between
                more = more.lstrip(b"\0")
                if not more:
                    break
                decompressor = make()
            try:
                part = decompressor.decompress(more)
            except MemoryError:
                raise
            except Exception as error:  # each library has its own errors
                if "memory" in str(error).lower():
                    raise wrap_error(error, name, "the file cannot be unpacked") from None
                raise DataFileError(f"the compressed file is {DAMAGED}", name) from None
            written += len(part)
            check_unpacked(written, read, name)
            yield part
            more = decompressor.unused_data
    if not decompressor.eof:
        raise DataFileError(f"the compressed file is {DAMAGED}", name)


def open_member(stream: Any, name: str) -> tuple[str, Iterator[bytes]] | None:
    """Return the name and the content of the only file in a zip archive.

    None if it is not such an archive, but a workbook, an NPZ file, or damaged.
    """
    if name.lower().endswith(_FORMAT_ENDS):
        return None
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return None  # the reader of the format reports it
    members = [info for info in archive.infolist() if not info.is_dir()]
    names = [info.filename.lower() for info in members]
    if any(one in _FORMAT_MEMBERS or one.endswith(".npy") for one in names) or not names:
        return None
    files = [info for info, one in zip(members, names, strict=True)
             if not one.startswith(_ADDED) and not one.rpartition("/")[2].startswith(".")
             and one.rpartition("/")[2] not in _ADDED]  # fmt: skip
    if len(files) != 1:
        shown = ", ".join(repr(info.filename) for info in files[:5])
        reason = f"the archive holds {len(files)} files, {shown}{' …' if len(files) > 5 else ''}: "
        raise DataFileError(f"{reason}unpack it, and name one of them", name)
    if files[0].flag_bits & 1:
        raise DataFileError("the archive is protected by a password: unpack it first", name)
    return files[0].filename, _unpack_member(archive, files[0], name)


def _unpack_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    written = 0
    try:
        with archive.open(info) as packed:
            while part := packed.read(BUFFER):
                written += len(part)
                check_unpacked(written, info.compress_size, name, "the archive")
                yield part
    except NotImplementedError as error:
        raise wrap_error(error, name, "the archive cannot be unpacked") from None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise DataFileError(f"the archive is {DAMAGED}", name) from None
