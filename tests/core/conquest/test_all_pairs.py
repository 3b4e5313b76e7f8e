"""The best offers that vertices make to each other, against a sort of all offers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.oracles import votes as plain
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

from opforest.core.conquest.all_pairs import find_offers_of_others
from opforest.core.conquest.scan import rank
from opforest.core.metrics.types import SquaredEuclidean

SQUARED = SquaredEuclidean()


def by_sorting(cost, X, k):
    """Return indices and offers, with −1 and infinity where there are fewer than k others."""
    D = oracle.table(X, oracle.squared_euclidean, X)
    winner, offer = np.full((len(X), k), -1), np.full((len(X), k), np.inf)
    for i, distances in enumerate(D):
        best = plain.best_offers(cost.tolist(), list(distances), len(X))
        others = [(index, value) for value, _, index in best if index != i][:k]
        for j, (index, value) in enumerate(others):
            winner[i, j], offer[i, j] = index, value
    return winner, offer


@settings(max_examples=100)
@given(
    problem=learning_problems(max_n=40),
    k=st.sampled_from([1, 2, 3, 7, 50]),
    levels=st.integers(1, 4),
    work=st.sampled_from([1, 100, 10_000]),
)
def test_pairs_equal_sorting(problem, k, levels, work):
    X = problem[0]
    unit = np.abs(X).max() ** 2 or X.dtype.type(1)
    cost = (np.arange(len(X)) * 7 % levels).astype(X.dtype) * (unit / X.dtype.type(4))
    ranking = rank(X, np.arange(len(X)), cost, SQUARED)
    with tuned(work_per_call=work):
        winner, offer = find_offers_of_others(X, ranking, SQUARED, k)
    order = np.argsort(ranking.vertex)
    expected = by_sorting(cost, X, k)
    assert np.array_equal(winner[order], expected[0])
    assert np.array_equal(offer[order], expected[1])


def test_several_tiles():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (1100, 3)).astype(float)  # many duplicates and ties
    cost = rng.integers(0, 3, 1100).astype(float)
    ranking = rank(X, np.arange(1100), cost, SQUARED)
    winner, offer = find_offers_of_others(X, ranking, SQUARED, 4)
    some, order = np.arange(0, 1100, 50), np.argsort(ranking.vertex)
    distances = ((X[some, None] - X[None]) ** 2).sum(axis=2)
    offers = np.maximum(cost, distances)
    offers[np.arange(len(some)), some] = np.inf
    index = np.broadcast_to(np.arange(1100), offers.shape)
    best = np.lexsort((index, np.broadcast_to(cost, offers.shape), offers))[:, :4]
    assert np.array_equal(winner[order][some], best)
    assert np.array_equal(offer[order][some], np.take_along_axis(offers, best, 1))
