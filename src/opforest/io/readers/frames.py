"""Formats that polars reads or writes: Parquet, Arrow, JSON; CSV is only written here."""

import glob
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
import polars as pl

from opforest._utils.text import count
from opforest.errors import DataFileError
from opforest.io.columns.label import LABEL_NAMES
from opforest.io.columns.roles import ID_NAME
from opforest.io.columns.table import Data, ReadOptions, Table
from opforest.io.compression import BUFFER, check_unpacked
from opforest.io.library_errors import wrap_error
from opforest.io.readers.unpacked_size import measure_arrow, measure_parquet
from opforest.io.source import Source, link_plain_path

#: Rows that are read at a time, and bytes of a cell in memory.
BATCH, CELL = 65_536, 8


def read_folder(path: str, stack: ExitStack) -> Table:
    """Return the table in a folder of Parquet files, readable until the stack is closed."""
    found = glob.glob(os.path.join(glob.escape(path), "**", "*.parquet"), recursive=True)
    if not found:
        raise DataFileError("the folder holds no file whose name ends in .parquet", path)
    files = [stack.enter_context(link_plain_path(file)) for file in sorted(found)]
    return _scan_parquet(files, path)


def read_parquet(source: Source, _: ReadOptions) -> Table:
    """Return the table in a Parquet file."""
    return _scan_parquet([source.as_file()], source.name)


def _scan_parquet(files: list[str], name: str) -> Table:
    stored = sum(map(os.path.getsize, files))
    check_unpacked(sum(measure_parquet(file) for file in files), stored, name)
    return _scan(pl.scan_parquet(files, glob=False, hive_partitioning=False), name, stored)


def read_arrow(source: Source, _: ReadOptions) -> Table:
    """Return the table in an Arrow or Feather file."""
    path = source.as_file()
    stored = os.path.getsize(path)
    check_unpacked(measure_arrow(path), stored, source.name)
    return _scan(pl.scan_ipc(path), source.name, stored)


def read_ndjson(source: Source, _: ReadOptions) -> Table:
    """Return the table of a file with one JSON object per line."""
    path, name = source.as_file(), source.name
    stored = os.path.getsize(path)
    try:
        lazy = pl.scan_ndjson(path, infer_schema_length=None)
        # The schema of many columns comes in no order; the first line has one.
        first, known = _read_first_names(path), lazy.collect_schema().names()
        ordered: list[str] = sorted(known, key=lambda one: first.get(one, len(known)))
        table = _scan(lazy.select(ordered), name, stored)
    except Exception:
        _check_lines(path, name)
        raise
    # A table has a cell for each name in each row, even if no two objects share a name.
    with open(path, "rb") as file:
        lines = 1 + sum(part.count(b"\n") for part in iter(lambda: file.read(BUFFER), b""))
    check_unpacked(CELL * len(table.names or ()) * lines, stored, name)
    return table


def _read_first_names(path: str) -> dict[str, int]:
    """Return the names in the first line that is not blank, with their places."""
    with open(path, "rb") as lines:
        line = next((line for line in lines if line.strip()), b"{}")
    return {name: k for k, name in enumerate(json.loads(line))}


def read_json(source: Source, _: ReadOptions) -> Table:
    """Return the table of a file with a JSON list of objects."""
    content, name = source.stream.read(), source.name
    try:
        rows = json.loads(content)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataFileError("JSON must be text in UTF-8, which this is not", name, line) from None
    except (ValueError, RecursionError) as error:
        raise wrap_error(error, name, "the file is not valid JSON") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        reason = "JSON must be a list of objects, or one object per line"
        raise DataFileError(f"{reason}; pandas writes it by to_json(orient='records')", name)
    if not rows:
        raise DataFileError("there are no examples", name)
    names = list(dict.fromkeys(key for row in rows for key in row))
    check_unpacked(CELL * len(names) * len(rows), len(content), name)
    columns = [_make_column(str(k), [row.get(key) for row in rows], key, name)
               for k, key in enumerate(names)]  # fmt: skip
    return Table(name, tuple(names), iter([pl.DataFrame(columns)]))


