"""Spanning trees between two blocks, against Kruskal by sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.measurement import PARAMS, REDUCED
from tests.support.strategies import learning_problems
from tests.support.trees import ends
from tests.support.tuning import tune, tuned

from opforest.core.metrics.distances import TILE
from opforest.core.metrics.types import SquaredEuclidean
from opforest.core.mst.bipartite import span_bipartite
from opforest.metrics import resolve


def between(D, split):
    """The edges between the first ``split`` vertices and the others."""
    return [(D[u, v], u, v) for u in range(split) for v in range(split, len(D))]


# One that is measured side by side, in both precisions; two more; one that must see whole vectors.
@pytest.mark.parametrize("name", ["sqeuclidean", "chebyshev", "canberra", "braycurtis"])
@settings(max_examples=60)
@given(problem=learning_problems(non_negative=True), where=st.floats(0, 1))
def test_tree_between_two_blocks_equals_oracle(name, problem, where):
    X = np.vstack(problem[::2])
    X = X if name == "sqeuclidean" else X.astype(np.float64)
    split = 1 + int(where * (len(X) - 2))
    metric = resolve(name, PARAMS.get(name))
    D = oracle.table(X, REDUCED[name])
    tree = span_bipartite(X, split, metric.kernel)
    assert ends(tree) == oracle.spanning_forest(between(D, split))
    child = np.flatnonzero(tree.parent >= 0)
    assert np.array_equal(tree.weight[child], D[child, tree.parent[child]])
    assert sorted(tree.order.tolist()) == list(range(len(X)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("split", [1, TILE + 3, 2 * TILE])
def test_many_tiles_equal_oracle(split, dtype):
    rng = np.random.default_rng(split)
    X = rng.integers(0, 3, (2 * TILE + 37, 9)).astype(dtype)
    D = ((X[:, None] - X) ** 2).sum(axis=2)  # sums of small integers: exact in any order
    expected = oracle.spanning_forest(between(D, split))
    assert ends(span_bipartite(X, split, SquaredEuclidean())) == expected
    with tuned(fast_cache=0):  # measuring ahead
        assert ends(span_bipartite(X, split, SquaredEuclidean())) == expected
    tune(work_per_call=30_000)
    assert ends(span_bipartite(X, split, SquaredEuclidean())) == expected
