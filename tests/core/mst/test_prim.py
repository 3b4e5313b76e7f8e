"""Prim's algorithm: the same tree however the work is cut."""

import numpy as np
import pytest
from tests.support.tuning import tune, tuned

from opforest.core.metrics.distances import TILE
from opforest.core.metrics.types import SquaredEuclidean
from opforest.core.mst.prim import span


def test_one_call_or_many_grow_the_same_tree():
    X = np.random.default_rng(0).integers(0, 5, (700, 3)).astype(float)
    whole = span(X, SquaredEuclidean())
    tune(work_per_call=30_000)
    for a, b in zip(whole, span(X, SquaredEuclidean()), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_measuring_ahead_grows_the_same_tree(dtype):
    rng = np.random.default_rng(0)
    for X in (rng.integers(0, 3, (3 * TILE - 5, 9)), rng.normal(size=(3 * TILE - 5, 20))):
        X = X.astype(dtype)
        plain = span(X, SquaredEuclidean())
        with tuned(fast_cache=0):
            for a, b in zip(plain, span(X, SquaredEuclidean()), strict=True):
                assert np.array_equal(a, b)
