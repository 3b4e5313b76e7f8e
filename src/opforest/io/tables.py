"""Data files of every format: read whole or in chunks, written without loss."""

import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, count

import numpy as np

from opforest._utils.extras import install_command

try:
    import polars as pl
except ImportError as error:
    raise ImportError(f"data files need polars: {install_command('cli')}") from error

from opforest.errors import DataFileError
from opforest.io.columns.conversion import to_data
from opforest.io.columns.forms import ask_decimal
from opforest.io.columns.headers import KNOWN_NAMES, is_number
from opforest.io.columns.hints import explain_no_features
from opforest.io.columns.label import LABEL_NAMES, describe_classes
from opforest.io.columns.roles import ID_NAME, Roles, choose_roles
from opforest.io.columns.table import (
    ROWS,
    Choice,
    Data,
    ReadOptions,
    Table,
    UndecidedError,
    split_chunks,
)
from opforest.io.formats import FORMATS, find_format, format_of
from opforest.io.library_errors import convert_errors, protect
from opforest.io.readers.frames import read_folder
from opforest.io.source import STANDARD, open_output, open_source

__all__ = ["FORMATS", "find_output_format", "format_of", "open_output", "read_chunks",
           "read_columns", "read_table", "write_table"]  # fmt: skip

Path = str | os.PathLike[str]
DEFAULTS = ReadOptions()

#: Up to this many classes are shown in a question.
SHOWN_CLASSES = 6


def read_table(path: Path, options: ReadOptions = DEFAULTS) -> Data:
    r"""Return the examples in a data file of any format.

    The path may be a folder of Parquet files, or ``"-"`` for the standard input. Compressed files
    (gzip, xz, bzip2, zstandard) are decompressed. If an option is needed, the error names it.

    Examples
    --------
    >>> import tempfile
    >>> from opforest.io.tables import read_table
    >>> with tempfile.NamedTemporaryFile("w+", suffix=".csv") as file:
    ...     _ = file.write("width,height,class\n1,2.5,cat\n2,0.5,dog\n")
    ...     file.flush()
    ...     data = read_table(file.name)
    >>> data.feature_names, data.y.tolist()
    (('width', 'height'), ['cat', 'dog'])
    """
    with ExitStack() as stack:
        table, frame = _read_whole(stack, path, options)
        roles = _require_roles(table, frame, options)
        label = roles.label
        if label is not None and table.as_text and frame.dtypes[label].is_numeric():
            frame = _restore_text(table, frame, [label])  # 007 is not 7
        return to_data(table, frame, roles, options)


def read_columns(path: Path, options: ReadOptions = DEFAULTS) -> Roles:
    """Return the columns of a data file and their roles, even if they cannot be used."""
    with ExitStack() as stack:
        return choose_roles(*_read_whole(stack, path, options), options)


def read_chunks(
    path: Path, options: ReadOptions = DEFAULTS, *, rows: int = ROWS, skip: int = 0
) -> Iterator[Data]:
    """Yield the examples of a data file, ``rows`` at a time, after the first ``skip``.

    The file may be larger than memory. Binary formats are copied from the standard input to disk
    first; so is LibSVM, unless a model knows the number of features. Unless a model knows, the
    first rows decide the roles of columns, and whether labels are numbers.
    """
    with ExitStack() as stack:
        table = _open(stack, path, options, chunked=True)
        sample = next(table.frames, None)
        if sample is None:
            return
        roles = _require_roles(table, sample, options)
        text = options.expected.text_labels if options.expected else None
        if text is None and roles.label is not None:
            only_label = replace(roles, features=[], id=None)
            labels = to_data(table, sample, only_label, replace(options, categories=True)).y
            text = labels is not None and labels.dtype.kind == "U"
        copies = _Copies(table, roles)
        for first, frame in split_chunks(chain([sample], table.frames), rows, skip):
            begins = range(0, len(frame), rows)
            try:
                data = to_data(table, frame, roles, options, first, text)
                data = replace(data, copied=copies.take(frame, first))
            except DataFileError:
                for begin in begins:  # yield the chunks before the error
                    chunk = frame[begin : begin + rows]
                    yield to_data(table, chunk, roles, options, first + begin, text)
                raise
            if len(data) <= rows:
                yield data
            else:
                yield from (data.take(slice(begin, begin + rows)) for begin in begins)


class _Copies:
    """The cells of some columns as they are written, or as the file format holds them."""

    def __init__(self, table: Table, roles: Roles) -> None:
        self._path, self._columns = table.path, roles.copied
        self._names = [roles.columns[k].name or f"column {k + 1}" for k in roles.copied]
        self._written = table.as_text(roles.copied) if roles.copied and table.as_text else None

    def take(self, frame: pl.DataFrame, first: int) -> pl.DataFrame | None:
        """Return the cells in the rows of a data frame, of which ``first`` is the first."""
        if not self._columns:
            return None
        written = self._written
        part = frame[:, self._columns] if written is None else written[first : first + len(frame)]
        if len(part) != len(frame):
            raise DataFileError("the file has changed while it was read", self._path)
        return pl.DataFrame([_as_text(cells).alias(name)
                             for cells, name in zip(part, self._names, strict=True)])  # fmt: skip


