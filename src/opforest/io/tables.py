"""Data files of every kind: read whole or in chunks, written without loss."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain

import numpy as np

try:
    import polars as pl
except ImportError as error:
    raise ImportError("data files need polars: pip install 'opforest[cli]'") from error

from opforest.errors import DataFileError
from opforest.io.columns.convert import to_data
from opforest.io.columns.describe import describe, quote
from opforest.io.columns.forms import ask_decimal
from opforest.io.columns.headers import KNOWN, is_number
from opforest.io.columns.hints import explain_no_features
from opforest.io.columns.roles import ID_NAME, LABEL_NAMES, Roles, choose_roles
from opforest.io.columns.table import ROWS, Data, ReadOptions, Table, in_chunks
from opforest.io.formats import FORMATS, Format, find_format, format_of
from opforest.io.guard import guard, guarded
from opforest.io.readers.frames import read_folder
from opforest.io.source import STANDARD, Source, open_output, open_source

__all__ = ["FORMATS", "find_output_format", "format_of", "open_output", "read_chunks",
           "read_columns", "read_table", "write_table"]  # fmt: skip


def read_table(path: str | os.PathLike[str], reading: ReadOptions | None = None) -> Data:
    r"""Read a data file of any format.

    Parameters
    ----------
    path : path
        The file, or a folder of Parquet files; ``"-"`` is the standard input. Packed files (gzip,
        xz, bzip2, zstandard) are unpacked.
    reading : Reading, default=None
        What is known of the file.

    Returns
    -------
    Data
        Features, labels, ids and names.

    Raises
    ------
    DataFileError
        If it cannot be read, or something about it must be told; the message says what, and where.

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
    reading = reading or ReadOptions()
    with ExitStack() as stack:
        table, frame = _read_whole(stack, path, reading)
        roles = _choose(table, frame, reading)
        label = roles.label
        if label is not None and table.as_text and frame.dtypes[label].is_numeric():
            frame = _as_written(table, frame, [label])  # 007 is no 7
        return to_data(table, frame, roles, reading, text=_text_labels(reading))


def read_columns(path: str | os.PathLike[str], reading: ReadOptions | None = None) -> Roles:
    """Return the roles of the columns of a data file, which describe them; nothing is refused.

    Parameters
    ----------
    path, reading
        As for ``read_table``.

    Returns
    -------
    Roles
        The columns, and which of them is what.
    """
    reading = reading or ReadOptions()
    with ExitStack() as stack:
        return _describe(*_read_whole(stack, path, reading), reading)


def read_chunks(
    path: str | os.PathLike[str],
    reading: ReadOptions | None = None,
    *,
    rows: int = ROWS,
    skip: int = 0,
) -> Iterator[Data]:
    """Yield the examples of a data file in chunks, so that it may be larger than memory.

    What comes from the standard input is kept on disk first if its format is binary; LibSVM, too,
    unless a model knows the number of features. What the columns are, and whether labels are
    numbers, is decided by the first rows, unless a model knows.

    Parameters
    ----------
    path, reading
        As for ``read_table``.
    rows : int
        The number of examples in a chunk; the last one may have fewer.
    skip : int, default=0
        Examples to leave out at the beginning.

    Yields
    ------
    Data
        Some of the examples.
    """
    reading = reading or ReadOptions()
    with ExitStack() as stack:
        table = _open(stack, path, reading, chunked=True)
        sample = next(table.frames, None)
        if sample is None:
            return
        roles, text = _choose(table, sample, reading), _text_labels(reading)
        if text is None and roles.label is not None:
            only = replace(roles, features=[], id=None)
            labels = to_data(table, sample, only, replace(reading, categories=True)).y
            text = labels is not None and labels.dtype.kind == "U"
        for first, frame in in_chunks(chain([sample], table.frames), rows, skip):
            try:
                data = to_data(table, frame, roles, reading, first, text)
            except DataFileError:
                for begin in range(0, len(frame), rows):  # what comes before the error is wanted
                    part = frame[begin : begin + rows]
                    yield to_data(table, part, roles, reading, first + begin, text)
                raise
            if len(data) <= rows:
                yield data
                continue
            yield from (data.take(slice(k, k + rows)) for k in range(0, len(data), rows))


