"""Files that polars reads by itself: Parquet, Arrow, NDJSON, and Excel's."""

import glob
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import polars as pl

from opforest.errors import DataFileError
from opforest.io.arrays import check_archive
from opforest.io.formats import Opened
from opforest.io.source import unreadable

#: Rows that are read at a time.
SOME = 65_536


def read_parquet(path: str, name: str) -> Opened:
    """Return the table in a Parquet file, or in a folder of its parts."""
    files = sorted(glob.glob(os.path.join(glob.escape(path), "**", "*.parquet"), recursive=True)) \
        if os.path.isdir(path) else [path]  # fmt: skip
    if not files:
        raise DataFileError("the folder holds no file whose name ends in .parquet", name)
    return _scan(lambda: pl.scan_parquet(files, glob=False, hive_partitioning=False), name)


def read_arrow(path: str, name: str) -> Opened:
    """Return the table in an Arrow or Feather file."""
    return _scan(lambda: pl.scan_ipc(path), name)


def read_ndjson(path: str, name: str) -> Opened:
    """Return the table of a file with a JSON object a line."""
    return _scan(lambda: pl.scan_ndjson(path, infer_schema_length=None), name)


def _scan(scan: Any, name: str) -> Opened:
    try:
        lazy = scan()
        names = lazy.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise unreadable(error, name) from None
    kept = [k for k, column in enumerate(names) if not column.startswith("__index_level_")]
    return Opened(tuple(names[k] for k in kept), _slices(lazy, kept, name))


def _slices(lazy: Any, kept: list[int], name: str) -> Iterator[pl.DataFrame]:
    row = 0
    try:
        for batch in lazy.collect_batches(chunk_size=SOME, maintain_order=True):
            yield pl.DataFrame([batch.to_series(k).alias(str(i)) for i, k in enumerate(kept)])
            row += len(batch)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise unreadable(error, name, f"the file is damaged after {row} rows") from None


def read_excel(path: str, name: str) -> Opened:
    """Return the table in the only sheet of a workbook that has one."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            check_archive(archive, name)
    try:
        import fastexcel
    except ImportError as error:
        raise ImportError("Excel's files need fastexcel: pip install 'opforest[cli]'") from error
    try:
        sheets = pl.read_excel(path, sheet_id=0, engine="calamine", raise_if_empty=False)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        raise unreadable(error, name) from None
    full = {title: sheet for title, sheet in sheets.items() if len(sheet)}
    if not full:
        raise DataFileError("there are no examples", name)
    if len(full) > 1:
        titles = ", ".join(map(repr, full))
        raise DataFileError(f"{len(full)} sheets hold tables, {titles}: save the one that is meant "
                            "as a file of its own", name)  # fmt: skip
    (sheet,) = full.values()
    names = tuple(sheet.columns)
    return Opened(names, iter([sheet.rename({old: str(k) for k, old in enumerate(names)})]))
