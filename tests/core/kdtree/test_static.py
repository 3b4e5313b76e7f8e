"""Static k-d trees: the same for any number of threads, and their subtrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tuning import tuned

from opforest.core.kdtree.static import build_kdtree, count_nodes, take_subtree


@given(n=st.integers(1, 700), d=st.integers(1, 4), n_jobs=st.integers(2, 5), seed=st.integers(0, 9))
def test_threads_build_the_same_tree(n, d, n_jobs, seed):
    X = np.random.default_rng(seed).integers(0, 20, (n, d)).astype(float)
    one = build_kdtree(X, np.arange(n))
    with tuned(few_for_threads=1):
        several = build_kdtree(X, np.arange(n), n_jobs)
    for a, b in zip(one, several, strict=True):
        assert np.array_equal(a, b)
    assert len(one.nodes) == count_nodes(n)
    assert np.array_equal(np.sort(one.vertex), np.arange(n))
    assert np.array_equal(one.points, X[one.vertex])


@pytest.mark.parametrize("n", [1, 12, 13, 100, 333])
def test_subtrees(n):
    """Each subtree has the points, boxes and leaves of its node, counted from 0."""
    tree = build_kdtree(np.random.default_rng(n).random((n, 2)), np.arange(n))

    def leaves(some, node):
        begin, end, child = some.nodes[node].tolist()
        assert np.array_equal(some.box[node, 0], some.points[begin:end].min(axis=0))
        assert np.array_equal(some.box[node, 1], some.points[begin:end].max(axis=0))
        if child < 0:
            return [some.vertex[begin:end].tolist()]
        return leaves(some, child) + leaves(some, child + 1)

    for node in range(len(tree.nodes)):
        assert leaves(take_subtree(tree, node), 0) == leaves(tree, node)