def _as_text(cells: pl.Series) -> pl.Series:
    if cells.dtype == pl.String or cells.dtype.is_numeric():
        return cells.cast(pl.String).fill_null("")
    return pl.Series(
        ["" if cell is None else str(cell) for cell in cells.to_list()], dtype=pl.String
    )


def _require_roles(table: Table, frame: pl.DataFrame, options: ReadOptions) -> Roles:
    """Return the roles of the columns, by these rows, or ask."""
    roles = choose_roles(table, frame, options)
    if not roles.features:
        raise DataFileError(explain_no_features(roles), table.path)
    if roles.label is None and options.needs_label:
        raise _ask_label(roles, table)
    if asked := ask_decimal(roles.feature_columns, table.path):
        raise asked
    return roles


def _ask_label(roles: Roles, table: Table) -> DataFileError:
    reason = roles.question or "labels are needed here; --label names their column"
    if not roles.candidates:
        return DataFileError(reason, table.path)
    choices = []
    for column in (roles.columns[k] for k in roles.candidates):
        meaning = f"{column}, {describe_classes(column, SHOWN_CLASSES)}"
        value = column.name or str(column.number)
        choices.append(Choice({"label": value}, f"--label {column.option}", meaning))
    return UndecidedError(reason, table.path, "Which column is the label?", choices)


def _read_whole(stack: ExitStack, path: Path, options: ReadOptions) -> tuple[Table, pl.DataFrame]:
    """Return a table and all its rows."""
    table = _open(stack, path, options, chunked=False)
    frames = list(table.frames)
    if not frames:
        raise DataFileError("there are no examples", table.path)
    frame = pl.concat(frames, how="vertical_relaxed") if len(frames) > 1 else frames[0]
    kinds = zip(*(some.dtypes for some in frames), strict=True)
    changed = [k for k, dtypes in enumerate(kinds) if len(set(dtypes)) > 1]
    if changed and table.as_text:
        frame = _restore_text(table, frame, changed)  # some turned out to hold text after all
    return table, frame


def _restore_text(table: Table, frame: pl.DataFrame, columns: list[int]) -> pl.DataFrame:
    """Return a data frame with these columns as they are written."""
    written = table.as_text(columns) if table.as_text else frame
    if len(written) != len(frame):
        raise DataFileError("the file has changed while it was read", table.path)
    return frame.with_columns(written)


def _open(stack: ExitStack, path: Path, options: ReadOptions, chunked: bool) -> Table:
    """Return the table in a file, which stays open until the stack is closed."""
    path = os.fspath(path)
    if os.path.isdir(path):
        with convert_errors(path, "parquet"):
            table = protect(read_folder(path, stack), "parquet")
        return _note_header_option(table, options, "parquet")
    source = stack.enter_context(open_source(path, encoding=options.encoding))
    kind = FORMATS[options.format or find_format(source)]
    knows_width = kind.name != "libsvm" or options.expected is not None
    if source.is_live and (options.copied or not (chunked and knows_width)):
        source = stack.enter_context(open_source(source.as_file(), source.name, options.encoding))
    with convert_errors(source.name, kind.name):
        table = protect(kind.read(source, options), kind.name)
    table = make_names_unique(table)
    return table if kind.name in ("csv", "tsv") else _note_header_option(table, options, kind.name)


def make_names_unique(table: Table) -> Table:
    """Return a table in which no two columns have the same name, with notes on new names."""
    names, taken = list(table.names or ()), set(table.names or ())
    if len(taken) == len(names):
        return table
    seen: set[str] = set()
    for k, name in enumerate(names):
        if name in seen:
            names[k] = next(f"{name}_{i}" for i in count(2) if f"{name}_{i}" not in taken)
            taken.add(names[k])
            table.notes.append(f"column {k + 1} is called {names[k]!r} here: {name!r} is taken")
        seen.add(names[k])
    return replace(table, names=tuple(names))


def _note_header_option(table: Table, options: ReadOptions, kind: str) -> Table:
    """Add a note that --header has no effect, for a format with its own place for names."""
    if options.header is None:
        return table
    option = "--header" if options.header else "--no-header"
    if kind == "excel" and not options.header:
        reason = "the first row of a sheet is taken for the names of its columns; save it as CSV"
        raise DataFileError(f"{reason} to use {option}", table.path)
    table.notes.append(f"{option} has no effect on {table.path}: it is for CSV and TSV")
    return table


# Writing.


