"""Conversion of user-supplied rows to what a store keeps and what its model learns.

A plain store keeps features, which are what its model learns. A store with a preparation keeps the
cells as they were given, and its model learns the output of the preparation.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from opforest.estimators.preparation import Preparation, UnknownCategoryError
from opforest.learner.errors import RowError
from opforest.learner.settings import Settings
from opforest.learner.validation import Array, read_cells, read_rows
from opforest.persistence.container import refuse_constant
from opforest.persistence.pipelines import check_widths, dump_steps, restore_steps

#: What a cell in a file may be.
CELLS = (float, int, str, type(None))


class PlainRows:
    """Rows of numbers, kept as they are learned."""

    def __init__(self, settings: Settings) -> None:
        self._known = settings

    @property
    def n_features(self) -> int | None:
        """The number of features that a model learns; None if that is not known yet."""
        return self._known.n_features

    def read(self, X: Any) -> Array:
        """Return rows, if they can be those of the store."""
        known = self._known
        return read_rows(X, known.feature_names, known.n_features, known.dtype)

    def prepare(self, rows: Array) -> Array:
        """Return what a model learns of rows."""
        return rows

    def pack(self, rows: Array) -> list[bytes]:
        """Return rows as the table has them."""
        little = rows.astype(rows.dtype.newbyteorder("<"), copy=False)
        return [row.tobytes() for row in little]

    def unpack(self, content: Sequence[bytes]) -> Array:
        """Return rows of the table, or say in a ``ValueError`` that they are damaged."""
        if not content:
            return np.empty((0, 1), self._known.dtype)
        if len({*map(len, content)}) > 1:
            raise ValueError("the file is damaged: examples have different numbers of features")
        rows = np.frombuffer(b"".join(content), self._known.dtype.newbyteorder("<"))
        rows = rows.reshape(len(content), -1).astype(self._known.dtype)
        if not np.isfinite(rows).all():
            raise ValueError("the file is damaged: a feature is not finite")
        if rows.shape[1] != self._known.n_features:
            raise ValueError("the file is damaged: an example has other features")
        return rows


class PreparedRows:
    """Rows of numbers and text, in which cells may be missing, and what is made of them."""

    def __init__(self, settings: Settings) -> None:
        self._known = settings
        self.steps: list[tuple[str, Any]] = []
        if settings.prepared is not None:
            made = restore_steps(settings.prepared)
            self.steps = [(title, step) for title, step in made if not isinstance(step, str)]
            if not self.steps:
                raise ValueError("its preparation has no steps")
            width = getattr(self.steps[0][1], "n_features_in_", None)
            if width != settings.n_features:
                raise ValueError("its preparation is of other features")
            check_widths([step for _, step in self.steps], None)

    @property
    def n_features(self) -> int | None:
        """The number of features that a model learns; None if that is not known yet."""
        return len(self.steps[-1][1].get_feature_names_out()) if self.steps else None

    def read(self, X: Any) -> Array:
        """Return the cells of rows, if they can be those of the store."""
        return read_cells(X, self._known.feature_names, self._known.n_features)

    def prepare(self, rows: Array) -> Array:
        """Return what a model learns of rows."""
        table: Any = self._table(rows)
        try:
            for _, step in self.steps:
                table = step.transform(table)
        except UnknownCategoryError as error:
            raise RowError(
                f"row {error.row}, {error}", error.row, self._called(error.column)
            ) from None
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

    def pack(self, rows: Array) -> list[bytes]:
        """Return rows as the table has them: JSON, in which numbers keep all their digits."""
        return [json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
                for row in rows.tolist()]  # fmt: skip

    def unpack(self, content: Sequence[bytes]) -> Array:
        """Return rows of the table, or say in a ``ValueError`` that they are damaged."""
        cells = np.empty((len(content), self._known.n_features or 1), object)
        try:
            for i, packed in enumerate(content):
                row = json.loads(packed.decode(), parse_constant=refuse_constant)
                if type(row) is not list or not {*map(type, row)} <= {*CELLS}:
                    raise ValueError("an example is no list of cells")
                cells[i] = [float(cell) if type(cell) is int else cell for cell in row]
        except (ValueError, RecursionError, OverflowError) as error:
            raise ValueError(f"the file is damaged: {error}") from None
        return read_cells(cells, None, self._known.n_features)

    def _table(self, rows: Array) -> Any:
        """Return cells as the first step takes them."""
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

    def _called(self, k: int) -> str | int:
        return k if self._known.feature_names is None else self._known.feature_names[k]


Rows = PlainRows | PreparedRows


def rows_of(settings: Settings) -> Rows:
    """Return what reads and keeps the rows of a store."""
    return PlainRows(settings) if settings.preparation is None else PreparedRows(settings)


def learn_preparation(asked: dict[str, Any], rows: Array, names: tuple[str, ...] | None) -> Any:
    """Return what a preparation learns of rows, as data."""
    preparation = Preparation(**asked)
    try:
        preparation.fit(rows)
    except ValueError as error:
        raise RowError(f"the rows cannot be prepared: {error}") from None
    preparation.columns_ = None if names is None else list(names)
    return dump_steps([("prepare", preparation)])
