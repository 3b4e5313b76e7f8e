"""Selection of searchers, all of which find the same conquerors, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.comparison import assert_same_model
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

from opforest import OPFClassifier
from opforest.core.conquest.kdtree import ANY
from opforest.core.select import search as searching


def searcher(forest, n_queries):
    """Return the searcher for this many queries."""
    return forest.queries.choose_searcher(n_queries, ANY)


def always():
    """Use matrix products for any number of queries and features."""
    return tuned(search_matmul_features=1, search_matmul_work=1)


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=60, max_d=40, queries=9),
    offset=st.sampled_from([0, 0, 1e6, 1e9]),
    n_jobs=st.sampled_from([None, 1, 2]),
)
def test_models_are_the_same(problem, offset, n_jobs):
    X, y, Q = problem
    X, Q = X + X.dtype.type(offset), Q + X.dtype.type(offset)
    scan = OPFClassifier(algorithm="brute").fit(X, y)
    offers, costs = scan.conquerors(Q), scan.class_costs(Q)
    with always():
        blocked = OPFClassifier(algorithm="brute", n_jobs=n_jobs).fit(X, y)
        assert isinstance(searcher(blocked.forest_, len(Q)), searching.MatmulSearch)
        assert_same_model(blocked, scan, Q)
        for a, b in zip(blocked.conquerors(Q), offers, strict=True):
            assert np.array_equal(a, b)
        assert np.array_equal(blocked.class_costs(Q), costs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "squared_chord", "gaussian"])
def test_threads_and_metrics(dtype, metric):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 40)).astype(dtype)
    y = rng.integers(0, 3, 2000)
    clf = OPFClassifier(metric, algorithm="brute").fit(X[:2000], y)
    with tuned(search_matmul_work=np.inf):
        expected = (*clf.conquerors(X[2000:]), clf.class_costs(X[2000:]))
    for n_jobs in (None, 1, 2):
        clf.set_params(n_jobs=n_jobs)
        for per_call in (300, 8192):
            with tuned(queries_per_call=per_call):
                found = (*clf.conquerors(X[2000:]), clf.class_costs(X[2000:]))
            for a, b in zip(found, expected, strict=True):
                assert np.array_equal(a, b)


def test_when_matrix_products_are_used():
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 40)), rng.integers(0, 2, 300)

    def uses_matmul(metric="euclidean", d=40, n_queries=1000):
        forest = OPFClassifier(metric).fit(X[:, :d], y).forest_
        return isinstance(searcher(forest, n_queries), searching.MatmulSearch)

    assert uses_matmul()
    assert uses_matmul("cosine")
    assert not uses_matmul("manhattan")
    assert not uses_matmul(d=10)
    assert not uses_matmul(n_queries=100)


def test_parts_are_even():
    X = np.random.default_rng(0).random((50, 40))
    forest = OPFClassifier().fit(X, X[:, 0] > 0.5).forest_
    assert searcher(forest, 8193).queries_per_call(8193) == 4097
