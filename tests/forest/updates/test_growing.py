"""What all updates have in common: any sequence of calls leaves a valid model."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.model_selection import StratifiedShuffleSplit
from tests.oracles import forest as oracle
from tests.support import tuning
from tests.support.comparison import assert_same_model, insertions_only, snapshot
from tests.support.data_files import PUBLISHED_DATA, at_hand, read_dat

from opforest import OPFClassifier
from opforest.scores import opf_accuracy

QUERIES = np.array([[a, b] for a in range(-1, 5) for b in (0, 1.5, 3)], float)


class GrowingModel(RuleBasedStateMachine):
    """Learns, predicts, fails, sleeps and wakes on a grid full of ties and duplicates."""

    update = "exact"

    def __init__(self):
        super().__init__()
        tuning.tune(refit_fraction=np.inf)

    def teardown(self):
        tuning.reset()

    algorithm = "auto"

    places = st.sampled_from([0, 1, 2, 3, 0, 1, 2, 3, 1 + 2**-20])
    batches = st.lists(
        st.tuples(places, places, st.sampled_from("abcd")),
        min_size=1,
        max_size=6,
    )

    @initialize(
        batch=batches, single=st.booleans(), dtype=st.sampled_from([np.float64, np.float32])
    )
    def begin(self, batch, single, dtype):
        self.X, self.y = np.empty((0, 2), dtype), np.empty(0, "<U1")
        self.clf = OPFClassifier(update=self.update, algorithm=self.algorithm)
        self.learn([(a, b, "b") for a, b, _ in batch] if single else batch)

    @rule(batch=batches)
    def learn(self, batch):
        X = np.array([row[:2] for row in batch], self.X.dtype)
        y = np.array([row[2] for row in batch])
        self.clf.partial_fit(X, y)
        self.X, self.y = np.concatenate((self.X, X)), np.concatenate((self.y, y))
        assert self.clf.update_report_.learned == len(X)

    @rule()
    def fit(self):
        self.clf.fit(self.X, self.y)

    @rule(batch=batches)
    def learn_a_batch_worth_training(self, batch):
        with tuning.tuned(refit_fraction=0):
            self.learn(batch)

    @rule()
    def predict(self):
        self.clf.predict(QUERIES)
        self.clf.explain(QUERIES[0])

    @rule()
    def sleep_and_wake(self):
        self.clf = pickle.loads(pickle.dumps(self.clf))

    @rule(bad=st.sampled_from(["nan", "width", "label", "length", "large", "1-D", "target"]))
    def fail(self, bad):
        X, y = {
            "nan": ([[1.0, np.nan]], ["a"]),
            "width": ([[1.0, 2.0, 3.0]], ["a"]),
            "label": ([[1.0, 2.0]], [3]),
            "length": ([[1.0, 2.0]], ["a", "b"]),
            "large": (
                [[1.0, 2.0], [1e30 if self.X.dtype == np.float32 else 1e200, 1.0]],
                ["a", "z"],
            ),
            "1-D": ([1.0, 2.0], ["a", "b"]),
            "target": ([[1.0, 2.0]], [0.5]),
        }[bad]
        before = snapshot(self.clf)
        with pytest.raises(ValueError):
            self.clf.partial_fit(X, y)
        assert snapshot(self.clf) == before

    @invariant()
    def model_is_right(self):
        if hasattr(self, "clf"):
            self.clf.forest_.check()
            self.compare()

    def compare(self):
        assert_same_model(self.clf, OPFClassifier().fit(self.X, self.y), QUERIES)


class GrowingOPFI(GrowingModel):
    update = "opfi"
    algorithm = "kd_tree"

    def compare(self):
        """Each tree is class-pure, and the minimum spanning tree of its members."""
        forest = self.clf.forest_
        D = oracle.table(self.X, oracle.squared_euclidean)
        assert np.array_equal(self.clf.classes_[forest.label], self.y)
        edges = {tuple(edge) for edge in forest.edges.tolist()}
        if forest.grown_by:
            for root in forest.prototypes:
                members = np.flatnonzero(forest.root == root)
                assert len(set(self.y[members])) == 1
                tree = oracle.kruskal(D[np.ix_(members, members)])
                assert {(members[u], members[v]) for u, v in tree} <= edges
            assert len(edges) == len(forest) - len(forest.prototypes)


class GrowingDIFT(GrowingModel):
    update = "dift"
    algorithm = "kd_tree"

    def compare(self):
        forest = self.clf.forest_
        assert np.array_equal(self.clf.classes_[forest.label], self.y)


TestGrowingModel = GrowingModel.TestCase
TestGrowingOPFI = GrowingOPFI.TestCase
TestGrowingDIFT = GrowingDIFT.TestCase
for case, examples in ((TestGrowingModel, 40), (TestGrowingOPFI, 25), (TestGrowingDIFT, 15)):
    case.settings = settings(max_examples=examples, stateful_step_count=15, deadline=None)
del case


@pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
def test_precomputed_distances_grow(update):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (60, 2)).astype(float), rng.integers(0, 3, 60)
    D = np.abs(X[:, None] - X).sum(axis=2)
    table = OPFClassifier("precomputed", update=update).fit(D[:10, :10], y[:10])
    vectors = OPFClassifier("manhattan", update=update).fit(X[:10], y[:10])
    with insertions_only():
        for begin, end in pairwise((10, 11, 20, 45, 60)):
            table.partial_fit(D[begin:end, :end], y[begin:end])
            vectors.partial_fit(X[begin:end], y[begin:end])
            for name in ("edges", "cost", "root", "predecessor", "prototypes"):
                assert np.array_equal(getattr(table.forest_, name), getattr(vectors.forest_, name))
            assert np.array_equal(table.predict(D[:, :end]), vectors.predict(X))
            assert table.n_features_in_ == end
    with pytest.raises(ValueError, match=r"X has 7 features, but .* expecting 60 .* and 1 more"):
        table.partial_fit(D[:1, :7], y[:1])


def test_the_first_call_is_a_fit_and_classes_may_be_announced():
    clf = OPFClassifier().partial_fit([[0.0], [1.0]], ["b", "d"], classes=["a", "b", "d"])
    assert clf.classes_.tolist() == ["a", "b", "d"]
    assert clf.update_report_.learned == 2
    assert clf.class_costs([[0.0]]).tolist() == [[np.inf, 0.0, 1.0]]
    assert clf.predict_proba([[0.0]]).tolist() == [[0.0, 1.0, 0.0]]
    clf.partial_fit([[5.0]], ["c"], classes=["e"])
    assert clf.classes_.tolist() == ["a", "b", "c", "d", "e"]
    assert clf.predict([[0.0], [1.0], [6.0]]).tolist() == ["b", "d", "c"]
    clf.fit([[0.0]], ["z"])
    assert clf.classes_.tolist() == ["z"]
    assert not hasattr(clf, "update_report_")


def test_arrays_grow_by_doubling():
    X = np.random.default_rng(0).normal(size=(300, 2))
    clf = OPFClassifier().fit(X[:50], np.arange(50) % 2)
    capacities = set()
    for i in range(50, 300):
        clf.partial_fit(X[i : i + 1], [i % 2])
        capacities.add(len(clf.forest_.storage.arrays.vertices))
    assert capacities == {100, 200, 400}


def test_models_of_different_updates_do_not_mix():
    X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    clf = OPFClassifier(update="opfi").fit(X, y).partial_fit([[2.0]], [1])
    for update in ("exact", "dift"):
        with pytest.raises(ValueError, match=f"update='{update}' cannot continue .*'opfi'"):
            clf.set_params(update=update).partial_fit([[2.0]], [1])
    with pytest.raises(ValueError, match=r"one of \['dift', 'exact', 'opfi'\], got 'opf'"):
        clf.set_params(update="opf").partial_fit([[2.0]], [1])
    with pytest.raises(ValueError, match="got 'opf'"):
        OPFClassifier(update="opf").fit(X, y)
    clf.set_params(update="exact").fit(X, y).partial_fit([[2.0]], [1])


def test_an_undefined_pair_in_a_batch_changes_nothing():
    X = [[1.0, 2.0], [2.0, 1.0], [4.0, 4.0]]
    clf = OPFClassifier("braycurtis").fit(X, [0, 1, 1])
    before = snapshot(clf)
    with pytest.raises(ValueError, match=r"undefined .* example 0 and row 1 of X"):
        clf.partial_fit([[3.0, 3.0], [-1.0, -2.0]], [0, 9])
    assert snapshot(clf) == before


def test_ctrl_c_leaves_a_model_that_has_learned_a_prefix(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    for update in ("exact", "opfi"):
        clf = OPFClassifier(update=update).fit(X[:50], y[:50])
        twin = OPFClassifier(update=update).fit(X[:50], y[:50]).partial_fit(X[50:60], y[50:60])

        def interrupted(self, end):
            yield end - 26
            yield end - 20
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, insertions_only():
            patch.setattr("opforest.forest.storage.ForestStorage.stops", interrupted)
            with pytest.raises(KeyboardInterrupt, match="10 of 30 examples have been learned"):
                clf.partial_fit(X[50:], y[50:])
        clf.forest_.check()
        assert clf.update_report_.learned == 10
        if update == "exact":
            assert_same_model(clf, twin, X)
        with insertions_only():
            clf.partial_fit(X[60:], y[60:])
        assert len(clf.forest_) == 80


def assert_as_accurate_as_training(X, y, within):
    """Stratified halves, the training half dealt into 100 subsets; the mean of four splits."""
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    splits = StratifiedShuffleSplit(4, test_size=0.5, random_state=0)
    lead = []
    for train, test in splits.split(X, y):
        train = train[np.argsort(y[train], kind="stable")]
        parts = [train[i::100] for i in range(min(100, len(train)))]
        order = np.concatenate(parts)
        full = OPFClassifier().fit(X[order], y[order])
        grown = {}
        for update in ("exact", "opfi"):
            grown[update] = OPFClassifier(update=update)
            with insertions_only():
                for part in parts:
                    grown[update].partial_fit(X[part], y[part])
        assert np.array_equal(grown["exact"].forest_.edges, full.forest_.edges)
        assert np.array_equal(grown["exact"].forest_.cost, full.forest_.cost)
        retrained, exactly, opfi = (
            opf_accuracy(y[test], clf.predict(X[test])) for clf in (full, *grown.values())
        )
        assert exactly == retrained
        lead.append(opfi - retrained)
    assert abs(np.mean(lead)) <= within


LARGE_SETS = ("base1", "ntl", "SpamBase2", "produce")


@pytest.mark.parametrize("name", [name for name in LARGE_SETS if at_hand(f"{name}.opf")])
def test_accuracy_on_the_papers_data(name):
    X, y = read_dat(PUBLISHED_DATA / "opfi" / f"{name}.opf")
    assert_as_accurate_as_training(X, y, within=0.015)


def test_accuracy_on_libopfs_data(golden):
    """The smallest set has 97 examples to test with, so accuracies differ by more."""
    halves = [read_dat(golden / f"{part}.dat") for part in ("training", "testing")]
    X, y = map(np.concatenate, zip(*halves, strict=True))
    assert_as_accurate_as_training(X, y, within=0.05)


@pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
def test_deep_trees_need_no_recursion(update):
    """300,000 points in a line: a tree that is one path."""
    n = 300_000
    X = np.arange(n, dtype=float)[:, None]
    y = (np.arange(n) == n - 1).astype(int)
    clf = OPFClassifier(update=update).fit(X, y)
    assert clf.forest_.root[0] == n - 2
    clf.partial_fit([[0.5], [-1.0], [n / 2 + 0.25], [n + 1.0]], [0, 1, 1, 0])
    clf.forest_.check()
    assert len(clf.explain([0.4]).steps) >= 2
    assert clf.predict([[0.25], [n / 2 + 0.2], [-0.9]]).tolist() == [0, 1, 1]


def test_a_forest_kept_from_before_a_new_class_or_another_update_stays_consistent():
    X, y = np.arange(8.0)[:, None], [1, 1, 1, 5, 5, 5, 1, 5]
    for update, label in (("exact", 0), ("opfi", 5), ("opfi", 0)):
        clf = OPFClassifier(update=update).fit(X, y)
        kept = clf.forest_
        cost = kept.cost.copy()
        clf.partial_fit([[2.4]], [label])
        kept.check()
        assert len(kept) == 8
        assert np.array_equal(kept.cost, cost)
        clf.forest_.check()
