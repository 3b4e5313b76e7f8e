"""Layer 3: the optimum-path forest as a scikit-learn classifier."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from opforest.explanation import Explanation, Step
from opforest.forest import Forest
from opforest.metrics import NON_NEGATIVE, resolve

Array = npt.NDArray[Any]


class OPFClassifier(ClassifierMixin, BaseEstimator):
    """Optimum-path forest classifier.

    The minimum spanning tree of the training examples is cut between classes. The ends of the
    cut edges are prototypes; they conquer all other examples along paths whose cost is their
    largest step. A new example gets the label of the training example that offers it the
    cheapest path. There is nothing to tune.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        ``"euclidean"``, ``"sqeuclidean"``, ``"log_squared_euclidean"``, ``"gaussian"``,
        ``"manhattan"``, ``"chebyshev"``, ``"minkowski"``, ``"canberra"``, ``"braycurtis"``,
        ``"cosine"``, ``"correlation"``, ``"hamming"``, ``"chi_squared"``,
        ``"squared_chi_squared"``, ``"squared_chord"``; ``"precomputed"``, for which X holds
        distances to the training examples; a ``@numba.njit`` function of two vectors, which is
        compiled into the kernels; or any Python callable, which is slow. A function must be
        symmetric and return a finite, non-negative number; the triangle inequality is not needed.
    metric_params : dict, default=None
        ``{"p": …}`` for ``"minkowski"`` (default 2), ``{"gamma": …}`` for ``"gaussian"``
        (default 1), keyword arguments for a Python callable.
    n_jobs : int, default=None
        The number of threads that share the queries of a prediction. ``None`` means 1 unless in
        a ``joblib.parallel_config`` context, −1 means all processors. The result does not depend
        on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    forest_ : Forest
        What was learned: costs, predecessors, roots, prototypes, tree edges.
    n_features_in_ : int
        The number of features seen by ``fit``.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where ``fit`` was given a data frame whose column names are all strings.

    Notes
    -----
    Training takes O(n²) distances and O(n) memory beside the data. Examples are kept in the
    precision in which they came, float32 or float64, and measured in it.

    Probabilities are shares of inverse costs. With c_k the cheapest offer of class k,
    p_k = (1 / c_k) / Σ_j (1 / c_j). This is free of parameters and does not change with the
    unit of the features; with two classes, the first gets c_2 / (c_1 + c_2), the relevance
    known from the literature on optimum-path forests. An offer of 0, an exact hit, is certain;
    where several classes offer 0, they share. If another class ties with the predicted one,
    the predicted one is given the next larger number, so that it is always the unique maximum.

    References
    ----------
    J. P. Papa, A. X. Falcão, C. T. N. Suzuki: Supervised pattern classification based on
    optimum-path forest. International Journal of Imaging Systems and Technology 19(2), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opforest import OPFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = OPFClassifier().fit(X[::2], y[::2])
    >>> clf.score(X[1::2], y[1::2])
    0.96
    """

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the optimum-path forest of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels, of any kind that can be sorted.

        Returns
        -------
        OPFClassifier
            The fitted classifier itself.
        """
        metric = resolve(self.metric, self.metric_params)
        examples, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, label = np.unique(y, return_inverse=True)
        self.forest_ = Forest(metric.embed(examples), label, metric)
        self.classes_ = classes
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the label of each example's conqueror.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            The examples, or their distances to the training examples if
            ``metric="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        X = self._check_queries(X)
        conqueror, _ = self.forest_.conquerors(X, self.n_jobs)
        return self._labels_of(conqueror)

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class: its share of the inverse costs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            As for ``predict``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities; the largest in each row is that of the label ``predict`` returns. The
            formula is in the notes of the class.
        """
        X = self._check_queries(X)
        cost, winner = self.forest_.class_costs(X, len(self.classes_), self.n_jobs)
        rows = np.arange(len(X))
        least = cost[rows, winner].astype(np.float64)[:, None]
        share = np.divide(least, cost, out=np.ones(cost.shape), where=cost > least)
        share /= share.sum(axis=1, keepdims=True)
        largest = share[rows, winner]
        contested = (share == largest[:, None]).sum(axis=1) > 1
        share[rows, winner] = np.where(contested, np.nextafter(largest, 2), largest)
        return share

    def class_costs(self, X: npt.ArrayLike) -> Array:
        """Return the cheapest offer of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            As for ``predict``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The smallest max(cost of t, distance to t) over all training examples t of the class,
            in the metric's own units.
        """
        X = self._check_queries(X)
        return self.forest_.class_costs(X, len(self.classes_), self.n_jobs)[0]

    def conquerors(self, X: npt.ArrayLike) -> tuple[Array, Array]:
        """Return which training example conquers each example, and at what cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            As for ``predict``.

        Returns
        -------
        index : array of shape (n_samples,)
            The conquerors. Ties go to the one with the smaller cost of its own, then to the
            smaller index.
        cost : array of shape (n_samples,)
            What they offered, in the metric's own units.
        """
        X = self._check_queries(X)
        return self.forest_.conquerors(X, self.n_jobs)

    def explain(self, x: npt.ArrayLike) -> Explanation:
        """Return the path that gave one example its label.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The example, or its distances to the training examples if ``metric="precomputed"``.

        Returns
        -------
        Explanation
            The path prototype → … → conqueror → x. It prints as a table.
        """
        X = self._check_queries(x if np.ndim(x) == 2 else np.asarray(x)[None])
        if len(X) != 1:
            raise ValueError(f"explain takes one example at a time, got {len(X)}.")
        path, distance, cost = self.forest_.trace(X)
        label = self._labels_of(np.append(path, path[-1])).tolist()
        index = np.append(path, -1).tolist()
        steps = zip(index, label, distance.tolist(), cost.tolist(), strict=True)
        return Explanation(tuple(Step(*step) for step in steps))

    def _check_queries(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return validate_data(self, X, dtype=self.forest_.dtype, reset=False)

    def _labels_of(self, index: Array) -> Array:
        return self.classes_[self.forest_.label[index]]  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.input_tags.positive_only = isinstance(self.metric, str) and self.metric in NON_NEGATIVE
        return tags
