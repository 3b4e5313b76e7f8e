"""NumPy's own files: NPY, a table of numbers, and NPZ, several arrays with names."""

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np

from opforest.io.columns import Roles, choose_roles
from opforest.io.data import Array, Data, Reading
from opforest.io.errors import DataFileError

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
           zipfile.BadZipFile)  # fmt: skip

#: How to read what comes before the numbers, by the version of the format.
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: str, name: str, reading: Reading) -> Data:
    """Return what an NPY file holds; it stays on disk until it is used."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        raise DataFileError("the file is no array of numbers in NumPy's format", name) from None
    if not isinstance(array, np.ndarray):
        raise DataFileError("the file must hold one array", name)
    return _from_array(array, reading, name)


def _from_array(array: Array, reading: Reading, name: str) -> Data:
    return _apply(_roles_of(array, reading, name), array)


def _roles_of(array: Array, reading: Reading, name: str) -> Roles:
    """Say what the columns of a table are, or the fields of its rows, by its first rows."""
    if array.dtype.names is not None and array.ndim == 1:
        names = array.dtype.names
        kinds = [array.dtype[k].kind for k in range(len(names))]
        text = {k for k, kind in enumerate(kinds) if kind in "US"}
        roles = choose_roles(names, len(names), text, (), reading, name)
        for k in roles.features:
            if kinds[k] not in "biuf":
                raise DataFileError(
                    f"{roles.describe(k)} must hold numbers, got {array.dtype[k]}", name
                )
        return roles
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataFileError(
            f"the array must be a table of numbers, got shape {array.shape}, type {array.dtype}",
            name,
        )
    last = array.shape[1] - 1
    sample = array[:100, last]
    whole = {last} if (sample == np.rint(sample)).all() else set()
    return choose_roles(None, last + 1, (), whole, reading, name)


def _apply(roles: Roles, array: Array) -> Data:
    names = roles.names
    if names is None:
        y = None if roles.label is None else array[:, roles.label]
        return Data(array[:, _slice(roles)], y)
    X = np.column_stack([array[names[k]] for k in roles.features])
    y = None if roles.label is None else array[names[roles.label]]
    ids = None if roles.id is None else array[names[roles.id]]
    return Data(X, y, ids, roles.feature_names, roles.label_name)


def _slice(roles: Roles) -> Any:
    """Return the features as a slice, which copies nothing, if they lie side by side."""
    first, last = roles.features[0], roles.features[-1]
    together = last - first + 1 == len(roles.features)
    return slice(first, last + 1) if together else list(roles.features)


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
        shape = (self._read - begin, *self.shape[1:])
        return self._take(math.prod(shape)).reshape(shape)

    def all(self) -> Array:
        """Return the whole array."""
        if self._whole is not None:
            return self._whole
        return self._take(math.prod(self.shape)).reshape(self.shape)

    def _take(self, count: int) -> Array:
        wanted = count * self.dtype.itemsize
        content = self._stream.read(wanted)
        if len(content) < wanted:
            raise ValueError("an array is cut short")
        return np.frombuffer(content, self.dtype)


def read_npz(path: str, name: str, reading: Reading, size: int) -> Iterator[Data]:
    """Yield the examples of an NPZ file in chunks."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {file.removesuffix(".npy"): _Member(archive, file)
                       for file in archive.namelist() if file.endswith(".npy")}  # fmt: skip
            yield from _from_members(members, reading, name, size)
    except DataFileError:
        raise
    except DAMAGED as error:
        raise DataFileError(f"the archive cannot be read: {_first_line(error)}", name) from None


def _from_members(
    members: dict[str, _Member], reading: Reading, name: str, size: int
) -> Iterator[Data]:
    if len(members) == 1 and not set(members) & set(KEYS["X"]):
        (table,) = members.values()
        roles = None
        while len(rows := table.rows(size)):
            roles = roles or _roles_of(rows, reading, name)
            yield _apply(roles, rows)
        return
    found = {part: next((members[key] for key in keys if key in members), None)
             for part, keys in KEYS.items()}  # fmt: skip
    X, y, ids = found["X"], found["y"], found["ids"]
    if X is None or len(X.shape) != 2 or X.dtype.kind not in "biuf":
        listed = ", ".join(f"{key} {array.shape}" for key, array in members.items())
        raise DataFileError(f"there must be a table of numbers called X, got {listed}", name)
    for part in (y, ids):
        if part is not None and part.shape != X.shape[:1]:
            reason = (
                f"labels and ids must be as many as the {X.shape[0]} examples, got {part.shape}"
            )
            raise DataFileError(reason, name)
    names = None if found["feature_names"] is None else found["feature_names"].all().tolist()
    if names is not None and len(names) != X.shape[1]:
        reason = f"there must be a name for each of {X.shape[1]} features, got {len(names)}"
        raise DataFileError(reason, name)
    names = None if names is None else tuple(map(str, names))
    y = None if reading.label == "none" else y
    label = None if found["label_name"] is None or y is None else str(found["label_name"].all())
    while len(rows := X.rows(size)):
        labels, numbers = (None if part is None else part.rows(size) for part in (y, ids))
        yield check_columns(Data(rows, labels, numbers, names, label), reading, name)


def check_columns(data: Data, reading: Reading, path: str) -> Data:
    """Return the features that are wanted of data whose label stands apart."""
    if reading.label not in (None, "none"):
        raise DataFileError("the label has a place of its own in this format: no --label", path)
    alone = replace(reading, label="none")
    roles = choose_roles(data.feature_names, data.X.shape[1], (), (), alone, path)
    return replace(data, X=data.X[:, _slice(roles)], feature_names=roles.feature_names)


def check(data: Data, reading: Reading, path: str, first: int) -> Data:
    """Return examples, which are those from ``first`` on, as proper numbers."""
    X = np.array(data.X, np.float32 if data.X.dtype == np.float32 else np.float64)
    if not reading.allow_missing and not np.isfinite(X).all():
        i, k = np.argwhere(~np.isfinite(X))[0]
        reason = f"feature {k + 1} of example {first + i + 1} must be finite, got {X[i, k]}"
        raise DataFileError(reason, path)
    if reading.allow_missing and data.X.dtype.kind in "iu":
        check_whole(data.X, X, path)
    y = None if data.y is None else np.array(_decoded(data.y))
    return replace(data, X=X, y=y)


def check_whole(whole: Array, rounded: Array, path: str) -> None:
    """Refuse whole numbers that 64 bits of floating point cannot hold."""
    large = np.abs(rounded) >= 2.0**53
    for exact, near in zip(whole[large].tolist(), rounded[large].tolist(), strict=True):
        if exact != int(near):
            raise DataFileError(f"a feature is {exact}, which float64 cannot hold", path)


def _decoded(y: Array) -> Array:
    return np.char.decode(y, "utf-8") if y.dtype.kind == "S" else y


def write_npy(stream: IO[bytes], data: Data) -> None:
    """Write a table of numbers, the labels in its last column."""
    X = data.X if data.y is None else np.column_stack((data.X, data.y.astype(data.X.dtype)))
    np.save(stream, X, allow_pickle=False)


def write_npz(stream: IO[bytes], data: Data) -> None:
    """Write all there is, each part as an array."""
    arrays = {"X": data.X, "y": data.y, "ids": data.ids, "label_name": data.label_name,
              "feature_names": data.feature_names}  # fmt: skip
    known: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()
                             if value is not None}  # fmt: skip
    np.savez(stream, **known)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
