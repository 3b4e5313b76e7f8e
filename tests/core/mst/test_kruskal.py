"""Merged forests, against Kruskal by sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.trees import pairs

from opforest.core.mst.kruskal import Edges, merge_forests

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


def test_memory_of_a_merge_does_not_grow_with_names():
    """The smaller ends and the larger ends may be far apart: other blocks lie between them."""
    u, v = np.arange(100), np.arange(100) + 10**15
    forest = merge_forests([Edges(u, v, np.ones(100)), Edges(u[:-1], v[1:], np.zeros(99))])
    assert len(forest.u) == 199
