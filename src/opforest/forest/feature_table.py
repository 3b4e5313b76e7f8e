"""The features of an explained example beside those of the examples that decide its label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opforest.core.metrics.types import Array

#: The examples that decide a label, in the order in which they are shown, and the example itself.
ROLES = ("prototype", "conqueror", "rival", "x")


@dataclass(frozen=True)
class FeatureTable:
    """The features of an example and of those that decide its label, side by side.

    Attributes
    ----------
    roles : tuple of str
        The rows: ``"prototype"``, ``"conqueror"``, ``"rival"`` and ``"x"``. The prototype is left
        out if it is the conqueror, the rival if there is none.
    names : tuple of str
        The columns: names of features, or of columns of the table before a preparation. Those in
        which the rows differ most, as the metric measures them, come first.
    values : tuple of tuple
        The cells of each row: numbers, or text for categories; ``None`` where a value is unknown.
    has_names : bool
        Whether the names were given; otherwise they are numbers, such as ``"feature 0"``.
    differences : tuple of float
        By column, the largest difference of two rows as the metric measures it.
    order : tuple of int
        By column, its number among the features of an example.

    Examples
    --------
    >>> import pandas as pd
    >>> from opforest import OPFClassifier
    >>> X = pd.DataFrame({"age": [1.0, 2.0, 3.0], "size": [0.0, 5.0, 9.0]})
    >>> table = OPFClassifier().fit(X, ["a", "b", "b"]).explain(X.iloc[2]).table
    >>> table.names
    ('size', 'age')
    >>> dict(zip(table.roles, table.values))["rival"]
    (0.0, 1.0)
    """

    roles: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    has_names: bool
    differences: tuple[float, ...]
    order: tuple[int, ...]

    @classmethod
    def build(
        cls,
        roles: Sequence[str],
        names: Sequence[object],
        values: Sequence[Sequence[Any]],
        differences: Sequence[float],
        has_names: bool = True,
    ) -> "FeatureTable":
        """Return a table of columns in any order, sorted by falling differences."""
        order = np.argsort(-np.asarray(differences, np.float64), kind="stable").tolist()
        return cls(
            tuple(roles),
            tuple(map(str, map(names.__getitem__, order))),
            tuple(tuple(map(row.__getitem__, order)) for row in values),
            has_names,
            tuple(map(float, map(differences.__getitem__, order))),
            tuple(order),
        )

    def unsorted(self) -> tuple[Array, Array]:
        """Return values and differences of all features in their own order, NaN if unknown."""
        place = np.argsort(self.order)
        return np.array(self.values, np.float64)[:, place], np.array(self.differences)[place]


def measure_differences(points: Array, is_equality: bool) -> Array:
    """Return the largest difference of two rows in each column, or whether they differ at all."""
    with np.errstate(over="ignore"):
        spread = points.max(axis=0) - points.min(axis=0)
    return np.asarray(spread > 0 if is_equality else spread, np.float64)


def round_cell(value: Any, digits: int = 12) -> Any:
    """Return a cell as a Python value; a number without the noise of rounding, None for NaN."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if value != value else float(f"{value:.{digits}g}")
    return value


def print_cell(value: Any) -> str:
    """Return a cell as text for people."""
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
