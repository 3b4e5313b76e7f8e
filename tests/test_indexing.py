"""With a k-d tree or without: the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opforest import OPFClassifier
from opforest.indexing import share_of_looks
from opforest.kernels.boruvka import span_sparse
from opforest.kernels.index import Flat, Index
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


def test_growing_with_a_tree():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 30, (900, 2)).astype(float), rng.integers(0, 3, 900)
    clf = OPFClassifier(algorithm="kd_tree").fit(X[:700], y[:700])
    for i in range(700, 900, 50):
        clf.partial_fit(X[i : i + 50], y[i : i + 50])
        assert_same_model(
            clf, OPFClassifier(algorithm="brute").fit(X[: i + 50], y[: i + 50]), X[:300] + 0.5
        )


def test_distances_that_vanish_fall_back_to_the_dense_algorithm():
    """Where squares underflow, distinct points are at distance 0, and copies are no star."""
    X = np.array([[0.0], [1e-200], [1e-200], [0.0], [5.0]])
    metric = resolve("euclidean")
    assert span_sparse(X, metric.kernel) is None
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
    assert share_of_looks(flat, euclidean, "brute") == 1
    assert share_of_looks(flat[:100], euclidean, "auto") == 1
    assert share_of_looks(flat, resolve("canberra"), "auto") == 1
    assert share_of_looks(flat, euclidean, "auto") < 0.02


def test_errors():
    with pytest.raises(ValueError, match=r"one of \['auto', 'brute', 'kd_tree'\], got 'ball'"):
        OPFClassifier(algorithm="ball").fit([[0.0]], [0])
    with pytest.raises(ValueError, match="no bounds for metric 'canberra'"):
        OPFClassifier("canberra", algorithm="kd_tree").fit([[0.0]], [0])
