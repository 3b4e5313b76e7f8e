"""The k cheapest offers, by each search, against a sort of all offers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.oracles import votes as plain
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

from opforest import OPFClassifier
from opforest.core.conquest.matmul import find_conquerors_by_matmul
from opforest.core.conquest.scan import find_conquerors, rank, rank_by_index
from opforest.core.metrics.types import SquaredEuclidean

SQUARED = SquaredEuclidean()


def by_sorting(cost, X, Q, k):
    """Return indices and offers, with −1 and infinity where there are fewer than k."""
    D = oracle.table(X, oracle.squared_euclidean, Q)
    winner, offer = np.full((len(Q), k), -1), np.full((len(Q), k), np.inf)
    for i, distances in enumerate(D):
        for j, (value, _, index) in enumerate(plain.best_offers(cost.tolist(), list(distances), k)):
            winner[i, j], offer[i, j] = index, value
    return winner, offer


@settings(max_examples=150)
@given(
    problem=learning_problems(max_n=40, queries=5),
    k=st.sampled_from([1, 2, 3, 7, 50]),
    levels=st.integers(1, 4),
    block=st.sampled_from([2, 5, 256]),
    patience=st.sampled_from([1, 64]),
)
def test_rankings_equal_sorting(problem, k, levels, block, patience):
    X, _, Q = problem
    # Costs that need not be those of a forest, many of them equal.
    unit = np.abs(X).max() ** 2 or X.dtype.type(1)
    cost = (np.arange(len(X)) * 7 % levels).astype(X.dtype) * (unit / X.dtype.type(4))
    expected = by_sorting(cost, X, Q, k)
    ranking = rank(X, np.arange(len(X)), cost, SQUARED)
    found = [find_conquerors(Q, X, ranking, SQUARED, k)]
    with tuned(search_block=block, search_patience=patience):
        found.append(find_conquerors_by_matmul(Q, X, ranking, SQUARED, k))
    for winner, offer in found:
        assert np.array_equal(winner, expected[0])
        assert np.array_equal(offer, expected[1])


@settings(max_examples=150)
@given(problem=learning_problems(max_n=60, queries=5), k=st.sampled_from([1, 2, 3, 7, 50]))
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_forests_equal_sorting(algorithm, problem, k):
    X, y, Q = problem
    clf = OPFClassifier("sqeuclidean", algorithm=algorithm).fit(X, y)
    expected = by_sorting(clf.forest_.cost, X, Q, k)
    ids, offer = clf.conquerors(Q, k)
    assert np.array_equal(ids, expected[0])
    assert np.array_equal(offer, expected[1])
    first, cheapest = clf.conquerors(Q)
    assert np.array_equal(first, ids[:, 0])
    assert np.array_equal(cheapest, offer[:, 0])


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_ids_and_duplicates_after_forgetting(algorithm):
    X = np.repeat(np.arange(6.0), 5)[:, None]
    clf = OPFClassifier("sqeuclidean", algorithm=algorithm).fit(X, np.arange(30) % 2)
    clf.forget([0, 7, 29])
    left = clf.forest_.ids
    winner, offer = by_sorting(clf.forest_.cost, X[left], X[::4] + 0.25, 12)
    ids, found = clf.conquerors(X[::4] + 0.25, k=12)
    assert np.array_equal(ids, left[winner])
    assert np.array_equal(found, offer)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("d", [2, 40])
def test_many_queries_by_threads(n_jobs, d):
    rng = np.random.default_rng(0)
    X, Q = rng.integers(0, 5, (3000, d)).astype(float), rng.integers(0, 5, (1500, d)) + 0.5
    clf = OPFClassifier(n_jobs=n_jobs).fit(X, X[:, 0] > 2)
    ids, offer = clf.conquerors(Q, k=10)
    cost = clf.forest_.cost
    for i in range(0, len(Q), 100):
        distances = np.sqrt(((X - Q[i]) ** 2).sum(axis=1))
        expected = plain.best_offers(cost.tolist(), distances.tolist(), 10)
        assert ids[i].tolist() == [index for _, _, index in expected]
        assert offer[i].tolist() == [value for value, _, _ in expected]


def test_an_unsorted_ranking():
    rng = np.random.default_rng(0)
    X, Q = rng.integers(0, 4, (500, 2)).astype(float), rng.integers(0, 4, (7, 2)).astype(float)
    clf = OPFClassifier("sqeuclidean", algorithm="brute").fit(X, rng.integers(0, 3, 500))
    storage = clf.forest_.storage
    ranking = rank_by_index(storage.arrays, storage.end)
    winner, offer = find_conquerors(Q, storage.arrays.rows, ranking, SQUARED, 9)
    expected = by_sorting(clf.forest_.cost, X, Q, 9)
    assert np.array_equal(winner, expected[0])
    assert np.array_equal(offer, expected[1])


def test_undefined_distances_are_an_error():
    clf = OPFClassifier("correlation").fit([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]], [0, 1, 0])
    with pytest.raises(ValueError, match="undefined"):
        clf.conquerors([[1.0, 1.0]], k=2)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2"])
def test_k_must_be_a_count(k):
    clf = OPFClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        clf.conquerors([[0.0]], k=k)