def _text_labels(reading: ReadOptions) -> bool | None:
    return reading.expected.text_labels if reading.expected else None


def _describe(table: Table, frame: pl.DataFrame, reading: ReadOptions) -> Roles:
    columns = describe(frame, table.names, table.declared)
    roles = choose_roles(columns, reading, table.path, apart=table.apart, decimal=table.decimal,
                         had_commas=table.had_commas)  # fmt: skip
    roles.notes[:0] = table.notes
    return roles


def _choose(table: Table, frame: pl.DataFrame, reading: ReadOptions) -> Roles:
    """Return the roles of the columns, by these rows, or ask."""
    roles = _describe(table, frame, reading)
    if not roles.features:
        raise DataFileError(explain_no_features(roles), table.path)
    if roles.label is None and reading.needs_label:
        default = "labels are needed here; --label names their column"
        raise DataFileError(roles.question or default, table.path)
    if question := ask_decimal(roles.chosen):
        raise DataFileError(question, table.path)
    return roles


def _read_whole(
    stack: ExitStack, path: str | os.PathLike[str], reading: ReadOptions
) -> tuple[Table, pl.DataFrame]:
    """Return a table, and all its rows."""
    table = _open(stack, path, reading, chunked=False)
    frames = list(table.frames)
    if not frames:
        raise DataFileError("there are no examples", table.path)
    kinds = [set(kinds) for kinds in zip(*(frame.dtypes for frame in frames), strict=True)]
    frame = pl.concat(frames, how="vertical_relaxed") if len(frames) > 1 else frames[0]
    late = [k for k, found in enumerate(kinds) if len(found) > 1]
    if late and table.as_text:
        frame = _as_written(table, frame, late)  # some turned out to hold text after all
    return table, frame


def _as_written(table: Table, frame: pl.DataFrame, columns: list[int]) -> pl.DataFrame:
    """Return a data frame whose columns have text where these are."""
    written = table.as_text(columns) if table.as_text else frame
    if len(written) != len(frame):
        raise DataFileError("the file has changed while it was read", table.path)
    return frame.with_columns(written)


