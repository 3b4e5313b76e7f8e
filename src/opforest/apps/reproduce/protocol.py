"""The paper's protocol: repeated hold-out, with a test after each subset that is learned.

Each repetition splits a data set into halves S, to learn, and T, to test on, and deals S into
subsets. A method learns the first subset and then includes the others one after another; after
each, its accuracy on T and the time of the update are recorded.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier
from opforest.core.select.mst import FEW
from opforest.forest.updates import UPDATES
from opforest.scores import opf_accuracy

Array = npt.NDArray[Any]


class Split(NamedTuple):
    """The examples of a repetition, as indices into the data set."""

    subsets: list[Array]  #: of S, in the order in which they are learned
    test: Array  #: T


@dataclass(frozen=True)
class LearningCurve:
    """The results of a method after each subset; the first one is the initial training."""

    known: list[int] = field(default_factory=list)  #: examples learned so far
    accuracy: list[float] = field(default_factory=list)  #: ``opf_accuracy`` on T
    seconds: list[float | None] = field(default_factory=list)  #: None for an empty subset
    prototypes: list[int] = field(default_factory=list)  #: number of prototypes


def standardize(X: npt.ArrayLike) -> Array:
    """Return z-scores of the features; a constant feature becomes 0."""
    X = np.asarray(X, np.float64)
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def deal(y: Array, n_subsets: int, rng: np.random.Generator) -> list[Array]:
    """Deal examples into subsets that keep the class proportions, each in random order.

    Each subset gets the same number of a class, rounded down, but at least one while any is left;
    the last subset gets the remainder. Trailing subsets may be empty. Of the readings of the
    paper that we tried, this one comes closest to the published figures.
    """
    by_class = []
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        size = max(1, len(members) // n_subsets)
        by_class.append(np.split(members, size * np.arange(1, n_subsets)))
    return [rng.permutation(np.concatenate(parts)) for parts in zip(*by_class, strict=True)]


def split(y: Array, n_subsets: int, seed: int) -> Split:
    """Split a data set into stratified halves, and deal the first one into subsets."""
    learn, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    subsets = deal(y[learn], n_subsets, np.random.default_rng(seed))
    return Split([learn[subset] for subset in subsets], test)


def evaluate(method: str, X: Array, y: Array, parts: Split) -> LearningCurve:
    """Evaluate a method of ``METHODS`` as it learns one subset after another.

    Examples
    --------
    >>> from opforest.datasets import make_saturn
    >>> from opforest.apps.reproduce.protocol import evaluate, split
    >>> X, y = make_saturn(random_state=0)
    >>> evaluate("exact", X, y, split(y, 10, seed=0)).known
    [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    is_refitted = method in ("1nn", "original")
    model = _make_model(method)
    learn = model.fit if is_refitted else model.partial_fit
    # Equal examples of T get equal answers, so each is predicted once.
    queries, place = np.unique(X[parts.test], axis=0, return_inverse=True)
    curve = LearningCurve()
    known, accuracy = np.empty(0, np.int64), 0.0
    for subset in parts.subsets:
        known = np.concatenate((known, subset))
        seconds = None
        if len(subset):
            chosen = known if is_refitted else subset
            seconds = _time(learn, X[chosen], y[chosen])
            accuracy = opf_accuracy(y[parts.test], model.predict(queries)[place.ravel()])
        curve.known.append(len(known))
        curve.accuracy.append(accuracy)
        curve.seconds.append(seconds)
        forest = getattr(model, "forest_", None)
        curve.prototypes.append(len(known) if forest is None else len(forest.prototypes))
    return curve


@cache
def warm_up(method: str, many: bool) -> None:
    """Compile everything a method may need; ``many`` examples may also need an index."""
    n = FEW + 400 if many else 300
    subsets = np.split(np.arange(n), [n - 120, n - 100])
    for n_features in (2, 32):
        X = np.random.default_rng(0).normal(size=(n, n_features))
        y = (X[:, 0] > 0) + (X[:, 1] > 0).astype(np.int64)
        evaluate(method, X, y, Split(subsets, np.arange(n)))
    if many and method in UPDATES:
        model = OPFClassifier(update=method, algorithm="kd_tree").fit(X[:-20, :2], y[:-20])
        model.partial_fit(X[-20:, :2], y[-20:]).predict(X[:, :2])


def _make_model(method: str) -> Any:
    if method == "1nn":
        return KNeighborsClassifier(1)
    return OPFClassifier() if method == "original" else OPFClassifier(update=method)


def _time(learn: Callable[[Array, Array], Any], X: Array, y: Array) -> float:
    """Return the processor time of a call."""
    with warnings.catch_warnings():  # about features and classes, meaningless for small subsets
        warnings.simplefilter("ignore", UserWarning)
        begin = process_time()
        learn(X, y)
        return process_time() - begin
