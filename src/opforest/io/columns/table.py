"""Examples out of a file, whatever its format, and how a file is to be read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from opforest._utils.numerals import Cells
from opforest.errors import DataFileError

Array = npt.NDArray[Any]

#: Rows in a chunk, unless told otherwise.
ROWS = 4096


@dataclass(frozen=True)
class Data:
    """Examples, and what is known of them.

    Attributes
    ----------
    X : array of shape (n, d), or polars.DataFrame
        The features, float64 or float32; NaN where one is missing. A data frame where
        ``Reading.categories`` asks for columns of text as well.
    y : array of shape (n,) or None
        The labels, int64 or strings.
    ids : array of shape (n,) or None
        Names or numbers of the examples.
    feature_names : tuple of str or None
        The names of the features.
    label_name : str or None
        The name of the column with the labels.
    label_column : int or None
        Which column the labels came from, counted from 1.
    find_line : callable or None
        ``find_line(i)`` returns the line of a text file that example i came from, None if unknown.
    layout : dict
        Where features and label stand, for a file whose columns have no names.
    notes : tuple of str
        What was decided without being told.

    Examples
    --------
    >>> from opforest.io.columns.table import Data
    >>> data = Data(np.array([[0.0], [1.0]]), np.array(["no", "yes"]))
    >>> len(data), data.take([1]).y.tolist()
    (2, ['yes'])
    """

    X: Any
    y: Array | None = None
    ids: Array | None = None
    feature_names: tuple[str, ...] | None = None
    label_name: str | None = None
    label_column: int | None = None
    find_line: Callable[[int], int | None] | None = field(default=None, compare=False)
    layout: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def error_at(self, i: int, reason: str, path: str) -> DataFileError:
        """Return the error that says what is wrong with the label of example i."""
        line = None if self.find_line is None else self.find_line(i)
        if line is None:
            return DataFileError(f"row {i + 1}: {reason}", path)
        return DataFileError(reason, path, line, self.label_column)

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.X)

    def take(self, index: npt.ArrayLike | slice) -> Self:
        """Return some of the examples."""
        chosen = index if isinstance(index, slice) else np.asarray(index)
        parts = {
            name: None if part is None else part[chosen]
            for name, part in (("y", self.y), ("ids", self.ids))
        }
        find_line = self.find_line
        if find_line is not None:
            parts["find_line"] = lambda i: find_line(  # type: ignore[assignment]
                int(np.arange(len(self))[chosen][i])
            )
        return replace(self, X=self.X[chosen], **parts)  # type: ignore[arg-type]


class InputSchema(NamedTuple):
    """What a model expects of data."""

    n_features: int
    names: tuple[str, ...] | None = None  #: of the features
    text_labels: bool | None = None  #: whether classes are strings
    layout: dict[str, Any] | None = None  #: of the columns it was trained on
    text: frozenset[int] = frozenset()  #: the features that hold text
    cells: Cells = Cells()  #: how its cells were read


@dataclass(frozen=True)
class ReadOptions:
    """How to read a data file; None means that the reader finds out.

    Attributes
    ----------
    format : str or None
        A key of ``opforest.io.formats.FORMATS``.
    label : str or None
        The label column: its name, its number from 1 (−1 is the last one), or ``"none"``.
    drop, keep : tuple of str
        Columns to leave out, and columns to use even if they look like ids or dates: names,
        numbers, or ranges such as ``"3-9"``.
    delimiter : str or None
        The delimiter of a CSV file.
    header : bool or None
        Whether the first line of a CSV file is a header. Other formats store names in a place of
        their own and ignore this with a note; a workbook must have a header.
    decimal : {".", ","} or None
        The decimal mark of numbers in text cells.
    na : tuple of str
        Cells that mean a missing value, in addition to ``?``, ``NA`` and the like.
    allow_missing : bool
        Whether features may be missing or infinite.
    categories : bool
        Whether features may be text. Features are then a ``polars.DataFrame``; with ``lossless``,
        only if some are text.
    needs_label : bool
        Whether a label column that cannot be determined is an error.
    may_lack_labels : bool
        Whether labels may be missing. If some are, labels are text and missing ones are empty.
    lossless : bool
        Whether to keep columns that look like ids or dates.
    expected : InputSchema or None
        The columns that a model expects.
    remedy : {"here", "store", ""}
        Where text and missing cells can be prepared, for hints in errors: by options of the same
        command, by options of ``store create``, or nowhere.
    """

    format: str | None = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    allow_missing: bool = False
    categories: bool = False
    needs_label: bool = False
    may_lack_labels: bool = False
    lossless: bool = False
    expected: InputSchema | None = None
    remedy: str = "here"


@dataclass(frozen=True)
class Table:
    """A table that is being read, whatever its format.

    Attributes
    ----------
    path : str
        What errors call the file.
    names : tuple of str or None
        What it calls its columns.
    frames : iterator of polars.DataFrame
        The cells, some rows at a time; columns are called by their index.
    apart : tuple of (int or None, int or None), or ()
        The columns of label and id, where the format has places of their own for them.
    declared : dict of int to str
        The kinds of columns that the file declares: "category" or "number".
    is_typed : bool
        Whether text that looks like a number is text.
    find_line : callable or None
        ``find_line(row)`` returns the line of a row, counted from 0, in a text file.
    as_text : callable or None
        ``as_text(columns)`` returns these columns of the whole file in a data frame, as they are
        written; None if they are cells of a type anyway, or cannot be read again.
    decimal : str
        The decimal mark that cells have, where the whole file says so; else "".
    had_commas : bool
        Whether decimal commas have been made points.
    notes : tuple of str
        What was decided without being told.
    """

    path: str
    names: tuple[str, ...] | None
    frames: Iterator[Any]
    apart: tuple[Any, ...] = ()
    declared: Mapping[int, str] = field(default_factory=dict)
    is_typed: bool = True
    find_line: Callable[[int], int | None] | None = None
    as_text: Callable[[Sequence[int]], Any] | None = None
    decimal: str = ""
    had_commas: bool = False
    notes: tuple[str, ...] = ()


def join(parts: Sequence[Data]) -> Data:
    """Return the examples of all parts, which have the same columns."""

    def together(arrays: Iterable[Array | None]) -> Array | None:
        found = [array for array in arrays if array is not None]
        return np.concatenate(found) if len(found) == len(parts) else None

    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0].X, "columns"):
        import polars as pl

        X = pl.concat(
            [part.X.rename(dict(zip(part.X.columns, parts[0].X.columns, strict=True)))
             for part in parts], how="vertical_relaxed",
        )  # fmt: skip
    else:
        X = np.concatenate([part.X for part in parts])
    y, ids = (together(getattr(part, name) for part in parts) for name in ("y", "ids"))
    return replace(parts[0], X=X, y=y, ids=ids, find_line=None)


def in_chunks(parts: Iterable[Any], size: int, skip: int) -> Iterator[tuple[int, Any]]:
    """Yield data frames, each with the number of its first row, and leave out the first rows.

    A frame has ``size`` rows or a multiple of that, what there is without waiting for more; only
    the last one may have others.
    """
    rest, row, most = None, 0, size * max(1, ROWS // size)
    try:
        for part in parts:
            rest = part if rest is None or len(rest) == 0 else _stack(rest, part)
            left_out = max(0, min(skip - row, len(rest)))
            rest, row = rest[left_out:], row + left_out
            whole = len(rest) // size * size
            for begin in range(0, whole, most):
                yield row + begin, rest[begin : min(begin + most, whole)]
            rest, row = rest[whole:], row + whole
    except DataFileError:
        if rest is not None and len(rest):
            yield row, rest  # what comes before the error is wanted
        raise
    if rest is not None and len(rest):
        yield row, rest


def _stack(one: Any, other: Any) -> Any:
    """Return two data frames as one; a column that is text in one of them is text."""
    import polars as pl

    words = [name for name, kind in one.schema.items() if kind != other.schema[name]]
    return one.with_columns(pl.col(words).cast(pl.String)).vstack(
        other.with_columns(pl.col(words).cast(pl.String))
    )
