"""Borůvka's rounds with a k-d tree."""

import numpy as np
from tests.support.comparison import assert_same_model

from opforest import OPFClassifier
from opforest.core.kdtree.static import build_kdtree
from opforest.core.mst.boruvka import span_sparse
from opforest.metrics import resolve


def test_distances_that_underflow_fall_back_to_the_dense_algorithm():
    """If squares underflow, distinct points are at distance 0, and duplicates are not a star."""
    X = np.array([[0.0], [1e-200], [1e-200], [0.0], [5.0]])
    metric = resolve("euclidean")
    assert span_sparse(X, build_kdtree(X, np.arange(len(X))), metric.kernel) is None
    y = [0, 1, 0, 1, 1]
    assert_same_model(
        OPFClassifier(algorithm="kd_tree").fit(X, y), OPFClassifier(algorithm="brute").fit(X, y), X
    )
