"""Conquerors by matrix products and by the scan are identical."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.strategies import DTYPES, learning_problems
from tests.support.tuning import tuned

from opforest import OPFClassifier
from opforest.core.conquest import matmul
from opforest.core.conquest.matmul import find_conquerors_by_matmul
from opforest.core.conquest.scan import find_conquerors, rank
from opforest.core.metrics.types import SquaredEuclidean

SQUARED = SquaredEuclidean()


def find_all(X, cost, Q, block=256, patience=64):
    """Find conquerors by matrix products, and compare them with the scan and the oracle."""
    ranking = rank(X, np.arange(len(X)), cost, SQUARED)
    with tuned(search_block=block, search_patience=patience), warnings.catch_warnings():
        warnings.simplefilter("error")
        winner, offer = first(find_conquerors_by_matmul(Q, X, ranking, SQUARED))
    for other in (first(find_conquerors(Q, X, ranking, SQUARED)), slow(X, cost, Q)):
        assert np.array_equal(winner, other[0])
        assert np.array_equal(offer, other[1])
        assert offer.dtype == other[1].dtype
    return winner, offer


def first(found):
    """Return the conquerors and their offers."""
    return found[0][:, 0], found[1][:, 0]


def slow(X, cost, Q):
    if X.size * len(Q) > 10**6:  # the oracle takes seconds
        return first(find_conquerors(Q, X, rank(X, np.arange(len(X)), cost, SQUARED), SQUARED))
    return oracle.conquerors(cost, oracle.table(X, oracle.squared_euclidean, Q))


def count_measured(X, cost, Q):
    """Return the mean number of distances measured per query."""
    seen = []
    make = matmul.SearchResult

    def keep(*arrays):
        seen.append(make(*arrays))
        return seen[-1]

    with patch.object(matmul, "SearchResult", keep):
        find_all(X, cost, Q)
    return seen[0].measured.mean()


def data(n, d, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 50, d)).astype(dtype)
    cost = (d * rng.random(n)).astype(dtype)
    cost[rng.random(n) < 0.3] = 0
    return X[:n], cost, X[n:]


@settings(max_examples=80)
@given(
    problem=learning_problems(max_n=40, max_d=40, queries=12),
    offset=st.sampled_from([0, 0, 1e3, 1e6, 1e9]),
    scale=st.sampled_from([1, 1, 1e-19, 1e-23, 1e-40, 1e-160, 1e-310, 1e8]),
    block=st.sampled_from([3, 8, 256]),
    patience=st.sampled_from([0, 3, 64]),
    levels=st.integers(1, 5),
)
def test_any_data(problem, offset, scale, block, patience, levels):
    X, _, Q = problem
    X, Q = ((a * scale + offset).astype(X.dtype) for a in (X, Q))
    D = oracle.table(X, oracle.squared_euclidean)
    step = D.max() / levels
    cost = D[0] // step * step if step > 0 else D[0]
    cost = np.nan_to_num(cost).astype(X.dtype)
    find_all(X, cost, Q, block, patience)
    find_all(X, np.zeros_like(cost), Q, block, patience)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestHardCases:
    """Data designed to break a bound that is too tight, or to take forever."""

    def test_plain(self, dtype):
        assert count_measured(*data(1000, 30, dtype)) < 10

    def test_far_from_the_origin(self, dtype):
        """Centering removes the offset: as few distances are measured as without it."""
        X, cost, Q = data(1000, 30, dtype)
        offset = dtype(1e3 if dtype is np.float32 else 1e9)
        assert count_measured(X + offset, cost, Q + offset) < 10

    def test_two_clusters_far_apart(self, dtype):
        """No center helps: estimates are useless, and queries are left to the scan."""
        X, cost, Q = data(3000, 30, dtype)
        far = dtype(1e5 if dtype is np.float32 else 1e10)
        X[::2] += far
        Q[::2] += far
        assert count_measured(X, cost, Q) > 64

    def test_one_far_away(self, dtype):
        X, cost, Q = data(1000, 30, dtype)
        X[7] = 1e12
        find_all(X, cost, Q)

    def test_duplicates(self, dtype):
        X, cost, Q = data(600, 30, dtype)
        X[300:] = X[:300]
        cost[:] = np.repeat(cost[:20], 30)
        find_all(X, cost, np.concatenate((Q, X[:50], X[:1])))
        find_all(np.repeat(X[:1], 600, axis=0), cost, Q)

    def test_grid(self, dtype):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (700, 26)).astype(dtype)
        find_all(X[:650], rng.integers(0, 4, 650).astype(dtype), X[650:])

    @pytest.mark.parametrize("power", [-0.5, -0.48, -0.45, -0.9, -1.04])
    def test_underflow(self, dtype, power):
        X, cost, Q = data(300, 30, dtype)
        scale = dtype(float(np.finfo(dtype).tiny) ** -power)
        find_all(X * scale, (cost * scale * scale).astype(dtype), Q * scale)

    @pytest.mark.parametrize("share", [1, 0.999, 0.5, 1e-3])
    def test_as_large_as_allowed(self, dtype, share):
        X, _, Q = data(300, 30, dtype)
        limit = (float(np.finfo(dtype).max) / (4 * 30)) ** 0.5 / 2
        X, Q = (np.clip(a / 2, -1, 1) * dtype(limit * share) for a in (X, Q))
        X[::3] = np.sign(X[::3]) * dtype(limit * share)
        clf = OPFClassifier(algorithm="brute").fit(X, np.arange(300) % 2)
        find_all(X, clf.forest_.storage.arrays.cost, Q)

    def test_norms_near_overflow(self, dtype):
        """Larger than the estimator allows; distances are finite, estimates may not be."""
        rng = np.random.default_rng(0)
        side = dtype(float(np.finfo(dtype).max) ** 0.5 / 4)
        X, Q = (side * rng.choice([-1, 1, 0.9], (m, 3)).astype(dtype) for m in (200, 30))
        find_all(X, np.zeros(200, dtype), Q)

    def test_center_overflows(self, dtype):
        X = np.full((40, 3), np.finfo(dtype).max)
        find_all(X, np.zeros(40, dtype), X.copy())

    @pytest.mark.parametrize("power", [0, 0.45, 0.5, 0.55])
    @pytest.mark.parametrize("d", [1, 2, 31, 2000])
    def test_no_estimate_is_too_high(self, dtype, d, power):
        """Estimates of distances that nearly cancel, to test the proof."""
        rng = np.random.default_rng(d)
        base = rng.normal(size=d) * 10.0 ** rng.integers(-3, 4, d)
        near = base + 1e-4 * rng.normal(size=(40, d))
        X = np.concatenate((near, -near)) * float(np.finfo(dtype).tiny) ** power
        X = X.astype(dtype)
        for center in (np.zeros(d, dtype), X.mean(axis=0), X[0]):
            points, norm = matmul.center_points(X, center)
            factor = points * (-2 * matmul.shrink_factor(points))
            estimate = factor @ points.T + (norm[:, None] + norm)
            distance = oracle.table(X, squared_in_order)
            assert (estimate <= distance).all()
            # The bound is not far too low either: about twice the possible error.
            size = np.einsum("ij,ij->i", points, points)
            width = (3 * d + 20) * np.finfo(dtype).eps * (size[:, None] + size + distance)
            assert (estimate >= distance - width - 20 * d * np.finfo(dtype).tiny).all()


def squared_in_order(x, y):
    """``oracle.squared_euclidean``, faster: ``cumsum`` adds one after another."""
    return np.cumsum((x - y) * (x - y))[-1]


@given(dtype=st.sampled_from(DTYPES), d=st.integers(1, 50))
def test_sums_in_order(dtype, d):
    x, y = np.random.default_rng(d).normal(size=(2, d)).astype(dtype)
    assert squared_in_order(x, y) == oracle.squared_euclidean(x, y)
