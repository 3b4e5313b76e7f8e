"""Validation and encoding of labels, keys and rows of features for a store."""

from collections.abc import Container, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from opforest.estimators.semi_supervised import is_missing
from opforest.learner.errors import RowError

Array = npt.NDArray[Any]

#: Kinds of labels and their NumPy types. A store has labels of one kind.
KINDS: dict[str, Any] = {
    "text": np.str_,
    "integer": np.int64,
    "boolean": np.bool_,
    "real": np.float64,
}
KIND_OF = {str: "text", int: "integer", bool: "boolean", float: "real"}
NUMBERS = {"integer": int, "real": float}

#: Longest label and key: an array of labels has room for the longest one in each element.
LONGEST = 256

#: Prefix of the keys generated for examples without one; the id follows: ``:3``, which shells take
#: as it is.
GENERATED = ":"

#: Their prefix in versions up to 0.2, which is still understood: shells begin a comment with it.
OLD_GENERATED = "#"


def read_labels(y: Any, kind: str | None, may_lack: bool = False) -> tuple[list[Any], str | None]:
    """Return labels as Python values, and their kind.

    ``kind`` is the kind of known labels, or None. If labels ``may_lack``, ``None``, NaN and −1
    become ``None``, as for ``OPFSemiSupervised``.
    """
    values = _as_list(y, "labels must be a list, one label for each row")
    if may_lack:
        values = [None if is_missing(value) else value for value in values]
    for i, value in enumerate(values):
        if type(value) not in KIND_OF and not (may_lack and value is None):
            hint = " Only semi-supervised stores learn without labels." if value is None else ""
            raise RowError(
                f"the label of row {i} must be text, a whole number or a boolean, got "
                f"{value!r:.50} of type {type(value).__name__}.{hint}",
                i,
            )
    given = [value for value in values if value is not None]
    if not given:
        return values, kind
    found = _kind_of(given, kind)
    known = "" if kind is None else f" ({kind} in this store)"
    kind = kind or found or KIND_OF[type(given[0])]
    for i, value in enumerate(values):
        if value is None:
            continue
        if found != kind and KIND_OF[type(value)] != kind:
            raise RowError(
                f"labels must be of one kind{known}, but the label of row {i} is {value!r:.50}.", i
            )
        _check_label(value, kind, i)
    number = NUMBERS.get(kind)
    if number is not None:
        values = [None if value is None else number(value) for value in values]
    return values, kind


def _as_list(values: Any, requirement: str) -> list[Any]:
    """Return a list of Python values; raise a ``ValueError`` with the requirement otherwise."""
    found = None
    if not isinstance(values, str | Set | Mapping):
        with suppress(TypeError):
            found = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(found, list):
        got = type(values).__name__ if isinstance(values, Set | Mapping) else f"{values!r:.50}"
        raise ValueError(f"{requirement}, got {got}.")
    return [value.item() if isinstance(value, np.generic) else value for value in found]


def _kind_of(values: list[Any], wanted: str | None) -> str | None:
    """Return the kind of labels, the wanted one if possible, or None if they are mixed."""
    types = set(map(type, values))
    if types == {int, float}:
        types = {float}
    if len(types) > 1:
        return None
    found = KIND_OF[types.pop()]
    if found == "integer" and wanted == "real":
        return wanted
    if found == "real" and wanted == "integer" and all(map(_is_whole, values)):
        return wanted
    return found


def _is_whole(value: float) -> bool:
    """Return whether a number is an integer that a float represents exactly."""
    try:
        return float(value).is_integer() and int(value) == float(value)
    except OverflowError:
        return False


def _check_label(value: Any, kind: str, i: int) -> None:
    if kind == "text":
        _check_text(value, f"the label of row {i}", i)
    elif kind in NUMBERS and not -(2**63) <= value < 2**63:
        raise RowError(f"the label of row {i} must fit into 64 bits, got {str(value)[:50]}.", i)
    elif kind == "real" and not _is_whole(value):
        got = str(value)[:50]
        raise RowError(f"the label of row {i} must be text or a whole number, got {got}.", i)


def _check_text(text: str, what: str, i: int | None) -> None:
    if len(text) > LONGEST:
        raise RowError(f"{what} must have at most {LONGEST} characters, got {len(text)}.", i)
    if "\0" in text:
        raise RowError(f"{what} must not contain the character NUL.", i)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RowError(f"{what} must be valid Unicode.", i) from None


def as_text(label: Any) -> str:
    """Return a label as the name of a JSON member: true, 7, cat."""
    if type(label) is bool:
        return str(label).lower()
    return str(int(label)) if type(label) is float else str(label)


def label_array(values: list[Any], kind: str | None) -> Array:
    """Return labels as an array for a model; SQLite returns True as 1."""
    if None in values:
        if kind == "boolean":
            values = [None if value is None else bool(value) for value in values]
        return np.array(values, object)
    return np.array(values, KINDS[kind or "text"])


def read_keys(keys: Any, n: int | None = None) -> list[str]:
    """Return validated keys, of which there must be ``n``."""
    if isinstance(keys, str):
        keys = [keys]
    elif n is None and isinstance(keys, Set | Mapping):  # the order does not matter
        keys = list(keys)
    values = _as_list(keys, "keys must be text, or a list of text in the order of the rows")
    for i, key in enumerate(values):
        if type(key) is not str:
            got = f"got {key!r:.50} of type {type(key).__name__}"
            raise RowError(f"the key of row {i} must be text, {got}.", i)
        if not key:
            raise RowError(f"the key of row {i} is empty.", i)
        _check_text(key, f"the key of row {i}", i)
    if n is not None and len(values) != n:
        raise ValueError(f"there must be a key for each row, got {len(values)} for {n} rows.")
    return values


