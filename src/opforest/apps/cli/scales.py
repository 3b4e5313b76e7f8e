"""The warning about features of different scales, in the words of the command line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opforest.apps.cli.lazy_modules import table
from opforest.apps.cli.models import classifier_of, prepare

#: Examples that suffice to judge the scales.
ENOUGH = 1000


@contextmanager
def quiet_about_scales() -> Iterator[None]:
    """Suppress the warning of the library, whose advice is Python code."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "features differ in spread")
        yield


def warn_of_scales(model: Any, data: "table.Data", remedy: str, X: Any = None) -> None:
    """Warn of features whose spreads differ, by the names or numbers of their columns.

    ``remedy`` is the option to use; X are the prepared examples if the caller has them.
    """
    from opforest.estimators.validation import warn_about_scales

    names = list(data.feature_names or ())
    if hasattr(model, "steps"):
        names = list(model.steps[-2][1].get_feature_names_out())
    names = names or [f"column {k}" for k in (data.layout or {}).get("features", ())]
    X = prepare(model, data.X) if X is None else X
    warn_about_scales(X, classifier_of(model).metric, names or None, remedy)


class ScaleMonitor:
    """Warns of scales after the first examples of a stream into a new model."""

    def __init__(self, model: Any, wanted: int) -> None:
        self._model, self._wanted = model, min(wanted, ENOUGH)
        self._data: list[table.Data] = []
        self._is_done = hasattr(classifier_of(model), "forest_")

    def add(self, data: "table.Data") -> None:
        """Add examples that the model has just learned; warn when there are enough."""
        if self._is_done or not len(data):
            return
        self._data.append(data)
        self._wanted -= len(data)
        if self._wanted <= 0:
            self.finish()

    def finish(self) -> None:
        """Warn, if that has not happened yet."""
        if not self._is_done and self._data:
            self._is_done = True
            remedy = "begin again with another MODEL and --scale standard"
            warn_of_scales(self._model, table.join(self._data), remedy)
            self._data = []
