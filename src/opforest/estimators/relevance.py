"""Scaling of features by how much they tell about the label."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from opforest.core.metrics.registry import resolve
from opforest.core.metrics.types import Array
from opforest.estimators.semi_supervised import split_labels
from opforest.estimators.validation import PRECISIONS, check_labels
from opforest.forest.forest import Forest

#: The number of bins of a feature: the root of the number of examples per this many, in bounds.
EXAMPLES_PER_SQUARE, MIN_BINS, MAX_BINS = 5, 4, 32

#: No feature counts less than this fraction of the most relevant one.
LEAST_RELEVANCE = 0.01

#: At most this many examples, evenly spread over the rows, choose between two scales.
MAX_TO_CHOOSE = 5000


class RelevanceScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize features, and weight each by the root of its relevance for the label.

    The relevance of a feature is its mutual information with the label, as a fraction of that of
    the most relevant one, and at least 0.01. So features that tell nothing about the label hardly
    count in distances. It is found from quantile bins, with the correction of Miller and Madow,
    deterministically, and there is nothing to tune.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
        The means of the features.
    scale_ : array of shape (n_features,)
        Their standard deviations; 1 for constant features.
    relevance_ : array of shape (n_features,)
        Their relevance, from 0.01 to 1.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features,)
        Their names, where ``fit`` was given a data frame whose column names are all strings.

    See Also
    --------
    opforest.Preparation : Scales tables, with ``scale="relevance"`` or ``scale="auto"``.

    Notes
    -----
    The relevance of each feature is found by itself: two features that tell something only together
    get the smallest one. ``Preparation(scale="auto")`` compares with plain standardization. Where
    no feature tells anything, and where there is only one label, all have relevance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest import RelevanceScaler
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = np.column_stack((y + 0.3 * rng.normal(size=200), rng.normal(size=200)))
    >>> RelevanceScaler().fit(X, y).relevance_.round(2)
    array([1.  , 0.01])
    """

    mean_: Array
    scale_: Array
    relevance_: Array

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means, deviations and relevance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels, which are required. Examples whose label is ``None`` or NaN count for
            means and deviations only. −1 is a label like any other.
        """
        if y is None:
            raise ValueError("RelevanceScaler requires y to be passed, but the target y is None.")
        X = validate_data(self, X, dtype=PRECISIONS)
        labels, is_missing = _read_labels(y, len(X))
        with np.errstate(over="ignore", invalid="ignore"):
            scaler = StandardScaler().fit(X)
        is_finite = np.isfinite(scaler.mean_) & np.isfinite(scaler.var_)
        if not is_finite.all():
            raise ValueError(
                "means and deviations must be finite numbers, but those of feature "
                f"{int(is_finite.argmin()) + 1} are too large. Divide it by a large number first."
            )
        self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        self.relevance_ = _find_relevance(X[~is_missing], labels)
        return self

    def transform(self, X: Any) -> Array:
        """Return the features, scaled."""
        check_is_fitted(self, "relevance_")
        X = validate_data(self, X, dtype=PRECISIONS, reset=False)
        scaled: Array = (X - self.mean_) / self.scale_ * np.sqrt(self.relevance_)
        return scaled.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Return scaled features as they were before, up to rounding."""
        check_is_fitted(self, "relevance_")
        return np.asarray(np.asarray(X) / np.sqrt(self.relevance_) * self.scale_ + self.mean_)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: labels are required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _read_labels(y: Any, n: int) -> tuple[Array, Array]:
    """Return the labels of labeled examples, of n in all, and which examples have no label."""
    labels, is_missing = split_labels(y, minus_one=False)
    if len(is_missing) != n:
        raise ValueError(f"X and y must have the same length, got {n} and {len(is_missing)}.")
    if len(labels):
        check_labels(labels)
    return labels, is_missing


def _find_relevance(X: Array, labels: Array) -> Array:
    """Return the relevance of each feature for labels: from ``LEAST_RELEVANCE`` to 1."""
    if len(X) == 0:
        return np.ones(X.shape[1])
    _, code = np.unique(labels, return_inverse=True)
    information = np.array([mutual_information(column, code) for column in X.T])
    most = information.max()
    if not most > 0:
        return np.ones(X.shape[1])
    relevance: Array = np.maximum(information / most, LEAST_RELEVANCE)
    return relevance


def mutual_information(values: Array, code: Array) -> float:
    """Return the mutual information of a feature, in quantile bins, and a label; at least 0."""
    n = len(values)
    n_bins = min(max(round(np.sqrt(n / EXAMPLES_PER_SQUARE)), MIN_BINS), MAX_BINS)
    ranks = np.arange(1, n_bins) * n // n_bins
    edges = np.partition(values, ranks)[ranks]
    place = np.searchsorted(edges, values, side="right")
    n_classes = code.max() + 1
    cells = np.bincount(place * n_classes + code, minlength=n_bins * n_classes)
    table = cells.reshape(n_bins, n_classes)
    sums = [table.sum(axis=1), table.sum(axis=0), table.ravel()]
    one, other, both = (_entropy(counts[counts > 0], n) for counts in sums)
    return max(0.0, one + other - both)


def _entropy(counts: Array, n: int) -> float:
    """Return the entropy of positive counts, with the correction of Miller and Madow."""
    fraction = counts / n
    return float(-(fraction * np.log(fraction)).sum() + (len(counts) - 1) / (2 * n))


def choose_scaler(X: Array, y: Any) -> str:
    """Return "standard" or "relevance": under which the known labels are more likely.

    Labels are judged by the votes of the other examples, with Euclidean distances. Of many
    examples, ``MAX_TO_CHOOSE`` choose. A tie goes to "standard".
    """
    labels, is_missing = _read_labels(y, len(X))
    known = X[~is_missing]
    count = min(len(known), MAX_TO_CHOOSE)
    chosen = np.arange(count) * len(known) // max(count, 1)
    known, labels = known[chosen], labels[chosen]
    classes, code = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        return "standard"
    metric, likelihood = resolve("euclidean"), []
    for scaler in (RelevanceScaler(), StandardScaler()):  # the first one rejects huge numbers
        scaled = scaler.fit(known, labels).transform(known)
        forest = Forest.train(metric.embed(scaled), code, metric)
        likelihood.append(forest.log_likelihood(voters="auto"))
    return "relevance" if likelihood[0] > likelihood[1] else "standard"
