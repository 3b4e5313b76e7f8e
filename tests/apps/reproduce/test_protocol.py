import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opforest import OPFClassifier
from opforest.apps.reproduce import METHODS
from opforest.apps.reproduce.protocol import Split, deal, evaluate, split, standardize
from opforest.datasets import make_cone_torus, make_saturn
from opforest.scores import opf_accuracy


def test_z_scores_are_those_of_libopf():
    X = np.array([[1.0, 7, 2], [2, 7, 4], [6, 7, 0]])
    scores = standardize(X)
    for k in (0, 2):
        deviation = np.sqrt(((X[:, k] - X[:, k].mean()) ** 2).sum() / 3)  # of the population
        np.testing.assert_allclose(scores[:, k], (X[:, k] - X[:, k].mean()) / deviation)
    assert (scores[:, 1] == 0).all()


@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    n_subsets=st.integers(1, 12),
    seed=st.integers(0, 5),
)
def test_subsets_have_one_of_each_class_while_any_is_left(counts, n_subsets, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    subsets = deal(y, n_subsets, np.random.default_rng(seed))
    assert len(subsets) == n_subsets
    assert sorted(np.concatenate(subsets).tolist()) == list(range(len(y)))  # each one once
    left = np.array(counts)
    for k, subset in enumerate(subsets):
        got = np.bincount(y[subset], minlength=len(counts))
        assert ((got > 0) == (left > 0)).all()
        if k < n_subsets - 1:
            assert (got <= np.maximum(1, np.array(counts) // n_subsets)).all()
        left -= got
    assert (left == 0).all()


@pytest.mark.parametrize("counts", [(4999, 5001), (50, 9, 3), (147, 46)])
def test_halves_are_stratified_and_everybody_is_used_once(counts):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    subsets, test = split(y, 10, seed=1)
    learned = np.concatenate(subsets)
    assert sorted([*learned, *test]) == list(range(len(y)))
    assert len(learned) == len(y) // 2
    assert (abs(np.bincount(y[learned]) - np.array(counts) / 2) <= 1).all()


def test_splits_evaluate_from_their_seed():
    y = np.repeat((1, 2), 60)
    first, again, other = (split(y, 10, seed) for seed in (0, 0, 1))
    assert all(map(np.array_equal, first.subsets, again.subsets))
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)


@pytest.mark.parametrize("method", METHODS)
def test_a_course_is_what_it_says(method):
    X, y = make_cone_torus(200, random_state=0)
    parts = split(y, 5, seed=0)
    course = evaluate(method, X, y, parts)
    assert course.known == np.cumsum([len(subset) for subset in parts.subsets]).tolist()
    assert all(seconds > 0 for seconds in course.seconds)
    learned = np.concatenate(parts.subsets)
    assert all(0 < count <= n for count, n in zip(course.prototypes, course.known, strict=True))
    if method in ("original", "exact"):
        clf = OPFClassifier().fit(X[learned], y[learned])
        assert course.accuracy[-1] == opf_accuracy(y[parts.test], clf.predict(X[parts.test]))
        assert course.prototypes[-1] == len(clf.forest_.prototypes)
    if method == "dift":
        assert course.prototypes[-1] >= len(learned) - course.known[0]
    if method == "1nn":
        assert course.prototypes == course.known
    again = evaluate(method, X, y, parts)
    assert again.accuracy == course.accuracy
    assert again.prototypes == course.prototypes


def test_exact_is_original_and_all_begin_alike():
    X, y = make_saturn(random_state=0)
    parts = split(y, 10, seed=0)
    courses = {method: evaluate(method, X, y, parts) for method in METHODS}
    assert courses["exact"].accuracy == courses["original"].accuracy
    assert courses["exact"].prototypes == courses["original"].prototypes
    assert len({courses[m].accuracy[0] for m in ("opfi", "original", "dift", "exact")}) == 1


@pytest.mark.parametrize("method", ["opfi", "original"])
def test_empty_subsets_change_nothing_and_take_no_time(method):
    X, y = make_saturn(40, random_state=0)
    parts = split(y, 15, seed=0)
    course = evaluate(method, X, y, parts)
    assert [s is None for s in course.seconds] == [len(s) == 0 for s in parts.subsets]
    assert course.seconds[-1] is None
    assert course.accuracy[-1] == course.accuracy[9]


def test_duplicates_in_the_test_set_are_all_counted():
    X = np.array([[0.0], [1.0], [0.1], [0.1], [0.1], [0.9]])
    y = np.array([1, 2, 1, 1, 2, 2])
    course = evaluate("original", X, y, Split([np.array([0, 1])], np.arange(2, 6)))
    assert course.accuracy == [0.75]
