"""Base classes of estimators: metric parameters, fitted state and input checks.

The fitted state of an estimator is replaced by a single assignment to its ``__dict__``. Other
threads, or a caller that interrupts an update, therefore see either the old state or the new one,
and never the forest of one with the classes of the other.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from types import SimpleNamespace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from opforest._utils.rwlock import LockToken
from opforest._utils.text import count
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.registry import ALIASES, NON_NEGATIVE, are_params_equal, resolve
from opforest.core.metrics.types import Array
from opforest.estimators.inputs import read_examples
from opforest.estimators.validation import (
    LABELS,
    PRECISIONS,
    check_algorithm,
    check_labels,
)
from opforest.forest.forest import BaseForest
from opforest.forest.updates.report import UpdateReport

Method = TypeVar("Method", bound=Callable[..., Any])

#: The documentation of the newest release.
DOCUMENTATION = "https://opforest.readthedocs.io/en/stable"


def _are_checked(y: Any, n: int) -> bool:
    """Return whether labels are an array of n integers or texts, which need no more checks."""
    return type(y) is np.ndarray and y.shape == (n,) and y.dtype.kind in LABELS


class _StoppedError(MemoryError):
    """A ``MemoryError`` whose message counts the examples done; a plain one replaces it."""


def explain_memory_errors(method: Method) -> Method:
    """Replace the ``MemoryError`` of an update by a plain one that describes the model's state.

    NumPy's subclass of this error cannot be made from a message. All such errors but a
    ``_StoppedError`` are raised before the model has changed.
    """

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except _StoppedError as error:
            raise MemoryError(str(error)) from error.__cause__
        except MemoryError as error:
            reason = f"{method.__name__} ran out of memory, and the model is as it was before."
            raise MemoryError(reason) from error

    return call  # type: ignore[return-value]


class FittedForest(NamedTuple):
    """A forest and the classes that belong to it."""

    forest: BaseForest
    classes: Array

    def read(self) -> LockToken:
        """Return a context in which the forest does not change."""
        return self.forest.storage.lock.read()


class MetricEstimator(BaseEstimator):
    """Base of all estimators: everything that depends only on their parameters."""

    _doc_link_module = "opforest"
    _doc_link_template = DOCUMENTATION + "/api/generated/{page}.html"

    metric: str | Callable[..., float]
    metric_params: Mapping[str, Any] | None
    algorithm = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def resolve_metric(self) -> Metric:
        """Return the metric, or raise a ``ValueError`` if ``algorithm`` does not support it."""
        metric = resolve(self.metric, self.metric_params)
        check_algorithm(self.algorithm, metric)
        return metric

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        name = ALIASES.get(self.metric, self.metric) if isinstance(self.metric, str) else ""
        tags.input_tags.pairwise = name == "precomputed"
        tags.input_tags.sparse = name != "precomputed"
        tags.input_tags.positive_only = name in NON_NEGATIVE
        return tags

    # scikit-learn's diagram in notebooks, with our documentation and facts about the model.

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        module, name = type(self).__module__, type(self).__name__
        prefix = "opforest.dask" if module.startswith("opforest.dask") else "opforest"
        return {"page": f"{prefix}.{name}"}

    def _facts(self) -> str:
        """Return a few words about the model, fast; "" before it is fitted."""
        return ""

    def _sk_visual_block_(self) -> Any:
        name = type(self).__name__
        return SimpleNamespace(
            kind="single", estimators=self, names=name, name_details=str(self),
            name_caption=self._facts() or None, doc_link_label=name, dash_wrapped=True,
        )  # fmt: skip


class ForestEstimator(MetricEstimator):
    """The base of estimators that learn a forest of labeled examples.

    A subclass has at least the parameters ``metric`` and ``metric_params``, and calls
    ``set_forest`` when it has learned.
    """

    forest_: BaseForest
    classes_: Array
    _counts: Array | None = None  #: the record of the last update
    _learned_with: tuple[Any, Any]

    @property
    def update_report_(self) -> UpdateReport:
        """What the last call of ``partial_fit`` or ``forget`` did."""
        if self._counts is None:
            raise AttributeError("there is no update_report_: nothing was learned or forgotten yet")
        return UpdateReport(*self._counts[0].item())

    @property
    def n_features_in_(self) -> int:
        """The number of features; for precomputed distances, the number of examples."""
        return self.fitted_forest("n_features_in_").forest.n_features

    @n_features_in_.setter
    def n_features_in_(self, n_features: int) -> None:
        """Ignore the number that scikit-learn sets: the forest has it."""

    def fitted_forest(self, name: str = "forest_") -> FittedForest:
        """Return the forest and the classes that belong to it.

        Raise an ``AttributeError`` that names an attribute if there is no forest yet.
        """
        attributes = vars(self)
        if "forest_" not in attributes:
            raise AttributeError(f"there is no {name} before fit")
        return FittedForest(attributes["forest_"], attributes["classes_"])

    def set_forest(self, forest: BaseForest, classes: Array, counts: Array | None = None) -> None:
        """Replace the forest, its classes and the counts of an update, by one assignment."""
        learned = {**vars(self), "forest_": forest, "classes_": classes, "_counts": counts}
        learned.setdefault("_learned_with", (self.metric, self.metric_params))
        if forest.metric.is_precomputed and counts is not None:
            learned.pop("feature_names_in_", None)  # the new columns have no names
        forest.class_names = classes
        self.__dict__ = learned

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled estimator; the pickle of a forest does not have the labels."""
        super().__setstate__(state)
        if "forest_" in vars(self):
            self.forest_.class_names = self.classes_

    def fitted_source(self) -> FittedForest:
        """Return the forest from which the whole model follows, and its classes."""
        return self.fitted_forest()

    def source_forest(self) -> Any:
        """Return the forest from which the whole model follows."""
        return self.fitted_source().forest

    def copy_unfitted(self) -> Self:
        """Return a copy that has learned nothing."""
        fresh = type(self)(**self.get_params(deep=False))
        for name, value in vars(self).items():
            if not name.endswith("_") and name not in ("_counts", "_learned_with"):
                setattr(fresh, name, value)
        return fresh

    def _apply(
        self, steps: Iterator[BaseForest], classes: Array, counts: Array, what: tuple[str, str, int]
    ) -> Self:
        """Keep each forest that an update yields; restore the old state if it failed at once.

        ``what`` is the method, its past participle for messages ("learned"), and the number of
        examples.
        """
        method, done, n = what
        before = self.__dict__
        try:
            for forest in steps:
                self.set_forest(forest, classes, counts)
        except BaseException as error:
            number = 0 if self.__dict__ is before else int(counts[done][0])
            if number == 0:
                self.__dict__ = before
            if isinstance(error, KeyboardInterrupt | MemoryError):
                kind, reason = (
                    (_StoppedError, "ran out of memory")
                    if isinstance(error, MemoryError)
                    else (KeyboardInterrupt, "was interrupted")
                )
                raise kind(
                    f"{method} {reason}: {number} of {n} examples have been {done}, and the "
                    "model is valid."
                ) from error
            raise
        return self

    # Validation.

    def _check_examples(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Validate and return the first examples to learn, and their labels."""
        X, y = read_examples(self, X, y, dtype=PRECISIONS)
        check_labels(y)
        return X, y

    def check_batch(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Validate and return more examples and their labels."""
        self._check_metric()
        # Distances to known examples have one more column for each of them.
        grows = self.forest_.metric.is_precomputed
        if not grows and self._is_checked(X) and _are_checked(y, len(X)):
            return np.asarray(X), y
        options = {"grows": True} if grows else {"reset": False}
        X, y = read_examples(self, X, y, dtype=self.forest_.dtype, **options)
        # Few examples of many classes look like regression to scikit-learn.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            check_labels(y)
        return X, y

    def _check_metric(self) -> None:
        metric, params = self._learned_with
        if metric != self.metric or not are_params_equal(params, self.metric_params):
            raise ValueError(
                f"the model was learned with metric {self._learned_with[0]!r}, metric_params="
                f"{self._learned_with[1]!r}, which have been changed since. Call fit first."
            )

    def _check_queries(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self, "forest_")
        if self._is_checked(X):
            return np.asarray(X)
        queries: Array = read_examples(self, X, dtype=self.forest_.dtype, reset=False)
        return queries

    def _is_checked(self, X: Any) -> bool:
        """Return whether examples are an array that scikit-learn would return as it is.

        For one example, scikit-learn's checks take longer than everything else.
        """
        return bool(
            type(X) is np.ndarray
            and (X.ndim, X.dtype) == (2, self.forest_.dtype)
            and len(X)
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and np.isfinite(X).all()
        )

    # Notebooks.

    def _facts(self) -> str:
        """Return the numbers of examples, features, classes and prototypes."""
        if "forest_" not in vars(self):
            return ""
        forest, classes = self.fitted_forest()
        facts = [count(len(forest), "example"), count(len(classes), "class", "classes")]
        if not forest.metric.is_precomputed:
            facts.insert(1, count(forest.n_features, "feature"))
        facts.append(count(len(forest.prototypes), forest.seed_name))
        voters = getattr(self, "voters", 1)
        if voters != 1:
            facts.append(f"voters: {voters}")
        return ", ".join(facts)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return what scikit-learn shows as fitted attributes, without finding the calibration."""
        names = ("classes_", "feature_names_in_", "forest_", "n_features_in_", "update_report_")
        known = {name: getattr(self, name) for name in names if hasattr(self, name)}
        calibration = self.forest_.current_calibration()
        if calibration is not None:
            known["exponent_"] = calibration.exponent
            if calibration.requested == getattr(self, "voters", 1) != 1:
                known["voters_"] = calibration.voters
        shown = BaseEstimator._get_fitted_attr_html(SimpleNamespace(**known), doc_link)
        shown.estimator_class = type(self)
        return shown
