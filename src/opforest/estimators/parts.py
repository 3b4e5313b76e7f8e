"""Classifiers whose forest is in parts: on the workers of a cluster, or in a folder."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError

from opforest._utils import tuning
from opforest.core.metrics.types import Array
from opforest.core.parts.conquest import Offers
from opforest.estimators.base import MetricEstimator
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.inputs import read_examples
from opforest.forest.forest import Forest
from opforest.forest.parts import Executor, ForestParts, find_conquerors, gather_parts

#: Attributes that only a classifier with a whole forest has.
WHOLE = ("fit", "partial_fit", "forget", "predict_proba", "predict_log_proba", "class_costs",
         "explain", "kneighbors", "forest_")  # fmt: skip


class PartsClassifier(ClassifierMixin, MetricEstimator):
    """A fitted classifier whose forest is in parts, so that it may be larger than memory.

    Its predictions are those of ``OPFClassifier`` on the same examples, ties included. It is
    returned by ``opforest.out_of_core.fit`` and ``opforest.load``, and kept by
    ``DaskOPFClassifier(keep="parts")``. It neither learns nor forgets: fit again for that, or
    call ``to_local`` if the model fits into memory.

    Parameters
    ----------
    metric, metric_params
        As for ``OPFClassifier``; the metric must be one that a k-d tree supports.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, in order.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features,)
        Their names, if the examples had any.
    n_examples_ : int
        The number of examples.
    parts_ : ForestParts
        The parts of the forest.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from opforest import out_of_core
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = out_of_core.fit(X[::2], f"{folder}/iris", y[::2])
    ...     print(model.predict(X[1::40]), len(model.to_local().forest_))
    [0 0 1 2] 75
    """

    classes_: Array
    columns_: dict[str, Any]
    n_features_in_: int
    n_examples_: int
    parts_: ForestParts
    executor_: Executor

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params

    def set_parts(
        self,
        executor: Executor,
        parts: ForestParts,
        classes: Array,
        n_examples: int,
        n_features: int,
    ) -> Self:
        """Set the fitted state, and return the classifier itself."""
        self.executor_, self.parts_, self.classes_ = executor, parts, classes
        self.n_examples_, self.n_features_in_ = n_examples, n_features
        return self

    def __getattr__(self, name: str) -> Any:
        """Raise an ``AttributeError``, with advice for what only a whole forest has."""
        if name in WHOLE:
            raise AttributeError(
                f"a model in parts has no {name}: it only predicts labels and finds conquerors. "
                "Call to_local(), whose model has it, if that fits into memory; to learn more "
                "examples or forget some, fit again with all the examples you want."
            )
        return object.__getattribute__(self, name)  # raises the error

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the label of each example's conqueror.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The examples.
        """
        found = self._find(X)
        label: Array = self.classes_[found.label]
        return label

    def conquerors(self, X: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the id of each example's conqueror, and its offer.

        See :meth:`opforest.OPFClassifier.conquerors`; ids count all examples from 0.
        """
        found = self._find(X)
        offer = self.resolve_metric().to_units(found.offer, self.n_features_in_)
        return found.id, offer

    def fitted_parts(self) -> ForestParts:
        """Return the parts of the forest, or raise a ``NotFittedError`` if there are none."""
        if not hasattr(self, "parts_"):
            raise NotFittedError(
                "this PartsClassifier has no parts yet: opforest.out_of_core.fit and opforest.load "
                "return one that has."
            )
        return self.parts_

    def _find(self, X: npt.ArrayLike) -> Offers:
        parts, metric = self.fitted_parts(), self.resolve_metric()
        rows = read_examples(self, X, dtype=parts.map.box.dtype, reset=False)
        step = tuning.values.queries_per_piece
        pieces = [
            find_conquerors(self.executor_, parts, metric.embed(rows[begin : begin + step]), metric)
            for begin in range(0, len(rows), step)
        ]
        return Offers(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))

    def to_local(self) -> OPFClassifier:
        """Return an ``OPFClassifier`` with the same model, in the memory of this machine."""
        parts, metric = self.fitted_parts(), self.resolve_metric()
        rows, label, tree = gather_parts(
            self.executor_, parts.forests, parts.joined, self.n_examples_
        )
        local = OPFClassifier(self.metric, metric_params=self.metric_params)
        if hasattr(self, "feature_names_in_"):
            local.feature_names_in_ = self.feature_names_in_
        local.set_forest(Forest.train(rows, label, metric, tree=tree), self.classes_)
        return local
