"""With a k-d tree and without, results are identical."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.comparison import assert_same_model
from tests.support.strategies import learning_problems

from opforest import OPFClassifier
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.records import NoIndex

METRICS = ["euclidean", "manhattan", "chebyshev", "cosine", "minkowski"]


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=60, max_d=6, non_negative=True),
    offset=st.sampled_from([0, 0, 1e6, 1e9]),
    scale=st.sampled_from([1, 1, 1e-160, 1e-310, 1e100]),
)
def test_tree_and_scan_agree_to_the_bit(metric, problem, offset, scale):
    X, y, Q = problem
    if metric in ("chebyshev", "minkowski"):  # each precision takes its time to compile
        X, Q = X.astype(np.float64), Q.astype(np.float64)
    if metric == "cosine":
        X, Q = (np.hstack((a, np.ones((len(a), 1), a.dtype))) for a in (X, Q))
    elif X.dtype == np.float64:
        scale = min(scale, 1e90) if metric == "minkowski" else scale
        X, Q = X * scale + offset, Q * scale + offset
    params = {"p": 3} if metric == "minkowski" else None
    brute = OPFClassifier(metric, metric_params=params, algorithm="brute").fit(X, y)
    tree = OPFClassifier(metric, metric_params=params, algorithm="kd_tree").fit(X, y)
    assert isinstance(tree.forest_.storage.fields.index, DynamicKDTree)
    assert isinstance(brute.forest_.storage.fields.index, NoIndex)
    tree.forest_.check()
    assert_same_model(tree, brute, Q)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_larger_sets(d, dtype):
    rng = np.random.default_rng(d)
    for X in (rng.integers(0, 9, (1500, d)), rng.normal(size=(1500, d))):
        X = X.astype(dtype)
        y = rng.integers(0, 3, len(X))
        Q = (X[:400] + rng.integers(-1, 2, (400, d))).astype(dtype)
        brute = OPFClassifier(algorithm="brute").fit(X, y)
        for n_jobs in (1, 2):
            tree = OPFClassifier(algorithm="kd_tree", n_jobs=n_jobs).fit(X, y)
            assert_same_model(tree, brute, Q)


def test_leaves_of_all_sizes():
    """When leaves are half full, there are twice as many of them."""
    rng = np.random.default_rng(0)
    X = rng.random((7000, 2))
    y = (4 * X[:, 0]).astype(int) % 2
    for n in (*range(1, 60), 95, 96, 97, 111, 223, 385, 447, 768, 769, 1537, 3333, 6200, 7000):
        clf = OPFClassifier(algorithm="kd_tree").fit(X[:n], y[:n])
        clf.forest_.check()
        clf.partial_fit(X[:1] + 0.5, y[:1])
        clf.forest_.check()


def test_growing_with_a_tree():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 30, (900, 2)).astype(float), rng.integers(0, 3, 900)
    clf = OPFClassifier(algorithm="kd_tree").fit(X[:700], y[:700])
    for i in range(700, 900, 50):
        clf.partial_fit(X[i : i + 50], y[i : i + 50])
        assert_same_model(
            clf, OPFClassifier(algorithm="brute").fit(X[: i + 50], y[: i + 50]), X[:300] + 0.5
        )


def test_more_candidates_than_there_was_room_for():
    """A point amid unit vectors: none of them is nearer to another one than to it."""
    d = 100
    shells = [radius * np.vstack((np.eye(d), -np.eye(d))) for radius in (1.0, 1.0625, 1.125)]
    X = np.vstack((*shells, np.zeros((1, d)), np.full((1, d), 1e-3)))
    y = np.arange(len(X)) % 3
    clf = OPFClassifier(algorithm="kd_tree").fit(X[:-2], y[:-2])
    clf.partial_fit(X[-2:], y[-2:])
    clf.forest_.check()
    assert_same_model(clf, OPFClassifier(algorithm="brute").fit(X, y), X[::7] + 0.01)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("scale", [1.0, 1e-170])
def test_duplicates_of_known_points(d, scale):
    """If distances underflow, not all points at distance 0 are duplicates."""
    rng = np.random.default_rng(d)
    X, y = scale * rng.integers(-3, 4, (200, d)), rng.integers(0, 3, 200)
    X = np.vstack((X, X[::3], -0.0 * X[:20], X[::5]))
    y = np.resize(y, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some distances underflow
        clf = OPFClassifier(algorithm="kd_tree").fit(X[:150], y[:150])
        for i in range(150, len(X)):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
        fresh = OPFClassifier(algorithm="brute").fit(X, y)
    clf.forest_.check()
    assert_same_model(clf, fresh, X[::3])


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize(
    "order", ["random", "sorted", "copies", "clusters", "one point", "two points"]
)
def test_long_streams_through_a_window(d, order):
    """Orders in which a naive k-d tree would lose its balance."""
    rng = np.random.default_rng(d)
    n, window = 1500, 300
    X = rng.random((n, d))
    if order == "sorted":
        X = X[np.argsort(X[:, 0])]
    elif order == "copies":
        X = np.round(3 * X)
    elif order == "clusters":
        X = np.repeat(rng.random((6, d)), n // 6, axis=0) + 1e-4 * X
    elif order == "one point":
        X[:] = 0.25
    elif order == "two points":
        X = np.round(X[:, :1]) + np.zeros((n, d))
    y = rng.integers(0, 3, n)
    clf = OPFClassifier(algorithm="kd_tree").fit(X[:1], y[:1])
    for i in range(1, n):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
        if i >= window:
            clf.forget(i - window)
        if i % 250 == 249:
            clf.forest_.check()
            known = slice(max(0, i - window + 1), i + 1)
            fresh = OPFClassifier(algorithm="brute").partial_fit(
                X[known], y[known], classes=clf.classes_
            )
            assert_same_model(clf, fresh, X[i : i + 20] + 0.01, ids=False)
    assert len(clf.forest_.storage.arrays.vertices) <= 2 * window + 2, (
        "memory grows with the stream"
    )
