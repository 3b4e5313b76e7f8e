"""Which column of a table is the label, which the id, and which are features."""

import difflib
from collections.abc import Container, Sequence
from typing import NamedTuple

from opforest.io.data import Expected, Reading
from opforest.io.errors import DataFileError

#: Names of columns that hold the label, if no other is named; case does not matter.
LABEL_NAMES = ("label", "class", "target")

#: The name of a column that is never a feature.
ID_NAME = "id"


class Roles(NamedTuple):
    """Columns, by their index."""

    features: tuple[int, ...]
    label: int | None
    id: int | None
    names: tuple[str, ...] | None  #: of all columns

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features."""
        return None if self.names is None else tuple(self.names[k] for k in self.features)

    @property
    def label_name(self) -> str | None:
        """The name of the label."""
        return None if self.names is None or self.label is None else self.names[self.label]

    def describe(self, column: int) -> str:
        """Return what an error calls a column."""
        return f"column {self.names[column]!r}" if self.names else f"column {column + 1}"


def choose_roles(
    names: Sequence[str] | None,
    n_columns: int,
    text: Container[int],
    whole: Container[int],
    reading: Reading,
    path: str,
) -> Roles:
    """Say what the columns of a table are, or what must be told.

    Parameters
    ----------
    names : sequence of str or None
        Their names.
    n_columns : int
        Their number.
    text, whole : set of int
        The columns that hold text, and those that hold whole numbers only.
    reading : Reading
        What is known already.
    path : str
        The file, for errors.
    """
    named = None if names is None else tuple(names)
    if named is not None:
        _check_names(named, path)
    dropped = {_find(column, named, n_columns, path) for column in reading.drop}
    left = [k for k in range(n_columns) if k not in dropped]
    lowered = [] if named is None else [name.lower() for name in named]
    given = reading.label
    id_column = None
    if named is not None and not (reading.expected and ID_NAME in _names_of(reading.expected)):
        id_column = next((k for k in left if lowered[k] == ID_NAME and named[k] != given), None)
    left = [k for k in left if k != id_column]
    if given == "none":
        label = None
    elif given is not None:
        label = _find(given, named, n_columns, path)
    else:
        label = _guess_label(named, lowered, left, text, whole, reading.expected)
    features = [k for k in left if k != label]
    if reading.expected:
        features = _match(features, named, reading.expected, label, path)
    if not features:
        raise DataFileError("there is no column of features", path)
    return Roles(tuple(features), label, id_column, named)


def _names_of(expected: Expected) -> tuple[str, ...]:
    return expected.names or ()


def _check_names(names: tuple[str, ...], path: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataFileError(f"columns must have different names, got {repeated[0]!r} twice", path)


def _find(column: str, names: tuple[str, ...] | None, n_columns: int, path: str) -> int:
    if names is not None and column in names:
        return names.index(column)
    try:
        number = int(column)
    except ValueError:
        if names is None:
            reason = f"columns have no names, only numbers from 1 to {n_columns}, got {column!r}"
            raise DataFileError(reason, path) from None
        close = difflib.get_close_matches(column, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        reason = f"there is no column {column!r}, but {_listed(names)}{hint}"
        raise DataFileError(reason, path) from None
    if number == 0 or not -n_columns <= number <= n_columns:
        raise DataFileError(f"columns have the numbers 1 to {n_columns}, got {number}", path)
    return number - 1 if number > 0 else n_columns + number


def _guess_label(
    names: tuple[str, ...] | None,
    lowered: list[str],
    left: list[int],
    text: Container[int],
    whole: Container[int],
    expected: Expected | None,
) -> int | None:
    if names is None:
        if expected:
            return left[-1] if len(left) == expected.n_features + 1 else None
        return left[-1] if left and (left[-1] in text or left[-1] in whole) else None
    if expected and expected.names:
        left = [k for k in left if names[k] not in expected.names]
    for known in LABEL_NAMES:
        if found := [k for k in left if lowered[k] == known]:
            return found[0]
    textual = [k for k in left if k in text]
    if len(textual) == 1:
        return textual[0]
    if "x" not in lowered and (found := [k for k in left if lowered[k] == "y"]):
        return found[0]
    if expected and (len(left) == 1 if expected.names else len(left) == expected.n_features + 1):
        return left[-1]
    return None


def _match(
    features: list[int],
    names: tuple[str, ...] | None,
    expected: Expected,
    label: int | None,
    path: str,
) -> list[int]:
    """Return the columns that the model expects, or say which are missing or out of order."""
    if names is None or expected.names is None:
        if len(features) != expected.n_features:
            but = "" if label is None else ", beside the label,"
            raise DataFileError(
                f"the model expects {expected.n_features} features, but the file{but} has "
                f"{len(features)}",
                path,
            )
        return features
    missing = [name for name in expected.names if name not in (names[k] for k in features)]
    if missing:
        raise DataFileError(
            f"columns that the model was trained on are missing: {_listed(missing)}", path
        )
    chosen = [k for k in features if names[k] in expected.names]
    for k, name in zip(chosen, expected.names, strict=True):
        if names[k] != name:
            raise DataFileError(
                f"columns must come in the order of training: {name!r} should come where "
                f"{names[k]!r} does; the order is {_listed(expected.names)}",
                path,
            )
    return chosen


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
