"""Layer 3: outliers by the density of an optimum-path forest."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin

from opforest.density import DensityEstimator, check_training, require_count, require_share
from opforest.hills import DensityForest, densities, judge_cuts
from opforest.kernels.clustering.conquest import UNIT
from opforest.metrics import Array


class OPFOutlier(OutlierMixin, DensityEstimator):
    """Outliers: examples where the density of an optimum-path clustering is small.

    The number of neighbours is that of ``OPFClustering``. Scores are logarithms of densities, so
    that even examples far away from all others can be told apart.

    Parameters
    ----------
    k_max : int, default=20
        The largest number of neighbours to try; less than the number of examples, or it is taken
        for that.
    contamination : float, default=0.1
        The share of outliers among the examples, above 0 and up to 0.5.
    metric : str or callable, default="euclidean"
        As for ``OPFClassifier``; densities depend on the metric's units.
    metric_params : dict, default=None
        As for ``OPFClassifier``.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to find neighbours; they are the same.
    n_jobs : int, default=None
        The number of threads that share the work. The result does not depend on it.

    Attributes
    ----------
    offset_ : float
        Examples that score less are outliers.
    k_ : int
        The number of neighbours that was chosen.
    density_ : array of shape (n_samples,)
        Densities, from 1 to 1000.
    n_features_in_ : int
        The number of features seen by ``fit``.

    Notes
    -----
    An example that equals one of those learned is taken for it and does not count as its own
    neighbour: to score the examples learned gives the scores by which ``offset_`` was found. With d
    the distances to the k nearest, and D the longest of all those between the examples learned, the
    score is the logarithm of the mean of exp(−9 d / (2 D)).

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
    ) -> None:
        self.k_max = k_max
        self.contamination = contamination
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.n_jobs = n_jobs

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Learn the densities of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : object
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        OPFOutlier
            The fitted detector itself.
        """
        self._fit(X)
        return self

    def _fit(self, X: npt.ArrayLike) -> Array:
        """Learn, and return the scores."""
        require_count("k_max", self.k_max, 1)
        require_share("contamination", self.contamination, 0.5, least_open=True)
        metric = self._find_metric()
        X = check_training(self, X, ensure_min_samples=2)
        rows, vectors, graph = self._measured(X, metric, self._check_k(len(X)))
        k, _ = judge_cuts(graph, 1, True, self.n_jobs)
        grown = densities(graph, k)
        scores = log_densities(np.ascontiguousarray(graph.distance[:k].T), grown.scale[UNIT])
        forest = DensityForest(metric, rows, vectors, self.algorithm, grown)
        offset = float(np.percentile(scores, 100 * self.contamination))
        self.__dict__ = {**vars(self), "_forest_": forest, "offset_": offset}
        return scores

    def fit_predict(self, X: npt.ArrayLike, y: object = None, **kwargs: Any) -> Array:
        """Learn the examples and return −1 for outliers among them, 1 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            As for ``fit``.
        y : object
            Ignored.
        **kwargs : object
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        array of shape (n_samples,)
            What ``predict`` returns for them.
        """
        return np.where(self._fit(X) < self.offset_, -1, 1)

    def score_samples(self, X: npt.ArrayLike) -> Array:
        """Return the logarithm of the density of each example; less is more of an outlier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            The examples, or their distances to those learned if ``metric="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            The scores, 0 at the most.
        """
        X = self._check_new(X)
        grown = self._forest_.grown
        _, distance = self._forest_.nearest(X, grown.k + 1, self.n_jobs)
        is_known = distance[:, 0] == 0
        distance = np.where(is_known[:, None], distance[:, 1:], distance[:, :-1])
        return log_densities(distance, grown.scale[UNIT])

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the scores less ``offset_``: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for ``score_samples``.

        Returns
        -------
        array of shape (n_samples,)
            The differences.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return −1 for outliers, 1 for other examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for ``score_samples``.

        Returns
        -------
        array of shape (n_samples,)
            Whether they are outliers.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


def log_densities(distance: Array, unit: float) -> Array:
    """Return the logarithms of the means of exp(−distance / unit), row by row."""
    if unit == 0:
        return np.where((distance == 0).all(axis=1), 0.0, -np.inf)
    term = -distance / unit
    top = term.max(axis=1)
    mean = np.exp(term - top[:, None]).mean(axis=1)
    scores: Array = top + np.log(mean)
    return scores
