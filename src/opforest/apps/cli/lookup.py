"""Lookup of rows of a data file among the examples that a model holds."""

from collections import defaultdict
from typing import Any

from opforest.apps.cli import models
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.lazy_modules import np, table


class ExampleLookup:
    """The examples of a model with features, to be compared with rows of data files.

    Rows are prepared as the model prepares them, so they are equal to an example if all of their
    numbers are, to the last bit; 0 and −0 are equal.
    """

    def __init__(self, model: Any) -> None:
        last = models.classifier_of(model)
        self._model = model
        is_classifier = hasattr(last, "forest_")
        self._forest = last.source_forest() if is_classifier else last.density_forest_

    def contents(self) -> set[bytes]:
        """Return all examples."""
        return set(_as_bytes(self._forest.points))

    def read(self, data: "table.Data", path: str) -> list[bytes]:
        """Return the rows of a data file in the form of the examples."""
        forest = self._forest
        with locate_errors(path, data):
            X = np.asarray(models.prepare(self._model, data.X))
            return _as_bytes(forest.metric.embed(X.astype(forest.points.dtype)))

    def find(self, rows: list[bytes], labels: list[Any] | None) -> tuple[list[int], list[int], int]:
        """Find an example for each row, the newest of equals, with the row's label if it has one.

        Return the ids of the examples, the rows without one, and how many more
        examples are equal to the rows.
        """
        classes = models.classifier_of(self._model).classes_
        codes = self._forest.given_labels()
        place = {label: code for code, label in enumerate(classes.tolist())}
        wanted = set(rows)
        ids: dict[Any, list[int]] = defaultdict(list)
        points, known = self._forest.points, self._forest.ids.tolist()
        for id, code, row in zip(known, codes.tolist(), _as_bytes(points), strict=True):
            if row in wanted:
                ids[row if labels is None else (row, code)].append(id)
        keys: list[Any] = list(rows)
        if labels is not None:
            keys = [(row, place.get(label)) for row, label in zip(rows, labels, strict=True)]
        found, missing = [], []
        for i, key in enumerate(keys):
            if ids[key]:
                found.append(ids[key].pop())
            else:
                missing.append(i)
        return found, missing, sum(len(ids[key]) for key in set(keys))


def _as_bytes(points: "table.Array") -> list[bytes]:
    """Return each point as bytes, which are equal if its numbers are."""
    return [row.tobytes() for row in points + points.dtype.type(0)]  # −0 becomes 0
