"""A file of named arrays and a JSON header, with a checksum over all of it.

====================  ============================================================================
bytes                 content
====================  ============================================================================
8                     ``MAGIC``; its last characters reveal a transfer in text mode
8                     the length of the header, little-endian
that length           the header: a JSON object in ASCII, padded by spaces so that arrays are
                      aligned; ``"arrays"`` lists name, type and shape of each, in their order
the rest              the arrays, row by row, little-endian, each padded by zeros to 8 bytes
32                    the SHA-256 of everything before
====================  ============================================================================

It contains no code, and reading it never allocates more than the size of the file. A file can also
be mapped into memory, so that only the parts that are used are read.
"""

import hashlib
import json
import math
import mmap
import os
import re
import stat
from collections.abc import Mapping
from contextlib import nullcontext
from itertools import chain
from typing import IO, Any, NoReturn

import numpy as np

from opforest._utils.atomic import open_atomic
from opforest.core.metrics.types import Array
from opforest.errors import ModelFileError

MAGIC = b"OPF\x89\r\n\x1a\n"
DIGEST = hashlib.sha256().digest_size
ALIGNMENT = 8
BEGIN = len(MAGIC) + 8

#: NumPy's type codes of booleans, numbers and strings.
PLAIN = re.compile(r"\|[biu]1|<[iuf][248]|<U[0-9]{1,8}")

#: The largest Unicode character.
LAST_CHARACTER = 0x10FFFF

#: The most dimensions of an array.
MAX_DIMENSIONS = 3


def require(condition: object, message: str) -> None:
    """Raise a ``ModelFileError`` unless a condition holds."""
    if not condition:
        raise ModelFileError(message)


def write_container(
    path: str | os.PathLike[str] | IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> str:
    """Write a header and arrays to a file, atomically, or to a stream; return the checksum."""
    little = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
              for name, array in arrays.items()}  # fmt: skip
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in little.items()]
    text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode("ascii")
    text += b" " * (-len(text) % ALIGNMENT)
    begin = MAGIC + len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256()
    with open_atomic(path) if isinstance(path, str | os.PathLike) else nullcontext(path) as stream:
        stream.write(begin)
        digest.update(begin)
        for part in chain.from_iterable(map(_pad, little.values())):
            stream.write(part)
            digest.update(part)
        stream.write(digest.digest())
    return digest.hexdigest()


def read_container(
    path: str | os.PathLike[str] | IO[bytes],
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and arrays of a file or stream; raise a ``ModelFileError`` if invalid."""
    if isinstance(path, str | os.PathLike):
        _require_file(path)
        with open(path, "rb") as stream:
            content = _verify(memoryview(_read_all(stream)))
    else:
        content = _verify(memoryview(bytearray(path.read())))
    return _parse(content, check_values=True)


def map_container(
    path: str | os.PathLike[str], *, verify: bool
) -> tuple[dict[str, Any], dict[str, Array], str]:
    """Return the header, the arrays and the checksum of a file, which is mapped into memory.

    The arrays are writable, but changes do not reach the file. Raise a ``ModelFileError`` if it is
    invalid. Only ``verify`` reads all of it: for the checksum, and to check booleans and strings.
    """
    _require_file(path)
    with open(path, "rb") as stream:
        _check_magic(stream.read(len(MAGIC)))
        # Read-only arrays are of another type to Numba, and kernels would be compiled again.
        whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
    require(len(whole) >= BEGIN + DIGEST, "it is cut short.")
    content = _verify(whole) if verify else whole[:-DIGEST]
    return *_parse(content, check_values=verify), bytes(whole[-DIGEST:]).hex()


def _require_file(path: str | os.PathLike[str]) -> None:
    mode = os.stat(path).st_mode
    # Opening a pipe would block; open raises the error for a folder.
    require(stat.S_ISREG(mode) or stat.S_ISDIR(mode), "it is not a regular file.")


def _parse(content: memoryview, check_values: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays, which share the memory of the content."""
    header, end = _read_header(content)
    listed = header.pop("arrays", None)
    require(isinstance(listed, list), "its header has no list of arrays.")
    arrays: dict[str, Array] = {}
    for entry in listed:
        name, dtype, shape = _check_entry(entry)
        size = math.prod(shape) * dtype.itemsize
        if name in arrays or size > len(content) - end:
            raise ModelFileError(
                f"its array {name[:50]!r}, of type {dtype} and shape {shape}, is duplicated or "
                "exceeds the file."
            )
        arrays[name] = _view(content[end : end + size], dtype, shape)
        if check_values:
            _check_values(arrays[name], name)
        end += size + -size % ALIGNMENT
    require(end == len(content), "it is longer or shorter than the arrays its header lists.")
    return header, arrays


def _pad(array: Array) -> tuple[memoryview, memoryview]:
    data = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    return data, memoryview(bytes(-len(data) % ALIGNMENT))


def _read_all(stream: IO[bytes]) -> bytearray:
    _check_magic(stream.read(len(MAGIC)))
    content = bytearray(os.fstat(stream.fileno()).st_size)
    stream.seek(0)
    length = stream.readinto(content)  # type: ignore[attr-defined]
    require(length == len(content), "it is cut short.")
    return content


def _check_magic(begin: bytes) -> None:
    require(begin, "the file is empty.")
    require(begin == MAGIC, "it is not a model saved by opforest: its first bytes are wrong.")


def _verify(whole: memoryview) -> memoryview:
    """Verify the checksum, and return the content without it."""
    _check_magic(bytes(whole[: len(MAGIC)]))
    require(len(whole) >= BEGIN + DIGEST, "it is cut short.")
    is_valid = hashlib.sha256(whole[:-DIGEST]).digest() == whole[-DIGEST:]
    require(is_valid, "its checksum is wrong: the file is damaged or cut short.")
    return whole[:-DIGEST]


def _read_header(content: memoryview) -> tuple[dict[str, Any], int]:
    """Return the header and its end."""
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
    """Raise a ValueError for NaN and infinity, which Python's JSON parser accepts."""
    raise ValueError(f"{constant} is not a JSON number")


def _check_entry(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    """Return name, type and shape of an array, if they are valid."""
    match entry:
        case [str(name), str(kind), [*shape]] if len(shape) <= MAX_DIMENSIONS:
            if all(type(n) is int and 0 <= n < 2**48 for n in shape) and PLAIN.fullmatch(kind):
                return name, np.dtype(kind), tuple(shape)
    raise ModelFileError(f"its header has an invalid array: {str(entry)[:100]}.")


def _view(data: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return an array over the memory of the file."""
    array = np.frombuffer(data, dtype).reshape(shape) if len(data) else np.empty(shape, dtype)
    return np.require(array, dtype.newbyteorder("="), ("C", "A", "W"))


def _check_values(array: Array, name: str) -> None:
    """Raise an error if booleans are not 0 or 1, or characters are invalid."""
    is_valid = True
    if array.dtype.kind == "b":
        is_valid = bool((array.view(np.uint8) <= 1).all())
    elif array.dtype.kind == "U" and array.size:
        is_valid = bool((array.reshape(-1).view(np.uint32) <= LAST_CHARACTER).all())
    require(is_valid, f"its array {name!r} has values that are not of type {array.dtype}.")
