"""Tables and the examples read from them, whatever the file format; options for reading."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from opforest._utils.numerals import Cells
from opforest.errors import DataFileError

Array = npt.NDArray[Any]
FindLine = Callable[[int], int | None]  #: returns the line of a row in a text file, if known

#: Default number of rows in a chunk.
ROWS = 4096


def locate_error(
    reason: str, path: str, row: int, find_line: FindLine | None, column: int | None
) -> DataFileError:
    """Return an error with the line and column of a cell, or the row if there are no lines."""
    line = None if find_line is None else find_line(row)
    if line is None:
        return DataFileError(f"row {row + 1}: {reason}", path)
    return DataFileError(reason, path, line, column)


class Choice(NamedTuple):
    """An answer to a question about a file."""

    values: dict[str, Any]  #: fields of ``ReadOptions``
    option: str  #: the same on the command line
    meaning: str


class UndecidedError(DataFileError):
    """A file may be read in several ways, and an option must decide.

    ``question`` and ``choices``, the likeliest first, are for a person who can answer.
    """

    def __init__(
        self, reason: str, path: str, question: str, choices: Sequence[Choice],
        line: int | None = None, column: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reason, path, line, column)
        self.question, self.choices = question, tuple(choices)


@dataclass(frozen=True)
class Data:
    """Examples from a file."""

    X: Any  #: features: float64 or float32, NaN where missing; a polars.DataFrame if some are text
    y: Array | None = None  #: labels, int64 or strings
    ids: Array | None = None  #: names or numbers of the examples
    feature_names: tuple[str, ...] | None = None
    label_name: str | None = None
    label_column: int | None = None  #: counted from 1
    find_line: FindLine | None = field(default=None, compare=False)  #: by row of the file
    layout: dict[str, Any] | None = None  #: the columns of features and label, for similar files
    notes: tuple[str, ...] = ()  #: decisions made without an option
    copied: Any = None  #: the cells of ``ReadOptions.copied`` as text, in a polars.DataFrame
    rows: Array | None = field(default=None, compare=False)  #: of the file, counted from 0

    def error_at(self, i: int, reason: str, path: str, is_label: bool = True) -> DataFileError:
        """Return the error that the label of example i is wrong, or something else of it."""
        column = self.label_column if is_label else None
        return locate_error(reason, path, self.row_of(i), self.find_line, column)

    def line_of(self, i: int) -> int | None:
        """Return the line of example i in a text file, if it is known."""
        return None if self.find_line is None else self.find_line(self.row_of(i))

    def row_of(self, i: int) -> int:
        """Return the row of example i in the file, counted from 0."""
        return i if self.rows is None else int(self.rows[i])

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.X)

    def take(self, index: npt.ArrayLike | slice) -> Self:
        """Return some of the examples."""
        chosen = index if isinstance(index, slice) else np.asarray(index)
        parts = {name: getattr(self, name) for name in ("y", "ids", "copied", "rows")}
        taken: dict[str, Any] = {name: part[chosen] for name, part in parts.items()
                                 if part is not None}  # fmt: skip
        return replace(self, X=self.X[chosen], **taken)


class InputSchema(NamedTuple):
    """The input that a model expects."""

    n_features: int
    names: tuple[str, ...] | None = None  #: of the features
    text_labels: bool | None = None  #: whether classes are strings
    layout: dict[str, Any] | None = None  #: of the columns of the training data
    text: frozenset[int] = frozenset()  #: the features that hold text
    cells: Cells = Cells()  #: how the cells of the training data were read


@dataclass(frozen=True)
class ReadOptions:
    """How to read a data file; None means that the reader finds out."""

    format: str | None = None  #: a key of ``opforest.io.formats.FORMATS``
    #: The label column: its name, its number from 1 (−1 is the last one), ``"first"`` or ``"last"``
    #: of those that ``drop`` leaves, or ``"none"``.
    label: str | None = None
    #: Columns to leave out, and columns to use even if they look like ids or dates: names, numbers,
    #: or ranges such as ``"3-9"``.
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    delimiter: str | None = None  #: of a CSV file
    skip: int = 0  #: lines, or rows of a sheet, to leave out before the table
    sheet: str | None = None  #: the sheet of a workbook: its name, or its number from 1
    encoding: str | None = None  #: of a text file, such as ``"latin-1"``
    #: Whether the first line of a CSV file is a header. Other formats store names in a place of
    #: their own and ignore this with a note; a workbook must have a header.
    header: bool | None = None
    decimal: str | None = None  #: the decimal mark of numbers in text cells: ``"."`` or ``","``
    na: tuple[str, ...] = ()  #: cells that mean a missing value, besides ``?``, ``NA`` and the like
    allow_missing: bool = False  #: whether features may be missing or infinite
    #: Whether features may be text. Features are then a ``polars.DataFrame``; with ``lossless``,
    #: only if some are text.
    categories: bool = False
    needs_label: bool = False  #: whether a label column that cannot be determined is an error
    #: Whether labels may be missing. If some are, labels are text and missing ones are empty.
    may_lack_labels: bool = False
    lossless: bool = False  #: whether to keep columns that look like ids or dates
    expected: InputSchema | None = None  #: the columns that a model expects
    #: Where text and missing cells can be prepared, for hints in errors: ``"here"``, by options of
    #: the same command; ``"store"``, by options of ``store create``; or ``""``, nowhere.
    remedy: str = "here"
    #: Columns, whatever their role, whose cells ``read_chunks`` returns as they are written.
    copied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table that is being read, whatever its format."""

    path: str  #: the name of the file in errors
    names: tuple[str, ...] | None  #: of the columns
    frames: Iterator[Any]  #: polars.DataFrames of some rows; columns are named by their index
    fixed_roles: tuple[int | None, int | None] | None = None  #: label and id, by format
    declared: Mapping[int, str] = field(default_factory=dict)  #: kinds: "category" or "number"
    is_typed: bool = True  #: whether text that looks like a number is text
    find_line: FindLine | None = None  #: by row, counted from 0
    #: Reads columns of the whole file as they are written; None if cells have types or are gone.
    as_text: Callable[[Sequence[int]], Any] | None = None
    decimal: str = ""  #: the decimal mark, if the whole file shows it
    had_commas: bool = False  #: whether decimal commas have been replaced by points
    notes: list[str] = field(default_factory=list)  #: decisions without an option; may grow


