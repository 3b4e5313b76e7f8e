"""The nearest neighbors of all points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.measurement import PARAMS, REDUCED
from tests.support.strategies import learning_problems

from opforest.core.select.neighbors import nearest_neighbors
from opforest.metrics import resolve


def slow(D, k):
    order = [sorted((d, j) for j, d in enumerate(row) if j != i)[:k] for i, row in enumerate(D)]
    return [[j for _, j in near] for near in order], [[d for d, _ in near] for near in order]


@pytest.mark.parametrize("name", REDUCED)
@settings(max_examples=15)
@given(problem=learning_problems(non_negative=True), k=st.integers(1, 5), n_jobs=st.integers(1, 2))
def test_neighbors_equal_oracle(name, problem, k, n_jobs):
    X = problem[0] if name == "sqeuclidean" else problem[0].astype(np.float64)
    if name == "braycurtis":
        X = X + X.dtype.type(1)
    metric = resolve(name, PARAMS.get(name))
    if len(X) <= k:
        with pytest.raises(ValueError, match=r"k must be from 1 to"):
            nearest_neighbors(X, k, metric)
        return
    near, distance = slow(oracle.table(X, REDUCED[name]), k)
    for algorithm in ("brute", "kd_tree") if metric.is_indexable else ("brute",):
        found = nearest_neighbors(X, k, metric, algorithm, n_jobs)
        assert found[0].tolist() == near
        assert found[1].tolist() == np.array(distance, X.dtype).tolist()


def test_tables_and_many_points():
    X = np.random.default_rng(0).integers(0, 30, (1500, 2)).astype(float)
    table = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    by_table = nearest_neighbors(table, 7, resolve("precomputed"))
    for algorithm in ("brute", "kd_tree"):
        found = nearest_neighbors(X, 7, resolve("euclidean"), algorithm, 2)
        assert np.array_equal(found[0], by_table[0])
        assert np.array_equal(found[1], by_table[1])
