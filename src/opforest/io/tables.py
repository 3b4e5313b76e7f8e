"""Data files of every kind: read whole or in chunks, written without loss."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, Any

import numpy as np

from opforest.columns.data import ROWS, Data, Reading, in_chunks
from opforest.columns.roles import ID_NAME, LABEL_NAMES
from opforest.errors import DataFileError
from opforest.io.formats import FORMATS, Opened, find_format, format_of
from opforest.io.source import STANDARD, Source, open_output, open_source

__all__ = ["FORMATS", "find_output_format", "format_of", "open_output", "read_chunks",
           "read_columns", "read_table", "write_table"]  # fmt: skip


def read_table(path: str | os.PathLike[str], reading: Reading | None = None) -> Data:
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
    _require_polars()
    from opforest.columns.numbers import to_data

    reading = reading or Reading()
    with ExitStack() as stack:
        table, roles, opened = _read_whole(stack, os.fspath(path), reading)
        label = roles.label
        if label is not None and opened.as_text and table.frame.dtypes[label].is_numeric():
            text = opened.as_text(label)  # 007 is no 7
            if len(text) == len(table.frame):
                table.frame = table.frame.with_columns(text.alias(str(label)))
        return to_data(table, roles, reading, text=_text_labels(reading))


def read_columns(path: str | os.PathLike[str], reading: Reading | None = None) -> Any:
    """Return the roles of the columns of a data file, which describe them; nothing is refused.

    Parameters
    ----------
    path, reading
        As for ``read_table``.

    Returns
    -------
    opforest.columns.roles.Roles
        The columns, and which of them is what.
    """
    _require_polars()
    with ExitStack() as stack:
        return _read_whole(stack, os.fspath(path), reading or Reading())[1]


def read_chunks(
    path: str | os.PathLike[str],
    reading: Reading | None = None,
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
    _require_polars()
    from opforest.columns.numbers import to_data

    reading = reading or Reading()
    path, text = os.fspath(path), _text_labels(reading)
    with ExitStack() as stack:
        opened, name, live = _open(stack, path, reading, chunked=True)
        some = rows if live else rows * max(1, ROWS // rows)  # what is not live can be read ahead
        roles = None
        for first, frame in in_chunks(opened.frames, some, skip):
            table = _table(frame, opened, name)
            if roles is None:
                sample = opened.sample() if opened.sample else None
                seen = table if sample is None else replace(table, frame=sample)
                roles = _choose(seen, reading)
                if text is None and roles.label is not None:
                    only = replace(roles, features=[], id=None)
                    labels = to_data(seen, only, replace(reading, categories=True)).y
                    text = labels is not None and labels.dtype.kind == "U"
            try:
                data = to_data(table, roles, reading, first, text)
            except DataFileError:
                for begin in range(0, len(frame), rows):  # what comes before the error is wanted
                    part = replace(table, frame=frame[begin : begin + rows])
                    yield to_data(part, roles, reading, first + begin, text)
                raise
            if len(data) <= rows:
                yield data
                continue
            yield from (data.take(slice(k, k + rows)) for k in range(0, len(data), rows))


def _require_polars() -> None:
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise ImportError("data files need polars: pip install 'opforest[cli]'") from error


def _text_labels(reading: Reading) -> bool | None:
    return reading.expected.text_labels if reading.expected else None


def _table(frame: Any, opened: Opened, name: str) -> Any:
    from opforest.columns.numbers import Table

    names, _, apart, declared, find_line, *_ = opened
    return Table(
        frame, names, name, apart, declared, find_line, opened.is_typed, opened.as_text
    )  # fmt: skip


def _choose(table: Any, reading: Reading) -> Any:
    from opforest.columns.roles import choose_roles

    roles = choose_roles(table.columns, reading, table.path, apart=table.apart)
    if roles.label is None and reading.needs_label:
        default = "labels are needed here; --label names their column"
        raise DataFileError(roles.question or default, table.path)
    return roles


def _read_whole(stack: ExitStack, path: str, reading: Reading) -> tuple[Any, Any, Opened]:
    """Return a whole table, and what its columns are."""
    import polars as pl

    opened, name, _ = _open(stack, path, reading, chunked=False)
    frames = list(opened.frames)
    if not frames:
        raise DataFileError("there are no examples", name)
    if opened.again and len({tuple(frame.dtypes) for frame in frames}) > 1:
        frames = opened.again(frames)  # some column turned out to hold text after all
    frame = pl.concat(frames, how="vertical_relaxed") if len(frames) > 1 else frames[0]
    table = _table(frame, opened, name)
    return table, _choose(table, reading), opened


def _open(
    stack: ExitStack, path: str, reading: Reading, chunked: bool
) -> tuple[Opened, str, bool]:  # fmt: skip
    if os.path.isdir(path):
        return FORMATS["parquet"].function(FORMATS["parquet"].reader)(path, path), path, False
    source = stack.enter_context(open_source(path))
    one = FORMATS[reading.format or find_format(source)]
    read, name = one.function(one.reader), source.name
    live = source.is_live and chunked
    reading = replace(reading, format=one.name)
    as_it_comes = live and (one.name != "libsvm" or reading.expected is not None)
    can_be_read_twice = not source.is_live and (one.name != "libsvm" or not source.is_packed)
    if one.reads == "stream" and (as_it_comes or can_be_read_twice):
        return read(source, reading, live), name, live
    file = stack.enter_context(source.file())
    if one.reads == "file":
        return read(file, name), name, False
    copy = stack.enter_context(open_source(file))
    copy.name = name
    return read(copy, reading, False), name, False


def read_delimited(source: Source, reading: Reading, live: bool) -> Opened:
    """Return the table in a text file."""
    from opforest.io.delimited import Delimited

    if reading.format == "tsv" and reading.delimiter is None:
        reading = replace(reading, delimiter="\t")
    file = Delimited(source, reading, live)

    def again(frames: Any) -> Any:
        words = {k for frame in frames for k, kind in enumerate(frame.dtypes) if kind == "String"}
        with open_source(source.path) as fresh:
            fresh.name = source.name
            return list(Delimited(fresh, reading, False, words).frames())

    def as_text(k: int) -> Any:
        with open_source(source.path) as fresh:
            parts = [part.to_series(k) for part in Delimited(fresh, reading, False, {k}).frames()]
        for part in parts[1:]:
            parts[0].append(part)
        return parts[0]

    there = not source.is_live
    return Opened(
        file.dialect.names, file.frames(), (), {}, file.find_line, again if there else None,
        as_text if there else None, file.sample, False,
    )  # fmt: skip


def read_libopf(path: str, name: str) -> Opened:
    """Return the samples of one of LibOPF's data sets as a table."""
    import polars as pl

    from opforest.io import libopf

    def samples(size: int) -> Iterator[Any]:
        try:
            yield from libopf.read_samples(path, size)
        except DataFileError as error:
            raise DataFileError(error.reason, name, error.line, error.column) from None

    def frames() -> Iterator[Any]:
        for X, y, ids in samples(ROWS):
            columns = [*np.asfortranarray(X).T, *([y] if labelled else []), ids]
            yield pl.DataFrame([pl.Series(str(k), np.ascontiguousarray(column))
                                for k, column in enumerate(columns)])  # fmt: skip

    labelled = any(y.any() for _, y, _ in samples(ROWS))
    d = next(samples(1))[0].shape[1]
    return Opened(None, frames(), (d if labelled else None, d + labelled))


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
    write = FORMATS[kind].function(FORMATS[kind].writer)
    with open_output(path) as stream:
        write(stream, data, kind)


