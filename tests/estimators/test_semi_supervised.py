"""The semi-supervised forest: what seeds conquer, and that each change gives what fit gives."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)  # fmt: skip
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles import forest as oracle
from tests.support import tuning
from tests.support.comparison import assert_same_model, snapshot
from tests.support.strategies import learning_problems
from tests.support.tuning import NO_REFIT

from opforest import OPFClassifier, OPFSemiSupervised
from opforest.core.kdtree.dynamic import DynamicKDTree

EXPECTED = {"check_classifiers_classes": "it uses −1 as a class, which stands for no label here"}


@parametrize_with_checks(
    [OPFSemiSupervised(), OPFSemiSupervised(seeds="prototypes")],
    expected_failed_checks=lambda _: EXPECTED,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def some_missing(y, kept):
    return np.where(np.resize(kept, len(y)), y, -1)


@settings(max_examples=60)
@given(
    problem=learning_problems(),
    kept=st.lists(st.booleans(), min_size=1, max_size=24),
    algorithm=st.sampled_from(["brute", "kd_tree"]),
)
def test_labels_costs_and_paths_are_those_of_kruskal_with_seeds(problem, kept, algorithm):
    X, y, Q = problem
    y = some_missing(y, kept)
    if (y == -1).all():
        y[0] = 1
    clf = OPFSemiSupervised("sqeuclidean", algorithm=algorithm).fit(X, y)
    D = oracle.table(X, oracle.squared_euclidean)
    label, seed, cost, way = oracle.seeded(D, y)
    clf.forest_.check()
    assert clf.transduction_.tolist() == label
    assert clf.forest_.root.tolist() == seed
    assert clf.forest_.predecessor.tolist() == way
    assert np.array_equal(clf.forest_.cost, cost)
    assert np.array_equal(cost, oracle.costs(D, np.flatnonzero(y >= 0)))
    assert clf.forest_.edges.tolist() == [list(edge) for edge in oracle.kruskal(D)]
    DQ = oracle.table(X, oracle.squared_euclidean, Q)
    winner, offer = oracle.conquerors(cost, DQ)
    assert clf.predict(Q).tolist() == [label[i] for i in winner]
    assert np.array_equal(clf.conquerors(Q)[1], offer)
    assert (clf.classes_[clf.predict_proba(Q).argmax(axis=1)] == clf.predict(Q)).all()


@settings(max_examples=60)
@given(problem=learning_problems(), kept=st.lists(st.booleans(), min_size=1, max_size=24))
def test_libopf_s_way_is_a_supervised_forest_of_labels_spread_from_prototypes(problem, kept):
    X, y, Q = problem
    y = some_missing(y, kept)
    if (y == -1).all():
        y[0] = 1
    clf = OPFSemiSupervised("sqeuclidean", seeds="prototypes").fit(X, y)
    D, known = oracle.table(X, oracle.squared_euclidean), np.flatnonzero(y >= 0)
    alone = oracle.prototypes(oracle.kruskal(D[np.ix_(known, known)]), y[known])
    given_label = np.full(len(y), -1)
    given_label[known[alone]] = y[known[alone]]
    label, *_ = oracle.seeded(D, given_label)
    roots = oracle.prototypes(oracle.kruskal(D), label)
    cost = oracle.costs(D, roots)
    assert clf.transduction_.tolist() == label
    assert clf.forest_.prototypes.tolist() == roots
    assert np.array_equal(clf.forest_.cost, cost)
    winner, offer = oracle.conquerors(cost, oracle.table(X, oracle.squared_euclidean, Q))
    assert clf.predict(Q).tolist() == [label[i] for i in winner]
    assert np.array_equal(clf.conquerors(Q)[1], offer)


class ChangingModel(RuleBasedStateMachine):
    """Learns, labels and forgets, sleeps and fails, twice: by k-d tree and by brute force."""

    seeds = "labeled"
    point = st.lists(st.integers(0, 3), min_size=3, max_size=3)
    examples = st.lists(
        st.tuples(point, st.sampled_from(["", "", "", "a", "b", "c"])), min_size=1, max_size=8
    )

    def __init__(self):
        super().__init__()
        tuning.tune(**NO_REFIT, spread_fraction=np.inf)

    def teardown(self):
        tuning.reset()

    @initialize(batch=examples, d=st.integers(1, 3))
    def begin(self, batch, d):
        self.d = d
        self.X, self.y = np.empty((0, d)), np.empty(0, object)
        self.ids, self.n_seen = np.empty(0, np.int64), 0
        self.models = [self.make(algorithm) for algorithm in ("kd_tree", "brute")]
        self.learn(batch)

    def make(self, algorithm):
        return OPFSemiSupervised("euclidean", algorithm=algorithm, seeds=self.seeds)

    @rule(batch=examples)
    def learn(self, batch):
        X = np.array([row[: self.d] for row, _ in batch], float)
        y = np.array([label or None for _, label in batch], object)
        for clf in self.models:
            clf.partial_fit(X, y, classes=list("abc"))
        self.X, self.y = np.concatenate((self.X, X)), np.concatenate((self.y, y))
        self.ids = np.append(self.ids, np.arange(self.n_seen, self.n_seen + len(X)))
        self.n_seen += len(X)

    @precondition(lambda self: any(label is None for label in self.y))
    @rule(data=st.data(), label=st.sampled_from("abc"), spread=st.booleans())
    def label(self, data, label, spread):
        free = [i for i in range(len(self.y)) if self.y[i] is None]
        chosen = data.draw(st.lists(st.sampled_from(free), min_size=1, max_size=4, unique=True))
        tuning.tune(spread_fraction=0 if spread else np.inf)
        for clf in self.models:
            clf.label(self.ids[chosen], [label] * len(chosen))
            assert clf.update_report_.prototypes_gained == len(chosen)
        self.y[chosen] = label

    @precondition(lambda self: len(self.ids) > 1)
    @rule(data=st.data())
    def forget(self, data):
        ids = data.draw(st.lists(st.sampled_from(self.ids.tolist()), min_size=1, max_size=5,
                                 unique=True))  # fmt: skip
        for clf in self.models:
            clf.forget(ids)
        self.drop(np.isin(self.ids, ids))

    @precondition(lambda self: any(label is not None for label in self.y))
    @rule()
    def forget_all_labels(self):
        labeled = np.array([label is not None for label in self.y])
        for clf in self.models:
            clf.forget(self.ids[labeled])
        self.drop(labeled)

    def drop(self, gone):
        self.X, self.y, self.ids = self.X[~gone], self.y[~gone], self.ids[~gone]

    @rule()
    def sleep_and_wake(self):
        self.models = [pickle.loads(pickle.dumps(clf)) for clf in self.models]

    @rule()
    def compact(self):
        for clf in self.models:
            clf.source_forest().storage.compact()

    @rule(bad=st.sampled_from(["unknown", "repeated", "none", "few", "other"]))
    def fail(self, bad):
        labeled = [i for i in range(len(self.y)) if self.y[i] is not None]
        one = self.ids[:1].tolist()
        ids, y, message = {
            "unknown": ([self.n_seen], ["a"], "has no example"),
            "repeated": (2 * (one or [0]), ["a", "a"], "ids must be"),
            "none": (one, [None] * len(one), "y must be labels"),
            "few": (one, [], "one for each id"),
            "other": (self.ids[labeled[:1]], ["d"] * len(labeled[:1]), "has the label"),
        }[bad]
        if len(ids) == 0:
            return
        for clf in self.models:
            before = snapshot(clf)
            with pytest.raises(ValueError, match=message):
                clf.label(ids, y)
            assert snapshot(clf) == before

    @invariant()
    def models_are_right(self):
        if not hasattr(self, "models"):
            return
        queries = np.array([[0, 1, 2], [2, 2, 2], [9, 9, 9]], float)[:, : self.d]
        for clf in self.models:
            clf.forest_.check()
            clf.source_forest().check()
            assert np.array_equal(clf.forest_.ids, self.ids)
        if len(self.ids) == 0:
            return
        assert isinstance(self.models[0].source_forest().storage.fields.index, DynamicKDTree)
        has_labels = any(label is not None for label in self.y)
        fresh = self.make("brute").partial_fit(self.X, self.y, classes=list("abc"))
        for clf in self.models:
            if has_labels:
                assert_same_model(clf, fresh, queries, ids=False)
                continue
            assert clf.transduction_.tolist() == [None] * len(self.y)
            with pytest.raises(ValueError, match="no example is labeled"):
                clf.predict(queries)


class ChangingPrototypes(ChangingModel):
    """The same with LibOPF's seeds."""

    seeds = "prototypes"


