"""Layer 3: a classifier by an optimum-path forest of densities."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from opforest.base import PRECISIONS, check_labels, encode
from opforest.density import DensityEstimator, require_share
from opforest.hills import DensityForest, Graph, grow
from opforest.metrics import Array, Metric
from opforest.scores import opf_accuracy


class OPFKNNClassifier(ClassifierMixin, DensityEstimator):
    """Optimum-path forest classifier on the graph of nearest neighbours.

    Tops of the density conquer their slopes along arcs to the k nearest neighbours, among examples
    of their own class. A new example gets the class of that one of its k nearest examples that
    offers it the most. Of all k up to ``k_max``, the first with the best ``opf_accuracy`` on
    examples held out is taken; mostly it is 1 to 3, which is near to the nearest neighbour.

    Parameters
    ----------
    k_max : int, default=20
        The largest number of neighbours to try; less than the number of examples, or it is taken
        for that.
    held_out : float, default=0.3
        The share of each class that is held out to choose k, unless ``fit`` is given other
        examples.
    metric : str or callable, default="euclidean"
        As for ``OPFClassifier``. Densities depend on the metric's units:
        ``"log_squared_euclidean"`` is that of LibOPF.
    metric_params : dict, default=None
        As for ``OPFClassifier``.
    random_state : int, RandomState instance or None, default=0
        Decides which examples are held out.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to find neighbours; they are the same.
    n_jobs : int, default=None
        The number of threads that find neighbours. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    k_ : int
        The number of neighbours that was chosen.
    accuracies_ : array
        Those by 1 neighbour, 2 and so on, on the examples held out.
    density_, predecessor_ : arrays of shape (n_samples,)
        As for ``OPFClustering``.
    n_features_in_ : int
        The number of features seen by ``fit``.

    Notes
    -----
    Without an evaluation set, the forest kept is that of all examples by the k chosen. With one, it
    is the very forest that was judged; LibOPF's ``opfknn_train`` judges another, in which classes
    may conquer each other.

    References
    ----------
    J. P. Papa, A. X. Falcão: A new variant of the optimum-path forest classifier. ISVC 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opforest import OPFKNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = OPFKNNClassifier(k_max=5).fit(X[::2], y[::2])
    >>> clf.score(X[1::2], y[1::2])
    0.96
    """

    classes_: Array
    accuracies_: Array
    _code_: Array

    def __init__(
        self,
        k_max: int = 20,
        *,
        held_out: float = 0.3,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        random_state: Any = 0,
        algorithm: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.k_max = k_max
        self.held_out = held_out
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.algorithm = algorithm
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        evaluation: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Self:
        """Learn the forest of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels.
        evaluation : pair (X, y), default=None
            Other examples to choose k by, and their labels. By default some of those given are held
            out.

        Returns
        -------
        OPFKNNClassifier
            The fitted classifier itself.
        """
        require_share("held_out", self.held_out)
        metric = self._find_metric()
        X, y = validate_data(self, X, y, dtype=PRECISIONS)
        check_labels(y)
        classes, code = encode(y, y[:0])
        k_max = self._check_k(len(X))
        if evaluation is None:
            accuracies = self._judge_held_out(X, code, metric, k_max)
            rows, vectors, graph = self._measured(X, metric, k_max)
        else:
            other_X, truth = self._check_evaluation(evaluation, X.dtype, classes)
            rows, vectors, graph = self._measured(X, metric, k_max)
            accuracies = self._judge(metric, rows, vectors, graph, code, other_X, truth)
        k = 1 + int(accuracies.argmax()) if len(accuracies) else min(1, k_max)
        grown = grow(graph, min(k, k_max), code)
        forest = DensityForest(metric, rows, vectors, self.algorithm, grown)
        learned = {"_forest_": forest, "classes_": classes, "_code_": code}
        self.__dict__ = {**vars(self), **learned, "accuracies_": accuracies}
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the class of each example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            The examples, or their distances to those learned if ``metric="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        X = self._check_new(X)
        labels: Array = self.classes_[self._code_[self._forest_.conquerors(X, self.n_jobs)]]
        return labels

    def _check_evaluation(
        self, evaluation: tuple[npt.ArrayLike, npt.ArrayLike], dtype: Any, classes: Array
    ) -> tuple[Array, Array]:
        X, y = validate_data(self, *evaluation, dtype=dtype, reset=False)
        is_known = np.isin(y, classes)
        if not is_known.all():
            raise ValueError(
                f"the evaluation set has the class {y[~is_known].tolist()[0]!r}, of which there is "
                "no example to learn."
            )
        return X, np.searchsorted(classes, y)

    def _judge_held_out(self, X: Array, code: Array, metric: Metric, k_max: int) -> Array:
        """Return the accuracies of forests of some of the examples on the others."""
        out = _choose(code, float(self.held_out), check_random_state(self.random_state))
        if not out.any():
            return np.empty(0)
        kept, other = X[~out], X[out]
        if metric.is_precomputed:
            kept, other = kept[:, ~out], other[:, ~out]
        k_max = min(k_max, len(kept) - 1)
        if k_max == 0:
            return np.empty(0)
        rows, vectors, graph = self._measured(kept, metric, k_max)
        return self._judge(metric, rows, vectors, graph, code[~out], other, code[out])

    def _judge(
        self, metric: Metric, rows: Array, vectors: Array | None, graph: Graph, code: Array,
        X: Array, truth: Array,
    ) -> Array:  # fmt: skip
        accuracies = []
        for k in range(1, graph.k_max + 1):
            grown = grow(graph, k, code)
            forest = DensityForest(metric, rows, vectors, self.algorithm, grown)
            accuracies.append(opf_accuracy(truth, code[forest.conquerors(X, self.n_jobs)]))
        return np.array(accuracies)


def _choose(code: Array, share: float, random: Any) -> Array:
    """Return which examples to hold out: this share of each class, and never all of it."""
    out = np.zeros(len(code), bool)
    for name in np.unique(code):
        members = np.flatnonzero(code == name)
        count = min(int(share * len(members)), len(members) - 1)
        out[random.permutation(members)[:count]] = True
    return out
