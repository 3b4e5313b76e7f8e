"""Outlier detection by the density of an optimum-path forest."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin

from opforest._utils.progress import begin_phase, print_progress
from opforest.core.density.forest import UNIT
from opforest.core.metrics.types import Array
from opforest.estimators.density_base import DensityEstimator
from opforest.estimators.validation import require_fraction
from opforest.forest.density import DensityForest, choose_k, compute_densities


class OPFOutlier(OutlierMixin, DensityEstimator):
    """Outlier detection: outliers are examples at which a density is small.

    The density is the one of ``OPFClustering``, which also chooses the number of neighbors. Scores
    are logarithms of densities, so that even examples far from all others can be distinguished.

    Parameters
    ----------
    k_max : int, default=20
        The largest number of neighbors to try. With n examples, at most n − 1 are tried.
    contamination : float, default=0.1
        The fraction of outliers among the training examples, above 0 and up to 0.5.
    metric, metric_params, algorithm, n_jobs, verbose
        As for ``OPFClustering``.

    Attributes
    ----------
    offset_ : float
        Examples with a smaller score are outliers.
    k_, density_, n_features_in_
        As for ``OPFClustering``.

    Notes
    -----
    Let d be the distances to the k nearest neighbors, and D the longest of all such distances
    between training examples. The score is the logarithm of the mean of exp(−9 d / (2 D)). An
    example that equals a training example counts as that one, which is not its own neighbor. So
    ``fit_predict`` returns the same as ``predict`` for the training examples.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest import OPFOutlier
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0]])
    >>> OPFOutlier(k_max=2, contamination=0.2).fit_predict(X)
    array([ 1,  1,  1,  1, -1])
    """

    offset_: float

    def __init__(
        self,
        k_max: int = 20,
        *,
        contamination: float = 0.1,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        algorithm: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.k_max = k_max
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.contamination = contamination

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Learn the densities of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : object
            Ignored; part of scikit-learn's interface.
        """
        self._fit(X)
        return self

    def _fit(self, X: npt.ArrayLike) -> Array:
        """Learn, and return the scores."""
        require_fraction("contamination", self.contamination, 0.5, least_open=True)
        metric = self.resolve_metric()
        examples = self._check_training(X, ensure_min_samples=2)
        with print_progress(type(self).__name__, self.verbose):
            graph = self._build_graph(examples, metric)
            begin_phase("choosing k", graph.n)
            k, _ = choose_k(graph, 1, True, self.n_jobs)
        state = compute_densities(graph, k)
        distance = np.ascontiguousarray(graph.distance[:k].T)
        scores = _log_densities(distance, state.scale[UNIT])
        offset = float(np.percentile(scores, 100 * self.contamination))
        self.set_forest(graph.forest(state), offset)
        return scores

    def set_forest(self, forest: DensityForest, offset: float) -> None:
        """Replace the forest and the threshold of its scores, by one assignment."""
        self.__dict__ = {**vars(self), "density_forest_": forest, "offset_": offset}

    def fit_predict(self, X: npt.ArrayLike, y: object = None, **kwargs: Any) -> Array:
        """Learn the examples like ``fit``, and return the same as ``predict`` for them."""
        return np.where(self._fit(X) < self.offset_, -1, 1)

    def score_samples(self, X: npt.ArrayLike) -> Array:
        """Return the logarithm of the density of each example; X is as for ``predict``."""
        X = self._check_queries(X)
        state = self.density_forest_.state
        _, distance = self.density_forest_.nearest(X, state.k + 1, self.n_jobs)
        is_known = distance[:, 0] == 0
        distance = np.where(is_known[:, None], distance[:, 1:], distance[:, :-1])
        return _log_densities(distance, state.scale[UNIT])

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return ``score_samples(X)`` minus ``offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return −1 for outliers, 1 for other examples.

        X holds examples, or their distances to the training examples if ``metric="precomputed"``.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


def _log_densities(distance: Array, unit: float) -> Array:
    """Return the logarithms of the means of exp(−distance / unit), row by row."""
    if unit == 0:
        return np.where((distance == 0).all(axis=1), 0.0, -np.inf)
    term = -distance / unit
    top = term.max(axis=1)
    mean = np.exp(term - top[:, None]).mean(axis=1)
    scores: Array = top + np.log(mean)
    return scores
