"""The paper's protocol: repeated hold-out, with a test after each subset that is learned.

Each repetition splits a data set in two halves, S to learn and T to test on, and deals S into
subsets. A method learns the first subset, then includes the others one after another; after each,
its accuracy on T and the time of the update are noted.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
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
    """One repetition's division of a data set, as indices of its examples."""

    subsets: list[Array]  #: of S, in the order in which they are learned
    test: Array  #: T


@dataclass(frozen=True)
class Course:
    """The results of a method after each subset; the first one is the initial training."""

    known: list[int]  #: examples learned so far
    accuracy: list[float]  #: ``opf_accuracy`` on T
    seconds: list[float | None]  #: processor time of the update alone; None if the subset was empty
    prototypes: list[int]  #: examples that are prototypes


def standardize(X: npt.ArrayLike) -> Array:
    """Return z-scores of the features over the whole data set; a constant feature becomes 0.

    Examples
    --------
    >>> from opforest.apps.reproduce.protocol import standardize
    >>> standardize([[0, 5], [2, 5]]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    X = np.asarray(X, np.float64)
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def deal(y: Array, n_subsets: int, rng: np.random.Generator) -> list[Array]:
    """Deal examples into subsets that keep the class proportions, each in random order.

    Each subset gets the same number of a class, rounded down, but at least one while any is left;
    the last subset gets all that remain. The last ones may be empty. Of the ways we tried to
    read the paper, this one comes nearest to the published figures.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.apps.reproduce.protocol import deal
    >>> y = np.array([1] * 8 + [2] * 2)
    >>> subsets = deal(y, 3, np.random.default_rng(0))
    >>> [np.sort(y[subset]).tolist() for subset in subsets]
    [[1, 1, 2], [1, 1, 2], [1, 1, 1, 1]]
    """
    shares = []
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        size = max(1, len(members) // n_subsets)
        shares.append(np.split(members, size * np.arange(1, n_subsets)))
    return [rng.permutation(np.concatenate(parts)) for parts in zip(*shares, strict=True)]


def split(y: Array, n_subsets: int, seed: int) -> Split:
    """Split a data set in two halves with the same class proportions, and deal the first one.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The classes.
    n_subsets : int
        The number of subsets.
    seed : int
        The same seed gives the same split.

    Returns
    -------
    Split
        Indices of all examples: each is in one subset, or in the test set.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.apps.reproduce.protocol import split
    >>> subsets, test = split(np.array([1] * 6 + [2] * 6), 3, seed=0)
    >>> [len(subset) for subset in subsets], len(test)
    ([2, 2, 2], 6)
    """
    learn, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    subsets = deal(y[learn], n_subsets, np.random.default_rng(seed))
    return Split([learn[subset] for subset in subsets], test)


def follow(method: str, X: Array, y: Array, parts: Split) -> Course:
    """Let a method learn one subset after another, and record accuracy and time.

    Parameters
    ----------
    method : {"opfi", "original", "dift", "exact", "1nn"}
        How to learn.
    X : array of shape (n_samples, n_features)
        The whole data set.
    y : array of shape (n_samples,)
        Its classes.
    parts : Split
        What to learn when, and what to test on.

    Returns
    -------
    Course
        A value for each subset.

    Examples
    --------
    >>> from opforest.datasets import make_saturn
    >>> from opforest.apps.reproduce.protocol import follow, split
    >>> X, y = make_saturn(random_state=0)
    >>> follow("exact", X, y, split(y, 10, seed=0)).known
    [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    model, anew = _model(method)
    learn = model.fit if anew else model.partial_fit
    # Equal examples of T get the same answer, so each is predicted once.
    queries, place = np.unique(X[parts.test], axis=0, return_inverse=True)
    course = Course([], [], [], [])
    known, accuracy = np.empty(0, np.int64), 0.0
    for subset in parts.subsets:
        known = np.concatenate((known, subset))
        seconds = None
        if len(subset):
            chosen = known if anew else subset
            seconds = _time(learn, X[chosen], y[chosen])
            accuracy = opf_accuracy(y[parts.test], model.predict(queries)[place.ravel()])
        course.known.append(len(known))
        course.accuracy.append(accuracy)
        course.seconds.append(seconds)
        forest = getattr(model, "forest_", None)
        course.prototypes.append(len(known) if forest is None else len(forest.prototypes))
    return course


def warm_up(method: str, many: bool) -> None:
    """Use everything a method may need, so that nothing is compiled while time is measured.

    Parameters
    ----------
    method : {"opfi", "original", "dift", "exact", "1nn"}
        The method.
    many : bool
        Whether it is going to learn so many examples that an index may be used.
    """
    n = FEW + 400 if many else 300
    subsets = np.split(np.arange(n), [n - 120, n - 100])
    for n_features in (2, 32):
        X = np.random.default_rng(0).normal(size=(n, n_features))
        y = (X[:, 0] > 0) + (X[:, 1] > 0).astype(np.int64)
        follow(method, X, y, Split(subsets, np.arange(n)))
    if many and method in UPDATES:
        model = OPFClassifier(update=method, algorithm="kd_tree").fit(X[:-20, :2], y[:-20])
        model.partial_fit(X[-20:, :2], y[-20:]).predict(X[:, :2])


def _model(method: str) -> tuple[Any, bool]:
    """Return a new model, and whether it is refitted each time."""
    if method == "1nn":
        return KNeighborsClassifier(1), True
    if method == "original":
        return OPFClassifier(), True
    return OPFClassifier(update=method), False


def _time(learn: Callable[[Array, Array], Any], X: Array, y: Array) -> float:
    with warnings.catch_warnings():  # of spreads and classes, which mean nothing in small subsets
        warnings.simplefilter("ignore", UserWarning)
        begin = process_time()
        learn(X, y)
        return process_time() - begin
