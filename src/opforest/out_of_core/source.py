"""Sources of examples: arrays and data files, as rows of features and labels."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array, column_or_1d

from opforest._utils.atomic import open_atomic
from opforest._utils.progress import advance, begin_phase
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.errors import DataFileError
from opforest.estimators.inputs import check_label_kinds, read_examples
from opforest.estimators.parts import PartsClassifier
from opforest.estimators.validation import PRECISIONS, check_labels, encode
from opforest.out_of_core.rows import (
    FileRows,
    Rows,
    as_bytes,
    identify_file,
    identify_rows,
    list_runs,
    open_rows,
)

if TYPE_CHECKING:
    from opforest.io.columns.table import Data, ReadOptions

#: Called with the number of rows so far and some of them; raises if they need too much memory.
CheckMemory = Callable[[int, Array], object]

#: Rows of a data file, and bytes of labels of an array, that are read at a time.
CHUNK, LABEL_BYTES = 1 << 16, 1 << 21

#: The file that describes a converted data file.
LISTING = "table.json"

#: Text that stands for a missing label.
NO_LABEL = ("", "?", "nan", "NaN")


@dataclass(frozen=True)
class ExampleRows:
    """Examples on disk or in memory."""

    X: Rows
    y: Rows  #: labels, or their codes in a file
    n: int
    n_features: int
    dtype: np.dtype[Any]
    classes: Array
    order: Array | None = None  #: the index of the class of each code, if y has codes
    feature_names: list[str] | None = None
    layout: dict[str, Any] | None = None  #: of the columns of a data file

    def read(self, begin: int, end: int) -> Array:
        """Return the features of some examples."""
        X: Array = check_array(
            self.X.read(begin, end), dtype=self.dtype, ensure_all_finite=False, input_name="X"
        )
        is_finite = np.isfinite(X).all(axis=1)
        if not is_finite.all():
            raise ValueError(
                f"X must have finite numbers, but row {begin + int(is_finite.argmin())} has NaN or "
                "infinity. Leave such rows out, or fill in what is missing, before the fit."
            )
        return X

    def embed(self, begin: int, end: int, metric: Metric) -> Array:
        """Return some examples as the metric embeds them."""
        X = self.read(begin, end)
        try:
            return metric.embed(X)
        except ValueError as error:
            if begin == 0:
                raise
            raise ValueError(f"{error}\nRows are counted from row {begin} of X.") from error

    def read_codes(self, begin: int, end: int) -> Array:
        """Return the labels of some examples, as indices of the classes."""
        labels = (self.y.read(*piece) for piece in list_pieces(self.y, begin, end))
        codes = [np.searchsorted(self.classes, y) if self.order is None else self.order[y]
                 for y in labels]  # fmt: skip
        return np.concatenate(codes, dtype=np.int32)

    def sample(self, size: int) -> Array:
        """Return the features of about this many examples."""
        return np.concatenate([self.read(*run) for run in list_runs(self.n, size)])

    def sample_points(self, size: int, metric: Metric) -> Array:
        """Return about this many examples as the metric embeds them."""
        runs = list_runs(self.n, size)
        return np.concatenate([self.embed(*run, metric) for run in runs])


def list_pieces(y: Rows, begin: int, end: int) -> list[tuple[int, int]]:
    """Return the bounds of pieces of these rows that take little memory."""
    step = max(1, LABEL_BYTES // max(1, y.dtype.itemsize))
    return [(first, min(first + step, end)) for first in range(begin, end, step)]


def load_or_make(path: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON object in a file, which is written first if it does not exist."""
    if not os.path.exists(path):
        content = json.dumps(make()).encode("ascii")
        with open_atomic(path) as stream:
            stream.write(content)
    with open(path, "rb") as stream:
        loaded: dict[str, Any] = json.load(stream)
    return loaded


class ArraySource:
    """Examples in arrays, which may be memory maps."""

    def __init__(self, X: Any, y: Any) -> None:
        if y is None:
            raise ValueError(
                "y must have the labels of the examples, got None. Only a data file has its own."
            )
        self._model = PartsClassifier()
        if not isinstance(X, np.ndarray):
            X = read_examples(self._model, X, dtype=PRECISIONS)
        else:
            read_examples(self._model, X[:1], dtype=PRECISIONS)
        check_label_kinds(y)
        y = y if isinstance(y, np.ndarray) else np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.shape != (len(X),):
            raise ValueError(f"y must have a label for each of {len(X)} rows, got shape {y.shape}.")
        self._X, self._y = open_rows(X), open_rows(y)
        self._n, self._n_features = X.shape
        self._dtype = X.dtype if X.dtype in PRECISIONS else np.dtype(np.float64)

    def identify(self) -> list[Any]:
        """Return values that change with the examples."""
        return [identify_rows(self._X, self._n), identify_rows(self._y, self._n)]

    def read(self, folder: str, check_memory: CheckMemory) -> ExampleRows:
        """Return the examples; classes are found piece by piece."""
        begin_phase("reading labels", self._n)
        classes = self._y.read(0, 0)
        for begin, end in list_pieces(self._y, 0, self._n):
            y = self._y.read(begin, end)
            check_labels(y)
            classes, _ = encode(y, classes)
            advance(end / self._n)
        names = getattr(self._model, "feature_names_in_", None)
        return ExampleRows(self._X, self._y, self._n, self._n_features, self._dtype, classes,
                        feature_names=None if names is None else list(names))  # fmt: skip