def _make_column(place: str, cells: list[Any], key: str, name: str) -> pl.Series:
    """Return the cells of a JSON column, which must have one type that loses nothing."""
    kinds = {float if type(cell) is int else type(cell): cell for cell in cells if cell is not None}
    if len(kinds) > 1:
        reason = f"column {key!r} mixes types: {' and '.join(map(repr, [*kinds.values()][:2]))}"
        raise DataFileError(f"{reason}; write all cells in one way", name)
    column = pl.Series(place, cells, strict=False)
    whole = [cell for cell in cells if type(cell) is int]
    if whole and not column.dtype.is_integer():
        for cell in whole:
            if abs(cell) >= 2**63 or int(float(cell)) != cell:
                reason = f"column {key!r} has {str(cell)[:40]}, which float64 cannot hold"
                raise DataFileError(reason, name)
    return column


def _check_lines(path: str, name: str) -> None:
    """Raise an error about the first line that is not a JSON object."""
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                is_object = not line.strip() or isinstance(json.loads(line), dict)
            except (ValueError, RecursionError):
                is_object = False
            if not is_object:
                shown = line[:40].decode("utf-8", "replace").strip()
                reason = f"the line must be a JSON object, got {shown!r}"
                raise DataFileError(reason, name, number)


def _scan(lazy: pl.LazyFrame, name: str, stored: int) -> Table:
    """Return the table that polars finds in files of ``stored`` bytes."""
    names = lazy.collect_schema().names()
    kept = [k for k, column in enumerate(names) if not column.startswith("__index_level_")]
    return Table(name, tuple(names[k] for k in kept), _slices(lazy, kept, name, stored))


def _slices(lazy: Any, kept: list[int], name: str, stored: int) -> Iterator[pl.DataFrame]:
    row = size = 0
    try:
        for batch in lazy.collect_batches(chunk_size=BATCH, maintain_order=True):
            size += batch.estimated_size()  # of each text, though equal ones may share memory
            check_unpacked(size, stored, name)
            yield pl.DataFrame([batch.to_series(k).alias(str(i)) for i, k in enumerate(kept)])
            row += len(batch)
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError) as error:
        raise wrap_error(error, name, "the files of the folder differ in their columns") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = f"the file is damaged after {count(row, 'row')}: write it again, or get a new copy"
        raise DataFileError(reason, name) from error


def write_frame(stream: IO[bytes], data: Data, kind: str) -> None:
    """Write all examples, the id first and the label last; numbers keep all their digits."""
    names = list(data.feature_names or (f"f{k + 1}" for k in range(data.X.shape[1])))
    if isinstance(data.X, pl.DataFrame):
        columns = [column.alias(name) for name, column in zip(names, data.X, strict=True)]
    else:  # float32 would be written as text with fewer digits
        X = data.X if kind in ("parquet", "arrow") else data.X.astype(np.float64)
        columns = [pl.Series(name, column).fill_nan(None) for name, column in
                   zip(names, X.T, strict=True)]  # fmt: skip
    if data.ids is not None:
        columns.insert(0, pl.Series(ID_NAME, data.ids))
    if data.y is not None:
        y = data.y.tolist() if data.y.dtype == object else data.y
        columns.append(pl.Series(data.label_name or LABEL_NAMES[0], y))
    frame = pl.DataFrame(columns)
    if kind in ("csv", "tsv"):
        quotes: Any = "non_numeric" if frame.columns[0][0] in "#%;@{+\ufeff" else "necessary"
        frame.write_csv(stream, separator="," if kind == "csv" else "\t", quote_style=quotes)
    else:
        write = {"parquet": "write_parquet", "arrow": "write_ipc", "ndjson": "write_ndjson"}[kind]
        getattr(frame, write)(stream)
