"""Growing forests: exact equals training anew, OPFI equals the plain algorithm, DIFT is DIFT."""

import pickle
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.model_selection import StratifiedShuffleSplit

import oracle
from opforest import OPFClassifier
from opforest.kernels.distances import TILE
from opforest.scores import opf_accuracy
from opforest.updates import exact
from plain_opfi import PlainOPFI
from strategies import learning_problems
from test_golden import read_dat
from test_metrics import PARAMS, REDUCED, jitted_manhattan

QUERIES = np.array([[a, b] for a in range(-1, 5) for b in (0, 1.5, 3)], float)


@contextmanager
def insertions_only():
    """Learn even large batches one by one."""
    share, exact.WORTH_TRAINING = exact.WORTH_TRAINING, np.inf
    try:
        yield
    finally:
        exact.WORTH_TRAINING = share


def assert_same_model(a, b, queries, ids=True):
    """Array by array, to the bit."""
    names = ("edges", "prototypes", "cost", "predecessor", "root", "label", "points")
    for name in (*names, "ids") if ids else names:
        assert np.array_equal(getattr(a.forest_, name), getattr(b.forest_, name)), name
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.classes_.dtype == b.classes_.dtype
    for x, y in zip(a.conquerors(queries), b.conquerors(queries), strict=True):
        assert np.array_equal(x, y)
    assert np.array_equal(a.predict(queries), b.predict(queries))
    assert np.array_equal(a.class_costs(queries), b.class_costs(queries))
    assert np.array_equal(a.predict_proba(queries), b.predict_proba(queries))


def snapshot(clf):
    return pickle.dumps({name: value for name, value in vars(clf).items() if name != "n_jobs"})


class GrowingModel(RuleBasedStateMachine):
    """Learns, predicts, fails, sleeps and wakes on a grid full of ties and duplicates."""

    update = "exact"

    def __init__(self):
        super().__init__()
        self.share, exact.WORTH_TRAINING = exact.WORTH_TRAINING, np.inf

    def teardown(self):
        exact.WORTH_TRAINING = self.share

    batches = st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("abcd")),
        min_size=1,
        max_size=6,
    )

    @initialize(
        batch=batches, single=st.booleans(), dtype=st.sampled_from([np.float64, np.float32])
    )
    def begin(self, batch, single, dtype):
        self.X, self.y = np.empty((0, 2), dtype), np.empty(0, "<U1")
        self.clf = OPFClassifier(update=self.update)
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
        exact.WORTH_TRAINING = 0
        self.learn(batch)
        exact.WORTH_TRAINING = np.inf

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

    def compare(self):
        forest = self.clf.forest_
        assert np.array_equal(self.clf.classes_[forest.label], self.y)


TestGrowingModel = GrowingModel.TestCase
TestGrowingOPFI = GrowingOPFI.TestCase
TestGrowingDIFT = GrowingDIFT.TestCase
for case, examples in ((TestGrowingModel, 60), (TestGrowingOPFI, 40), (TestGrowingDIFT, 20)):
    case.settings = settings(max_examples=examples, stateful_step_count=15, deadline=None)


@settings(max_examples=150)
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


@pytest.mark.parametrize("metric", [*REDUCED, "cosine", jitted_manhattan])
@settings(max_examples=15)
@given(problem=learning_problems(max_n=25, non_negative=True))
def test_exact_with_any_metric(metric, problem):
    X, y, Q = (a if a.ndim == 1 else np.hstack((a, np.ones((len(a), 1), a.dtype))) for a in problem)
    params = PARAMS.get(metric) if isinstance(metric, str) else None
    clf = OPFClassifier(metric, metric_params=params).fit(X[:2], y[:2])
    with insertions_only():
        for i in range(2, len(X), 3):
            clf.partial_fit(X[i : i + 3], y[i : i + 3])
    assert_same_model(clf, OPFClassifier(metric, metric_params=params).fit(X, y), Q)


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