TestChangingModel = ChangingModel.TestCase
TestChangingModel.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
TestChangingPrototypes = ChangingPrototypes.TestCase
TestChangingPrototypes.settings = settings(max_examples=10, stateful_step_count=8, deadline=None)


@pytest.mark.parametrize("metric", ["canberra", "cosine"])
def test_any_metric_learns_labels_and_forgets(metric):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, (60, 3)).astype(float)
    y = np.where(rng.random(60) < 0.2, rng.integers(0, 3, 60), -1)
    y[:3] = 0, 1, 2
    clf = OPFSemiSupervised(metric).fit(X[:50], y[:50])
    clf.partial_fit(X[50:], y[50:])
    free = np.flatnonzero(y == -1)[::7]
    y[free] = 1
    clf.label(free[:1], y[free[:1]]).label(free[1:], y[free[1:]])
    gone = [0, 7, 33]
    for i in gone:
        clf.forget(i)
    rest = np.setdiff1d(np.arange(60), gone)
    clf.forest_.check()
    fresh = OPFSemiSupervised(metric).fit(X[rest], y[rest])
    assert_same_model(clf, fresh, X + 0.5, ids=False)


def test_precomputed_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    D = np.abs(X[:, None] - X).sum(axis=2)
    y = np.where(np.arange(30) % 5 == 0, np.arange(30) % 2, -1)
    clf = OPFSemiSupervised("precomputed").fit(D[:28, :28], y[:28]).partial_fit(D[28:], y[28:])
    assert_same_model(clf, OPFSemiSupervised("precomputed").fit(D, y), D)
    same = OPFSemiSupervised("manhattan").fit(X, y)
    assert np.array_equal(clf.transduction_, same.transduction_)


