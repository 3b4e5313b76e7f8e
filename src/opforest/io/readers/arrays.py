"""Files of arrays: NPY, a table of numbers; NPZ, several with names; and LibOPF's data sets."""

import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import polars as pl

from opforest.errors import DataFileError
from opforest.io.columns.describe import listed
from opforest.io.columns.table import ROWS, Array, Data, Table
from opforest.io.source import check_unpacked, unreadable
from opforest.persistence.container import LAST_CHARACTER

#: What the arrays of an NPZ file may be called.
KEYS = {
    "X": ("X", "x", "data", "features"),
    "y": ("y", "Y", "target", "label", "labels"),
    "ids": ("ids", "id"),
    "feature_names": ("feature_names", "columns"),
    "label_name": ("label_name",),
}

#: What damaged files raise, and archives that are packed or locked in a way of their own.
DAMAGED = (ValueError, EOFError, OverflowError, RuntimeError, struct.error, zlib.error,
           zipfile.BadZipFile, NotImplementedError)  # fmt: skip


def read_npy(path: str, name: str) -> Table:
    """Return the table in an NPY file, which stays on disk until it is used."""
    try:
        table = np.lib.format.open_memmap(path, "r")
    except DAMAGED:
        raise DataFileError("the file is not an array of numbers in NumPy's format", name) from None
    return Table(name, _names(table), _frames([table], name))


def _frames(arrays: list[Array], path: str) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table, and what else is known of each in further columns."""
    table, *others = map(np.atleast_1d, arrays)
    for begin in range(0, len(table), ROWS):
        part = slice(begin, begin + ROWS)
        frame = _frame(table[part], path)
        columns = [_series(array[part], path) for array in others]
        yield frame.with_columns(one.alias(str(frame.width + k)) for k, one in enumerate(columns))


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
        try:
            array = np.char.decode(array, "utf-8")
        except UnicodeDecodeError:
            raise DataFileError("arrays of bytes must be text in UTF-8", path) from None
    if array.dtype.kind not in "biufU" or array.ndim != 1 or array.dtype.char == "g":
        reason = f"arrays must hold numbers or text, got {array.dtype} of shape {array.shape}"
        raise DataFileError(reason, path)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype.kind == "U":
        return pl.Series(_texts(array, path), dtype=pl.String)
    return pl.Series(np.ascontiguousarray(array, array.dtype.newbyteorder("=")))


def _texts(array: Array, path: str) -> list[str]:
    """Return the texts of an array, in which a damaged file may have what are no characters."""
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    points = native.reshape(-1).view(np.uint32)
    if ((points > LAST_CHARACTER) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise DataFileError("an array of text holds what are no characters", path)
    texts: list[str] = native.tolist()
    return texts


def check_archive(path: str, name: str) -> None:
    """Refuse an archive that says of itself that it unpacks to far more than it is."""
    with zipfile.ZipFile(path) as archive:
        whole = sum(info.file_size for info in archive.infolist())
    check_unpacked(whole, os.path.getsize(path), name, "the archive")


def read_npz(path: str, name: str) -> Table:
    """Return the arrays of an NPZ file as a table."""
    try:
        check_archive(path, name)
        return _to_table(_unpack(path), name)
    except DataFileError:
        raise
    except DAMAGED as error:
        raise unreadable(error, name, "the archive cannot be read") from None


def _unpack(path: str) -> dict[str, Array]:
    """Return the arrays of an archive; they stay on disk until they are used."""
    arrays: dict[str, Array] = {}
    with (
        zipfile.ZipFile(path) as archive,
        # A map outlives the name of its file, where the system lets it.
        tempfile.TemporaryDirectory(prefix="opforest-", ignore_cleanup_errors=True) as folder,
    ):
        for file in archive.namelist():
            if file.endswith(".npy"):
                copy = os.path.join(folder, str(len(arrays)))
                with archive.open(file) as packed, open(copy, "wb") as stream:
                    shutil.copyfileobj(packed, stream)
                arrays[file.removesuffix(".npy")] = np.lib.format.open_memmap(copy, "r")
        if not arrays:
            held = listed(archive.namelist(), 3)
            raise ValueError(f"it holds {held}, and no arrays; unpack it first" if held
                             else "it holds nothing")  # fmt: skip
    return arrays


def _to_table(arrays: dict[str, Array], name: str) -> Table:
    if len(arrays) == 1 and not set(arrays) & set(KEYS["X"]):
        (table,) = arrays.values()
        return Table(name, _names(table), _frames([table], name))
    X, y, ids, titles, title = (
        next((arrays[key] for key in keys if key in arrays), None) for keys in KEYS.values()
    )
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise DataFileError(f"there must be a table of numbers called X, got {shapes}", name)
    for part in (y, ids):
        if part is not None and part.shape != X.shape[:1]:
            reason = f"labels and ids must be as many as the {X.shape[0]} examples"
            raise DataFileError(f"{reason}, got {part.shape}", name)
    d, names = X.shape[1], None
    if titles is not None:
        names = _titles(titles, name)
        if len(names) != d:
            reason = f"there must be a name for each of {d} features, got {len(names)}"
            raise DataFileError(reason, name)
        names += [_beside("label" if title is None else _titles(title, name)[0], names)] * (
            y is not None
        )
        names += [_beside("id", names)] * (ids is not None)
    places = (None if y is None else d), (None if ids is None else d + (y is not None))
    parts = [part for part in (X, y, ids) if part is not None]
    return Table(name, None if names is None else tuple(names), _frames(parts, name), places)


def _titles(array: Array, path: str) -> list[str]:
    row = np.atleast_1d(array)
    return list(map(str, _texts(row, path) if array.dtype.kind == "U" else row.tolist()))


def _beside(name: str, names: list[str]) -> str:
    """Return a name that is not among others; arrays may be called as columns are."""
    return name if name not in names else _beside(f"{name} ", names)


def read_libopf(path: str, name: str) -> Table:
    """Return the samples of one of LibOPF's data sets as a table; labels 0 are none."""
    from opforest.io import libopf

    def samples() -> Iterator[tuple[Array, Array, Array]]:
        try:
            yield from libopf.read_samples(path, ROWS)
        except DataFileError as error:
            raise DataFileError(error.reason, name, error.line, error.column) from None

    d, labeled = 0, False
    for X, y, _ in samples():
        d, labeled = X.shape[1], labeled or bool(y.any())
    parts = ([X, y, ids] if labeled else [X, ids] for X, y, ids in samples())
    frames = (frame for part in parts for frame in _frames(part, name))
    return Table(name, None, frames, (d if labeled else None, d + labeled))


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


def write_libopf(stream: IO[bytes], data: Data, kind: str) -> None:
    """Write one of LibOPF's data sets."""
    from opforest.io import libopf

    y = np.zeros(len(data), np.int64) if data.y is None else data.y
    try:
        libopf.write_samples(stream, data.X, y, data.ids, text=kind == "libopf-text")
    except ValueError as error:
        raise DataFileError(str(error)) from error