def write_libopf(stream: IO[bytes], data: Data, kind: str) -> None:
    """Write one of LibOPF's data sets."""
    from opforest.io import libopf

    y = np.zeros(len(data), np.int64) if data.y is None else data.y
    try:
        libopf.write_samples(stream, data.X, y, data.ids, text=kind == "libopf-text")
    except ValueError as error:
        raise DataFileError(str(error)) from error


def check_fit(data: Data, kind: str, path: str) -> None:
    """Refuse to write what a format cannot hold."""
    y, one = data.y, FORMATS[kind]
    if not one.keeps_cells:
        where = "features that are text" if hasattr(data.X, "columns") else None
        where = "labels that are missing" if y is not None and y.dtype == object else where
        if where:
            raise DataFileError(f"{kind} has no room for {where}; CSV has", path)
    if y is not None and y.dtype.kind not in "iu" and not one.keeps_words:
        raise DataFileError(
            f"{kind} has room for labels that are numbers only, got {str(y[0])!r}; "
            "--encode-labels numbers them",
            path,
        )
    if one.keeps_names and kind != "npz":
        _check_names(data, kind, path)
    if y is not None and y.dtype.kind == "U" and kind in ("csv", "tsv", "arff"):
        wrong = (y != np.char.strip(y)) | np.char.startswith(y, "\ufeff")
        if wrong.any():
            reason = f"labels must not begin or end with blanks, got {str(y[wrong][0])!r}"
            raise DataFileError(reason, path)
    if kind == "libsvm" and y is not None and len(y) and not y.any():
        raise DataFileError("in LibSVM files, labels that are all 0 mean that there are none", path)
    if kind == "npy" and y is not None and (y.astype(data.X.dtype) != y).any():
        raise DataFileError(f"labels are too large for {data.X.dtype}; NPZ can hold them", path)
    if (
        kind == "ndjson"
        and not hasattr(data.X, "columns")
        and not np.isfinite(data.X[~np.isnan(data.X)]).all()
    ):
        raise DataFileError("JSON has no infinity; other formats do", path)
    if kind.startswith("libopf"):
        _check_libopf(data, path)


