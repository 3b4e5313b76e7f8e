"""Spanning trees by matrix products and by Prim's algorithm are identical."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.comparison import assert_same_model
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

from opforest import OPFClassifier
from opforest.core.metrics.types import SquaredEuclidean
from opforest.core.mst.matmul import span_by_matmul
from opforest.core.mst.prim import span
from opforest.core.select import mst as spanning

SQUARED = SquaredEuclidean()


def span_both(X, others=2048, block=256, rough=1.0, n_jobs=1):
    """Span by matrix products, and compare the tree with that of Prim's algorithm."""
    sizes = {"span_block": block, "span_others": others, "span_rough": rough}
    with tuned(**sizes), warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = span_by_matmul(X, SQUARED, n_jobs)
    if tree is not None:
        dense = span(X, SQUARED)
        assert np.array_equal(tree.weight, dense.weight)
        assert np.array_equal(tree.parent, dense.parent)
    return tree


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=60, max_d=40, queries=1),
    offset=st.sampled_from([0, 0, 1e3, 1e6, 1e9]),
    scale=st.sampled_from([1, 1, 1e-19, 1e-23, 1e-40, 1e-160, 1e-310, 1e8]),
    block=st.sampled_from([2, 256]),
    others=st.sampled_from([3, 2048]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_spanning_by_matmul(problem, offset, scale, block, others, n_jobs):
    X = problem[0]
    if X.dtype == np.float64:
        X = X * scale + offset
    assert span_both(X, others, block, np.inf, n_jobs) is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["one cloud", "clusters", "copies"])
def test_spanning_more_points_by_matmul(dtype, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 40))
    if kind == "clusters":
        X = 20 * X[rng.integers(0, 9, 1200)] + 0.5 * X
    elif kind == "copies":
        X = np.round(X[rng.integers(0, 100, 1200)])
    assert span_both(X.astype(dtype), 500) is not None


def test_rough_estimates_leave_the_tree_to_prim():
    rng = np.random.default_rng(0)
    X = (1e4 * rng.normal(size=(5, 40)))[rng.integers(0, 5, 2000)] + rng.normal(size=(2000, 40))
    assert span_both(X.astype(np.float32), rough=1 / 64) is None


def test_many_features_are_spanned_by_matmul():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 130)), rng.integers(0, 3, 300)
    dense = OPFClassifier(algorithm="brute").fit(X, y)
    with (
        tuned(span_matmul_bytes=0),
        patch.object(spanning, "span", side_effect=AssertionError),
    ):
        assert_same_model(OPFClassifier().fit(X, y), dense, X[:50] + 0.1)
