"""Exact insertion equals refitting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.comparison import assert_same_model, insertions_only
from tests.support.measurement import PARAMS, REDUCED
from tests.support.strategies import learning_problems

from opforest import OPFClassifier
from opforest.core.metrics.distances import TILE


@settings(max_examples=80)
@given(problem=learning_problems(max_n=40), start=st.integers(1, 40), data=st.data())
def test_exact_equals_training_on_all_kinds_of_data(problem, start, data):
    X, y, Q = problem
    clf = OPFClassifier().fit(X[:start], y[:start])
    learned = start
    with insertions_only():
        while learned < len(X):
            batch = data.draw(st.integers(1, 8))
            clf.partial_fit(X[learned : learned + batch], y[learned : learned + batch])
            learned += batch
            clf.forest_.check()
    assert_same_model(clf, OPFClassifier().fit(X, y), Q)


@pytest.mark.parametrize("metric", [*REDUCED, "cosine"])
@settings(max_examples=15)
@given(problem=learning_problems(max_n=25, non_negative=True, dtypes=[np.float64]))
def test_exact_with_any_metric(metric, problem):
    X, y, Q = (a if a.ndim == 1 else np.hstack((a, np.ones((len(a), 1), a.dtype))) for a in problem)
    params = PARAMS.get(metric)
    clf = OPFClassifier(metric, metric_params=params).fit(X[:2], y[:2])
    with insertions_only():
        for i in range(2, len(X), 3):
            clf.partial_fit(X[i : i + 3], y[i : i + 3])
    assert_same_model(clf, OPFClassifier(metric, metric_params=params).fit(X, y), Q)


def test_precomputed_distances_to_the_known_suffice_for_one_example_and_for_copies():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (12, 2)).astype(float), rng.integers(0, 3, 12)
    D = np.abs(X[:, None] - X).sum(axis=2)
    order = [*range(10), 3, 11, 5]  # 10 is a copy of 3, 12 one of 5; 11 is new
    with insertions_only():
        short = OPFClassifier("precomputed").fit(D[:10, :10], y[:10])
        short.partial_fit(D[order[10:], :10], y[order[10:]])
        whole = OPFClassifier("precomputed").fit(D[np.ix_(order, order)], y[order])
        assert_same_model(short, whole, D[:, order])
        one = OPFClassifier("precomputed").fit(D[:10, :10], y[:10]).partial_fit(D[11:, :10], y[11:])
        assert len(one.forest_) == 11
        with pytest.raises(ValueError, match="needs 2 more columns"):
            one.partial_fit(D[10:][:, [*range(10), 10]] + 1, y[10:])


def test_a_python_function_grows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (30, 2)).astype(float), rng.integers(0, 3, 30)
    with pytest.warns(UserWarning, match="njit"):
        clf = OPFClassifier(lambda a, b: float(np.abs(a - b).sum())).fit(X[:10], y[:10])
    with insertions_only():
        clf.partial_fit(X[10:12], y[10:12]).partial_fit(X[12:], y[12:])
    with pytest.warns(UserWarning, match="njit"):
        fresh = OPFClassifier(clf.metric).fit(X, y)
    assert_same_model(clf, fresh, X + 0.5)


def test_large_forests_of_several_tiles_stay_exact():
    rng = np.random.default_rng(3)
    n = 3 * TILE
    for X in (rng.integers(0, 25, (n, 2)).astype(float), rng.normal(size=(n, 20))):
        y = (X[:, 0] > X[:, 0].mean()).astype(int)
        clf = OPFClassifier().fit(X[: n // 2], y[: n // 2])
        with insertions_only():
            for i in range(n // 2, n, 97):
                clf.partial_fit(X[i : i + 97], y[i : i + 97])
        clf.forest_.check()
        assert_same_model(clf, OPFClassifier().fit(X, y), X[:300] + 0.25)


def test_a_second_class_may_come_late():
    X = np.arange(6.0)[:, None]
    clf = OPFClassifier().partial_fit(X[:4], [1, 1, 1, 1])
    with insertions_only():
        clf.partial_fit(X[4:5], [1]).partial_fit(X[5:], [0])
    assert_same_model(clf, OPFClassifier().fit(X, [1, 1, 1, 1, 1, 0]), X)


def test_tables_symmetric_but_for_rounding_have_one_value_for_each_pair():
    D = np.array([[0, 1, 1.000001], [1, 0, 1], [1, 1, 0.0]])
    y = [0, 1, 0]
    rng = np.random.default_rng(0)
    noisy = np.abs(rng.integers(0, 4, (12, 1)) - rng.integers(0, 4, 12)) + 1.0
    noisy = (noisy + noisy.T) * (1 + 1e-7 * rng.random((12, 12)))
    for table, label in ((D, y), (noisy, np.arange(12) % 2)):
        whole = OPFClassifier("precomputed").fit(table, label)
        n = len(label) // 2
        with insertions_only():
            grown = OPFClassifier("precomputed").fit(table[:n, :n], label[:n])
            grown.partial_fit(table[n:], label[n:])
        assert_same_model(grown, whole, table)
