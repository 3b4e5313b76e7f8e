"""NumPy's own files: NPY, a table of numbers, and NPZ, several arrays with names."""

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import polars as pl

from opforest.columns.data import ROWS, Array, Data
from opforest.errors import DataFileError
from opforest.io.formats import Opened
from opforest.io.source import MANY_TIMES, MUCH, unreadable

#: What the arrays of an NPZ file may be called.
KEYS = {
    "X": ("X", "x", "data", "features"),
    "y": ("y", "Y", "target", "label", "labels"),
    "ids": ("ids", "id"),
    "feature_names": ("feature_names", "columns"),
    "label_name": ("label_name",),
}

#: What a damaged archive, or one that is packed or locked in a way of its own, raises.
DAMAGED = (ValueError, EOFError, OverflowError, RuntimeError, struct.error, zlib.error,
           zipfile.BadZipFile, NotImplementedError)  # fmt: skip

#: How to read what comes before the numbers, by the version of the format.
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: str, name: str) -> Opened:
    """Return the table in an NPY file, which stays on disk until it is used."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        raise DataFileError("the file is not an array of numbers in NumPy's format", name) from None
    if not isinstance(array, np.ndarray):
        raise DataFileError("the file must hold one array", name)
    parts = (array[k : k + ROWS] for k in range(0, len(array) if array.ndim else 0, ROWS))
    return Opened(_names(array), (_frame(part, name) for part in parts))


def _names(array: Any) -> tuple[str, ...] | None:
    return array.dtype.names if array.dtype.names and len(array.shape) == 1 else None


def _frame(array: Array, path: str) -> pl.DataFrame:
    """Return the columns of a table, or the fields of its rows."""
    if _names(array):
        return pl.DataFrame({str(k): _series(array[field], path)
                             for k, field in enumerate(array.dtype.names or ())})  # fmt: skip
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        reason = f"the array must be a table of numbers, got shape {array.shape}, type"
        raise DataFileError(f"{reason} {array.dtype}", path)
    native = np.asfortranarray(array, array.dtype.newbyteorder("="))
    return pl.DataFrame([_series(column, path).alias(str(k)) for k, column in enumerate(native.T)])


def _series(array: Array, path: str) -> pl.Series:
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind not in "biufU" or array.ndim != 1 or array.dtype.char == "g":
        reason = f"arrays must hold numbers or text, got {array.dtype} of shape {array.shape}"
        raise DataFileError(reason, path)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype.kind == "U":
        return pl.Series(array.tolist(), dtype=pl.String)
    return pl.Series(np.ascontiguousarray(array, array.dtype.newbyteorder("=")))


class _Member:
    """An array in an archive, which is read row by row, forwards."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    _whole: Array | None = None

    def __init__(self, archive: zipfile.ZipFile, file: str) -> None:
        self._stream, self._read = archive.open(file), 0
        read_header = _HEADERS.get(np.lib.format.read_magic(self._stream))
        by_column = True
        if read_header is not None:
            self.shape, by_column, self.dtype = read_header(self._stream)
            if math.prod(self.shape) * self.dtype.itemsize > archive.getinfo(file).file_size:
                raise ValueError(f"array {file!r} is cut short")
        if read_header is None or (by_column and len(self.shape) > 1):  # rows are scattered
            self._whole = np.lib.format.read_array(archive.open(file), allow_pickle=False)
            self.shape, self.dtype = self._whole.shape, self._whole.dtype
        if self.dtype.hasobject:
            raise ValueError(f"array {file!r} holds objects, which are not read")

    def rows(self, count: int) -> Array:
        """Return the next rows; fewer at the end."""
        begin = self._read
        self._read = min(begin + count, self.shape[0] if self.shape else 0)
        if self._whole is not None:
            return self._whole[begin : self._read]
        return self._take((self._read - begin, *self.shape[1:]))

    def all(self) -> Array:
        """Return the whole array."""
        return self._take(self.shape) if self._whole is None else self._whole

    def _take(self, shape: tuple[int, ...]) -> Array:
        wanted = math.prod(shape) * self.dtype.itemsize
        content = self._stream.read(wanted)
        if len(content) < wanted:
            raise ValueError("an array is cut short")
        return np.frombuffer(content, self.dtype).reshape(shape)


