"""Forgetting gives the model refitted on the rest, with an index or without."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)  # fmt: skip
from tests.oracles import forest as oracle
from tests.support import tuning
from tests.support.comparison import assert_same_model, snapshot
from tests.support.measurement import jitted_manhattan
from tests.support.tuning import NO_REFIT, tune

from opforest import OPFClassifier
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.forest.updates import exact

METRICS = {
    "euclidean": None,
    "manhattan": None,
    "chebyshev": None,
    "cosine": None,
    "minkowski": {"p": 3},
}


#: A grid keeps its ties when it is scaled by a power of two or shifted by an integer.
PLACES = [(1, 0), (1, 0), (1, 1e6), (1, 1e9), (2.0**-500, 0), (2.0**-1060, 0), (2.0**300, 0)]


class ChangingModel(RuleBasedStateMachine):
    """Learns and forgets, sleeps, wakes and fails, twice: by k-d tree and by brute force."""

    # Places on a grid, some of them a little beside it: nearly copies.
    places = st.sampled_from([0, 1, 2, 3, 0, 1, 2, 3, 1 + 2**-20, 2 + 2**-40])
    examples = st.lists(
        st.tuples(st.lists(places, min_size=12, max_size=12), st.sampled_from("abc")),
        min_size=1,
        max_size=8,
    )

    def __init__(self):
        super().__init__()
        tuning.tune(**NO_REFIT)

    def teardown(self):
        tuning.reset()

    @initialize(
        batch=examples,
        d=st.integers(1, 12),
        metric=st.sampled_from(sorted(METRICS)),
        place=st.sampled_from(PLACES),
        dtype=st.sampled_from([np.float64, np.float64, np.float32]),
    )
    def begin(self, batch, d, metric, place, dtype):
        if metric != "euclidean":
            dtype = np.float64  # each combination takes its time to compile
        if dtype is np.float32 or metric in ("cosine", "minkowski"):
            place = (1, 0)
        self.d, self.place, self.dtype, self.metric = d, place, dtype, metric
        self.X, self.y = np.empty((0, self.columns), dtype), np.empty(0, "<U1")
        self.ids, self.n_seen = np.empty(0, np.int64), 0
        self.models = [self.make("kd_tree")]
        if metric == "euclidean":
            self.models.append(self.make("brute"))
        self.learn(batch)

    @property
    def columns(self):
        return self.d + (self.metric == "cosine")

    def make(self, algorithm):
        return OPFClassifier(self.metric, metric_params=METRICS[self.metric], algorithm=algorithm)

    def points(self, batch):
        X = np.array([row[: self.d] for row, _ in batch], float) * self.place[0] + self.place[1]
        if self.metric == "cosine":
            X = np.hstack((X, np.ones((len(X), 1))))
        return X.astype(self.dtype)

    @rule(batch=examples)
    def learn(self, batch):
        X, y = self.points(batch), np.array([label for _, label in batch])
        for clf in self.models:
            clf.partial_fit(X, y)
        self.X, self.y = np.concatenate((self.X, X)), np.concatenate((self.y, y))
        self.ids = np.append(self.ids, np.arange(self.n_seen, self.n_seen + len(X)))
        self.n_seen += len(X)

    @precondition(lambda self: len(self.ids) > 0)
    @rule(data=st.data(), one_by_one=st.booleans())
    def forget(self, data, one_by_one):
        ids = data.draw(st.lists(st.sampled_from(self.ids.tolist()), min_size=1, unique=True))
        for clf in self.models:
            for part in ids if one_by_one else [ids]:
                clf.forget(part)
            assert clf.update_report_.forgotten == (1 if one_by_one else len(ids))
        self.drop(np.isin(self.ids, ids))

    @precondition(lambda self: len(self.ids) > 1)
    @rule(share=st.floats(0.1, 1))
    def forget_the_oldest(self, share):
        count = max(1, int(share * (len(self.ids) - 1)))
        for clf in self.models:
            clf.forget(clf.forest_.ids[:count])
        self.drop(np.arange(len(self.ids)) < count)

    def drop(self, gone):
        self.X, self.y, self.ids = self.X[~gone], self.y[~gone], self.ids[~gone]

    @rule()
    def sleep_and_wake(self):
        self.models = [pickle.loads(pickle.dumps(clf)) for clf in self.models]

    @rule()
    def compact(self):
        for clf in self.models:
            clf.forest_.storage.compact()

    @precondition(lambda self: len(self.ids) > 0)
    @rule()
    def shortcut(self):
        tuning.tune(refit_fraction_to_forget=0)
        ids = self.ids[:: max(1, len(self.ids) // 3)]
        for clf in self.models:
            clf.forget(ids)
        self.drop(np.isin(self.ids, ids))
        tuning.tune(refit_fraction_to_forget=np.inf)

    @rule(bad=st.sampled_from(["unknown", "negative", "repeated", "gone", "float", "table"]))
    def fail(self, bad):
        one = self.ids[:1].tolist()
        gone = sorted(set(range(self.n_seen)) - set(self.ids.tolist()))[:1] or [self.n_seen]
        ids = {
            "unknown": [*one, self.n_seen],
            "negative": [*one, -1],
            "repeated": [0, *one, *one] if one else [0, 0],
            "gone": gone,
            "float": [0.5],
            "table": [[0]],
        }[bad]
        for clf in self.models:
            before = snapshot(clf)
            with pytest.raises(ValueError, match=r"ids must be|has no example|has none of"):
                clf.forget(ids)
            assert snapshot(clf) == before

    @invariant()
    def models_are_right(self):
        if not hasattr(self, "models"):
            return
        for clf in self.models:
            clf.forest_.check()
            assert np.array_equal(clf.forest_.ids, self.ids)
            if len(self.ids) == 0:
                with pytest.raises(ValueError, match="nothing left to predict with"):
                    clf.predict(self.points([([1] * 12, "a")]))
        if len(self.ids) == 0:
            return
        assert isinstance(self.models[0].forest_.storage.fields.index, DynamicKDTree)
        queries = self.points([([0, 1, 2, 3] * 3, ""), ([2] * 12, ""), ([9] * 12, "")])
        for clf in self.models:
            fresh = self.make("brute").partial_fit(self.X, self.y, classes=clf.classes_)
            assert_same_model(clf, fresh, queries, ids=False)


TestChangingModel = ChangingModel.TestCase
TestChangingModel.settings = settings(max_examples=60, stateful_step_count=10, deadline=None)


@pytest.mark.parametrize("metric", ["canberra", "braycurtis", jitted_manhattan, "callable"])
def test_any_metric_forgets(metric):
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 5, (60, 3)).astype(float), rng.integers(0, 3, 60)
    function = (lambda a, b: float(np.abs(a - b).sum())) if metric == "callable" else metric
    stays = np.ones(60, bool)
    with pytest.warns(UserWarning, match="njit") if metric == "callable" else nullcontext():
        clf = OPFClassifier(function).fit(X[:40], y[:40])
        for i in range(40, 60):
            clf.forget(clf.forest_.ids[[i % 7]])
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
            clf.forest_.check()
        stays[:] = False
        stays[clf.forest_.ids] = True
        fresh = OPFClassifier(function).fit(X[stays], y[stays])
        assert_same_model(clf, fresh, X[:20] + 0.5, ids=False)


def test_precomputed_distances_forget():
    rng = np.random.default_rng(1)
    D = oracle.table(rng.integers(0, 5, (40, 2)).astype(float), oracle.manhattan)
    y = rng.integers(0, 3, 40)
    clf = OPFClassifier("precomputed").fit(D[:30, :30], y[:30])
    known = np.arange(30)
    for new in range(30, 40):
        gone = known[new % 5 :: 13]
        clf.forget(gone)
        known = np.setdiff1d(known, gone)
        assert clf.n_features_in_ == len(known)
        clf.partial_fit(D[new : new + 1, known], y[new : new + 1])
        known = np.append(known, new)
        fresh = OPFClassifier("precomputed").fit(D[np.ix_(known, known)], y[known])
        assert_same_model(clf, fresh, D[:5, known], ids=False)
        assert np.array_equal(clf.forest_.ids, known)


def test_classes_stay_known_and_everything_may_go():
    clf = OPFClassifier().fit([[0.0], [1.0], [2.0], [7.0]], ["a", "a", "b", "c"])
    clf.forget(2)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.predict([[2.1]]) == ["a"]
    assert clf.class_costs([[2.0]])[0, 1] == np.inf
    assert clf.predict_proba([[2.0]])[0, 1] == 0
    clf.forget([0, 1, 3])
    assert len(clf.forest_) == 0
    assert clf.forest_.edges.shape == (0, 2)
    for call in (clf.predict, clf.predict_proba, clf.class_costs, clf.conquerors, clf.explain):
        with pytest.raises(ValueError, match="nothing left to predict with"):
            call([[1.0]])
    clf = pickle.loads(pickle.dumps(clf))
    clf.partial_fit([[5.0], [6.0]], ["b", "d"])
    assert clf.forest_.ids.tolist() == [4, 5]
    assert clf.classes_.tolist() == ["a", "b", "c", "d"]
    assert clf.predict([[5.1], [8.0]]).tolist() == ["b", "d"]


@pytest.mark.parametrize("update", ["opfi", "dift"])
def test_approximate_updates_cannot_forget(update):
    clf = OPFClassifier(update=update).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=f"update='{update}' cannot forget"):
        clf.forget([0])
    clf.partial_fit([[3.0]], [1])
    clf.update = "exact"
    with pytest.raises(ValueError, match=f"grown by update='{update}'"):
        clf.forget([0])
    emptied = OPFClassifier().fit([[0.0]], [0]).forget(0)
    emptied.update = update
    with pytest.raises(ValueError, match="forgotten all"):
        emptied.partial_fit([[1.0]], [1])
    holed = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]).forget([1])
    holed.update = update
    holed.partial_fit([[3.5]], [1])
    holed.forest_.check()
    assert holed.forest_.ids.tolist() == [0, 2, 3, 4]


def test_what_was_looked_at_before_stays():
    clf = OPFClassifier().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    before = {name: getattr(clf.forest_, name) for name in ("label", "cost", "points", "ids")}
    kept = {name: value.copy() for name, value in before.items()}
    clf.forget([0])
    for name, value in before.items():
        assert np.array_equal(value, kept[name]), name


def test_another_metric_cannot_forget():
    clf = OPFClassifier().fit([[0.0], [1.0], [3.0]], [0, 0, 1]).set_params(metric="manhattan")
    with pytest.raises(ValueError, match="learned with metric 'euclidean'"):
        clf.forget([0])
    assert clf.forest_.ids.tolist() == [0, 1, 2]


def test_nothing_to_forget_is_no_error():
    clf = OPFClassifier().fit([[0.0], [1.0]], [0, 1])
    assert clf.forget([]).forest_.ids.tolist() == [0, 1]
    assert clf.update_report_.forgotten == 0


def test_forgetting_before_fitting():
    with pytest.raises(ValueError, match="not fitted"):
        OPFClassifier().forget([0])


def test_an_interrupted_forget_leaves_a_valid_model(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((500, 2)), rng.integers(0, 2, 500)
    clf = OPFClassifier(algorithm="kd_tree").fit(X, y)
    tune(removals_per_call=10)
    tune(refit_fraction_to_forget=np.inf)
    calls, remove = [], exact.remove_exactly

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return remove(*args)

    monkeypatch.setattr(exact, "specialize", lambda compiled, metric: interrupted)
    with pytest.raises(KeyboardInterrupt, match="30 of 100 examples have been forgotten"):
        clf.forget(np.arange(100))
    monkeypatch.undo()
    clf.forest_.check()
    assert_same_model(clf, OPFClassifier().fit(X[30:], y[30:]), X[:50], ids=False)
