"""Labels spread from seeds: insertions, late labels and removals against Kruskal with seeds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.kernel_arrays import (
    SQUARED,
    alive,
    assert_index,
    edges,
    make_arrays,
    make_searchable,
)
from tests.support.strategies import learning_problems

from opforest.core.label_spread.batch import UNLABELED
from opforest.core.label_spread.insert import insert_seeded, label_exactly
from opforest.core.label_spread.remove import remove_seeded
from opforest.forest.updates.report import no_counts


def assert_spread(arrays, X, given_label):
    vertex = alive(arrays)
    D = oracle.table(X[vertex], oracle.squared_euclidean)
    assert edges(arrays) == oracle.kruskal(D)
    seeds = given_label[vertex] != UNLABELED
    assert arrays.counters[0]["prototypes"] == seeds.sum()
    assert ((arrays.vertices["cuts"][vertex] > 0) == seeds).all()
    if not seeds.any():
        assert (arrays.vertices["label"][vertex] == 0).all()
        assert (arrays.cost[vertex] == 0).all()
        return
    label, _, cost, path = oracle.seeded(D, given_label[vertex])
    assert arrays.vertices["label"][vertex].tolist() == label
    assert np.array_equal(arrays.cost[vertex], cost)
    found = arrays.seed_parent[vertex]
    assert [int(np.searchsorted(vertex, u)) if u >= 0 else -1 for u in found] == path


@pytest.mark.parametrize("use_kdtree", [False, True])
@settings(max_examples=80)
@given(
    problem=learning_problems(max_n=14, max_d=2, dtypes=(np.float64,)),
    kept=st.lists(st.booleans(), min_size=14, max_size=14),
    data=st.data(),
)
def test_each_change_gives_what_spreading_again_gives(use_kdtree, problem, kept, data):
    X, y, _ = problem
    n = len(X)
    label = np.where(kept[:n], y, UNLABELED)
    arrays = make_arrays(X, label, n=(n + 1) // 2, is_seeded=True)
    index, bound = make_searchable(arrays, use_kdtree)
    report = no_counts()
    for end in range((n + 1) // 2 + 1, n + 1):
        insert_seeded(arrays, index, bound, end, False, SQUARED, report)
        assert_spread(arrays, X[:end], label)
        assert_index(index, arrays, bound)
    for v in np.flatnonzero(label == UNLABELED)[::2]:
        label[v] = y[v]
        label_exactly(arrays, index, np.array([v]), y[v : v + 1], report)
        assert_spread(arrays, X, label)
        assert_index(index, arrays, bound)
    for z in data.draw(st.permutations(range(n)))[: n - 1]:
        assert remove_seeded(arrays, index, bound, np.array([z]), SQUARED, report) == 1
        assert_spread(arrays, X, label)
        assert_index(index, arrays, bound)