def _open(
    stack: ExitStack, path: str | os.PathLike[str], reading: ReadOptions, chunked: bool
) -> Table:  # fmt: skip
    """Return the table in a file, which is open as long as the stack.

    What comes in bit for bit is read so in chunks, and copied to disk first where it is not.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        with guarded(path):
            return _with_own_names(guard(read_folder(path, stack)), reading, "parquet")
    source = stack.enter_context(open_source(path))
    one = FORMATS[reading.format or find_format(source)]
    table = _read(stack, source, one, reading, chunked)
    return table if one.name in ("csv", "tsv") else _with_own_names(table, reading, one.name)


def _with_own_names(table: Table, reading: ReadOptions, kind: str) -> Table:
    """Say of a table whose format has its own place for names that an option has no effect."""
    if reading.header is None:
        return table
    option = "--header" if reading.header else "--no-header"
    if kind == "excel" and not reading.header:
        reason = "the first row of a sheet is taken for the names of its columns; save it as CSV"
        raise DataFileError(f"{reason} to use {option}", table.path)
    note = f"{option} has no effect on {table.path}: only in CSV and TSV, names are a line like any"
    return replace(table, notes=(*table.notes, f"{note} other"))


def _read(
    stack: ExitStack, source: Source, one: Format, reading: ReadOptions, chunked: bool
) -> Table:  # fmt: skip
    read: Callable[..., Table] = one.load(one.reader)
    if one.reads == "file":
        file = stack.enter_context(source.file())
        with guarded(source.name):
            return guard(read(file, source.name))
    is_told_width = one.name != "libsvm" or reading.expected is not None
    if source.is_live and not (chunked and is_told_width):
        copy = stack.enter_context(source.file())
        source = stack.enter_context(open_source(copy, source.name))
    with guarded(source.name):
        return guard(read(source, replace(reading, format=one.name)))


# Writing.


def find_output_format(path: str, format: str | None = None) -> str:
    """Return the format to write: the given one, or what the name says."""
    kind = format or format_of(path) or ("csv" if path == STANDARD else None)
    if kind is None or not FORMATS[kind].writer:
        known = ", ".join(end for one in FORMATS.values() for end in one.ends if one.writer)
        raise ValueError(f"{path}: the name must end in one of {known}, or the format be given.")
    return str(kind)


def write_table(path: str | os.PathLike[str], data: Data, format: str | None = None) -> None:
    """Write a data file, whole or not at all, or refuse if the format cannot hold the data.

    Numbers and labels are kept to the last bit; names and ids where the format has room for them,
    as ``FORMATS`` says.

    Parameters
    ----------
    path : path
        The file; ``"-"`` is the standard output.
    data : Data
        The examples.
    format : str, default=None
        One of ``FORMATS``; by default what the name says, CSV for the standard output.

    Raises
    ------
    DataFileError
        If data would be lost.
    """
    path = os.fspath(path)
    kind = find_output_format(path, format)
    check_fit(data, kind, path)
    write = FORMATS[kind].load(FORMATS[kind].writer)
    with open_output(path) as stream:
        write(stream, data, kind)


def check_fit(data: Data, kind: str, path: str) -> None:
    """Refuse to write what a format cannot hold."""
    reason = _misfit(data, kind)
    if reason:
        raise DataFileError(reason, path)


def _misfit(data: Data, kind: str) -> str | None:
    """Say what a format cannot hold, or would give back as something else."""
    X, y, one = data.X, data.y, FORMATS[kind]
    is_frame = isinstance(X, pl.DataFrame)
    if y is not None and y.dtype == object and not one.keeps_cells:
        return f"{kind} has no room for labels that are missing; CSV has"
    if is_frame and not one.keeps_cells:
        return f"{kind} has no room for features that are text; CSV has"
    if y is not None and y.dtype.kind not in "iu" and not one.keeps_words:
        return (f"{kind} has room for labels that are numbers only, got {str(y[0])!r}; "
                "--encode-labels numbers them")  # fmt: skip
    if y is not None and y.dtype.kind == "U" and kind in ("csv", "tsv", "arff"):
        wrong = (y != np.char.strip(y)) | np.char.startswith(y, "\ufeff")
        if wrong.any():
            return f"labels must not begin or end with blanks, got {str(y[wrong][0])!r}"
    if kind == "libsvm" and y is not None and len(y) and not y.any():
        return "in LibSVM files, labels that are all 0 mean that there are none"
    if kind == "npy" and y is not None and (y.astype(X.dtype) != y).any():
        return f"labels are too large for {X.dtype}; NPZ can hold them"
    has_infinity = (any(one.is_infinite().any() for one in X if one.dtype.is_float())
                    if is_frame else np.isinf(X).any())  # fmt: skip
    if kind == "ndjson" and has_infinity:
        return "JSON has no infinity; other formats do"
    if kind.startswith("libopf"):
        return _misfit_of_libopf(data)
    return _misfit_of_names(data, kind) if one.keeps_names and kind != "npz" else None


def _misfit_of_names(data: Data, kind: str) -> str | None:
    """Say which name would be read as something else."""
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
            option = quote(name)
            return (f"a feature called {name!r} would be read as an id or a label; --drop {option} "
                    f"leaves it out, --label {option} makes it the label")  # fmt: skip
    if kind not in ("csv", "tsv"):
        return None
    if any(name != name.strip() or not name for name in names):
        return "names must not be empty, nor begin or end with blanks"
    words = set() if data.y is None else {str(label).lower() for label in data.y}
    known = {name.lower() for name in names} & KNOWN
    if any(map(is_number, features)) and (not known or known & words):
        return "names that are numbers could be read as an example"
    return None


def _misfit_of_libopf(data: Data) -> str | None:
    X, y, ids = data.X, data.y, data.ids
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    if not np.array_equal(single, X, equal_nan=True):
        i, k = np.argwhere(~((single == X) | np.isnan(X)))[0]
        return (f"LibOPF's numbers have 32 bits, which cannot hold {float(X[i, k])!r} of example "
                f"{i + 1}; --round rounds them")  # fmt: skip
    if y is not None and len(y) and not (y.min() >= 1 and y.max() < 1 << 31):
        return f"LibOPF's labels count from 1, got {y.min()}; --encode-labels numbers them"
    if ids is not None and ids.dtype.kind not in "iu":
        return f"LibOPF's ids are whole numbers, got {str(ids[0])!r}; --drop id leaves them out"
    return None