def _check_names(data: Data, kind: str, path: str) -> None:
    """Refuse names that would be read as something else."""
    from opforest.io.delimited import KNOWN, is_number

    features = list(data.feature_names or ())
    if not features:
        return
    label = (data.label_name or LABEL_NAMES[0]).lower()
    names = [ID_NAME] * (data.ids is not None) + features
    names += [data.label_name or LABEL_NAMES[0]] * (data.y is not None)
    if len(set(names)) < len(names):
        raise DataFileError("columns must have different names", path)
    better = LABEL_NAMES if label not in LABEL_NAMES else LABEL_NAMES[: LABEL_NAMES.index(label)]
    for name in features:
        if name.lower() == ID_NAME or name.lower() in better:
            reason = f"a feature called {name!r} would be read as an id or a label"
            raise DataFileError(reason, path)
    if kind not in ("csv", "tsv"):
        return
    if any(name != name.strip() or not name for name in names):
        raise DataFileError("names must not be empty, nor begin or end with blanks", path)
    if any(map(is_number, features)) and not {name.lower() for name in names} & KNOWN:
        raise DataFileError("names that are numbers would be read as an example", path)


def _check_libopf(data: Data, path: str) -> None:
    with np.errstate(over="ignore"):
        single = data.X.astype(np.float32)
    if not np.array_equal(single, data.X, equal_nan=True):
        i, k = np.argwhere(~((single == data.X) | np.isnan(data.X)))[0]
        raise DataFileError(
            f"LibOPF's numbers have 32 bits, which cannot hold {data.X[i, k]!r} of example "
            f"{i + 1}; --round rounds them",
            path,
        )
    if data.y is not None and len(data) and not (data.y.min() >= 1 and data.y.max() < 1 << 31):
        raise DataFileError(
            f"LibOPF's labels count from 1, got {data.y.min()}; --encode-labels numbers them", path
        )
    if data.ids is not None and data.ids.dtype.kind not in "iu":
        reason = f"LibOPF's ids are whole numbers, got {str(data.ids[0])!r}; --drop id leaves them"
        raise DataFileError(f"{reason} out", path)
