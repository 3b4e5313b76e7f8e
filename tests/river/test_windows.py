"""Windows: the last examples, exactly."""

import pickle

import numpy as np
import pytest

pytest.importorskip("river")

from tests.support.streams import as_dicts
from tests.support.tuning import tune

from opforest import OPFClassifier as Batch
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.records import NoIndex
from opforest.core.select.mst import probe
from opforest.forest import storage as storing
from opforest.river import OPFClassifier

NAMES = ("edges", "cost", "prototypes", "predecessor", "root", "points")


def examples(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(3 * rng.random((n, d)), 1)
    return X, rng.integers(0, 3, n).tolist()


def assert_same_as_fit(model, X, y):
    code = {label: i for i, label in enumerate(model._labels)}
    batch = Batch(algorithm="brute").partial_fit(
        X, [code[label] for label in y], classes=range(len(code))
    )
    model.forest.check()
    for name in NAMES:
        assert np.array_equal(getattr(model.forest, name), getattr(batch.forest_, name)), name
    model._calibration = None  # so that it is found now
    for x in as_dicts(X[:5] + 0.05):
        (label,) = batch.predict([list(x.values())])
        assert model._labels[label] == model.predict_one(x)
        assert list(model.predict_proba_one(x).values()) == pytest.approx(
            batch.predict_proba([list(x.values())])[0].tolist(), abs=0
        )


def forget_the_conqueror(model, x, X):
    """Forget who is named, and check that it is the example of the stream with that number."""
    path = model.explain_one(x)
    ids, point = [step.id for step in path.steps[:-1]], list(x.values())
    steps = np.linalg.norm(np.diff([*X[ids], point], axis=0), axis=1)
    np.testing.assert_allclose([step.distance for step in path.steps[1:]], steps)
    before = model.forest.ids
    model.forget([path.conqueror])
    assert model.forest.ids.tolist() == [id for id in before if id != path.conqueror]


@pytest.mark.parametrize("semi_supervised", [False, True])
def test_the_conqueror_is_forgotten_within_a_window(semi_supervised):
    X, y = examples(90)
    model = OPFClassifier(window_size=25, semi_supervised=semi_supervised)
    for i, (x, query) in enumerate(zip(as_dicts(X), as_dicts(X + 0.03), strict=True)):
        model.learn_one(x, y[i])
        if i % 7 == 6:
            forget_the_conqueror(model, query, X)
            known = model.forest.ids
            if not semi_supervised:
                assert_same_as_fit(model, X[known], [y[k] for k in known])
        if i % 31 == 30:
            model = pickle.loads(pickle.dumps(model))


def test_forgetting_by_id_is_checked_first():
    model = OPFClassifier()
    with pytest.raises(ValueError, match="has not learned any examples"):
        model.forget([0])
    for i in range(5):
        model.learn_one({"u": float(i)}, i % 2)
    model.forget_oldest(2)
    for wrong, message in (([0], "no example 0:"), ([2, 2], "unique"), (0.5, "integers")):
        with pytest.raises(ValueError, match=message):
            model.forget(wrong)
    assert model.forest.ids.tolist() == [2, 3, 4]
    model.predict_one({"u": 3.5})  # what it has measured is of no use any more
    model.forget(3)
    model.learn_one({"u": 3.5}, 1)
    assert model.forest.ids.tolist() == [2, 4, 5]
    model.forest.check()
    grown = OPFClassifier(update="opfi")
    grown.learn_one({"u": 0.0}, 0)
    with pytest.raises(ValueError, match="cannot forget"):
        grown.forget(0)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_a_window_is_what_fit_would_give(size):
    X, y = examples(120)
    model = OPFClassifier(window_size=size)
    for i, x in enumerate(as_dicts(X)):
        if i % 3:
            model.predict_one(x)
        model.learn_one(x, y[i])
        known = slice(max(0, i + 1 - size), i + 1)
        assert len(model.forest) == min(size, i + 1)
        assert model.forest.ids.tolist() == list(range(known.start, i + 1))
        if i % 5 == 0:
            assert_same_as_fit(model, X[known], y[known])
        if i % 31 == 30:
            model = pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("size", [5, 30])
def test_mini_batches_larger_and_smaller_than_the_window(size):
    pd = pytest.importorskip("pandas")
    X, y = examples(100)
    model = OPFClassifier(window_size=size)
    begin = 0
    for end in (1, 3, 20, 21, 60, 100):
        frame = pd.DataFrame(X[begin:end], columns=["x0", "x1"])
        model.learn_many(frame, pd.Series(y[begin:end]))
        known = slice(max(0, end - size), end)
        assert model.forest.ids.tolist() == list(range(known.start, end))
        assert_same_as_fit(model, X[known], y[known])
        begin = end


def test_a_window_with_an_index(monkeypatch):
    """As if the stream were large and an index paid."""
    tune(few_to_grow=40)
    monkeypatch.setattr(storing, "probe", lambda rows, metric, _: probe(rows, metric, "kd_tree"))
    X, y = examples(400)
    model = OPFClassifier(window_size=60)
    kinds = set()
    for i, x in enumerate(as_dicts(X)):
        index = model.forest.storage.fields.index if i else NoIndex()
        if isinstance(index, DynamicKDTree) and i % 7 < 3:
            index.status["pause"] = 2  # as if searches took too long
        if i % 5:
            model.predict_one(x)
        model.learn_one(x, y[i])
        kinds.add(type(index))
        if i % 23 == 0:
            known = slice(max(0, i - 59), i + 1)
            assert_same_as_fit(model, X[known], y[known])
    assert kinds == {NoIndex, DynamicKDTree}
    assert len(model.forest.storage.arrays.vertices) <= 4 * 60


def test_memory_is_constant():
    X, y = examples(3000)
    model = OPFClassifier(window_size=100)
    sizes = []
    for i, x in enumerate(as_dicts(X)):
        model.learn_one(x, y[i])
        sizes.append(model.forest.n_bytes)
    assert max(sizes[1000:]) == max(sizes[:1000])


def test_forgetting_the_oldest():
    X, y = examples(50)
    model = OPFClassifier()
    model.forget_oldest(3)  # no example is known yet
    for x, label in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, label)
    model.forget_oldest()
    model.forget_oldest(9)
    model.forget_oldest(0)
    assert_same_as_fit(model, X[10:], y[10:])
    model.forget_oldest(1000)
    assert len(model.forest) == 0
    assert model.predict_one({"x0": 1, "x1": 2}) is None
    assert model.predict_proba_one({"x0": 1, "x1": 2}) == {}
    model.learn_one({"x0": 1, "x1": 2}, "new")
    assert model.predict_one({"x0": 1, "x1": 2}) == "new"
    assert model.forest.ids.tolist() == [50]


def test_features_may_appear_in_a_window():
    model = OPFClassifier(window_size=3)
    for i in range(9):
        model.learn_one({f"x{k}": i for k in range(1 + i // 2)}, i % 2)
    assert len(model.forest) == 3
    assert model.forest.points.shape == (3, 5)
    model.forest.check()


@pytest.mark.parametrize("size", [0, -1, 2.5, "9", True])
def test_a_window_size_that_is_none(size):
    model = OPFClassifier(window_size=size)
    with pytest.raises(ValueError, match="window_size must be an integer of at least 1"):
        model.learn_one({"x": 1}, 0)
    assert model.forest is None


@pytest.mark.parametrize("update", ["opfi", "dift"])
def test_approximate_updates_have_no_window(update):
    with pytest.raises(ValueError, match="window_size needs update='exact'"):
        OPFClassifier(update=update, window_size=5).learn_one({"x": 1}, 0)
    model = OPFClassifier(update=update)
    model.learn_one({"x": 1}, 0)
    with pytest.raises(ValueError, match=f"update='{update}' cannot forget"):
        model.forget_oldest()
    with pytest.raises(ValueError, match="count must be an integer of at least 0, got -1"):
        model.forget_oldest(-1)
