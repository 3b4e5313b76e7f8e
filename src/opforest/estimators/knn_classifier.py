"""Supervised classifier based on an optimum-path forest of densities."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from opforest._utils.progress import begin_phase, print_progress
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.estimators.density_base import DensityEstimator
from opforest.estimators.inputs import read_examples
from opforest.estimators.validation import check_labels, encode, encode_known, require_fraction
from opforest.forest.density import DensityForest, NeighborGraph, grow
from opforest.scores import opf_accuracy


class OPFKNNClassifier(ClassifierMixin, DensityEstimator):
    """Optimum-path forest classifier on the graph of nearest neighbors.

    The tops of a density conquer its slopes along arcs to the k nearest neighbors, among examples
    of their own class. A new example gets the class of the one of its k nearest training examples
    that offers it the most. Of all k up to ``k_max``, the first with the best ``opf_accuracy`` on
    held-out examples is chosen. This is often 1 to 3, which is close to 1-nearest-neighbor.

    Parameters
    ----------
    k_max : int, default=20
        The largest number of neighbors to try. With n examples, at most n − 1 are tried.
    validation_fraction : float, default=0.3
        The fraction of each class that is held out to choose k, unless ``fit`` is given an
        evaluation set.
    random_state : int, RandomState instance or None, default=0
        Decides which examples are held out.
    metric, metric_params, algorithm, n_jobs, verbose
        As for ``OPFClustering``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    codes_ : array of shape (n_samples,)
        The class of each training example, as an index into ``classes_``.
    accuracies_ : array
        The accuracies on the held-out examples for k = 1, 2, and so on.
    k_, density_, predecessor_, n_features_in_
        As for ``OPFClustering``.

    Notes
    -----
    With an evaluation set, the forest is exactly the one that was evaluated; LibOPF's
    ``opfknn_train`` evaluates another one, in which classes may conquer each other. Without an
    evaluation set, the forest is grown again on all examples, with the k chosen.

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
    codes_: Array

    def __init__(
        self,
        k_max: int = 20,
        *,
        validation_fraction: float = 0.3,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        random_state: Any = 0,
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
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, evaluation: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> Self:
        """Learn the forest of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels.
        evaluation : pair (X, y), default=None
            Other examples and their labels, to choose k by. By default, some of the examples are
            held out for it.
        """
        require_fraction("validation_fraction", self.validation_fraction)
        metric = self.resolve_metric()
        X, y = self._check_training(X, y)
        check_labels(y)
        classes, code = encode(y, y[:0])
        if evaluation is not None:
            if not isinstance(evaluation, tuple | list) or len(evaluation) != 2:
                raise ValueError("evaluation must be a pair (X, y): examples and their labels.")
            other, truth = read_examples(self, *evaluation, dtype=X.dtype, reset=False)
            truth = encode_known(truth, classes)
        with print_progress(type(self).__name__, self.verbose):
            graph = self._build_graph(X, metric)
            if evaluation is None:
                accuracies = self._validate(X, code, metric)
            else:
                accuracies = self._evaluate(graph, code, other, truth)
            k = 1 + int(accuracies.argmax()) if len(accuracies) else 1
            state = grow(graph, min(k, graph.k_max), code)
        self.set_forest(graph.forest(state), classes, code, accuracies)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the class of each example; X is as for ``OPFClustering.predict``."""
        X = self._check_queries(X)
        labels: Array = self.classes_[self.codes_[self.density_forest_.conquerors(X, self.n_jobs)]]
        return labels

    def set_forest(
        self, forest: DensityForest, classes: Array, code: Array, accuracies: Array
    ) -> None:
        """Replace the forest, its labels and the accuracies of all k tried, by one assignment."""
        learned = {"density_forest_": forest, "classes_": classes, "codes_": code}
        self.__dict__ = {**vars(self), **learned, "accuracies_": accuracies}

    def _validate(self, X: Array, code: Array, metric: Metric) -> Array:
        """Return the accuracies of forests of some of the examples on the others."""
        random = check_random_state(self.random_state)
        out = _hold_out(code, float(self.validation_fraction), random)
        kept, other = X[~out], X[out]
        if metric.is_precomputed:
            kept, other = kept[:, ~out], other[:, ~out]
        if len(kept) == 1 or len(other) == 0:
            return np.empty(0)
        return self._evaluate(self._build_graph(kept, metric), code[~out], other, code[out])

    def _evaluate(self, graph: NeighborGraph, code: Array, X: Array, truth: Array) -> Array:
        """Return the accuracies of forests, for each k, on other examples."""
        begin_phase("choosing k", len(X))
        accuracies = []
        for k in range(1, graph.k_max + 1):
            forest = graph.forest(grow(graph, k, code))
            accuracies.append(opf_accuracy(truth, code[forest.conquerors(X, self.n_jobs)]))
        return np.array(accuracies)


def _hold_out(code: Array, fraction: float, random: Any) -> Array:
    """Return which examples to hold out: this fraction of each class, but never a whole class."""
    out = np.zeros(len(code), bool)
    for name in np.unique(code):
        members = np.flatnonzero(code == name)
        count = min(int(fraction * len(members)), len(members) - 1)
        out[random.permutation(members)[:count]] = True
    return out
