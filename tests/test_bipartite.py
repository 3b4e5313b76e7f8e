"""Spanning trees between two blocks, and forests of forests, against Kruskal by sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from opforest.indexing import probe, span_best, span_between
from opforest.kernels.bipartite import span_bipartite
from opforest.kernels.distances import TILE
from opforest.kernels.kruskal import Edges, edges_of, merge_forests
from opforest.metrics import SquaredEuclidean, resolve
from strategies import learning_problems
from test_metrics import PARAMS, REDUCED


def pairs(edges):
    return sorted(zip(edges.u.tolist(), edges.v.tolist(), strict=True))


def ends(tree):
    return pairs(edges_of(tree, np.arange(len(tree.parent))))


def between(D, split):
    """The edges between the first ``split`` vertices and the others."""
    return [(D[u, v], u, v) for u in range(split) for v in range(split, len(D))]


# One that is measured side by side, in both precisions; two more; one that must see whole vectors.
@pytest.mark.parametrize("name", ["sqeuclidean", "chebyshev", "canberra", "braycurtis"])
@settings(max_examples=100)
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
def test_many_tiles_equal_oracle(monkeypatch, split, dtype):
    rng = np.random.default_rng(split)
    X = rng.integers(0, 3, (2 * TILE + 37, 9)).astype(dtype)
    D = ((X[:, None] - X) ** 2).sum(axis=2)  # sums of small integers: exact in any order
    expected = oracle.spanning_forest(between(D, split))
    assert ends(span_bipartite(X, split, SquaredEuclidean())) == expected
    with monkeypatch.context() as patch:  # measuring ahead
        patch.setattr("opforest.kernels.spanning_tree.FAST_CACHE", 0)
        assert ends(span_bipartite(X, split, SquaredEuclidean())) == expected
    monkeypatch.setattr("opforest.kernels.spanning_tree.WORK_PER_CALL", 30_000)
    assert ends(span_bipartite(X, split, SquaredEuclidean())) == expected


NAMES = st.sampled_from([0, 1, 2, 3, 5, 8, 1000, 2000, 10**6])


@given(
    edges=st.lists(
        st.tuples(st.integers(0, 3), NAMES, NAMES).filter(lambda e: e[1] < e[2]), max_size=40
    ),
    n_parts=st.integers(1, 4),
)
def test_forest_of_lists_equals_oracle(edges, n_parts):
    """One weight for each pair, which may be named repeatedly; vertices far from each other."""
    weight = {(u, v): float(w) for w, u, v in edges}
    edges = [(weight[u, v], u, v) for _, u, v in edges]
    parts = [
        Edges(
            np.array([u for _, u, _ in part], np.int64),
            np.array([v for _, _, v in part], np.int64),
            np.array([w for w, _, _ in part], np.float64),
        )
        for part in (sorted(edges[i::n_parts]) for i in range(n_parts))
    ]
    forest = merge_forests(parts)
    assert pairs(forest) == oracle.spanning_forest(edges)
    listed = list(zip(forest.weight, forest.u, forest.v, strict=True))
    assert listed == sorted((weight[pair], *pair) for pair in pairs(forest))
    again = merge_forests([merge_forests(parts[:1]), merge_forests(parts)])
    assert all(np.array_equal(a, b) for a, b in zip(forest, again, strict=True))


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=40),
    cuts=st.lists(st.integers(1, 45), max_size=5),
    scale=st.sampled_from([1, 1e-200]),
)
def test_all_pairs_of_blocks_hold_the_whole_tree(algorithm, problem, cuts, scale):
    """Where squares vanish (1e-200), a k-d tree is of no use."""
    X = np.vstack(problem[::2]).astype(np.float64) * scale
    metric = resolve("euclidean")
    blocks = [
        b for b in np.split(np.arange(len(X)), sorted(c for c in cuts if c < len(X))) if len(b)
    ]
    forests = []
    for i, a in enumerate(blocks):
        forests.append(edges_of(span_best(X[a], metric, probe(X[a], metric, algorithm), 1), a))
        for b in blocks[i + 1 :]:
            rows = X[np.append(a, b)]
            tree = span_between(rows, len(a), metric, probe(rows, metric, algorithm))
            forests.append(edges_of(tree, np.append(a, b)))
    with np.errstate(under="ignore"):
        assert pairs(merge_forests(forests)) == oracle.kruskal(
            oracle.table(X, oracle.squared_euclidean)
        )


def test_memory_of_a_merge_does_not_grow_with_names():
    """The smaller ends and the larger ends may be far apart: other blocks lie between them."""
    u, v = np.arange(100), np.arange(100) + 10**15
    forest = merge_forests([Edges(u, v, np.ones(100)), Edges(u[:-1], v[1:], np.zeros(99))])
    assert len(forest.u) == 199
