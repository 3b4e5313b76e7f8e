"""Base class of estimators that learn a forest of densities."""

from typing import Any

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from opforest._utils.progress import begin_phase
from opforest._utils.text import count
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.estimators.base import MetricEstimator
from opforest.estimators.inputs import read_examples
from opforest.estimators.validation import PRECISIONS, require_count
from opforest.forest.density import DensityForest, DensityForestState, NeighborGraph
from opforest.forest.state import freeze


class DensityEstimator(MetricEstimator):
    """The base of estimators that learn the densities of examples from their nearest neighbors.

    A subclass has at least the parameters ``k_max``, ``metric``, ``metric_params``, ``algorithm``,
    ``n_jobs`` and ``verbose``, and sets ``density_forest_`` when it has learned.
    """

    k_max: int
    density_forest_: DensityForest

    @property
    def density_(self) -> Array:
        """The density of each example, from 1 to 1000."""
        return freeze(self._state().arrays.density.view())

    @property
    def k_(self) -> int:
        """The number of neighbors that was chosen."""
        return self._state().k

    @property
    def predecessor_(self) -> Array:
        """The example before each one on its path, as a row of X; −1 for roots."""
        return freeze(self._state().arrays.predecessor.view())

    def _state(self) -> DensityForestState:
        if "density_forest_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.density_forest_.state

    def _check_training(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return the examples to learn, in their own precision, and their labels if given."""
        require_count("k_max", self.k_max, 1)
        return read_examples(self, X, *y, dtype=PRECISIONS, **options)

    def _build_graph(self, X: Array, metric: Metric) -> NeighborGraph:
        """Return the ``k_max`` nearest neighbors of all examples, or all if there are fewer."""
        begin_phase("nearest neighbors", len(X))
        k = int(self.k_max)
        return NeighborGraph.build(metric.embed(X), k, metric, self.algorithm, self.n_jobs)

    def _check_queries(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self, "density_forest_")
        queries: Array = read_examples(self, X, dtype=self.density_forest_.dtype, reset=False)
        return queries

    def _facts(self) -> str:
        """Return the numbers of examples, features, clusters or classes, and neighbors."""
        if "density_forest_" not in vars(self):
            return ""
        forest = self.density_forest_
        facts = [count(len(forest), "example"), f"k = {self.k_}"]
        if not forest.metric.is_precomputed:
            facts.insert(1, count(forest.n_features, "feature"))
        for name, what in (("roots_", ("cluster",)), ("classes_", ("class", "classes"))):
            if hasattr(self, name):
                facts.insert(-1, count(len(getattr(self, name)), *what))
        return ", ".join(facts)
