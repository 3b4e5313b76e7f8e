"""A file of named arrays and a JSON header, with a checksum over all of it.

====================  ============================================================================
bytes                 what they are
====================  ============================================================================
8                     ``MAGIC``; its last characters catch what a transfer as text would change
8                     the length of the header, little-endian
as many               the header: a JSON object in ASCII, padded by spaces so that arrays are
                      aligned; ``"arrays"`` lists name, type and shape of each, in their order
as many               the arrays, row by row, little-endian, each padded by zeros to 8 bytes
32                    the SHA-256 of all that comes before
====================  ============================================================================

Nothing in it can run, and reading it never allocates more than the size of the file.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from contextlib import nullcontext
from itertools import chain
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from opforest._utils.atomic import open_atomic
from opforest.errors import ModelFileError

Array = npt.NDArray[Any]

MAGIC = b"OPF\x89\r\n\x1a\n"
DIGEST = hashlib.sha256().digest_size
ALIGNMENT = 8
BEGIN = len(MAGIC) + 8

#: The largest Unicode character.
LAST_CHARACTER = 0x10FFFF


def require(condition: object, complaint: str) -> None:
    """Raise a ``ModelFileError`` unless something is true of a file."""
    if not condition:
        raise ModelFileError(complaint)


def write_container(
    path: str | os.PathLike[str] | IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write a header and arrays to a file, whole or not at all, or to a stream."""
    little = {name: _little_endian(array) for name, array in arrays.items()}
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in little.items()]
    text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode("ascii")
    text += b" " * (-len(text) % ALIGNMENT)
    begin = MAGIC + len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256()
    with open_atomic(path) if isinstance(path, str | os.PathLike) else nullcontext(path) as stream:
        stream.write(begin)
        digest.update(begin)
        for part in chain.from_iterable(map(_padded, little.values())):
            stream.write(part)
            digest.update(part)
        stream.write(digest.digest())


def read_container(
    path: str | os.PathLike[str] | IO[bytes],
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays of a file or stream, or say in a ``ModelFileError`` why not."""
    if isinstance(path, str | os.PathLike):
        mode = os.stat(path).st_mode
        # A pipe would be waited for; a folder is refused by open.
        require(stat.S_ISREG(mode) or stat.S_ISDIR(mode), "it is not a regular file.")
        with open(path, "rb") as stream:
            content = _checked(_read_all(stream))
    else:
        content = _checked(bytearray(path.read()))
    header, end = _read_header(content)
    listed = header.pop("arrays", None)
    require(isinstance(listed, list), "its header has no list of arrays.")
    arrays: dict[str, Array] = {}
    for entry in listed:
        name, dtype, shape = _check_entry(entry)
        size = math.prod(shape) * dtype.itemsize
        if name in arrays or size > len(content) - end:
            raise ModelFileError(
                f"its header lies about array {name[:50]!r}, of type {dtype} and shape {shape}: it "
                "does not fit into the file."
            )
        arrays[name] = _view(content[end : end + size], name, dtype, shape)
        end += size + -size % ALIGNMENT
    require(end == len(content), "it is longer or shorter than the arrays its header lists.")
    return header, arrays


def _little_endian(array: Array) -> Array:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def _padded(array: Array) -> tuple[memoryview, memoryview]:
    data = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    return data, memoryview(bytes(-len(data) % ALIGNMENT))


def _read_all(stream: IO[bytes]) -> bytearray:
    """Return the content of a file, if it begins as it should."""
    status = os.fstat(stream.fileno())
    _check_begin(stream.read(len(MAGIC)))
    content = bytearray(status.st_size)
    stream.seek(0)
    length = stream.readinto(content)  # type: ignore[attr-defined]
    require(length == len(content), "it is cut short.")
    return content


def _check_begin(begin: bytes) -> None:
    require(begin, "the file is empty.")
    require(begin == MAGIC, "it is not a model saved by opforest: it does not begin like one.")


def _checked(content: bytearray) -> memoryview:
    """Return all but the checksum, which is right."""
    _check_begin(bytes(content[: len(MAGIC)]))
    whole = memoryview(content)
    require(len(whole) >= BEGIN + DIGEST, "it is cut short.")
    is_right = hashlib.sha256(whole[:-DIGEST]).digest() == whole[-DIGEST:]
    require(is_right, "its checksum is wrong: the file is damaged or cut short.")
    return whole[:-DIGEST]


def _read_header(content: memoryview) -> tuple[dict[str, Any], int]:
    """Return the header, and where it ends."""
    end = BEGIN + int.from_bytes(content[len(MAGIC) : BEGIN], "little")
    require(end <= len(content), "its header is longer than the file.")
    try:
        header = json.loads(
            bytes(content[BEGIN:end]).decode("ascii"), parse_constant=refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is not JSON: {error}") from None
    require(isinstance(header, dict), "its header is not a JSON object.")
    return header, end


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and infinity, which Python takes for JSON."""
    raise ValueError(f"{constant} is not a JSON number")


def _check_entry(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    """Return what the header says of an array, if it can be true."""
    match entry:
        case [str(name), str(kind), [*shape]] if len(shape) <= 2:
            lengths_are_lengths = all(type(n) is int and 0 <= n < 2**48 for n in shape)
            if lengths_are_lengths and _is_plain(kind):
                return name, np.dtype(kind), tuple(shape)
    raise ModelFileError(f"its header describes an array that cannot be: {str(entry)[:100]}.")


def _is_plain(kind: str) -> bool:
    """Tell whether a type is one of numbers or strings, spelled as NumPy does."""
    if kind in ("|b1", "|i1", "|u1"):
        return True
    if kind[:2] in ("<i", "<u", "<f"):
        return kind[2:] in ("2", "4", "8")
    width = kind[2:]
    return kind[:2] == "<U" and width.isdecimal() and width.isascii() and 0 < len(width) < 9


def _view(data: memoryview, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return an array over the memory of the file, if its bits are values."""
    array = np.frombuffer(data, dtype).reshape(shape) if len(data) else np.empty(shape, dtype)
    array = np.require(array, dtype.newbyteorder("="), ("C", "A", "W"))
    is_proper = True
    if dtype.kind == "b":
        is_proper = bool((array.view(np.uint8) <= 1).all())
    elif dtype.kind == "U":
        is_proper = bool((np.frombuffer(data, "<u4") <= LAST_CHARACTER).all())
    require(is_proper, f"its array {name!r} holds what is not of type {dtype}.")
    return array
