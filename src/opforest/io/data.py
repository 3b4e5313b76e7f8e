"""What a data file holds, whatever its format, and how it is to be read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from opforest.io.errors import DataFileError

Array = npt.NDArray[Any]

#: Rows in a chunk, unless told otherwise.
ROWS = 4096

_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?$", re.ASCII)


@dataclass(frozen=True)
class Data:
    """Examples, and what is known of them.

    Attributes
    ----------
    X : array of shape (n, d)
        The features, float64 or float32; NaN where one is missing.
    y : array of shape (n,) or None
        The labels, int64 or strings.
    ids : array of shape (n,) or None
        Names or numbers of the examples.
    feature_names : tuple of str or None
        The names of the features.
    label_name : str or None
        The name of the column with the labels.
    lines : array of shape (n,) or None
        The lines of a text file that the examples came from.
    label_column : int or None
        Which column the labels came from, counted from 1.

    Examples
    --------
    >>> from opforest.io.data import Data
    >>> data = Data(np.array([[0.0], [1.0]]), np.array(["no", "yes"]))
    >>> len(data), data.take([1]).y.tolist()
    (2, ['yes'])
    """

    X: Array
    y: Array | None = None
    ids: Array | None = None
    feature_names: tuple[str, ...] | None = None
    label_name: str | None = None
    lines: Array | None = None
    label_column: int | None = None

    def error_at(self, i: int, reason: str, path: str) -> DataFileError:
        """Return the error that says what is wrong with the label of example i."""
        line = None if self.lines is None else int(self.lines[i])
        return DataFileError(reason, path, line, self.label_column if line else None)

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.X)

    def take(self, index: npt.ArrayLike | slice) -> Self:
        """Return some of the examples."""
        chosen = index if isinstance(index, slice) else np.asarray(index)
        parts = {
            name: None if part is None else part[chosen]
            for name, part in (("y", self.y), ("ids", self.ids), ("lines", self.lines))
        }
        return replace(self, X=self.X[chosen], **parts)  # type: ignore[arg-type]


class Expected(NamedTuple):
    """What a model expects of data."""

    n_features: int
    names: tuple[str, ...] | None = None  #: of the features
    text_labels: bool | None = None  #: whether classes are strings


@dataclass(frozen=True)
class Reading:
    """How to read a data file; what is None is found out.

    Attributes
    ----------
    format : str or None
        One of ``opforest.io.tables.FORMATS``.
    label : str or None
        The column with the labels: its name, its number from 1 (−1 is the last one), or
        ``"none"``.
    drop : tuple of str
        Columns to leave out, by name or number.
    delimiter : str or None
        What separates the cells of a CSV file.
    header : bool or None
        Whether the first line of a CSV file has the names of the columns.
    allow_missing : bool
        Whether features may be missing or infinite.
    expected : Expected or None
        What a model expects.
    """

    format: str | None = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    allow_missing: bool = False
    expected: Expected | None = None


def join(parts: Sequence[Data]) -> Data:
    """Return the examples of all parts, which have the same columns."""

    def together(arrays: Iterable[Array | None]) -> Array | None:
        found = [array for array in arrays if array is not None]
        return np.concatenate(found) if len(found) == len(parts) else None

    return replace(
        parts[0],
        X=np.concatenate([part.X for part in parts]),
        y=together(part.y for part in parts),
        ids=together(part.ids for part in parts),
        lines=together(part.lines for part in parts),
    )


def regroup(parts: Iterable[Data], size: int, skip: int) -> Iterator[Data]:
    """Yield the examples of all parts but the first ones, in parts of this size."""
    rest: Data | None = None
    for part in parts:
        left_out = min(skip, len(part))
        skip -= left_out
        part = part.take(slice(left_out, None))
        rest = part if rest is None else join([rest, part])
        while len(rest) >= size:
            yield rest.take(slice(size))
            rest = rest.take(slice(size, None))
    if rest is not None and len(rest):
        yield rest


def settle_labels(data: Data, text: bool | None, path: str) -> Data:
    """Make cells of text, which come as objects, whole numbers where all of them are.

    They stay text if ``text`` is True; if it is False, all must be whole numbers, and so must
    labels that came as strings, which else are text already.
    """
    if data.y is None or (data.y.dtype.kind == "U" and text is not False):
        return data
    if data.y.dtype.kind not in "OU":
        return replace(data, y=_numeric_labels(data.y, text, path))
    cells = data.y.tolist()
    if text is None:
        text = not all(map(_WHOLE.match, cells))
    if text:
        return replace(data, y=np.array(cells, np.str_))
    for i, cell in enumerate(cells):
        if not _WHOLE.match(cell):
            reason = f"the label must be a whole number, as all before, got {cell!r}"
            raise data.error_at(i, reason, path)
    return replace(data, y=np.array([int(cell.split(".")[0]) for cell in cells], np.int64))


def is_whole(cell: str) -> bool:
    """Tell whether a cell holds a whole number, as labels may be."""
    return bool(_WHOLE.match(cell))


def _numeric_labels(y: Array, text: bool | None, path: str) -> Array:
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise DataFileError(
            f"the label of example {int(np.isnan(y).argmax()) + 1} is missing", path
        )
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.rint(y))).all():
        raise DataFileError("labels must be whole numbers or text, got fractions", path)
    if y.dtype.kind not in "biuf":
        raise DataFileError(f"labels must be whole numbers or text, got {y.dtype}", path)
    if len(y) and y.dtype.kind in "uf" and not (abs(y.min()) < 2**63 and y.max() < 2**63):
        raise DataFileError(f"labels must be below 2^63, got {y.max()}", path)
    whole = y.astype(np.int64)
    return whole.astype(np.str_) if text else whole
