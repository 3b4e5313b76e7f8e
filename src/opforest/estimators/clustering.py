"""Clustering by an optimum-path forest of densities."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin

from opforest._utils.progress import begin_phase, print_progress
from opforest.core.metrics.types import Array
from opforest.estimators.density_base import DensityEstimator
from opforest.estimators.validation import require_count, require_fraction
from opforest.forest.density import MERGE_BY, DensityForest, choose_k, grow, grow_merged


class OPFClustering(ClusterMixin, DensityEstimator):
    """Clustering by an optimum-path forest: clusters are the peaks of a density.

    The density of an example follows from the distances to its k nearest neighbors. Each peak
    conquers the slopes around it along arcs to nearest neighbors; the examples that one peak
    conquers are a cluster. Of all k up to ``k_max``, the one with the smallest normalized cut
    between clusters is chosen.

    Parameters
    ----------
    k_max : int, default=20
        The largest number of neighbors to try. With n examples, at most n − 1 are tried. Larger
        values give fewer clusters.
    k_min : int, default=1
        The smallest number of neighbors to try.
    merge_by : {None, "height", "area", "volume"}, default=None
        Which peaks are too small to be clusters: those whose height is below ``threshold`` of the
        largest density; those with fewer examples than ``threshold`` of all; or those whose volume
        is below ``threshold`` of the mean density.
    threshold : float, default=0
        From 0, which merges nothing, to 1.
    allow_single_cluster : bool, default=False
        Whether a single cluster may be the best answer. Its cut is 0, so with a large ``k_max`` it
        often would be. By default it is the answer only if no k gives more clusters.
    metric, metric_params, algorithm, n_jobs, verbose
        As for ``OPFClassifier``. Densities depend on the units of the metric;
        ``"log_squared_euclidean"`` is the one of LibOPF.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each example, from 0.
    roots_ : array of shape (n_clusters,)
        The example at the top of each cluster, as a row of the X that was fitted.
    density_ : array of shape (n_samples,)
        Densities, from 1 to 1000.
    k_ : int
        The number of neighbors that was chosen.
    normalized_cuts_ : array
        The normalized cut for each k from ``k_min`` on. The search ends at ``k_max``, or at a cut
        of 0.
    predecessor_ : array of shape (n_samples,)
        The example before each one on the path from its root, as a row of X; −1 for roots.
    n_features_in_ : int
        The number of features seen by ``fit``.

    Notes
    -----
    Let d(i, j) be the distances from example i to its k nearest neighbors, and D the largest of
    these distances over all examples. The density of i is the sum of exp(−9 d(i, j) / (2 D)),
    scaled to 1 … 1000 over all examples. Neighbors are ordered by (distance, index); ties between
    examples go to the larger density, then to the smaller index. So the answer is unique. Each k
    gets new arcs; LibOPF's ``opf_cluster`` keeps those between equal densities from one k to the
    next.

    References
    ----------
    L. M. Rocha, F. A. M. Cappabianco, A. X. Falcão: Data clustering as an optimum-path forest
    problem with applications in image analysis. International Journal of Imaging Systems and
    Technology 19(2), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest import OPFClustering
    >>> X = np.array([[0.0], [0.1], [0.25], [3.0], [3.1], [3.25]])
    >>> OPFClustering(k_max=2).fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    labels_: Array
    roots_: Array
    normalized_cuts_: Array

    def __init__(
        self,
        k_max: int = 20,
        *,
        k_min: int = 1,
        merge_by: str | None = None,
        threshold: float = 0.0,
        allow_single_cluster: bool = False,
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
        self.k_min = k_min
        self.merge_by = merge_by
        self.threshold = threshold
        self.allow_single_cluster = allow_single_cluster

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Find the clusters of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : object
            Ignored; part of scikit-learn's interface.
        """
        self.check_parameters()
        metric = self.resolve_metric()
        examples = self._check_training(X)
        with print_progress(type(self).__name__, self.verbose):
            graph, k, cuts = self._build_graph(examples, metric), 0, np.empty(0)
            if graph.k_max:
                begin_phase("choosing k", graph.n)
                k_min = min(int(self.k_min), graph.k_max)
                k, cuts = choose_k(graph, k_min, self.allow_single_cluster, self.n_jobs)
            if self.merge_by is not None and self.threshold > 0 and k > 0:
                state = grow_merged(graph, k, self.merge_by, float(self.threshold))
            else:
                state = grow(graph, k)
        self.set_forest(graph.forest(state), cuts)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the cluster of each new example; nothing is learned.

        The density of an example follows from its k nearest training examples. The one of these
        that offers it the most conquers it. X holds examples, or their distances to the training
        examples if ``metric="precomputed"``.
        """
        X = self._check_queries(X)
        labels: Array = self.labels_[self.density_forest_.conquerors(X, self.n_jobs)]
        return labels

    def set_forest(self, forest: DensityForest, cuts: Array) -> None:
        """Replace the forest and the cuts of all k tried, by one assignment."""
        roots, labels = np.unique(forest.state.arrays.root, return_inverse=True)
        learned = {"density_forest_": forest, "normalized_cuts_": cuts}
        self.__dict__ = {**vars(self), **learned, "roots_": roots, "labels_": labels}

    def check_parameters(self) -> Self:
        """Raise a ``ValueError`` if a parameter is invalid; return the estimator itself."""
        require_count("k_max", self.k_max, 1)
        require_count("k_min", self.k_min, 1)
        if self.k_min > self.k_max:
            raise ValueError(f"k_min must not exceed k_max, got {self.k_min} > {self.k_max}.")
        if self.merge_by is not None and self.merge_by not in MERGE_BY:
            raise ValueError(
                f"merge_by must be None or one of {list(MERGE_BY)}, got {self.merge_by!r}."
            )
        require_fraction("threshold", self.threshold)
        return self
