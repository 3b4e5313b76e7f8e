"""NumPy's own files: NPY, a table of numbers, and NPZ, several arrays with names."""

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


def read_npy(path: str, name: str, reading: Reading) -> Data:
    """Return what an NPY file holds; it stays on disk until it is used."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataFileError(
            f"the file is no array of numbers: {_first_line(error)}", name
        ) from None
    if not isinstance(array, np.ndarray):
        raise DataFileError("the file must hold one array", name)
    return _from_array(array, reading, name)


def _from_array(array: Array, reading: Reading, name: str) -> Data:
    if array.dtype.names is not None and array.ndim == 1:
        return _from_fields(array, reading, name)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataFileError(
            f"the array must be a table of numbers, got shape {array.shape}, type {array.dtype}",
            name,
        )
    last = array.shape[1] - 1
    sample = array[:100, last]
    whole = {last} if (sample == np.rint(sample)).all() else set()
    roles = choose_roles(None, last + 1, (), whole, reading, name)
    y = None if roles.label is None else array[:, roles.label]
    return Data(array[:, _slice(roles)], y)


def _slice(roles: Roles) -> Any:
    """Return the features as a slice, which copies nothing, if they lie side by side."""
    first, last = roles.features[0], roles.features[-1]
    together = last - first + 1 == len(roles.features)
    return slice(first, last + 1) if together else list(roles.features)


def _from_fields(array: Array, reading: Reading, name: str) -> Data:
    names = array.dtype.names or ()
    kinds = [array.dtype[k].kind for k in range(len(names))]
    text = {k for k, kind in enumerate(kinds) if kind in "US"}
    roles = choose_roles(names, len(names), text, (), reading, name)
    for k in roles.features:
        if kinds[k] not in "biuf":
            raise DataFileError(
                f"{roles.describe(k)} must hold numbers, got {array.dtype[k]}", name
            )
    X = np.column_stack([array[names[k]] for k in roles.features])
    y = None if roles.label is None else array[names[roles.label]]
    ids = None if roles.id is None else array[names[roles.id]]
    return Data(X, y, ids, roles.feature_names, roles.label_name)


def read_npz(path: str, name: str, reading: Reading) -> Data:
    """Return what an NPZ file holds."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, EOFError, NotImplementedError, zlib.error, zipfile.BadZipFile) as error:
        raise DataFileError(f"the archive cannot be read: {_first_line(error)}", name) from None
    if len(arrays) == 1 and not set(arrays) & set(KEYS["X"]):
        (array,) = arrays.values()
        return _from_array(array, reading, name)
    return _from_archive(arrays, reading, name)


def _from_archive(arrays: dict[str, Array], reading: Reading, name: str) -> Data:
    found = {part: next((arrays[key] for key in keys if key in arrays), None)
             for part, keys in KEYS.items()}  # fmt: skip
    X, y = found["X"], found["y"]
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        listed = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise DataFileError(f"there must be a table of numbers called X, got {listed}", name)
    for part in (y, found["ids"]):
        if part is not None and part.shape != (len(X),):
            reason = f"labels and ids must be as many as the {len(X)} examples, got {part.shape}"
            raise DataFileError(reason, name)
    names = None if found["feature_names"] is None else found["feature_names"].tolist()
    if names is not None and len(names) != X.shape[1]:
        reason = f"there must be a name for each of {X.shape[1]} features, got {len(names)}"
        raise DataFileError(reason, name)
    y = None if reading.label == "none" else y
    label_name = None if found["label_name"] is None or y is None else str(found["label_name"])
    names = None if names is None else tuple(map(str, names))
    return check_columns(Data(X, y, found["ids"], names, label_name), reading, name)


def check_columns(data: Data, reading: Reading, path: str) -> Data:
    """Return the features that are wanted of data whose label stands apart."""
    if reading.label not in (None, "none"):
        raise DataFileError("the label has a place of its own in this format: no --label", path)
    alone = replace(reading, label="none")
    roles = choose_roles(data.feature_names, data.X.shape[1], (), (), alone, path)
    return replace(data, X=data.X[:, _slice(roles)], feature_names=roles.feature_names)


def slices(data: Data, reading: Reading, path: str, size: int, skip: int) -> Iterator[Data]:
    """Yield examples that are at hand, as proper numbers and checked, chunk by chunk."""
    for begin in range(skip, len(data), size):
        chunk = data.take(slice(begin, begin + size))
        dtype = np.float32 if chunk.X.dtype == np.float32 else np.float64
        X = np.array(chunk.X, dtype)
        if not reading.allow_missing and not np.isfinite(X).all():
            i, k = np.argwhere(~np.isfinite(X))[0]
            reason = f"feature {k + 1} of example {begin + i + 1} must be finite, got {X[i, k]}"
            raise DataFileError(reason, path)
        y = None if chunk.y is None else np.array(_decoded(chunk.y))
        yield replace(chunk, X=X, y=y)


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