def find_output_format(path: str, format: str | None = None) -> str:
    """Return the format to write: the given one, or that of the file's name."""
    kind = format or format_of(path) or ("csv" if path == STANDARD else None)
    if kind is None or not FORMATS[kind].writer:
        known = ", ".join(end for one in FORMATS.values() for end in one.ends if one.writer)
        reason = f"{kind} files can only be read" if kind else "the format is not given"
        raise ValueError(f"{path}: {reason}; the name must end in one of {known}.")
    return kind


def write_table(path: Path, data: Data, format: str | None = None) -> None:
    """Write a data file, completely or not at all, or raise an error if data would be lost.

    Numbers and labels are exact; names and ids are kept if the format has room for them. The format
    is by default that of the file's name, and CSV for ``"-"``, the standard output.
    """
    path = os.fspath(path)
    kind = find_output_format(path, format)
    check_fit(data, kind, path)
    with open_output(path) as stream:
        FORMATS[kind].write(stream, data)


def check_fit(data: Data, kind: str, path: str) -> None:
    """Raise an error if a format cannot store the data."""
    if reason := _find_misfit(data, kind):
        raise DataFileError(reason, path)


def _find_misfit(data: Data, kind: str) -> str | None:
    """Return why a format cannot store the data, or would change them; None if it can."""
    X, y, one = data.X, data.y, FORMATS[kind]
    is_frame = isinstance(X, pl.DataFrame)
    if y is not None and y.dtype == object and not one.keeps_cells:
        return f"{kind} cannot store missing labels; CSV can"
    if is_frame and not one.keeps_cells:
        return f"{kind} cannot store text features; CSV can"
    if y is not None and y.dtype.kind not in "iu" and not one.keeps_words:
        return f"{kind} labels must be numbers, got {str(y[0])!r}; --encode-labels numbers them"
    if y is not None and y.dtype.kind == "U" and kind in ("csv", "tsv"):
        wrong = (y != np.char.strip(y)) | np.char.startswith(y, "\ufeff")
        if wrong.any():
            return f"labels must not begin or end with blanks, got {str(y[wrong][0])!r}"
    if kind == "libsvm" and y is not None and len(y) and not y.any():
        return "LibSVM labels must not all be 0, which means that there are none"
    if kind == "npy" and y is not None and (y.astype(X.dtype) != y).any():
        return f"NPY labels must fit into {X.dtype}, the type of the features; NPZ can store them"
    if kind == "ndjson" and (
        any(column.is_infinite().any() for column in X if column.dtype.is_float())
        if is_frame else np.isinf(X).any()
    ):  # fmt: skip
        return "JSON cannot store infinity; other formats can"
    if kind.startswith("libopf"):
        return _find_misfit_of_libopf(data)
    return _find_ambiguous_name(data, kind) if one.keeps_names and kind != "npz" else None


def _find_ambiguous_name(data: Data, kind: str) -> str | None:
    """Return which name would be read as something else, and why; None if there is none."""
    features = list(data.feature_names or ())
    if not features:
        return None
    label = data.label_name or LABEL_NAMES[0]
    names = [ID_NAME] * (data.ids is not None) + features + [label] * (data.y is not None)
    if len(set(names)) < len(names):
        return "columns must have different names"
    place = LABEL_NAMES.index(label.lower()) if label.lower() in LABEL_NAMES else None
    for name in features:
        if name.lower() in (ID_NAME, *LABEL_NAMES[:place]):
            option = shlex.quote(name)
            return (f"a feature called {name!r} would be read as an id or a label; --drop {option} "
                    f"leaves it out, --label {option} makes it the label")  # fmt: skip
    if kind not in ("csv", "tsv"):
        return None
    if any(name != name.strip() or not name for name in names):
        return "names must not be empty, nor begin or end with blanks"
    labels = set() if data.y is None else {str(label).lower() for label in data.y}
    known = {name.lower() for name in names} & KNOWN_NAMES
    if any(map(is_number, features)) and (not known or known & labels):
        return "names that are numbers could be read as an example"
    return None


def _find_misfit_of_libopf(data: Data) -> str | None:
    X, y, ids = data.X, data.y, data.ids
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    if not np.array_equal(single, X, equal_nan=True):
        i, k = np.argwhere(~((single == X) | np.isnan(X)))[0]
        return (f"LibOPF's numbers have 32 bits, which cannot hold {float(X[i, k])!r} of example "
                f"{i + 1}; --round rounds them")  # fmt: skip
    if y is not None and len(y) and not (y.min() >= 1 and y.max() < 1 << 31):
        return f"LibOPF labels must count from 1, got {y.min()}; --encode-labels numbers them"
    if ids is not None and ids.dtype.kind not in "iu":
        return f"LibOPF ids must be whole numbers, got {str(ids[0])!r}; --drop id leaves them out"
    return None