def check_archive(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse an archive that unpacks to far more than it is."""
    infos = archive.infolist()
    whole, packed = (sum(getattr(info, size) for info in infos)
                     for size in ("file_size", "compress_size"))  # fmt: skip
    if whole > max(MUCH, MANY_TIMES * packed):
        raise DataFileError(f"the archive unpacks to {whole} bytes, {MANY_TIMES} times its size "
                            "and more, which no table does", name)  # fmt: skip


def read_npz(path: str, name: str) -> Opened:
    """Return the arrays of an NPZ file as a table."""
    try:
        archive = zipfile.ZipFile(path)
        check_archive(archive, name)
        members = {file.removesuffix(".npy"): _Member(archive, file)
                   for file in archive.namelist() if file.endswith(".npy")}  # fmt: skip
        return _open_members(members, name)
    except DataFileError:
        raise
    except DAMAGED as error:
        raise unreadable(error, name, "the archive cannot be read") from None


def _open_members(members: dict[str, _Member], name: str) -> Opened:
    if len(members) == 1 and not set(members) & set(KEYS["X"]):
        (table,) = members.values()
        return Opened(_names(table), _rows_of([table], name))
    found = {part: next((members[key] for key in keys if key in members), None)
             for part, keys in KEYS.items()}  # fmt: skip
    X, y, ids = found["X"], found["y"], found["ids"]
    if X is None or len(X.shape) != 2 or X.dtype.kind not in "biuf":
        shapes = ", ".join(f"{key} {array.shape}" for key, array in members.items())
        raise DataFileError(f"there must be a table of numbers called X, got {shapes}", name)
    for part in (y, ids):
        if part is not None and part.shape != X.shape[:1]:
            reason = f"labels and ids must be as many as the {X.shape[0]} examples"
            raise DataFileError(f"{reason}, got {part.shape}", name)
    d, names = X.shape[1], None
    label, place = (None if y is None else d), (None if ids is None else d + (y is not None))
    if found["feature_names"] is not None:
        names = list(map(str, found["feature_names"].all().tolist()))
        if len(names) != d:
            reason = f"there must be a name for each of {d} features, got {len(names)}"
            raise DataFileError(reason, name)
        told = found["label_name"]
        names += [_beside("label" if told is None else str(told.all()), names)] * (y is not None)
        names += [_beside("id", names)] * (ids is not None)
    parts = [part for part in (X, y, ids) if part is not None]
    return Opened(None if names is None else tuple(names), _rows_of(parts, name), (label, place))


def _beside(name: str, names: list[str]) -> str:
    """Return a name that is not among others; arrays may be called as columns are."""
    return name if name not in names else _beside(f"{name} ", names)


def _rows_of(members: list[_Member], name: str) -> Iterator[pl.DataFrame]:
    try:
        while len(rows := members[0].rows(ROWS)):
            frame = _frame(rows, name)
            for member in members[1:]:
                column = _series(member.rows(ROWS), name)
                frame = frame.with_columns(column.alias(str(frame.width)))
            yield frame
    except DataFileError:
        raise
    except DAMAGED as error:
        raise unreadable(error, name, "the archive cannot be read") from None


def write_npy(stream: IO[bytes], data: Data, _: str) -> None:
    """Write a table of numbers, the labels in its last column."""
    X = data.X if data.y is None else np.column_stack((data.X, data.y.astype(data.X.dtype)))
    np.save(stream, X, allow_pickle=False)


def write_npz(stream: IO[bytes], data: Data, _: str) -> None:
    """Write all there is, each part as an array."""
    arrays = {"X": data.X, "y": data.y, "ids": data.ids, "label_name": data.label_name,
              "feature_names": data.feature_names}  # fmt: skip
    known: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()
                             if value is not None}  # fmt: skip
    np.savez(stream, **known)