def join(parts: Sequence[Data]) -> Data:
    """Return the examples of all parts, which have the same columns."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0].X, "columns"):
        import polars as pl

        names = parts[0].X.columns
        frames = [part.X.rename(dict(zip(part.X.columns, names, strict=True))) for part in parts]
        X = pl.concat(frames, how="vertical_relaxed")
    else:
        X = np.concatenate([part.X for part in parts])
    ys, ids = [part.y for part in parts], [part.ids for part in parts]
    return replace(
        parts[0], X=X, y=_concatenate(ys), ids=_concatenate(ids), find_line=None, rows=None
    )


def _concatenate(arrays: Sequence[Array | None]) -> Array | None:
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if len(known) == len(arrays) else None


def split_chunks(parts: Iterable[Any], size: int, skip: int) -> Iterator[tuple[int, Any]]:
    """Yield data frames, each with the number of its first row, after the first ``skip`` rows.

    A frame has a multiple of ``size`` rows, as many as are there without waiting for more; only
    the last one may have others.
    """
    rest, row, most = None, 0, size * max(1, ROWS // size)
    try:
        for part in parts:
            rest = part if rest is None or len(rest) == 0 else _stack(rest, part)
            skipped = max(0, min(skip - row, len(rest)))
            rest, row = rest[skipped:], row + skipped
            whole = len(rest) // size * size
            for begin in range(0, whole, most):
                yield row + begin, rest[begin : min(begin + most, whole)]
            rest, row = rest[whole:], row + whole
    except DataFileError:
        if rest is not None and len(rest):
            yield row, rest  # the rows before the error
        raise
    if rest is not None and len(rest):
        yield row, rest


def _stack(one: Any, other: Any) -> Any:
    """Return two data frames as one; a column that is text in one of them is text."""
    import polars as pl

    differing = [name for name, kind in one.schema.items() if kind != other.schema[name]]
    as_text = pl.col(differing).cast(pl.String)
    return one.with_columns(as_text).vstack(other.with_columns(as_text))
