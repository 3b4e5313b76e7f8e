"""One number for an example: whatever names one names its id, which is what ``forget`` takes."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.preprocessing import MinMaxScaler

import opforest
from opforest import OPFClassifier, OPFSemiSupervised, Pipeline, active
from tests.support.comparison import assert_same_model

pytestmark = pytest.mark.filterwarnings("ignore:.*is a Python function")

QUERIES = np.array([[0.25, 0.25], [3.5, 3.25], [6.25, 1.0], [2.0, 7.5]])

CLASSES = [0, 1, 2]


def manhattan(a, b):
    return float(abs(a - b).sum())


class History:
    """A model, and all examples it has ever been given, by id."""

    def __init__(self, make, seed, metric="euclidean"):
        self.random, self.metric = np.random.default_rng(seed), metric
        self.make = lambda: make(manhattan if metric == "python" else metric)
        self.X, self.y, self.alive = np.empty((0, 2)), np.empty(0, int), np.empty(0, int)
        self.model = self.make()

    def rows(self, X, known):
        """Return what the model is given of examples, if these are known."""
        if self.metric != "precomputed":
            return X
        return np.sqrt(((X[:, None] - self.X[known]) ** 2).sum(axis=2))

    def learn(self, count):
        X, y = self.random.integers(0, 8, (count, 2)).astype(float), self.labels(count)
        ids = np.arange(len(self.X), len(self.X) + count)
        self.X, self.y = np.vstack((self.X, X)), np.append(self.y, y)
        self.alive = np.append(self.alive, ids)
        self.model.partial_fit(self.rows(X, self.alive), y, CLASSES)

    def labels(self, count):
        return self.random.integers(0, 3, count)

    def forget(self, count):
        most = max(0, len(self.alive) - len(QUERIES) - 1)
        gone = self.random.choice(self.alive, min(count, most), replace=False)
        self.model.forget(gone)
        self.alive = np.setdiff1d(self.alive, gone)

    def compact(self, _):
        self.model.forest_.storage.compact()

    def copy(self, count):
        if count % 2:
            self.model = pickle.loads(pickle.dumps(self.model))
        else:
            self.model = copy.deepcopy(self.model)

    def refitted(self):
        rows = self.rows(self.X[self.alive], self.alive)
        return self.make().partial_fit(rows, self.y[self.alive], CLASSES)

    def check_path(self, way, x, distance):
        """Compare each step with the examples that its ids name."""
        *ids, last = [step.id for step in way.steps]
        assert last is None
        assert way.prototype == ids[0]
        assert way.conqueror == ids[-1]
        assert set(ids) <= set(self.alive.tolist())
        points = [*self.X[ids], x]
        for before, after, step in zip(points[:-1], points[1:], way.steps[1:], strict=True):
            assert step.distance == pytest.approx(distance(before, after))

    def check(self, x):
        """Explain, forget the conqueror, and compare with a model that never knew it."""
        assert_array_equal(self.model.forest_.ids, self.alive)
        query = self.rows(x[None], self.alive)
        why = self.model.explain(query)
        distance = manhattan if self.metric == "python" else lambda a, b: np.linalg.norm(a - b)
        self.check_path(why, x, distance)
        if why.rival is not None:
            self.check_path(why.rival, x, distance)
        ids, cost = self.model.conquerors(query)
        assert (ids[0], cost[0]) == (why.conqueror, why.cost)
        assert f"conquered by example {why.conqueror}, on the path of" in str(why)
        assert f"conquered by example {why.conqueror}, on the path of" in why._repr_html_()
        self.model.forget([why.conqueror])
        self.alive = np.setdiff1d(self.alive, [why.conqueror])
        fresh, queries = self.refitted(), self.rows(QUERIES, self.alive)
        assert_array_equal(self.alive[fresh.conquerors(queries)[0]],
                           self.model.conquerors(queries)[0])  # fmt: skip
        for name in ("label", "cost", "edges", "predecessor", "root", "prototypes", "points"):
            assert_array_equal(getattr(self.model.forest_, name), getattr(fresh.forest_, name))


class PartlyLabeled(History):
    def labels(self, count):
        y = np.where(self.random.random(count) < 0.5, -1, self.random.integers(0, 3, count))
        y[:3] = np.arange(len(y[:3]))  # so that one of each is left
        return y

    def forget(self, count):
        """Forget examples without labels only: the last labels must stay."""
        free = self.alive[self.y[self.alive] < 0]
        gone = self.random.choice(free, min(count, len(free)), replace=False)
        self.model.forget(gone)
        self.alive = np.setdiff1d(self.alive, gone)


STEPS = st.lists(
    st.tuples(st.sampled_from(("learn", "forget", "compact", "copy")), st.integers(1, 9)),
    max_size=6,
)


def play(history, steps, size=25):
    history.learn(size)
    history.forget(1)
    for name, count in steps:
        getattr(history, name)(count)
    for x in QUERIES:
        history.check(x)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed", "python"])
@given(st.integers(0, 2**32), STEPS)
def test_forgetting_the_conqueror_forgets_that_very_example(metric, seed, steps):
    play(History(OPFClassifier, seed, metric), steps)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@given(st.integers(0, 2**32), STEPS)
def test_in_larger_forests_one_by_one(algorithm, seed, steps):
    """So that forgetting is no refitting, and leaves deleted vertices."""
    play(History(lambda metric: OPFClassifier(metric, algorithm=algorithm), seed), steps, 120)


@pytest.mark.parametrize("seeds", ["labeled", "prototypes"])
@given(st.integers(0, 2**32), STEPS)
def test_with_examples_without_labels(seeds, seed, steps):
    play(PartlyLabeled(lambda metric: OPFSemiSupervised(metric, seeds=seeds), seed), steps, 30)


@given(st.integers(0, 2**32), st.sets(st.integers(0, 39), min_size=1, max_size=8))
def test_through_a_pipeline(seed, gone):
    X = np.random.default_rng(seed).integers(0, 8, (40, 2)).astype(float)
    y, scale = np.arange(40) % 3, MinMaxScaler().fit([[0, 0], [8, 8]])
    model = Pipeline([("scale", scale), ("classify", OPFClassifier())])
    model.partial_fit(np.vstack((X[:38], [[0, 0], [8, 8]])), np.append(y[:38], [0, 1]))
    X[38:] = [[0, 0], [8, 8]]
    y[38:] = [0, 1]
    model.forget(sorted(gone))
    why = model.explain(QUERIES[1])
    assert model.conquerors(QUERIES[1:2])[0].tolist() == [why.conqueror]
    assert_array_equal(model.forest_.points[model.forest_.index_of(why.conqueror)],
                       scale.transform(X[why.conqueror][None])[0])  # fmt: skip
    model.forget([why.conqueror])
    left = np.setdiff1d(np.arange(40), [*gone, why.conqueror])
    assert_array_equal(model.forest_.ids, left)
    assert_array_equal(model.forest_.points, scale.transform(X[left]))


@pytest.mark.parametrize("update", ["opfi", "dift"])
def test_approximate_forests_name_ids(update):
    """They cannot forget, but what they begin with may have forgotten."""
    random = np.random.default_rng(3)
    X, y = random.random((80, 2)), np.arange(80) % 3
    clf = OPFClassifier().fit(X[:60], y[:60]).forget([2, 11, 40]).set_params(update=update)
    clf.partial_fit(X[60:], y[60:])
    for again in (clf, pickle.loads(pickle.dumps(clf))):
        for x, conqueror in zip(X, again.conquerors(X)[0].tolist(), strict=True):
            why = again.explain(x)
            assert why.conqueror == conqueror
            assert why.steps[-1].distance == np.linalg.norm(X[conqueror] - x)
            assert {y[step.id] for step in why.steps[:-1]} == {why.label}
    with pytest.raises(ValueError, match="cannot forget"):
        clf.forget([why.conqueror])


@pytest.mark.parametrize("kind", [OPFClassifier, OPFSemiSupervised])
def test_after_saving_and_loading(tmp_path, kind):
    random = np.random.default_rng(5)
    X, y = random.random((50, 2)), np.arange(50) % 2
    clf = kind().fit(X, y).forget([0, 7, 8])
    opforest.save(clf, tmp_path / "m.opforest")
    again = opforest.load(tmp_path / "m.opforest")
    why = again.explain([0.5, 0.5])
    assert why == clf.explain([0.5, 0.5])
    again.forget([why.conqueror])
    left = np.setdiff1d(np.arange(50), [0, 7, 8, why.conqueror])
    assert_array_equal(again.forest_.points, X[left])
    assert_same_model(again, kind().fit(X[left], y[left]), X, ids=False)


def test_the_readme_names_rows_of_what_was_learned(capsys):
    """Its code, as it is there."""
    text = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:1]
    names = {}
    exec(code, names)
    X, x, printed = names["X"], [6.0, 2.5, 4.6, 1.2], capsys.readouterr().out
    for path in (names["why"], names["why"].rival):
        ids = [step.id for step in path.steps[:-1]]
        steps = np.linalg.norm(np.diff([*X[ids], x], axis=0), axis=1)
        np.testing.assert_allclose([step.distance for step in path.steps[1:]], steps)
        assert (names["y"][ids] == path.label).all()
        assert f"like row {path.conqueror}: {X[path.conqueror]}" in printed
    left = np.setdiff1d(np.arange(len(X)), [7, 106])
    assert_array_equal(names["clf"].forest_.ids, left)
    assert_array_equal(names["clf"].forest_.points, X[left])


@given(st.integers(0, 2**32), st.sets(st.integers(0, 29), max_size=25))
def test_ids_and_indices_are_each_others_inverse(seed, gone):
    X = np.random.default_rng(seed).integers(0, 8, (30, 2)).astype(float)
    forest = OPFClassifier().fit(X, np.arange(30) % 2).forget(sorted(gone)).forest_
    index = np.arange(len(forest))
    assert (np.diff(forest.ids) > 0).all()
    assert_array_equal(forest.index_of(forest.ids), index)
    assert_array_equal(forest.points[forest.index_of(forest.ids[::-1])], X[forest.ids[::-1]])
    assert forest.index_of(forest.ids[-1]) == len(forest) - 1
    assert forest.index_of([]).tolist() == []
    for unknown in (30, -1, *sorted(gone)[:1]):
        with pytest.raises(ValueError, match=f"has no example {unknown}:"):
            forest.index_of([unknown])
    for wrong in (0.5, "a", [True]):
        with pytest.raises(ValueError, match="ids must be integers"):
            forest.index_of(wrong)


def test_conquerors_of_a_forest_are_ids():
    forest = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]).forget([1]).forest_
    assert forest.conquerors(np.array([[0.2], [5.0]]))[0].tolist() == [0, 3]


def half_defined(a, b):
    return float("nan") if min(a[0], b[0]) > 50 else float(abs(a - b).sum())


def test_errors_name_ids_and_rows():
    """Of examples that are known, the id; of new ones, the row of X."""
    X = np.array([[0.0], [60.0], [1.0], [2.0], [5.0], [6.0], [7.0], [8.0]])
    clf = OPFClassifier(half_defined).fit(X, np.arange(8) % 2).forget([0])
    with pytest.raises(ValueError, match=r"for example 1 and row 1 of X\."):
        clf.partial_fit([[3.0], [70.0]], [0, 1])
    with pytest.raises(ValueError, match=r"for rows 0 and 2 of X\."):
        clf.forget([1]).partial_fit([[70.0], [3.0], [80.0]], [0, 1, 0])
    clf = OPFClassifier(half_defined).fit(X, np.arange(8) % 2).forget([0])
    with pytest.raises(ValueError, match=r"for example 1 and row 1 of X\."):
        clf.predict([[3.0], [70.0]])
    with pytest.raises(ValueError, match=r"for rows 1 and 3 of X\."):
        OPFClassifier(half_defined).fit([[0.0], [70.0], [3.0], [80.0]], [0, 1, 0, 1])


def test_smaller_and_better_models_keep_ids():
    random = np.random.default_rng(1)
    X, y = random.random((160, 2)), random.integers(0, 3, 160)
    clf = OPFClassifier().fit(X[:100], y[:100]).forget([0, 50])
    pruned, _ = opforest.prune(clf, X[100:], y[100:], loss=0.2)
    added, _ = opforest.learn_from_errors(clf, X[100:], y[100:], mode="add")
    for model, next_id in ((pruned, 100), (added, 160)):
        ids = model.forest_.ids
        assert_array_equal(model.forest_.points, X[ids])
        why = model.explain([0.5, 0.5])
        assert why.steps[-1].distance == np.linalg.norm(X[why.conqueror] - 0.5)
        model.forget([why.conqueror]).partial_fit([[0.5, 0.5]], [0])
        assert_array_equal(model.forest_.ids, [*np.setdiff1d(ids, [why.conqueror]), next_id])


def test_active_learning_asks_about_rows_which_become_ids():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [6.0], [7.0]])
    clf = OPFSemiSupervised().fit(X, [0, -1, -1, -1, -1, 1]).forget([1, 2])
    ask = active.query(clf, clf.forest_.points)
    id = clf.forest_.ids[ask]
    assert X[id].tolist() == clf.forest_.points[ask].tolist()
    assert clf.label(id, [1]).transduction_[clf.forest_.index_of(id)].tolist() == [1]


def test_a_picture_after_forgetting_wants_the_known_examples():
    pytest.importorskip("matplotlib")
    from opforest.plotting import ForestDisplay

    X = np.random.default_rng(0).random((30, 2))
    clf = OPFClassifier().fit(X, np.arange(30) % 2).forget([3])
    with pytest.raises(ValueError, match=r"29 examples.*in the order of forest_\.ids.*X\[forest_"):
        ForestDisplay.from_estimator(clf, X)
    assert ForestDisplay.from_estimator(clf, X[clf.forest_.ids], grid_resolution=0)