def test_large_forests_with_an_index_stay_exact():
    rng = np.random.default_rng(1)
    n = 3000
    X = rng.integers(0, 60, (n, 2)).astype(float)
    truth = (X[:, 0] + X[:, 1] > 60).astype(int)
    y = np.where(rng.random(n) < 0.02, truth, -1)
    clf = OPFSemiSupervised(algorithm="kd_tree").fit(X[:2900], y[:2900])
    clf.partial_fit(X[2900:], y[2900:])
    for i in np.flatnonzero(y == -1)[::60]:
        y[i] = truth[i]
        clf.label(i, y[i])
    for i in range(0, n, 150):
        clf.forget(i)
    clf.forest_.check()
    rest = np.setdiff1d(np.arange(n), np.arange(0, n, 150))
    assert_same_model(clf, OPFSemiSupervised().fit(X[rest], y[rest]), X[:100] + 0.25, ids=False)


def test_without_unlabeled_examples_it_is_the_nearest_neighbor():
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(80, 3)), rng.integers(0, 3, 80), rng.normal(size=(50, 3))
    nearest = KNeighborsClassifier(1).fit(X, y).predict(Q)
    assert np.array_equal(OPFSemiSupervised().fit(X, y).predict(Q), nearest)


@pytest.mark.parametrize(
    "y",
    [
        [0, -1, 1, -1],
        [0.0, np.nan, 1.0, np.nan],
        np.array([0, None, 1, None], object),
        np.array([0, -1, 1, np.nan], object),
        pd.Series([0, None, 1, None], dtype="Int64"),
        pd.Series([0, pd.NA, 1, pd.NA], dtype=object),
    ],
)
def test_what_stands_for_no_label(y):
    clf = OPFSemiSupervised().fit([[0.0], [1.0], [5.0], [6.0]], y)
    assert clf.transduction_.tolist() == [0, 0, 1, 1]
    assert clf.forest_.prototypes.tolist() == [0, 2]


def test_text_labels_and_classes_that_come_late():
    clf = OPFSemiSupervised().partial_fit([[0.0], [1.0]], [None, None])
    assert clf.transduction_.tolist() == [None, None]
    clf.label(0, "b")
    assert clf.transduction_.tolist() == ["b", "b"]
    clf.partial_fit([[5.0], [6.0]], ["a", np.nan]).label([1], ["c"])
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.transduction_.tolist() == ["b", "c", "a", "a"]
    assert clf.explain([5.9]).label == "a"
    words = pd.Series(["b", None, "a", None], dtype="string")
    clf = OPFSemiSupervised().fit([[0.0], [1.0], [5.0], [6.0]], words)
    assert clf.transduction_.tolist() == ["b", "b", "a", "a"]


def test_bad_input_is_refused_before_anything_changes():
    X = [[0.0], [1.0], [2.0]]
    with pytest.raises(ValueError, match="y has no labels"):
        OPFSemiSupervised().fit(X, [-1, -1, -1])
    with pytest.raises(ValueError, match="seeds must be one of"):
        OPFSemiSupervised(seeds="all").fit(X, [0, 1, -1])
    clf = OPFSemiSupervised().fit(X, [0, 1, -1])
    with pytest.raises(ValueError, match="seeds has been changed"):
        clf.set_params(seeds="prototypes").label(2, 1)
    one = OPFSemiSupervised().fit([[1.0]], [3])
    assert one.predict([[5.0]]) == [3]
    copies = OPFSemiSupervised().fit(np.zeros((5, 2)), [-1, 4, -1, -1, 4])
    assert copies.transduction_.tolist() == [4] * 5


def test_libopf_s_way_may_overwrite_labels():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    y = np.array([0, -1, 0, 1, -1, 1])
    clf = OPFSemiSupervised(seeds="prototypes").fit(X, y)
    same = OPFClassifier().fit(X, clf.transduction_)
    assert_same_model(clf, same, X + 0.3)
    assert clf.transduction_.tolist() == [0, 0, 0, 1, 1, 1]
