"""Parquet files, by pyarrow, which is an extra."""

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from opforest.io.arrays import check_whole
from opforest.io.columns import ID_NAME, LABEL_NAMES, Roles, choose_roles
from opforest.io.data import Array, Data, Reading
from opforest.io.errors import DataFileError


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'opforest[parquet]'") from error
    return pyarrow


def read_parquet(path: str, name: str, reading: Reading, size: int) -> Iterator[Data]:
    """Yield the examples of a file in chunks."""
    pa = _pyarrow()
    try:
        file = pa.parquet.ParquetFile(path)
    except (pa.ArrowException, ValueError) as error:
        raise DataFileError(f"the file cannot be read: {error}".splitlines()[0], name) from None
    with file:
        schema = file.schema_arrow
        kept = [k for k, column in enumerate(schema.names) if not column.startswith("__index_lev")]
        text = {i for i, k in enumerate(kept) if _is_text(pa, schema.field(k).type)}
        names = [schema.names[k] for k in kept]
        roles = choose_roles(names, len(names), text, (), reading, name)
        _check_types(pa, schema, names, roles, name)
        try:
            for batch in file.iter_batches(size, columns=names):
                yield _convert(batch, names, roles, pa, reading, name)
        except pa.ArrowException as error:
            raise DataFileError(f"the file is damaged: {error}".splitlines()[0], name) from None


def _is_text(pa: Any, kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_types(pa: Any, schema: Any, names: list[str], roles: Roles, path: str) -> None:
    for k in (*roles.features, roles.label, roles.id):
        if k is None:
            continue
        kind, may_be_text = schema.field(names[k]).type, k not in roles.features
        is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        if may_be_text and not (is_number or pa.types.is_boolean(kind) or _is_text(pa, kind)):
            raise DataFileError(f"{roles.describe(k)} must hold text or numbers, got {kind}", path)
        if not may_be_text and not (is_number or pa.types.is_boolean(kind)):
            raise DataFileError(f"{roles.describe(k)} must hold numbers, got {kind}", path)


def _convert(
    batch: Any, names: list[str], roles: Roles, pa: Any, reading: Reading, path: str
) -> Data:
    columns = [_numbers(batch.column(names[k]), pa, reading, path) for k in roles.features]
    return Data(
        np.column_stack(columns),
        _values(batch, names, roles.label, pa),
        _values(batch, names, roles.id, pa),
        roles.feature_names,
        roles.label_name,
    )


def _numbers(column: Any, pa: Any, reading: Reading, path: str) -> Array:
    single = pa.types.is_float32(column.type)
    array: Array = column.to_numpy(zero_copy_only=False)
    numbers: Array = array.astype(np.float32 if single else np.float64)
    if reading.allow_missing and array.dtype.kind in "iu":
        check_whole(array, numbers, path)
    return numbers


def _values(batch: Any, names: list[str], k: int | None, pa: Any) -> Array | None:
    if k is None:
        return None
    column = batch.column(names[k])
    if _is_text(pa, column.type):
        return np.array(["" if cell is None else cell for cell in column.to_pylist()], np.str_)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    array: Array = column.to_numpy(zero_copy_only=False)
    return array


def write_parquet(stream: IO[bytes], data: Data) -> None:
    """Write all examples, a column for each feature, for the id and for the label."""
    pa = _pyarrow()
    names = list(data.feature_names or (f"f{k + 1}" for k in range(data.X.shape[1])))
    columns = [np.ascontiguousarray(column) for column in data.X.T]
    if data.ids is not None:
        names.insert(0, ID_NAME)
        columns.insert(0, data.ids)
    if data.y is not None:
        names.append(data.label_name or LABEL_NAMES[0])
        columns.append(data.y)
    arrays = [pa.array(column.tolist() if column.dtype.kind == "U" else column)
              for column in columns]  # fmt: skip
    pa.parquet.write_table(pa.table(arrays, names=names), stream)
