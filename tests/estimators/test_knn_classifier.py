"""The classifier by densities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles import density as oracle_density
from tests.oracles import forest as oracle
from tests.support.strategies import learning_problems

from opforest import OPFKNNClassifier


@parametrize_with_checks([OPFKNNClassifier(), OPFKNNClassifier(3, metric="manhattan")])
def test_estimator_checks(estimator, check):
    check(estimator)


@settings(max_examples=60)
@given(problem=learning_problems(max_n=20), k_max=st.integers(1, 6))
def test_the_model_kept_is_the_best_of_those_judged(problem, k_max):
    X, y, Q = problem
    if len(X) < 2:
        return
    truth = np.resize(y, len(Q))
    model = OPFKNNClassifier(k_max).fit(X, y, evaluation=(Q, truth))
    D, DQ = (np.sqrt(oracle.table(X, oracle.squared_euclidean, A).astype(float)) for A in (X, Q))
    accuracies, answers = [], []
    for k in range(1, min(k_max, len(X) - 1) + 1):
        forest = oracle_density.grow(D, k, y)
        answers.append(y[oracle_density.predict(forest, DQ)])
        accuracies.append(oracle.opf_accuracy(truth, answers[-1]))
    assert model.accuracies_ == pytest.approx(accuracies)
    assert model.k_ == 1 + int(model.accuracies_.argmax())
    assert model.predict(Q).tolist() == answers[model.k_ - 1].tolist()
    assert model.predecessor_.tolist() == oracle_density.grow(D, model.k_, y)["before"]


def test_held_out_examples_are_the_same_again_and_never_a_whole_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.repeat(["a", "b", "c"], [30, 19, 1])
    one, two = (OPFKNNClassifier(5).fit(X, y) for _ in range(2))
    assert np.array_equal(one.accuracies_, two.accuracies_)
    assert one.classes_.tolist() == ["a", "b", "c"]
    assert OPFKNNClassifier().fit([[0.0]], [1]).predict([[3.0]]).tolist() == [1]
    D = np.abs(X[:, None] - X).sum(axis=2)
    table = OPFKNNClassifier(5, metric="precomputed").fit(D, y)
    named = OPFKNNClassifier(5, metric="manhattan").fit(X, y)
    assert np.array_equal(table.predict(D), named.predict(X))


def test_bad_input():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(ValueError, match="evaluation set has the class 5"):
        OPFKNNClassifier().fit(X, y, evaluation=(X, [0, 1, 5]))
    with pytest.raises(ValueError, match="evaluation must be a pair"):
        OPFKNNClassifier().fit(X, y, evaluation=np.array(X))
    with pytest.raises(ValueError, match="validation_fraction must be"):
        OPFKNNClassifier(validation_fraction=2).fit(X, y)