@settings(max_examples=150)
@given(problem=learning_problems(max_n=40), start=st.integers(1, 20), data=st.data())
def test_opfi_agrees_with_the_plain_algorithm_node_by_node(problem, start, data):
    X, y, _ = problem
    start = min(start, len(X))
    clf = OPFClassifier(update="opfi").fit(X[:start], y[:start])
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
        assert forest.state.cost[:end].tolist() == plain.cost
        assert forest.pair.tolist() == [plain.pair.get(v, -1) for v in range(end)]


def test_dift_makes_every_new_example_a_prototype():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    clf = OPFClassifier(update="dift").fit(X[:20], y[:20])
    before = clf.forest_.cost, clf.forest_.root
    clf.partial_fit(X[20:], y[20:])
    assert np.array_equal(clf.forest_.cost, np.append(before[0], np.zeros(30)))
    assert np.array_equal(clf.forest_.root, np.append(before[1], np.arange(20, 50)))
    assert clf.update_report_.learned == clf.update_report_.prototypes_gained == 30


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


def test_a_second_class_may_come_late():
    X = np.arange(6.0)[:, None]
    clf = OPFClassifier().partial_fit(X[:4], [1, 1, 1, 1])
    with insertions_only():
        clf.partial_fit(X[4:5], [1]).partial_fit(X[5:], [0])
    assert_same_model(clf, OPFClassifier().fit(X, [1, 1, 1, 1, 1, 0]), X)


def test_arrays_grow_by_doubling():
    X = np.random.default_rng(0).normal(size=(300, 2))
    clf = OPFClassifier().fit(X[:50], np.arange(50) % 2)
    capacities = set()
    for i in range(50, 300):
        clf.partial_fit(X[i : i + 1], [i % 2])
        capacities.add(len(clf.forest_.state.label))
    assert capacities == {100, 200, 400}


def test_models_of_different_updates_do_not_mix():
    X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    clf = OPFClassifier(update="opfi").fit(X, y).partial_fit([[2.0]], [1])
    for update in ("exact", "dift"):
        with pytest.raises(ValueError, match=f"update='{update}' cannot go on .*'opfi'"):
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
    with pytest.raises(ValueError, match=r"undefined .* examples 0 and 4"):
        clf.partial_fit([[3.0, 3.0], [-1.0, -2.0]], [0, 9])
    assert snapshot(clf) == before


def test_ctrl_c_leaves_a_model_that_has_learned_a_prefix(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    for update in ("exact", "opfi"):
        clf = OPFClassifier(update=update).fit(X[:50], y[:50])
        twin = OPFClassifier(update=update).fit(X[:50], y[:50]).partial_fit(X[50:60], y[50:60])

        def interrupted(self, begin, end):
            yield begin + 4
            yield begin + 10
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, insertions_only():
            patch.setattr("opforest.forest.Forest.stops", interrupted)
            with pytest.raises(KeyboardInterrupt, match="10 of 30 examples have been learned"):
                clf.partial_fit(X[50:], y[50:])
        clf.forest_.check()
        assert clf.update_report_.learned == 10
        if update == "exact":
            assert_same_model(clf, twin, X)
        with insertions_only():
            clf.partial_fit(X[60:], y[60:])
        assert len(clf.forest_) == 80


@pytest.mark.parametrize("name", ["base1", "ntl", "SpamBase2", "produce"])
def test_accuracy_on_the_papers_data(shared, name):
    """Stratified halves, the training half dealt into 100 subsets; the mean of four splits."""
    X, y = read_dat(shared / "data" / "opfi" / f"{name}.opf")
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    splits = StratifiedShuffleSplit(4, test_size=0.5, random_state=0)
    lead = []
    for train, test in splits.split(X, y):
        train = train[np.argsort(y[train], kind="stable")]
        parts = [train[i::100] for i in range(100)]
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
    assert abs(np.mean(lead)) <= 0.015


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
