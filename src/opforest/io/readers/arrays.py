"""Files of arrays: NPY, a table of numbers; NPZ, several with names; LibOPF data sets."""

import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import polars as pl

from opforest._utils.text import join_first
from opforest.errors import DataFileError
from opforest.io.columns.table import ROWS, Array, Data, ReadOptions, Table
from opforest.io.compression import check_unpacked
from opforest.io.source import Source

#: Accepted names of the arrays of an NPZ file.
KEYS = {
    "X": ("X", "x", "data", "features"),
    "y": ("y", "Y", "target", "label", "labels"),
    "ids": ("ids", "id"),
    "feature_names": ("feature_names", "columns"),
    "label_name": ("label_name",),
}


def read_npy(source: Source, _: ReadOptions) -> Table:
    """Return the table in an NPY file, which stays on disk until it is used."""
    path, name = source.as_file(), source.name
    try:
        table = np.lib.format.open_memmap(path, "r")
    except (ValueError, EOFError, OverflowError):
        raise DataFileError("the file is not an array of numbers in NumPy's format", name) from None
    return Table(name, _field_names(table), _frames([table], name))


def _frames(arrays: list[Array], path: str) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table; further arrays are further columns."""
    table, *others = map(np.atleast_1d, arrays)
    for begin in range(0, len(table), ROWS):
        part = slice(begin, begin + ROWS)
        columns = [*_columns(table[part], path), *(array[part] for array in others)]
        yield pl.DataFrame([_to_series(column, path).alias(str(k))
                            for k, column in enumerate(columns)])  # fmt: skip


def _field_names(array: Any) -> tuple[str, ...] | None:
    return array.dtype.names if array.dtype.names and len(array.shape) == 1 else None


def _columns(array: Array, path: str) -> list[Array]:
    """Return the columns of a table, or the fields of its rows."""
    if fields := _field_names(array):
        return [array[field] for field in fields]
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        reason = f"the array must be a table of numbers, got shape {array.shape}, type"
        raise DataFileError(f"{reason} {array.dtype}", path)
    return list(np.asfortranarray(array, array.dtype.newbyteorder("=")).T)


def _to_series(array: Array, path: str) -> pl.Series:
    if array.dtype.kind == "S":
        try:
            array = np.char.decode(array, "utf-8")
        except UnicodeDecodeError:
            raise DataFileError("arrays of bytes must be text in UTF-8", path) from None
    if array.dtype.kind not in "biufU" or array.ndim != 1 or array.dtype.char == "g":
        reason = f"arrays must hold numbers or text, got {array.dtype} of shape {array.shape}"
        raise DataFileError(reason, path)
    if array.dtype.kind == "U":
        return pl.Series(_to_texts(array, path), dtype=pl.String)
    kind = np.dtype(np.float32) if array.dtype == np.float16 else array.dtype
    return pl.Series(np.ascontiguousarray(array, kind.newbyteorder("=")))


def _to_texts(array: Array, path: str) -> list[str]:
    """Return the texts of an array, which a damaged file may fill with invalid characters."""
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    points = native.reshape(-1).view(np.uint32)
    if ((points > sys.maxunicode) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise DataFileError("an array of text holds invalid characters", path)
    texts: list[str] = native.tolist()
    return texts


def read_npz(source: Source, _: ReadOptions) -> Table:
    """Return the arrays of an NPZ file as a table; they stay on disk until they are used."""
    path, name = source.as_file(), source.name
    arrays: dict[str, Array] = {}
    with (
        zipfile.ZipFile(path) as archive,
        # A map outlives the name of its file, where the system permits.
        tempfile.TemporaryDirectory(prefix="opforest-", ignore_cleanup_errors=True) as folder,
    ):
        whole = sum(info.file_size for info in archive.infolist())
        check_unpacked(whole, os.path.getsize(path), name, "the archive")
        for file in archive.namelist():
            if file.endswith(".npy"):
                copy = os.path.join(folder, str(len(arrays)))
                with archive.open(file) as packed, open(copy, "wb") as stream:
                    shutil.copyfileobj(packed, stream)
                arrays[file.removesuffix(".npy")] = np.lib.format.open_memmap(copy, "r")
        if not arrays:
            held = join_first(archive.namelist(), 3) or "nothing"
            raise DataFileError(f"the archive holds {held}, but no arrays; unpack it first", name)
    return _to_table(arrays, name)


def _to_table(arrays: dict[str, Array], name: str) -> Table:
    if len(arrays) == 1 and not set(arrays) & set(KEYS["X"]):
        (table,) = arrays.values()
        return Table(name, _field_names(table), _frames([table], name))
    X, y, ids, feature_names, label_name = (
        next((arrays[key] for key in keys if key in arrays), None) for keys in KEYS.values()
    )
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise DataFileError(f"there must be a table of numbers called X, got {shapes}", name)
    for part in (y, ids):
        if part is not None and part.shape != X.shape[:1]:
            reason = f"labels and ids must have shape {X.shape[:1]}, one for each row of X"
            raise DataFileError(f"{reason}, got {part.shape}", name)
    d, names = X.shape[1], None
    if feature_names is not None:
        names = _to_names(feature_names, name)
        if len(names) != d:
            reason = f"there must be a name for each of {d} features, got {len(names)}"
            raise DataFileError(reason, name)
        label = "label" if label_name is None else _to_names(label_name, name)[0]
        for title in [label] * (y is not None) + ["id"] * (ids is not None):
            while title in names:  # arrays may have the names of columns
                title += " "
            names.append(title)
    places = (None if y is None else d), (None if ids is None else d + (y is not None))
    parts = [part for part in (X, y, ids) if part is not None]
    return Table(name, None if names is None else tuple(names), _frames(parts, name), places)


def _to_names(array: Array, path: str) -> list[str]:
    row = np.atleast_1d(array)
    return list(map(str, _to_texts(row, path) if array.dtype.kind == "U" else row.tolist()))


def read_libopf(source: Source, _: ReadOptions) -> Table:
    """Return the samples of a LibOPF data set as a table; without labels if all are 0."""
    from opforest.io import libopf

    path, name = source.as_file(), source.name

    def samples() -> Iterator[tuple[Array, Array, Array]]:
        try:
            yield from libopf.read_samples(path, ROWS)
        except DataFileError as error:
            raise DataFileError(error.reason, name, error.line, error.column) from None

    d, labeled = 0, False
    for part in samples():
        d, labeled = part[0].shape[1], labeled or bool(part[1].any())
    parts = ([X, y, ids] if labeled else [X, ids] for X, y, ids in samples())
    frames = (frame for part in parts for frame in _frames(part, name))
    return Table(name, None, frames, (d if labeled else None, d + labeled))


def write_npy(stream: IO[bytes], data: Data, _: str) -> None:
    """Write a table of numbers with the labels in its last column."""
    X = data.X if data.y is None else np.column_stack((data.X, data.y.astype(data.X.dtype)))
    np.save(stream, X, allow_pickle=False)


def write_npz(stream: IO[bytes], data: Data, _: str) -> None:
    """Write each part of the data as an array."""
    parts = {key: getattr(data, key) for key in KEYS}
    arrays: dict[str, Any] = {key: np.asarray(part) for key, part in parts.items()
                              if part is not None}  # fmt: skip
    np.savez(stream, **arrays)


def write_libopf(stream: IO[bytes], data: Data, kind: str) -> None:
    """Write a LibOPF data set."""
    from opforest.io import libopf

    y = np.zeros(len(data), np.int64) if data.y is None else data.y
    try:
        libopf.write_samples(stream, data.X, y, data.ids, text=kind == "libopf-text")
    except ValueError as error:
        raise DataFileError(str(error)) from error