class FileSource:
    """Examples in a data file, which are converted to rows of numbers first."""

    def __init__(self, path: str, reading: "ReadOptions") -> None:
        if not os.path.exists(path):
            raise FileNotFoundError(2, os.strerror(2), path)
        self._path = path
        self.notes: tuple[str, ...] = ()  #: on decisions that were made when the file was read
        self._reading = replace(reading, needs_label=True, remedy="")

    def identify(self) -> list[Any]:
        """Return values that change with the file, and with the options for reading it."""
        return [identify_file(self._path), repr(self._reading)]

    def read(self, folder: str, check_memory: CheckMemory) -> ExampleRows:
        """Return the examples; the file is read, or has been read before an interruption."""
        listing = os.path.join(folder, LISTING)
        entries = load_or_make(listing, lambda: self._convert(folder, check_memory))
        return self._open(folder, entries)

    def _convert(self, folder: str, check_memory: CheckMemory) -> dict[str, Any]:
        """Write features and codes of labels to files, and return their description."""
        from opforest.io.tables import read_chunks

        begin_phase("reading")
        codes: dict[Any, int] = {}
        n, first = 0, None
        with (
            open(os.path.join(folder, "rows"), "wb") as rows,
            open(os.path.join(folder, "labels"), "wb") as labels,
        ):
            for data in read_chunks(self._path, self._reading, rows=CHUNK):
                first = first or data
                if data.X.dtype != first.X.dtype:
                    kinds = f"{first.X.dtype} and {data.X.dtype}"
                    reason = f"features are {kinds} in different rows: convert them to one type"
                    raise DataFileError(reason, self._path)
                check_memory(n + len(data), first.X)
                rows.write(as_bytes(np.ascontiguousarray(data.X)))
                labels.write(as_bytes(_encode(data, codes, self._path)))
                n += len(data)
            for stream in (rows, labels):
                stream.flush()
                os.fsync(stream.fileno())
        if first is None:
            raise DataFileError("there are no examples", self._path)
        return {
            "n": n,
            "n_features": first.X.shape[1],
            "dtype": first.X.dtype.name,
            "codes": list(codes),
            "names": None if first.feature_names is None else list(first.feature_names),
            "layout": first.layout,
            "notes": list(first.notes),
        }

    def _open(self, folder: str, entries: dict[str, Any]) -> ExampleRows:
        n, n_features, dtype = entries["n"], entries["n_features"], np.dtype(entries["dtype"])
        known = np.array(entries["codes"])
        classes, order = np.unique(known, return_inverse=True)
        X = FileRows(os.path.join(folder, "rows"), dtype, (n, n_features))
        y = FileRows(os.path.join(folder, "labels"), np.dtype(np.int32), (n,))
        self.notes = tuple(entries["notes"])
        return ExampleRows(X, y, n, n_features, dtype, classes, order, entries["names"],
                        entries["layout"])  # fmt: skip


def _encode(data: "Data", codes: dict[Any, int], path: str) -> Array:
    """Return the labels as codes; new labels get the next codes, in ascending order."""
    y = data.y
    if y is None:
        raise DataFileError("there are no labels", path)
    if y.dtype.kind == "U":
        missing = np.isin(y, NO_LABEL)
        if missing.any():
            raise data.error_at(int(missing.argmax()), "the label is missing", path)
    found, inverse = np.unique(y, return_inverse=True)
    numbers = [codes.setdefault(label, len(codes)) for label in found.tolist()]
    return np.array(numbers, np.int32)[inverse]


def open_source(source: Any, y: Any) -> ArraySource | FileSource:
    """Return the source for arrays, or for the path of a data file and its label column."""
    if not isinstance(source, str | os.PathLike):
        return ArraySource(source, y)
    from opforest.io.columns.table import ReadOptions

    if y is not None and not isinstance(y, str | int):
        raise ValueError(
            "y must be None, or the name or number of the label column: a data file has its labels "
            "in a column. To use other labels, load the features: np.load(path, mmap_mode='r')."
        )
    label = None if y is None else str(y)
    return FileSource(os.fspath(source), ReadOptions(label=label))
