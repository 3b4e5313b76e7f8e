"""Which examples to ask about."""

import numpy as np
import pytest
from hypothesis import given, settings

from opforest import OPFClassifier, OPFKNNClassifier, OPFSemiSupervised, active
from tests.oracles import forest as oracle
from tests.support.strategies import learning_problems


@settings(max_examples=60)
@given(problem=learning_problems())
def test_margins_and_queries_are_those_of_the_definition(problem):
    X, y, Q = problem
    clf = OPFClassifier("sqeuclidean").fit(X, y)
    offers = oracle.class_costs(
        clf.forest_.cost, y, oracle.table(X, oracle.squared_euclidean, Q), y.max() + 1
    )
    expected = []
    for row in offers.astype(float):
        a, b = sorted(row)[:2] if len(row) > 1 else (0.0, 0.0)
        expected.append((b - a) / (a + b) if a + b else 0.0)
    assert active.margin(clf, Q).tolist() == expected
    order = sorted(range(len(Q)), key=lambda i: (expected[i], i))
    assert active.query(clf, Q, 3).tolist() == order[:3]
    seen, spread, later = set(), [], []
    winner, _ = clf.conquerors(Q)
    for i in order:
        (later if winner[i] in seen else spread).append(i)
        seen.add(winner[i])
    assert active.query(clf, Q, 100, diverse=True).tolist() == spread + later


def test_asking_and_labeling():
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(0, 1, (60, 2)), rng.normal(4, 1, (60, 2))))
    truth = np.repeat([0, 1], 60)
    y = np.full(120, -1)
    y[[0, 60]] = truth[[0, 60]]
    clf = OPFSemiSupervised().fit(X, y)
    for _ in range(5):
        free = np.setdiff1d(clf.forest_.ids, clf.forest_.ids[clf.forest_.prototypes])
        asked = free[active.query(clf, X[free])]
        clf.label(asked, truth[asked])
    assert len(clf.forest_.prototypes) == 7


def test_classes_without_examples_and_bad_counts():
    clf = OPFClassifier().partial_fit([[0.0], [1.0]], [0, 0], classes=[0, 1])
    assert active.margin(clf, [[0.5]]).tolist() == [1.0]
    with pytest.raises(ValueError, match="n_instances must be"):
        active.query(clf, [[0.5]], 0)
    with pytest.raises(ValueError, match=r"must have class_costs, .* got OPFKNNClassifier"):
        active.query(OPFKNNClassifier().fit([[0.0], [1.0]], [0, 1]), [[0.5]])
