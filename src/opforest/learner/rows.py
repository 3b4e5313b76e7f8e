"""Conversion of rows between users, the table of a store and its model.

A plain store keeps features, which its model learns. A store with a preparation keeps the cells as
they were given, and its model learns the output of the preparation.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opforest.estimators.original_units import show_original_units
from opforest.estimators.preparation import Preparation, UnknownCategoryError
from opforest.forest.explanation import Explanation
from opforest.learner.errors import RowError
from opforest.learner.settings import Settings
from opforest.learner.validation import Array, read_cells, read_rows
from opforest.persistence.container import refuse_constant
from opforest.persistence.pipelines import check_widths, dump_steps, restore_steps

#: Types of cells in a file.
CELLS = {float, int, str, type(None)}


class PlainRows:
    """Rows of numbers, stored as they are learned."""

    def __init__(self, settings: Settings) -> None:
        self._known = settings

    @property
    def n_features(self) -> int | None:
        """The number of features that a model learns, or None if it is not known yet."""
        return self._known.n_features

    def read(self, X: Any) -> Array:
        """Return validated rows."""
        known = self._known
        return read_rows(X, known.feature_names, known.n_features, known.dtype)

    def prepare(self, rows: Array) -> Array:
        """Return the features that a model learns."""
        return rows

    def show_units(self, why: Explanation, x: Array | None = None) -> Explanation:
        """Return an explanation with the names of features."""
        names, table = self._known.feature_names, why.table
        if names is None or table is None:
            return why
        named = replace(table, names=tuple(names[k] for k in table.order), has_names=True)
        return replace(why, table=named)

    def pack(self, rows: Array) -> list[bytes]:
        """Return rows as bytes for the table."""
        little = rows.astype(rows.dtype.newbyteorder("<"), copy=False)
        return [row.tobytes() for row in little]

    def unpack(self, content: Sequence[bytes]) -> Array:
        """Return rows of the table; raise a ``ValueError`` if they are damaged."""
        dtype, width = self._known.dtype, self._known.n_features or 0
        if not content:
            return np.empty((0, 1), dtype)
        if {*map(len, content)} != {width * dtype.itemsize}:
            raise ValueError("the file is damaged: an example has the wrong number of features")
        rows = np.frombuffer(b"".join(content), dtype.newbyteorder("<")).astype(dtype)
        if not np.isfinite(rows).all():
            raise ValueError("the file is damaged: a feature is not finite")
        return rows.reshape(len(content), width)


class PreparedRows:
    """Rows of numbers and text with missing cells, and the steps that prepare them."""

    def __init__(self, settings: Settings) -> None:
        self._known = settings
        self.steps: list[tuple[str, Any]] = []
        if settings.prepared is not None:
            steps = restore_steps(settings.prepared)
            self.steps = [(title, step) for title, step in steps if not isinstance(step, str)]
            if not self.steps:
                raise ValueError("its preparation has no steps")
            width = getattr(self.steps[0][1], "n_features_in_", None)
            if width != settings.n_features:
                raise ValueError("its preparation has other features")
            check_widths([step for _, step in self.steps], None)

    @property
    def n_features(self) -> int | None:
        """As for ``PlainRows``, but after the preparation."""
        return len(self.steps[-1][1].get_feature_names_out()) if self.steps else None

    def read(self, X: Any) -> Array:
        """Return validated cells."""
        return read_cells(X, self._known.feature_names, self._known.n_features)

    def prepare(self, rows: Array) -> Array:
        """Return the features that a model learns."""
        table: Any = self._table(rows)
        try:
            for _, step in self.steps:
                table = step.transform(table)
        except UnknownCategoryError as error:
            names = self._known.feature_names
            column = error.column if names is None else names[error.column]
            raise RowError(f"row {error.row}, {error}", error.row, column) from None
        except (ValueError, TypeError) as error:
            raise RowError(f"the rows cannot be prepared: {error}") from None
        dense = table.toarray() if hasattr(table, "toarray") else table
        with np.errstate(over="ignore"):
            features = np.ascontiguousarray(dense, self._known.dtype)
        finite = np.isfinite(features).all(axis=1)
        if not finite.all():
            i = int(finite.argmin())
            raise RowError(f"row {i} has a cell that is missing or too large.", i)
        features += features.dtype.type(0)  # −0 becomes 0
        return features

    def show_units(self, why: Explanation, x: Array | None = None) -> Explanation:
        """Return an explanation with the cells before the preparation; ``x`` are those given."""
        given = None if x is None else x.tolist()
        return show_original_units(why, [step for _, step in self.steps], given)

    def pack(self, rows: Array) -> list[bytes]:
        """Return rows as JSON for the table; numbers keep all their digits."""
        return [json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
                for row in rows.tolist()]  # fmt: skip

    def unpack(self, content: Sequence[bytes]) -> Array:
        """Return rows of the table; raise a ``ValueError`` if they are damaged."""
        cells = np.empty((len(content), self._known.n_features or 1), object)
        try:
            for i, packed in enumerate(content):
                row = json.loads(packed.decode(), parse_constant=refuse_constant)
                if type(row) is not list or not {*map(type, row)} <= CELLS:
                    raise ValueError("an example is not a list of cells")
                cells[i] = [float(cell) if type(cell) is int else cell for cell in row]
        except (ValueError, RecursionError, OverflowError) as error:
            raise ValueError(f"the file is damaged: {error}") from None
        return read_cells(cells, None, self._known.n_features)

    def _table(self, rows: Array) -> Any:
        """Return cells as input for the first step."""
        first = self.steps[0][1]
        names = getattr(first, "feature_names_in_", None)
        if names is not None:
            from opforest.persistence.transformers import frame_library

            columns = {str(name): column.tolist() for name, column in
                       zip(names, rows.T, strict=True)}  # fmt: skip
            return frame_library().DataFrame(columns)
        if isinstance(first, Preparation) or any(type(cell) is str for cell in rows.flat):
            return rows
        return rows.astype(np.float64)


Rows = PlainRows | PreparedRows


def rows_of(settings: Settings) -> Rows:
    """Return the conversion of rows for a store."""
    return PlainRows(settings) if settings.preparation is None else PreparedRows(settings)


def fit_preparation(settings: Settings, rows: Array, y: Array, founded: int) -> Settings:
    """Return the settings with a preparation fitted on rows with ids below ``founded``."""
    preparation = Preparation(**(settings.preparation or {}))
    try:
        preparation.fit(rows, y)
    except ValueError as error:
        raise RowError(f"the rows cannot be prepared: {error}") from None
    names = settings.feature_names
    preparation.columns_ = None if names is None else list(names)
    return replace(settings, prepared=dump_steps([("prepare", preparation)]), founded=founded)
