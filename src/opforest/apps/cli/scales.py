"""The warning about features of different scales, in the words of the command line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opforest.io.columns.table import Data

#: So many examples show what the scales are.
ENOUGH = 1000


@contextmanager
def quiet_about_scales() -> Iterator[None]:
    """Leave out the warning of the library, which tells people what to write in Python."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "features differ in spread")
        yield


def warn_of_scales(model: Any, X: Any, data: "Data", remedy: str) -> None:
    """Warn of features whose spreads differ, by the names or numbers of their columns.

    Parameters
    ----------
    model : estimator
        A classifier, or a pipeline whose preparation is fitted.
    X : array of shape (n, d)
        The examples as the classifier gets them.
    data : Data
        What they were read as, or a part of it.
    remedy : str
        What to type.
    """
    from opforest.apps.cli.models import classifier_of
    from opforest.estimators.validation import warn_of_spreads

    names = list(data.feature_names or ())
    if hasattr(model, "steps"):
        names = list(model.steps[-2][1].get_feature_names_out())
    names = names or [f"column {k}" for k in (data.layout or {}).get("features", ())]
    warn_of_spreads(X, classifier_of(model).metric, names or None, remedy)


class FirstRows:
    """The first examples of a stream into a new model, of whose scales to warn.

    Parameters
    ----------
    model : estimator
        The model that learns them. If it has learned before, nothing is kept, and nobody warned.
    wanted : int
        How many to look at; at most ``ENOUGH``.
    """

    def __init__(self, model: Any, wanted: int) -> None:
        from opforest.apps.cli.models import classifier_of

        self._model, self._wanted = model, min(wanted, ENOUGH)
        self._data: list[Data] = []
        self._is_over = hasattr(classifier_of(model), "forest_")

    def add(self, data: "Data") -> None:
        """Take note of examples that the model has just learned; warn when there are enough."""
        if self._is_over or not len(data):
            return
        self._data.append(data)
        self._wanted -= len(data)
        if self._wanted <= 0:
            self.end()

    def end(self) -> None:
        """Warn, if that has not been done, because no more examples come."""
        from opforest.io.columns.table import join

        if self._is_over or not self._data:
            return
        self._is_over, data = True, join(self._data)
        self._data = []
        X = data.X if not hasattr(self._model, "steps") else self._model.prepare(data.X)
        remedy = "begin again with another MODEL and --scale standard"
        warn_of_scales(self._model, X, data, remedy)
