"""Removals, one after another, against the forest of the remaining vertices."""

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

from opforest.core.dynamic.remove import remove_exactly
from opforest.forest.updates.report import no_counts


@pytest.mark.parametrize("use_kdtree", [False, True])
@settings(max_examples=80)
@given(problem=learning_problems(max_n=16, max_d=2, dtypes=(np.float64,)), data=st.data())
def test_the_rest_is_the_forest_of_the_rest(use_kdtree, problem, data):
    X, y, _ = problem
    arrays = make_arrays(X, y)
    index, bound = make_searchable(arrays, use_kdtree)
    order = data.draw(st.permutations(range(len(X))))[: len(X) - 1]
    report, was_prototype = no_counts(), arrays.vertices["cuts"] > 0
    for z in order:
        assert remove_exactly(arrays, index, bound, np.array([z]), SQUARED, report) == 1
        vertex = alive(arrays)
        D = oracle.table(X[vertex], oracle.squared_euclidean)
        tree = oracle.kruskal(D)
        roots = oracle.prototypes(tree, y[vertex])
        assert edges(arrays) == tree
        assert np.flatnonzero(arrays.vertices["cuts"][vertex] > 0).tolist() == roots
        assert np.array_equal(arrays.cost[vertex], oracle.costs(D, roots))
        assert np.isinf(arrays.cost[z])
        counters = arrays.counters[0]
        assert counters["prototypes"] == len(roots)
        assert counters["n_cut_edges"] == sum(y[vertex[u]] != y[vertex[v]] for u, v in tree)
        assert counters["oldest"] == vertex[0]
        assert counters["longest"] >= max((D[edge] for edge in tree), default=0)
        assert_index(index, arrays, bound)
    gained, lost = report[0]["prototypes_gained"], report[0]["prototypes_lost"]
    assert gained - lost == arrays.counters[0]["prototypes"] - was_prototype.sum()
    assert report[0]["forgotten"] == len(order)
