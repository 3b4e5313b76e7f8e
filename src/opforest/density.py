"""Layer 3: what estimators of densities share."""

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from opforest._notebook import NotebookMixin, count
from opforest.base import PRECISIONS
from opforest.hills import DensityForest, Graph, Grown
from opforest.metrics import ALIASES, NON_NEGATIVE, Array, Metric, resolve
from opforest.spanning import check_algorithm


class DensityEstimator(NotebookMixin, BaseEstimator):
    """The base of estimators that learn the densities of examples by their nearest neighbours.

    A subclass has the parameters ``k_max``, ``metric``, ``metric_params``, ``algorithm`` and
    ``n_jobs``, and keeps what it has learned in ``_forest_``.
    """

    k_max: int
    metric: str | Callable[..., float]
    metric_params: Mapping[str, Any] | None
    algorithm: str
    n_jobs: int | None

    _forest_: DensityForest

    @property
    def density_(self) -> Array:
        """The density of each example, from 1 to 1000."""
        return self._hills("density")

    @property
    def k_(self) -> int:
        """The number of neighbours used for densities and the forest."""
        return self._grown().k

    @property
    def predecessor_(self) -> Array:
        """The example before each one on the path from its root; −1 for roots."""
        return self._hills("predecessor")

    def _grown(self) -> Grown:
        if "_forest_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._forest_.grown

    def _hills(self, name: str) -> Array:
        array: Array = getattr(self._grown().hills, name).view()
        array.flags.writeable = False
        return array

    def _find_metric(self) -> Metric:
        metric = resolve(self.metric, self.metric_params)
        check_algorithm(self.algorithm, metric)
        return metric

    def _check_k(self, n: int) -> int:
        """Return the largest k that n examples allow."""
        require_count("k_max", self.k_max, 1)
        return min(int(self.k_max), n - 1)

    def _measured(self, X: Array, metric: Metric, k: int) -> tuple[Array, Array | None, Graph]:
        """Return the rows, the points if the rows are a table, and the graph of the k nearest."""
        points = metric.embed(X)
        rows = metric.training_rows(points)
        graph = Graph.of(rows, k, metric, self.algorithm, self.n_jobs)
        return rows, None if rows is points else points, graph

    def _check_new(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self, "_forest_")
        dtype = self._forest_.dtype
        queries: Array = validate_data(self, X, dtype=dtype, reset=False)
        return queries

    def _facts(self) -> str:
        """Return the numbers of examples, features, clusters or classes, and neighbours."""
        if "_forest_" not in vars(self):
            return ""
        said = [count(len(self._forest_), "example"), f"k = {self.k_}"]
        if not self._forest_.metric.is_precomputed:
            said.insert(1, count(self._forest_.n_features, "feature"))
        for name, what in (("roots_", ("cluster",)), ("classes_", ("class", "classes"))):
            if hasattr(self, name):
                said.insert(-1, count(len(getattr(self, name)), *what))
        return ", ".join(said)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        name = ALIASES.get(self.metric, self.metric) if isinstance(self.metric, str) else ""
        tags.input_tags.pairwise = name == "precomputed"
        tags.input_tags.positive_only = name in NON_NEGATIVE
        return tags


def check_training(estimator: BaseEstimator, X: Any, **more: Any) -> Array:
    """Return the examples to learn, in their own precision."""
    examples: Array = validate_data(estimator, X, dtype=PRECISIONS, **more)
    return examples


def require_count(name: str, value: object, least: int) -> None:
    """Raise a ``ValueError`` unless a parameter is an integer of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def require_share(name: str, value: Any, most: float = 1.0, least_open: bool = False) -> None:
    """Raise a ``ValueError`` unless a parameter is a number from 0 to ``most``."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most or (least_open and value == 0):
        begin = "above 0" if least_open else "from 0"
        raise ValueError(f"{name} must be a number {begin} and up to {most}, got {value!r}.")
