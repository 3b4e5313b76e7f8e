"""OPFI equals the plain algorithm."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.oracles.opfi import PlainOPFI
from tests.support.strategies import learning_problems

from opforest import OPFClassifier


@settings(max_examples=80)
@given(
    problem=learning_problems(max_n=40, max_d=8),
    start=st.integers(1, 20),
    algorithm=st.sampled_from(["kd_tree", "brute"]),
    data=st.data(),
)
def test_opfi_agrees_with_the_plain_algorithm_node_by_node(problem, start, algorithm, data):
    X, y, _ = problem
    start = min(start, len(X))
    clf = OPFClassifier(update="opfi", algorithm=algorithm).fit(X[:start], y[:start])
    plain = PlainOPFI(oracle.table(X, oracle.squared_euclidean), y, start)
    learned = start
    while learned < len(X):
        end = min(len(X), learned + data.draw(st.integers(1, 8)))
        clf.partial_fit(X[learned:end], y[learned:end])
        plain.insert_batch(end)
        report, forest = clf.update_report_, clf.forest_
        assert report.case_1 + report.case_2 + report.case_3 == end - learned
        learned = end
        forest.check()
        assert forest.predecessor.tolist() == plain.predecessor
        assert forest.root.tolist() == plain.root
        assert forest.storage.arrays.cost[:end].tolist() == plain.cost
        assert forest.pair.tolist() == [plain.pair.get(v, -1) for v in range(end)]


# The three cases of the paper's Figure 1, small enough to draw by hand. Class 0 lies on the left,
# class 1 on the right; the gap between x = 2 and x = 5 makes 2 and 3 prototypes of each other.
LEFT_AND_RIGHT = np.array([[0, 0], [1, 0], [2, 0], [5, 0], [6, 0]], float), [0, 0, 0, 1, 1]


def grown(x, label):
    clf = OPFClassifier(update="opfi").fit(*LEFT_AND_RIGHT)
    assert clf.forest_.prototypes.tolist() == [2, 3]
    clf.partial_fit([x], [label])
    clf.forest_.check()
    return clf.forest_, clf.update_report_


def test_case_1_inserts_into_the_conquerors_tree():
    forest, report = grown([0.0, 0.5], 0)
    assert (report.case_1, report.case_2, report.case_3) == (1, 0, 0)
    assert forest.predecessor.tolist() == [1, 2, -1, -1, 3, 0]
    assert forest.cost.tolist() == [1, 1, 0, 0, 1, 1]
    assert forest.prototypes.tolist() == [2, 3]


def test_case_1_may_replace_edges():
    """The new example lies on an edge, which falls apart into two shorter ones."""
    forest, report = grown([0.5, 0.0], 0)
    assert report.case_1 == 1
    assert forest.predecessor.tolist() == [5, 2, -1, -1, 3, 1]
    assert forest.cost.tolist() == [1, 1, 0, 0, 1, 1]


def test_case_2_takes_over_if_nearer_to_the_pair():
    forest, report = grown([3.0, 0.0], 0)
    assert (report.case_2, report.takeovers) == (1, 1)
    assert (report.prototypes_gained, report.prototypes_lost) == (1, 1)
    assert forest.prototypes.tolist() == [3, 5]
    assert forest.predecessor.tolist() == [1, 2, 5, -1, 3, -1]
    assert forest.cost.tolist() == [1, 1, 1, 0, 1, 0]
    assert forest.pair.tolist() == [-1, -1, -1, 5, -1, 3]


def test_case_2_does_not_take_over_if_farther_from_the_pair():
    forest, report = grown([2.0, 0.5], 0)
    assert (report.case_2, report.takeovers) == (1, 0)
    assert forest.prototypes.tolist() == [2, 3]
    assert forest.predecessor.tolist() == [1, 2, -1, -1, 3, 2]
    assert forest.cost.tolist() == [1, 1, 0, 0, 1, 0.5]


def test_case_3_starts_a_tree_and_splits_the_conquerors():
    forest, report = grown([0.0, 0.25], 1)
    assert report.case_3 == 1
    assert forest.prototypes.tolist() == [0, 2, 3, 5]
    assert forest.pair.tolist() == [5, -1, 3, 2, -1, 0]
    # 0 and 2 were joined by two edges of length 1; of (0, 1) and (1, 2) the latter is larger.
    assert forest.predecessor.tolist() == [-1, 0, -1, -1, 3, -1]
    assert forest.cost.tolist() == [0, 1, 0, 0, 1, 0]
