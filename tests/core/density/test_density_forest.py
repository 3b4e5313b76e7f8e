"""Density kernels: densities, forests, openings and cuts, against the definitions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import density as oracle
from tests.oracles import forest as distances
from tests.support.strategies import learning_problems

from opforest.core.density.forest import (
    DensityArrays,
    conquer_by_density,
    find_cut,
    find_densities,
)
from opforest.core.density.opening import flatten_small_peaks


def make_graph(X, k):
    D = distances.table(X, distances.squared_euclidean)
    near = np.array(oracle.neighbors(D, k), np.uint32)
    return D, near, np.take_along_axis(D, near.astype(int), axis=1).T.copy()


def tied_with_others(level):
    return np.array([i for i in range(len(level)) if (level == level[i]).sum() > 1], np.int64)


@settings(max_examples=80)
@given(
    problem=learning_problems(max_n=16, max_d=2, dtypes=(np.float64,)),
    k=st.integers(1, 5),
    size=st.integers(1, 6),
    by_volume=st.booleans(),
)
def test_kernels(problem, k, size, by_volume):
    X, y, _ = problem
    n = len(X)
    if n <= k:
        return
    D, near, distance = make_graph(X, k)
    density, scale = np.empty(n), np.empty(3)
    find_densities(distance, k, density, scale)
    expected, expected_scale = oracle.densities(D, near.tolist())
    assert density.tolist() == expected
    assert tuple(scale.tolist()) == tuple(expected_scale)

    order = np.lexsort((np.arange(n), -density))
    tied = tied_with_others(density)
    forest = DensityArrays(density, density - 1, np.empty(n, np.int64), np.empty(n, np.int64))
    conquer_by_density(near, k, density, tied, y, (order, order), forest)
    out = oracle.arcs(near.tolist(), expected)
    value, root, before = oracle.conquest(expected, [d - 1 for d in expected], out, y)
    assert forest.value.tolist() == value
    assert forest.root.tolist() == root
    assert forest.predecessor.tolist() == before

    with np.errstate(divide="ignore"):
        weight = np.where(distance > 0, 1 / distance, 0.0)
    cut, clusters = find_cut((near, near.T.copy(), weight), k, density, tied, forest.root)
    true_cut, true_clusters = oracle.cut(D, out, root)
    assert clusters == true_clusters
    np.testing.assert_allclose(cut, true_cut, rtol=1e-12)

    level = np.empty(n)
    limit = float(size * (density.mean() if by_volume else 1))
    flatten_small_peaks(near, k, density, order, limit, by_volume, level)
    if not by_volume:  # sums of densities depend on the order of summation
        assert level.tolist() == oracle.opening(expected, near.tolist(), limit, by_volume)
    assert (level <= density).all()
