"""Base class for queries: labels, probabilities, offers, neighbors and explanations."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from opforest.core.metrics.types import Array
from opforest.estimators.base import ForestEstimator
from opforest.estimators.inputs import by_blocks
from opforest.estimators.validation import as_one_row, check_voters, require_count
from opforest.forest.explanation import explain
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import CostCalibration


class QueryMixin(ForestEstimator):
    """The queries of an estimator with the parameters ``voters`` and ``n_jobs``."""

    voters: int | str

    @by_blocks
    def predict(self, X: npt.ArrayLike, priors: Any = None) -> Array:
        """Return the label of each example's conqueror, or the one most voters have.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            The examples, or their distances to the known examples, in the order of
            ``forest_.ids``, if ``metric="precomputed"``.
        priors : "balanced", mapping or array-like of shape (n_classes,), default=None
            How frequent the classes are among the examples to predict, by label (a mapping or a
            pandas Series) or in the order of ``classes_``; ``"balanced"`` if all count alike. The
            label is then the one with the largest probability of ``predict_proba(X, priors)``. By
            default the classes are as frequent as among the known examples.

        Examples
        --------
        >>> from opforest import OPFClassifier
        >>> clf = OPFClassifier().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "no", "yes"])
        >>> clf.predict([[2.9]]), clf.predict([[2.9]], priors="balanced")
        (array(['no'], dtype='<U3'), array(['yes'], dtype='<U3'))
        """
        return self._labels(X, priors=priors)

    @by_blocks
    def predict_proba(self, X: npt.ArrayLike, priors: Any = None) -> Array:
        """Return the probability of each class, by the formula in the notes of the class.

        With ``priors``, as for ``predict``, it is multiplied by the prior of the class, divided by
        the fraction of the known examples that are of it, and normalized.

        The largest in each row is that of the label ``predict`` returns. The first call after a
        change finds the calibration, which takes about as long as the probabilities of 1000
        examples.

        Examples
        --------
        >>> from opforest import OPFClassifier
        >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "b"])
        >>> clf.predict_proba([[0.5], [1.9], [5.0]]).round(3)
        array([[0.989, 0.011],
               [0.638, 0.362],
               [0.059, 0.941]])
        >>> round(clf.exponent_, 3)
        2.822
        """
        return self._probabilities(X, priors=priors)

    @by_blocks
    def predict_log_proba(self, X: npt.ArrayLike) -> Array:
        """Return the logarithms of ``predict_proba``.

        They distinguish classes even where probabilities underflow to 0; a class without examples
        has −inf.
        """
        return self._probabilities(X, log=True)

    @property
    def exponent_(self) -> float:
        """The exponent e of probabilities, found when it is first needed after a change."""
        return self._find_calibration(self.fitted_forest("exponent_").forest).exponent

    @property
    def voters_(self) -> int:
        """The number of voters, found when it is first needed after a change."""
        return self._find_calibration(self.fitted_forest("voters_").forest).voters

    @property
    def calibration_(self) -> CostCalibration:
        """All that probabilities follow from: voters, exponent, smoothing, floor, class weights."""
        return self._find_calibration(self.fitted_forest("calibration_").forest)

    def _find_calibration(self, forest: BaseForest) -> CostCalibration:
        return forest.calibration(self.n_jobs, check_voters(self.voters))

    @by_blocks
    def class_costs(self, X: npt.ArrayLike) -> Array:
        """Return the cheapest offer of each class.

        It is the smallest max(cost of t, distance to t) over all training examples t of the class,
        in the metric's own units; infinity for a class without examples. X is as for ``predict``.
        """
        X = self._check_queries(X)
        forest, classes = self.fitted_forest()
        return forest.class_costs(X, len(classes), self.n_jobs)[0]

    @by_blocks
    def conquerors(self, X: npt.ArrayLike, k: int | None = None) -> tuple[Array, Array]:
        """Return which training example conquers each example, and at what cost.

        Parameters
        ----------
        X : array-like
            As for ``predict``.
        k : int, default=None
            Return the k cheapest offers instead, the conqueror's first: both results have k
            columns. Where fewer than k examples are known, −1 and infinity follow.

        Returns
        -------
        ids : array of shape (n_samples,) or (n_samples, k)
            The ids of the conquerors, as in ``forget`` and ``explain``; ``forest_.index_of(ids)``
            returns their indices in the arrays of ``forest_``. Ties go to the one with the smaller
            cost of its own, then to the smaller id.
        cost : array of shape (n_samples,) or (n_samples, k)
            Their offers, in the metric's own units.

        Examples
        --------
        >>> from opforest import OPFClassifier
        >>> X = [[0.0], [1.0], [3.0], [4.5]]
        >>> clf = OPFClassifier().fit(X, ["low", "low", "high", "high"]).forget([1])
        >>> ids, cost = clf.conquerors([[0.5], [5.0]])
        >>> ids, cost
        (array([0, 3]), array([0.5, 1.5]))
        >>> clf.forest_.cost[clf.forest_.index_of(ids)]
        array([0. , 1.5])
        >>> clf.conquerors([[5.0]], k=2)
        (array([[3, 2]]), array([[1.5, 2. ]]))
        """
        if k is not None:
            require_count("k", k, 1)
        X = self._check_queries(X)
        return self.forest_.conquerors(X, self.n_jobs, k)

    @by_blocks
    def kneighbors(
        self, X: npt.ArrayLike, n_neighbors: int = 5, return_distance: bool = True
    ) -> Any:  # fmt: skip
        """Return the nearest known examples by distance, whatever their costs and labels.

        The parameters are those of scikit-learn's ``KNeighborsClassifier.kneighbors``, but X is
        required, and ids take the place of row numbers; without ``forget`` they are equal.

        Parameters
        ----------
        X : array-like
            As for ``predict``. A known example is its own nearest neighbor.
        n_neighbors : int, default=5
            The number of neighbors.
        return_distance : bool, default=True
            Whether to return distances beside the ids.

        Returns
        -------
        distances : array of shape (n_samples, n_neighbors)
            The distances, in the metric's own units, in ascending order; only with
            ``return_distance``.
        ids : array of shape (n_samples, n_neighbors)
            The ids of the examples, as in ``forget`` and ``explain``. Ties go to the smaller id.
            Where fewer examples are known, infinity and −1 follow.

        Examples
        --------
        >>> from opforest import OPFClassifier
        >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]).forget([0])
        >>> clf.kneighbors([[1.5], [9.0]], n_neighbors=2)
        (array([[0.5, 1.5],
               [4.5, 6. ]]), array([[1, 2],
               [3, 2]]))
        >>> clf.kneighbors([[1.5]], n_neighbors=2, return_distance=False)
        array([[1, 2]])
        """
        require_count("n_neighbors", n_neighbors, 1)
        X = self._check_queries(X)
        found = self.forest_.queries.find_nearest(X, n_neighbors, self.n_jobs)
        return found if return_distance else found[1]

    def explain(self, x: npt.ArrayLike) -> Any:
        """Return the path that gave an example its label.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (n_samples, n_features)
            The example, or its distances to the known examples, in the order of
            ``forest_.ids``, if ``metric="precomputed"``.

        Returns
        -------
        Explanation, or a list of them for several rows
            The path prototype → … → conqueror → x, and the nearest rival: the cheapest path of
            any other class. Training examples are named by their ids, so ``conqueror`` can be
            passed to ``forget``. With several voters, it lists all of them, and the path is that
            of the best one of the class that won. It prints as a table; notebooks show a picture,
            too, where examples have two features.
        """
        X = self._check_queries(as_one_row(x))
        fitted = self.fitted_forest()
        forest, classes = fitted
        names = getattr(self, "feature_names_in_", ())
        # Offers and calibration must be of the same forest.
        with nullcontext() if self.voters == 1 else fitted.read():
            calibration = None if self.voters == 1 else self._find_calibration(forest)
            found = explain(forest, classes.tolist(), X, names, calibration)
        return found if len(found) > 1 else found[0]

    def _labels(
        self, X: npt.ArrayLike, calibration: CostCalibration | None = None, priors: Any = None
    ) -> Array:
        """Return labels; the calibration is found unless it is given or not needed."""
        X = self._check_queries(X)
        fitted = self.fitted_forest()
        forest, classes = fitted
        is_plain = priors is None and (calibration is not None or self.voters == 1)
        # Offers and calibration must be of the same forest.
        with nullcontext() if is_plain else fitted.read():
            if priors is not None:
                found = self._probabilities(X, True, calibration, priors)
                return np.asarray(classes[found.argmax(axis=1)])
            if not is_plain:
                calibration = self._find_calibration(forest)
            labels: Array = classes[forest.classify(X, self.n_jobs, calibration)]
            return labels

    def _probabilities(
        self,
        X: npt.ArrayLike,
        log: bool = False,
        calibration: CostCalibration | None = None,
        priors: Any = None,
    ) -> Array:
        """Return probabilities or their logarithms; the calibration is found unless given."""
        X = self._check_queries(X)
        fitted = self.fitted_forest()
        with fitted.read():  # offers and calibration of the same forest
            forest, classes = fitted
            wanted = None if priors is None else _read_priors(priors, classes)
            calibration = calibration or self._find_calibration(forest)
            use_logs = log or wanted is not None
            found = forest.probabilities(X, len(classes), calibration, self.n_jobs, use_logs)[0]
            if wanted is not None:
                found = _reweigh(found, np.bincount(forest.label, minlength=len(classes)), wanted)
        return np.exp(found) if use_logs and not log else found


def _read_priors(priors: Any, classes: Array) -> Array:
    """Return the prior probability of each class, given as ``OPFClassifier.predict`` describes."""
    if isinstance(priors, str) and priors == "balanced":
        return np.full(len(classes), 1 / len(classes))
    labels = classes.tolist()
    if hasattr(priors, "index") and hasattr(priors, "to_dict"):  # a pandas Series
        priors = priors.to_dict()
    if isinstance(priors, Mapping):
        if set(priors) != set(labels):
            raise ValueError(
                f"priors must have a number for each of the classes {labels}, got {[*priors]}."
            )
        priors = [priors[label] for label in labels]
    try:
        found = np.array(priors, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    is_valid = found.shape == (len(classes),) and bool((found >= 0).all())
    if not is_valid or not 0 < found.sum() < np.inf:
        raise ValueError(
            "priors must be 'balanced', or numbers that are not negative, one for each of the "
            f"{len(classes)} classes, and not all 0, got {str(priors)[:100]}."
        )
    return np.asarray(found / found.sum())


def _reweigh(log_probabilities: Array, counts: Array, priors: Array) -> Array:
    """Return the logarithms of the probabilities for classes with these priors.

    ``counts`` are the numbers of known examples, whose frequencies the probabilities imply. A
    class without examples keeps the probability 0.
    """
    with np.errstate(divide="ignore"):
        factor = np.log(priors) - np.log(np.where(counts > 0, counts, 1))
        factor[counts == 0] = -np.inf
    if not np.isfinite(factor).any():
        raise ValueError("priors must not be 0 for all classes that have examples.")
    weighted = log_probabilities + factor
    largest = weighted.max(axis=1, keepdims=True)
    is_lost = np.isneginf(largest)  # all classes with a prior are impossible
    weighted = np.where(is_lost, factor, weighted - np.where(is_lost, 0, largest))
    total = np.log(np.exp(weighted).sum(axis=1, keepdims=True))
    return np.asarray(weighted - total)