def check_new_keys(keys: Sequence[str], known: Container[str]) -> None:
    """Raise a ``RowError`` if an unknown key looks like a generated one."""
    for i, key in enumerate(keys):
        if key in known:
            continue
        if key.startswith(OLD_GENERATED) or id_of(key) is not None:
            reason = "must not begin with '#', or be ':' and a number, as generated keys are"
            raise RowError(f"the key of row {i} {reason}, got {key!r}.", i)


def id_of(key: str) -> int | None:
    """Return the id in a key that looks like a generated one, or None."""
    prefix, digits = key[:1], key[1:]
    is_id = digits.isascii() and digits.isdecimal() and len(digits) < 19
    if prefix not in (GENERATED, OLD_GENERATED) or not is_id or digits != str(int(digits)):
        return None
    return int(digits)


def read_rows(X: Any, names: tuple[str, ...] | None, n_features: int | None, dtype: Any) -> Array:
    """Return rows of finite features as an array of this type.

    Columns of a data frame are put in the order of ``names``, which are None if unknown, as is
    ``n_features``.
    """
    if names is not None and hasattr(X, "columns"):
        X = np.column_stack([np.asarray(X[column]) for column in _ordered_columns(X, names)])
    if np.ma.is_masked(X):
        raise RowError("rows must be tables of finite numbers, and some of these are masked.")
    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(X)
            if rows.dtype.kind in "cmM":  # complex numbers, times and dates
                raise TypeError(f"got {rows.dtype}.")
            rows = rows.astype(dtype)
    except (TypeError, ValueError, OverflowError) as error:
        hint = " Pass X.toarray()." if hasattr(X, "toarray") else ""
        raise RowError(f"rows must be tables of numbers: {error}{hint}") from None
    if rows.ndim != 2:
        hint = " Put a single example into a list: [x]." if rows.ndim == 1 else ""
        raise RowError(f"rows must be a table, got an array with {rows.ndim} dimensions.{hint}")
    if n_features is not None and rows.shape[1] != n_features:
        raise RowError(f"each row must have {n_features} features, got {rows.shape[1]}.")
    if rows.shape[1] == 0:
        raise RowError("each row must have at least one feature.")
    if not np.isfinite(rows).all():
        i, k = np.argwhere(~np.isfinite(rows))[0].tolist()
        column = k if names is None else names[k]
        raise RowError(
            f"row {i}, column {column!r} must be a finite number"
            f"{' of single precision' if rows.dtype == np.float32 else ''}, got {rows[i, k]}.",
            i, column,
        )  # fmt: skip
    copy: Array = np.ascontiguousarray(rows) + rows.dtype.type(0)  # −0 becomes 0
    return copy


def read_cells(X: Any, names: tuple[str, ...] | None, n_features: int | None) -> Array:
    """Return rows of cells, which are numbers, text, or ``None`` if missing; see ``read_rows``."""
    if hasattr(X, "columns"):
        columns = _ordered_columns(X, names) if names is not None else list(X.columns)
        rows = list(zip(*(np.asarray(X[column]).tolist() for column in columns), strict=True))
    else:
        rows = X.tolist() if hasattr(X, "tolist") else list(X)
    width = n_features or (len(rows[0]) if rows and isinstance(rows[0], list | tuple) else 1)
    column_names: Sequence[str | int] = range(width) if names is None else names
    cells = np.empty((len(rows), width), object)
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple | np.ndarray):
            raise RowError("rows must be a table: put a single example into a list: [x].", i)
        if len(row) != width or width == 0:
            raise RowError(f"row {i} must have {width or 'some'} cells, got {len(row)}.", i)
        cells[i] = [_cell(cell, i, column_names[k]) for k, cell in enumerate(row)]
    for k in range(width):
        types = {*map(type, cells[:, k])} - {type(None)}
        if len(types) > 1:
            i = next(i for i, cell in enumerate(cells[:, k]) if type(cell) is str)
            column = column_names[k]
            raise RowError(f"column {column!r} has numbers, but text in row {i}.", i, column)
    return cells


def _cell(cell: Any, i: int, column: str | int) -> float | str | None:
    """Return a validated cell."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if cell is None or type(cell).__name__ == "NAType":  # of pandas
        return None
    if type(cell) is str:
        _check_text(cell, f"row {i}, column {column!r}", i)
        return cell
    try:
        number = float(cell) if isinstance(cell, bool | int | float) else None
    except OverflowError:
        number = np.inf
    if number is None or abs(number) == np.inf:
        raise RowError(
            f"row {i}, column {column!r} must be a finite number or text, got {cell!r:.50}.",
            i, column,
        )  # fmt: skip
    return None if number != number else number + 0.0  # −0 becomes 0


def _ordered_columns(X: Any, names: tuple[str, ...]) -> list[Any]:
    """Return the columns of a data frame in the order of the features."""
    columns = [str(column) for column in X.columns]
    missing = [name for name in names if name not in columns]
    if missing:
        raise RowError(f"the feature {missing[0]!r} is missing.", None, missing[0])
    more = [column for column in columns if column not in set(names)]
    if more:
        raise RowError(f"there is no feature {more[0]!r} in the store.", None, more[0])
    return [X.columns[columns.index(name)] for name in names]
