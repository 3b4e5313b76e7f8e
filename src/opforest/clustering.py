"""Layer 3: clustering by an optimum-path forest of densities."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin

from opforest.density import DensityEstimator, check_training, require_count, require_share
from opforest.hills import FILTERS, DensityForest, Grown, grow, grow_filtered, judge_cuts
from opforest.metrics import Array


class OPFClustering(ClusterMixin, DensityEstimator):
    """Clusters as the hills of a density, by an optimum-path forest.

    Each example has a density by its k nearest others. The tops of hills conquer their slopes along
    arcs to nearest neighbours; a cluster is what one top has conquered. Of all k up to ``k_max``,
    that is chosen whose clusters have the smallest normalised cut between them.

    Parameters
    ----------
    k_max : int, default=20
        The largest number of neighbours to try; less than the number of examples, or it is taken
        for that. It is the scale on which to look: a larger one gives fewer clusters.
    k_min : int, default=1
        The smallest one.
    filter : {None, "height", "area", "volume"}, default=None
        Which hills are too small for a cluster: those less high than ``amount`` of the largest
        density; with fewer examples than ``amount`` of all; or with less volume than ``amount`` of
        the mean density.
    amount : float, default=0
        From 0, which filters nothing, to 1.
    allow_single_cluster : bool, default=False
        Whether one cluster may be the best answer. Its cut is 0, so a large ``k_max`` would always
        end there. Otherwise it is the answer only if no k gives another.
    metric : str or callable, default="euclidean"
        As for ``OPFClassifier``. Unlike its forests, densities depend on the metric's units:
        ``"log_squared_euclidean"`` is that of LibOPF.
    metric_params : dict, default=None
        As for ``OPFClassifier``.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to find neighbours; they are the same.
    n_jobs : int, default=None
        The number of threads that share neighbours and k's. The result does not depend on it.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each example, from 0.
    roots_ : array of shape (n_clusters,)
        The example at the top of each cluster.
    density_ : array of shape (n_samples,)
        Densities, from 1 to 1000.
    k_ : int
        The number of neighbours that was chosen.
    cuts_ : array
        The cuts by ``k_min`` neighbours and more, up to where the search ended: at ``k_max``, or at
        a cut of 0.
    predecessor_ : array of shape (n_samples,)
        The example before each one on its way from its root; −1 for roots.
    n_features_in_ : int
        The number of features seen by ``fit``.

    Notes
    -----
    With d(i, j) the distances to the k nearest of example i, and D the largest of all of these, its
    density is the sum of exp(−9 d(i, j) / (2 D)), scaled to 1 … 1000 over all examples. Neighbours
    are ordered by (distance, index), and of equals the example with the larger density, then the
    smaller index comes first, so there is one answer. For each k, arcs are made anew, which
    LibOPF's ``opf_cluster`` forgets to do where densities are equal.

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
    cuts_: Array

    def __init__(
        self,
        k_max: int = 20,
        *,
        k_min: int = 1,
        filter: str | None = None,
        amount: float = 0.0,
        allow_single_cluster: bool = False,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        algorithm: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.k_max = k_max
        self.k_min = k_min
        self.filter = filter
        self.amount = amount
        self.allow_single_cluster = allow_single_cluster
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.n_jobs = n_jobs

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Find the clusters of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : object
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        OPFClustering
            The fitted estimator itself.
        """
        self.check_parameters()
        metric = self._find_metric()
        X = check_training(self, X)
        k_max = self._check_k(len(X))
        rows, vectors, graph = self._measured(X, metric, k_max)
        k, cuts = 0, np.empty(0)
        if k_max:
            k_min = min(int(self.k_min), k_max)
            k, cuts = judge_cuts(graph, k_min, self.allow_single_cluster, self.n_jobs)
        filtered = self.filter is not None and self.amount > 0 and k > 0
        grown = (
            grow_filtered(graph, k, str(self.filter), float(self.amount))
            if filtered
            else grow(graph, k)
        )
        self._accept(DensityForest(metric, rows, vectors, self.algorithm, grown), cuts)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the cluster of each example, which is learned by none.

        Its density is that by its nearest examples; of these, the one wins that offers it the most.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            The examples, or their distances to those learned if ``metric="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            The clusters.
        """
        X = self._check_new(X)
        labels: Array = self.labels_[self._forest_.conquerors(X, self.n_jobs)]
        return labels

    def _accept(self, forest: DensityForest, cuts: Array) -> None:
        """Keep what was learned."""
        grown: Grown = forest.grown
        roots, labels = np.unique(grown.hills.root, return_inverse=True)
        learned = {"_forest_": forest, "cuts_": cuts, "roots_": roots, "labels_": labels}
        self.__dict__ = {**vars(self), **learned}

    def check_parameters(self) -> Self:
        """Raise a ``ValueError`` if a parameter makes no sense; return the estimator itself."""
        require_count("k_max", self.k_max, 1)
        require_count("k_min", self.k_min, 1)
        if self.k_min > self.k_max:
            raise ValueError(f"k_min must not exceed k_max, got {self.k_min} > {self.k_max}.")
        if self.filter is not None and self.filter not in FILTERS:
            raise ValueError(f"filter must be None or one of {list(FILTERS)}, got {self.filter!r}.")
        require_share("amount", self.amount)
        return self
