"""With a k-d tree or without: the same bits."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opforest import OPFClassifier
from opforest.indexing import probe
from opforest.kernels.boruvka import span_sparse
from opforest.kernels.index import Flat, Index
from opforest.kernels.kdtree import build_kdtree
from opforest.metrics import resolve
from strategies import learning_problems
from test_updates import assert_same_model

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
    if metric == "cosine":
        X, Q = (np.hstack((a, np.ones((len(a), 1), a.dtype))) for a in (X, Q))
    elif X.dtype == np.float64:
        scale = min(scale, 1e90) if metric == "minkowski" else scale
        X, Q = X * scale + offset, Q * scale + offset
    params = {"p": 3} if metric == "minkowski" else None
    brute = OPFClassifier(metric, metric_params=params, algorithm="brute").fit(X, y)
    tree = OPFClassifier(metric, metric_params=params, algorithm="kd_tree").fit(X, y)
    assert isinstance(tree.forest_.index, Index)
    assert isinstance(brute.forest_.index, Flat)
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
def test_copies_of_what_is_known(d, scale):
    """With distances that vanish, not all at distance 0 are copies."""
    rng = np.random.default_rng(d)
    X, y = scale * rng.integers(-3, 4, (200, d)), rng.integers(0, 3, 200)
    X = np.vstack((X, X[::3], -0.0 * X[:20], X[::5]))
    y = np.resize(y, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some distances vanish
        clf = OPFClassifier(algorithm="kd_tree").fit(X[:150], y[:150])
        for i in range(150, len(X)):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
        fresh = OPFClassifier(algorithm="brute").fit(X, y)
    clf.forest_.check()
    assert_same_model(clf, fresh, X[::3])


def test_distances_that_vanish_fall_back_to_the_dense_algorithm():
    """Where squares underflow, distinct points are at distance 0, and copies are no star."""
    X = np.array([[0.0], [1e-200], [1e-200], [0.0], [5.0]])
    metric = resolve("euclidean")
    assert span_sparse(X, build_kdtree(X, np.arange(len(X))), metric.kernel) is None
    y = [0, 1, 0, 1, 1]
    assert_same_model(
        OPFClassifier(algorithm="kd_tree").fit(X, y), OPFClassifier(algorithm="brute").fit(X, y), X
    )


def test_auto_probes():
    rng = np.random.default_rng(0)
    flat, cube = rng.random((3000, 2)), rng.random((3000, 30))
    clusters = rng.normal(size=(60, 30))[rng.integers(0, 60, 3000)] + 0.001 * cube
    kinds = {
        name: type(OPFClassifier().fit(X, X[:, 0] > 0.5).forest_.index)
        for name, X in (("flat", flat), ("cube", cube), ("clusters", clusters))
    }
    assert kinds == {"flat": Index, "cube": Flat, "clusters": Index}
    euclidean = resolve("euclidean")
    assert probe(flat, euclidean, "brute").share == 1
    assert probe(flat[:100], euclidean, "auto").share == 1
    assert probe(flat, resolve("canberra"), "auto").share == 1
    assert probe(flat, euclidean, "auto").share < 0.02


def test_errors():
    with pytest.raises(ValueError, match=r"one of \['auto', 'brute', 'kd_tree'\], got 'ball'"):
        OPFClassifier(algorithm="ball").fit([[0.0]], [0])
    with pytest.raises(ValueError, match="no bounds for metric 'canberra'"):
        OPFClassifier("canberra", algorithm="kd_tree").fit([[0.0]], [0])
