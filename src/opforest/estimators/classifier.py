"""Optimum-path forest classifier with the scikit-learn API."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from opforest._utils.progress import begin_phase, print_progress
from opforest.core.metrics.types import Array
from opforest.estimators.base import explain_memory_errors
from opforest.estimators.queries import QueryMixin
from opforest.estimators.validation import (
    check_ids,
    check_voters,
    encode,
    scaling_code,
    warn_about_scales,
)
from opforest.forest.forest import Forest
from opforest.forest.updates import Update, find_update
from opforest.forest.updates.report import UpdateReport, no_counts


class OPFClassifier(ClassifierMixin, QueryMixin):
    """Optimum-path forest classifier.

    The minimum spanning tree of the training examples is cut between classes. The ends of the
    cut edges are prototypes; they conquer all other examples along paths whose cost is their
    largest step. A new example gets the label of the training example that offers it the
    cheapest path. There is nothing to tune.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        ``"euclidean"``, ``"sqeuclidean"``, ``"log_squared_euclidean"``, ``"gaussian"``,
        ``"manhattan"``, ``"chebyshev"``, ``"minkowski"``, ``"seuclidean"``, ``"mahalanobis"``,
        ``"haversine"``, ``"canberra"``, ``"braycurtis"``,
        ``"cosine"``, ``"correlation"``, ``"hamming"``, ``"chi_squared"``,
        ``"squared_chi_squared"``, ``"squared_chord"``; ``"precomputed"``, for which X holds
        distances to the training examples; scikit-learn's and SciPy's other names for these, such
        as ``"l2"``; a ``@numba.njit`` function of two vectors, which is compiled into the kernels;
        or any Python callable, which is slow. A function must be symmetric and return a finite,
        non-negative number; the triangle inequality is not needed.
    metric_params : dict, default=None
        ``{"p": …, "w": weights}`` for ``"minkowski"`` (default 2, weights 1), ``{"gamma": …}``
        for ``"gaussian"`` (default 1), ``{"V": variances}`` for ``"seuclidean"``, ``{"V": …}``, the
        covariance matrix, or ``{"VI": …}``, its inverse, for ``"mahalanobis"``, keyword arguments
        for a Python callable.
    voters : int or "auto", default=1
        How many of the cheapest offers vote on the label. 1 is the optimum-path forest of the
        literature. More voters are more accurate where labels are noisy or classes overlap; votes
        fall with the offer. ``"auto"`` finds the number, and the weights, by the leave-one-out
        likelihood of the known examples; see the notes.
    update : {"exact", "opfi", "dift"}, default="exact"
        How ``partial_fit`` grows the forest. ``"exact"`` gives exactly the model of refitting on
        all examples. ``"opfi"`` is the approximation of Ponti and Riva. ``"dift"``, their
        baseline, makes every new example a prototype. For each new example, all take time at most
        linear in the number of known ones.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to search when learning, forgetting and predicting; the forest is identical either
        way. ``"kd_tree"`` supports the Euclidean family, those that are Euclidean distances of
        transformed points (seuclidean, mahalanobis, haversine, cosine, correlation, squared_chord),
        manhattan, chebyshev, and minkowski with p ≥ 1. ``"auto"`` uses it for many examples if a
        probe shows that it is faster: in few dimensions or on clustered data.
    n_jobs : int, default=None
        The number of threads for predictions and, in the Euclidean family or with a k-d tree,
        ``fit``. ``None`` means 1 unless in a ``joblib.parallel_config`` context, −1 means all
        processors. The result does not depend on it.
    verbose : int, default=0
        Whether ``fit`` and ``partial_fit`` print their phases and times.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    forest_ : Forest
        The model: costs, predecessors, roots, prototypes, tree edges, ids. Its arrays name
        examples by their index; everything else names them by their id.
    exponent_ : float
        The exponent e that turns costs into probabilities; see the notes.
    voters_ : int
        The number of voters.
    calibration_ : CostCalibration
        All numbers that probabilities follow from: voters, exponent, smoothing, floor, weights of
        classes.
    update_report_ : UpdateReport
        What the last call of ``partial_fit`` or ``forget`` did.
    n_features_in_ : int
        The number of features seen by ``fit``.
    feature_names_in_ : array of shape (n_features,)
        Their names, where ``fit`` was given a data frame whose column names are all strings.

    Notes
    -----
    Training takes O(n²) distances and O(n) memory beside the data; with a k-d tree, about
    O(n log n) in few dimensions, where learning, forgetting or predicting an example takes nearly
    the same time for any n. Examples are kept and measured in the precision of the first ones,
    float32 or float64.

    While one thread learns or forgets, others may predict, explain and pickle: each sees the model
    before or after a whole example. One thread at a time may change it. A process forked while
    another thread was changing the model raises a ``RuntimeError`` when it uses that model,
    because its copy may be half changed.

    With c_k the cheapest offer of class k, its probability is proportional to c_k ** −e. The
    exponent e, ``exponent_``, maximizes the likelihood of up to 1000 known examples, evenly spaced
    in order of arrival, each judged by the offers of the others. It is found when probabilities
    are first needed after a change, depends only on the forest, and is close to the intrinsic
    dimension of the data. Very small offers, including 0, are raised to half of the offer that one
    in a hundred of those examples undercuts: even an exact match is not certain, because
    duplicates may have different labels. If another class ties with the predicted one, the
    predicted one gets the next larger number, so that it is always the unique maximum.

    With K > 1 voters, the K cheapest offers o_1 ≤ … ≤ o_K, raised to the same floor, vote with
    weights (o_i / o_1) ** −e. The label is that of the class with the most votes, or, of several,
    the one whose best voter comes first. The probability of a class with w votes is
    (w + a / C) / (all votes + a), where C is the number of classes with examples. The exponent e
    and the smoothing a, and for ``voters="auto"`` also K, up to 50, maximize the likelihood of the
    same examples over a grid; one voter, with the probabilities above, takes part. ``"auto"`` also
    tries 50 voters whose weights are multiplied by one of their class, which corrects for classes
    that spread more or less than others, and uses them if the log-likelihood rises by more than
    the number of classes less one. Where fewer examples are known, all of them vote. All of these
    depend only on the forest: after any learning and forgetting they equal those of a fresh fit.

    References
    ----------
    J. P. Papa, A. X. Falcão, C. T. N. Suzuki: Supervised pattern classification based on
    optimum-path forest. International Journal of Imaging Systems and Technology 19(2), 2009.

    M. Ponti, M. Riva: An incremental linear-time learning algorithm for the Optimum-Path Forest
    classifier. Information Processing Letters 126, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opforest import OPFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = OPFClassifier().fit(X[::2], y[::2])
    >>> clf.score(X[1::2], y[1::2])
    0.96
    """

    _forest_type = Forest

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        voters: int | str = 1,
        update: str = "exact",
        algorithm: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params
        self.voters = voters
        self.update = update
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the optimum-path forest of the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels, of any kind that can be sorted.
        """
        self.__dict__ = self._train(X, y).__dict__
        return self

    @explain_memory_errors
    def partial_fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Self:
        """Learn more examples, each in time at most linear in the number known.

        The first call is a ``fit``. If it fails, the model is exactly as it was before; if it is
        interrupted (Ctrl-C) or runs out of memory on the way, the model has learned the first
        examples of the batch, if any, and the ``KeyboardInterrupt`` or ``MemoryError`` says how
        many.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The examples. If ``metric="precomputed"``, the distances from each to all known
            examples, in the order of ``forest_.ids``, and then to all examples of this call:
            (n_samples, n_known + n_samples). The latter may be left out for a single example and
            for duplicates of known ones. The precision is that of the model: float64 is rounded if
            it was fitted to float32.
        y : array-like of shape (n_samples,)
            Their labels, which may be new at any time.
        classes : array-like, default=None
            Labels to announce; they join ``classes_`` even before an example does.
        """
        if not hasattr(self, "forest_"):
            return self._begin(X, y, classes)
        update, counts = self._find_update(), no_counts()
        X, all_classes, label = self._read(X, y, classes)
        forest = self._rename_classes(self._forest_to_change(update), all_classes)
        steps = update.grow(forest, X, label, counts)
        with print_progress(type(self).__name__, self.verbose):
            begin_phase("learning", len(X))
            return self._apply(steps, all_classes, counts, ("partial_fit", "learned", len(X)))

    @explain_memory_errors
    def forget(self, ids: npt.ArrayLike) -> Self:
        """Remove examples; the result is exactly the model refitted without them.

        The first example learned has the id 0, the next one 1, and so on: after ``fit``, ids are
        rows of X. ``forest_.ids`` holds the ids of all known examples, in ascending order;
        ``explain`` and ``conquerors`` name examples by them. Ids do not change when other examples
        are forgotten, and are not used again until ``fit`` starts over. Classes stay in
        ``classes_`` even without examples.

        Errors and interrupts are handled as by ``partial_fit``.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the examples to forget.

        Examples
        --------
        >>> from opforest import OPFClassifier
        >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1])
        >>> clf.forget([1]).forest_.ids
        array([0, 2, 3])
        >>> clf.partial_fit([[2.0]], [0]).forest_.ids
        array([0, 2, 3, 4])
        """
        check_is_fitted(self, "forest_")
        update, counts = self._find_update(), no_counts()
        update.require_forgetting()
        self._check_metric()
        forest = self._forest_to_change(update)
        ids = check_ids(ids, forest)
        steps = update.shrink(forest, ids, counts)
        return self._apply(steps, self.classes_, counts, ("forget", "forgotten", len(ids)))

    def _begin(self, X: Any, y: Any, classes: npt.ArrayLike | None) -> Self:
        """Learn the first examples, and report it as ``partial_fit`` does."""
        trained = self._train(X, y, classes)
        forest = trained.source_forest()
        report = UpdateReport(len(forest), len(forest.prototypes), reconquered=len(forest))
        self.__dict__ = {**trained.__dict__, "_counts": report.as_counts()}
        return self

    def _train(self, X: Any, y: Any, classes: npt.ArrayLike | None = None) -> Self:
        """Return a copy fitted on these examples."""
        fresh = self.copy_unfitted()
        fresh._find_update()
        check_voters(fresh.voters)
        metric = fresh.resolve_metric()
        X, all_classes, label = fresh._read(X, y, classes)
        names = getattr(fresh, "feature_names_in_", None)
        warn_about_scales(X, metric.name, names, scaling_code(type(self).__name__))
        with print_progress(type(self).__name__, self.verbose):
            label = label.astype(np.int32)  # to save memory
            forest = self._forest_type.train(
                metric.embed(X), label, metric, self.algorithm, self.n_jobs
            )
            fresh.set_forest(forest, all_classes)
        return fresh

    def _read(self, X: Any, y: Any, classes: npt.ArrayLike | None) -> tuple[Array, Array, Array]:
        """Validate and return examples, all classes in order, and labels as indices of them."""
        is_first = not hasattr(self, "forest_")
        X, y = self._check_examples(X, y) if is_first else self.check_batch(X, y)
        return X, *encode(y, y[:0] if is_first else self.classes_, classes)

    def _find_update(self) -> Update:
        return find_update(self.update)

    def _forest_to_change(self, update: Update) -> Any:
        return update.prepare(self.forest_)

    def _rename_classes(self, forest: Any, classes: Array) -> Any:
        """Return the forest with classes renumbered; the old forest belongs to the old ones."""
        if len(classes) == len(self.classes_):
            return forest
        return forest.relabel(np.searchsorted(classes, self.classes_))
