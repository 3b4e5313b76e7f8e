"""Formats that polars reads or writes: Parquet, Arrow, NDJSON, Excel; CSV is only written here."""

import glob
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
import polars as pl

from opforest._utils.extras import install_command
from opforest.errors import DataFileError
from opforest.io.columns.label import LABEL_NAMES
from opforest.io.columns.roles import ID_NAME
from opforest.io.columns.table import Data, Table
from opforest.io.readers.unpacked_size import measure_arrow, measure_parquet
from opforest.io.readers.workbooks import unpack_workbook
from opforest.io.source import BUFFER, check_unpacked, link_plain_path, wrap_error

#: Rows that are read at a time, and bytes of a cell in memory.
SOME, CELL = 65_536, 8


def read_folder(path: str, stack: ExitStack) -> Table:
    """Return the table in a folder of Parquet files, readable until the stack is closed."""
    found = glob.glob(os.path.join(glob.escape(path), "**", "*.parquet"), recursive=True)
    if not found:
        raise DataFileError("the folder holds no file whose name ends in .parquet", path)
    files = [stack.enter_context(link_plain_path(file)) for file in sorted(found)]
    return _scan_parquet(files, path)


def read_parquet(path: str, name: str) -> Table:
    """Return the table in a Parquet file."""
    return _scan_parquet([path], name)


def _scan_parquet(files: list[str], name: str) -> Table:
    stored = sum(map(os.path.getsize, files))
    check_unpacked(sum(measure_parquet(file) for file in files), stored, name)
    return _scan(pl.scan_parquet(files, glob=False, hive_partitioning=False), name, stored)


def read_arrow(path: str, name: str) -> Table:
    """Return the table in an Arrow or Feather file."""
    stored = os.path.getsize(path)
    check_unpacked(measure_arrow(path), stored, name)
    return _scan(pl.scan_ipc(path), name, stored)


def read_ndjson(path: str, name: str) -> Table:
    """Return the table of a file with one JSON object per line."""
    stored = os.path.getsize(path)
    try:
        table = _scan(pl.scan_ndjson(path, infer_schema_length=None), name, stored)
    except Exception:
        _check_lines(path, name)
        raise
    # A table has a cell for each name in each row, even if no two objects share a name.
    with open(path, "rb") as file:
        lines = 1 + sum(part.count(b"\n") for part in iter(lambda: file.read(BUFFER), b""))
    check_unpacked(CELL * len(table.names or ()) * lines, stored, name)
    return table


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
        for batch in lazy.collect_batches(chunk_size=SOME, maintain_order=True):
            size += batch.estimated_size()  # of each text, though equal ones may share memory
            check_unpacked(size, stored, name)
            yield pl.DataFrame([batch.to_series(k).alias(str(i)) for i, k in enumerate(kept)])
            row += len(batch)
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError) as error:
        raise wrap_error(error, name, "the files of the folder differ in their columns") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise wrap_error(error, name, f"the file is damaged after {row} rows") from None


def read_excel(path: str, name: str) -> Table:
    """Return the table in the only sheet of a workbook that has one."""
    try:
        import fastexcel  # noqa: F401
    except ImportError as error:
        raise ImportError(f"Excel files need fastexcel: {install_command('cli')}") from error
    with unpack_workbook(path, name) as workbook:
        sheets = pl.read_excel(workbook, sheet_id=0, engine="calamine", raise_if_empty=False)
    full = {title: sheet for title, sheet in sheets.items() if len(sheet)}
    if not full:
        raise DataFileError("there are no examples", name)
    if len(full) > 1:
        titles = ", ".join(map(repr, full))
        reason = f"{len(full)} sheets hold tables, {titles}: save one of them as its own file"
        raise DataFileError(reason, name)
    (sheet,) = full.values()
    names = tuple(sheet.columns)
    return Table(name, names, iter([sheet.rename({old: str(k) for k, old in enumerate(names)})]))


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
