"""The header of a model file: JSON that may hold anything, until it is looked at."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from opforest.io.errors import ModelFileError
from opforest.metrics import Array


class Reader:
    """The header, or a part of it, whose entries may be anything."""

    def __init__(self, entries: Any, name: str = "header") -> None:
        if not isinstance(entries, dict):
            raise ModelFileError(f"its {name} is no object.")
        self._entries = entries

    def get(self, name: str, *types: type) -> Any:
        """Return an entry, if it is of one of these very types."""
        value = self._entries.get(name)
        if type(value) not in types:
            raise ModelFileError(f"its entry {name!r} cannot be {str(value)[:100]!r}.")
        return value

    def choice(self, name: str, choices: Mapping[str, Any]) -> Any:
        """Return what an entry chooses."""
        value = self.get(name, str)
        if value not in choices:
            raise ModelFileError(
                f"its entry {name!r} must be one of {list(choices)}, not {value!r}."
            )
        return choices[value]

    def part(self, name: str) -> "Reader":
        """Return the reader of an entry that is an object itself."""
        return Reader(self._entries.get(name), name)

    def names(self, entry: str) -> list[Any] | None:
        """Return an entry that is a list of names."""
        names = self.get(entry, list, type(None))
        return None if names is None else [from_json(name) for name in names]


def take(arrays: dict[str, Array], name: str) -> Array:
    """Return an array of a file, which then has it no more."""
    if name not in arrays:
        raise ModelFileError(f"it has no array {name!r}.")
    return arrays.pop(name)


# Values that JSON has, and back. Those of NumPy become Python's; infinity becomes an object.


def to_json(value: Any, what: str) -> Any:
    """Return a value as JSON has it, or say in a ``ValueError`` that it has not."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ValueError(
        f"{what} must be strings, numbers or booleans to be saved, got {value!r} of type "
        f"{type(value).__name__}."
    )


def from_json(value: Any) -> Any:
    """Return what ``to_json`` was given."""
    if isinstance(value, dict) and value.get("float") in ("inf", "-inf"):
        return float(value["float"])
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ModelFileError(f"a value cannot be {str(value)[:100]}.")


def names_to_json(names: Any, what: str) -> list[Any]:
    """Return names as JSON has them."""
    return [to_json(name, what) for name in names]
