"""The river adapter against the batch classifier, by equality, on data full of ties."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.measurement import COMMON, PARAMS, jitted_manhattan
from tests.support.strategies import learning_problems
from tests.support.streams import (
    as_dicts,
    assert_same_forest,
    assert_same_model,
    learned,
    snapshot,
    sparse_streams,
    updates,
)

import opforest
import opforest.forest.forest
import opforest.forest.queries
import opforest.forest.storage
from opforest.forest.updates import UPDATES, exact
from opforest.river import OPFClassifier
from river import compose, datasets, evaluate, metrics, preprocessing

# A stream and a batch.


@settings(max_examples=60)
@given(problem=learning_problems())
def test_exact_stream_equals_batch(problem):
    X, y, Q = (array.astype(np.float64) for array in problem)
    clf = learned(as_dicts(X), y)
    batch = opforest.OPFClassifier().fit(X, y)
    assert_same_forest(clf.forest, batch.forest_)
    for q, label, proba in zip(as_dicts(Q), batch.predict(Q), batch.predict_proba(Q), strict=True):
        assert clf.predict_one(q) == label
        found = clf.predict_proba_one(q)
        np.testing.assert_allclose([found[k] for k in batch.classes_], proba, rtol=1e-12)
        assert max(found, key=found.get) == label


@updates
@settings(max_examples=60)
@given(problem=learning_problems())
def test_stream_equals_partial_fit(update, problem):
    X, y, Q = (array.astype(np.float64) for array in problem)
    clf = learned(as_dicts(X), y, update=update)
    batch = opforest.OPFClassifier(update=update).fit(X[:1], y[:1])
    for i in range(1, len(X)):
        batch.partial_fit(X[i : i + 1], y[i : i + 1])
    assert (clf.forest.grown_by or "exact") == update
    if len(X) > 1:  # else nothing has grown
        assert_same_forest(clf.forest, batch.forest_)
    assert [clf.predict_one(q) for q in as_dicts(Q)] == batch.predict(Q).tolist()


@pytest.mark.parametrize("metric", sorted({*COMMON, "topsoe", "jaccard"} - {"correlation"}))
def test_all_metrics(metric):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 4, (40, 3)) + 1.0, rng.integers(0, 3, 40)
    params = PARAMS.get(metric)
    clf = learned(as_dicts(X), y, metric=metric, metric_params=params)
    batch = opforest.OPFClassifier(metric, metric_params=params).fit(X, y)
    assert_same_forest(clf.forest, batch.forest_)
    # A feature that all others lack.
    clf.learn_one({"x0": 1, "x1": 2, "x2": 3, "x3": 4}, 1)
    wide = np.vstack((np.column_stack((X, np.zeros(40))), [1, 2, 3, 4]))
    batch.fit(wide, np.append(y, 1))
    assert_same_forest(clf.forest, batch.forest_)


def test_metrics_that_a_missing_feature_breaks_are_refused():
    for name in ("jeffreys", "max_symmetric"):
        with pytest.raises(ValueError, match="it is not defined for 0"):
            OPFClassifier(metric=name).learn_one({"x0": 1.0}, 0)


def plain(x, y):
    return float(np.abs(x - y).sum())


@pytest.mark.filterwarnings("ignore:metric 'plain' is a Python function")
@pytest.mark.parametrize(
    ("metric", "update"), [(jitted_manhattan, "exact"), *((plain, update) for update in UPDATES)]
)
def test_own_metrics(metric, update):
    rng = np.random.default_rng(4)
    xs = as_dicts(rng.integers(0, 3, (30, 2)))
    xs += [{**x, "new": 1} for x in xs[:5]]
    ys = rng.integers(0, 2, 35).tolist()
    clf, named = OPFClassifier(metric, update=update), OPFClassifier("manhattan", update=update)
    for x, y in zip(xs, ys, strict=True):
        assert clf.predict_one({**x, "unknown": 2}) == named.predict_one({**x, "unknown": 2})
        assert clf.predict_one(x) == named.predict_one(x)
        clf.learn_one(x, y)
        named.learn_one(x, y)
    assert_same_forest(clf.forest, named.forest)


# Features and classes that come and go.


@updates
@settings(max_examples=80)
@given(stream=sparse_streams(), queries=sparse_streams())
def test_missing_features_are_zero(update, stream, queries):
    sparse, full = OPFClassifier(update=update), OPFClassifier(update=update)
    names = list("abcdef")
    for (x, y), (q, _) in zip(stream, queries, strict=False):
        sparse.learn_one(x, y)
        full.learn_one({name: x.get(name, 0) for name in names}, y)
        assert sparse.predict_proba_one(q) == full.predict_proba_one(q)
        assert sparse.predict_one(q) == full.predict_one(q)
    assert_same_forest(sparse.forest, full.forest)


@updates
@settings(max_examples=80)
@given(stream=sparse_streams(), queries=sparse_streams())
def test_predictions_change_nothing(update, stream, queries):
    asked, left_alone = OPFClassifier(update=update), OPFClassifier(update=update)
    for (x, y), (q, _) in zip(stream, [*queries, *stream], strict=False):
        asked.predict_one(x)
        asked.predict_proba_one(q)
        asked.predict_many(pd.DataFrame([x, q]).fillna(0))
        if len(q) % 2:
            asked.predict_one(x)
        before = snapshot(asked)
        asked.predict_one({**q, "unknown": 3.0})
        assert snapshot(asked) == before
        if len(x) % 2:
            asked.predict_one(x)
        asked.learn_one(x, y)
        left_alone.learn_one(x, y)
    assert_same_model(asked, left_alone, [q for q, _ in queries])


def test_unknown_features_of_a_query_count_but_leave_no_trace():
    clf = learned([{"a": 0.0}, {"a": 1.0}, {"a": 5.0}], "nny", metric="hamming")
    cost = clf.forest.cost
    wide = learned([{"a": a, "b": 0, "c": 0} for a in (0.0, 1.0, 5.0)], "nny", metric="hamming")
    assert clf.predict_proba_one({"a": 1.0, "b": 2}) == pytest.approx(
        wide.predict_proba_one({"a": 1.0, "b": 2})
    )
    clf.predict_many(pd.DataFrame({"c": [1.0], "d": [2.0]}))
    assert clf.forest.n_features == 1
    assert np.array_equal(clf.forest.cost, cost)
    clf.learn_one({"c": 1}, "y")
    assert list(clf._column) == ["a", "c"]
    assert np.array_equal(clf.forest.points[:, 1], [0, 0, 0, 1])


def test_a_monstrous_query_does_not_slow_down_the_next_ones():
    clf = learned([{"a": 0}, {"a": 1}], [0, 1])
    clf.predict_one({f"unknown {i}": 1 for i in range(1000)})
    assert clf.predict_one({"a": 2}) == 1
    assert clf._forest.n_features == 1


def test_an_example_without_features():
    clf = learned([{}, {"a": 2}, {}], [True, False, True])
    assert clf.predict_one({}) is True
    assert clf.predict_one({"a": 3}) is False
    assert clf.predict_many(pd.DataFrame(index=["r"])).to_dict() == {"r": True}
    assert learned([{}], ["only"]).predict_one({"b": 1}) == "only"


def test_the_order_of_features_does_not_matter_to_the_last_bit():
    rng = np.random.default_rng(5)
    xs, ys = as_dicts(rng.normal(size=(60, 7))), rng.integers(0, 3, 60).tolist()
    shuffled = [{k: x[k] for k in rng.permutation(list(x)).tolist()} for x in xs]
    assert_same_model(learned(xs, ys), learned(shuffled, ys), xs)


@updates
def test_new_classes_at_any_time(update):
    clf = OPFClassifier(update=update)
    for i, label in enumerate(["a", "a", 1, "b", True, None.__class__]):
        x = {"v": float(i)}
        clf.predict_one(x)
        clf.learn_one(x, label)
        assert clf.predict_one(x) == label
        clf.forest.check()
    assert clf._labels == ["a", 1, "b", None.__class__]  # True == 1
    assert set(clf.predict_proba_one({"v": 9})) == set(clf._labels)


# Batches.


@updates
@settings(max_examples=60)
@given(problem=learning_problems(), data=st.data())
def test_learn_many_equals_learn_one(update, problem, data):
    X, y, Q = problem
    clf = OPFClassifier(update=update)
    names = [f"x{k}" for k in range(X.shape[1])]
    begin = 0
    while begin < len(X):
        end = data.draw(st.integers(begin + 1, len(X)))
        frame = pd.DataFrame(X[begin:end], columns=names)
        clf.predict_one(as_dicts(X[begin : begin + 1])[0])  # must not be taken for learned
        clf.learn_many(frame[data.draw(st.permutations(names))], pd.Series(y[begin:end]))
        begin = end
    assert_same_model(clf, learned(as_dicts(X), y, update=update), as_dicts(Q))


@settings(max_examples=40)
@given(problem=learning_problems(queries=20))
def test_predict_many_equals_predict_one(problem):
    X, y, Q = problem
    clf = learned(as_dicts(X), [f"class {label}" for label in y])
    queries = [{**q, "unknown": 1} for q in as_dicts(Q)]
    frame = pd.DataFrame(queries, index=np.arange(20) * 2)
    label, proba = clf.predict_many(frame), clf.predict_proba_many(frame)
    assert label.index.equals(frame.index)
    assert proba.index.equals(frame.index)
    assert label.tolist() == [clf.predict_one(q) for q in queries]
    assert proba.to_dict("records") == [clf.predict_proba_one(q) for q in queries]


def test_before_any_learning():
    clf, X = OPFClassifier(), pd.DataFrame({"a": [1.0, 2.0]}, index=["r", "s"])
    assert clf.forest is None
    assert clf.predict_one({"a": 1}) is None
    assert clf.predict_proba_one({"a": 1}) == {}
    assert clf.predict_many(X).to_dict() == {"r": None, "s": None}
    assert clf.predict_proba_many(X).shape == (2, 0)
    clf.learn_many(X[:0], pd.Series([], dtype=object))
    assert clf.forest is None


def test_empty_frames():
    clf = learned([{"a": 1}, {"a": 2}], [0, 1])
    empty = pd.DataFrame({"a": []})
    assert len(clf.predict_many(empty)) == 0
    assert clf.predict_proba_many(empty).shape == (0, 2)
    clf.learn_many(empty, pd.Series([]))
    assert len(clf.forest) == 2


# One pass.


@pytest.mark.filterwarnings("ignore:metric 'count' is a Python function")
@updates
def test_test_then_train_measures_once(update):
    calls = []

    def count(x, y):
        calls.append(1)
        return float(np.abs(x - y).sum())

    clf = OPFClassifier(count, update=update)
    xs = as_dicts(np.random.default_rng(7).integers(0, 3, (12, 2)))
    for n, x in enumerate(xs):
        calls.clear()
        clf.predict_one(x)
        clf.predict_proba_one(dict(reversed(x.items())))
        clf.learn_one({**x}, n % 2)
        assert len(calls) == n
    clf.predict_one(xs[0])
    clf.predict_one(xs[1])
    calls.clear()
    clf.learn_one(xs[0], 0)  # not the example met last
    assert len(calls) == 12 or xs[0] == xs[1]


@pytest.mark.parametrize("metric", ["euclidean", jitted_manhattan])
def test_test_then_train_calls_each_kernel_once(metric, monkeypatch):
    calls = []

    def spy(module, name, place):
        kernel = getattr(module, name)

        def called(*args):
            calls.append((name, args[place]))
            return kernel(*args)

        monkeypatch.setattr(module, name, called)
        monkeypatch.setattr(module, "specialize", lambda compiled, metric: compiled)

    clf = learned(as_dicts(np.eye(5)), range(5), metric=metric)
    spy(opforest.forest.queries, "measure_staged", 1)
    spy(opforest.forest.storage, "find_undefined", 2)
    spy(exact, "insert_exactly", 4)
    x = {"x0": 0.5, "new": 2}
    clf.predict_one(x)
    clf.learn_one(x, 0)
    assert calls == [("measure_staged", 5), ("insert_exactly", True)]


# Copies.


@updates
@pytest.mark.parametrize(
    "duplicate",
    [
        lambda clf: pickle.loads(pickle.dumps(clf)),
        copy.deepcopy,
        lambda clf: clf.clone(include_attributes=True),
    ],
)
def test_copies_between_predicting_and_learning(update, duplicate):
    rng = np.random.default_rng(8)
    xs, ys = as_dicts(rng.integers(0, 4, (30, 3))), rng.integers(0, 3, 30).tolist()
    clf = learned(xs[:20], ys[:20], update=update)
    clf.predict_one(xs[20])
    twin = duplicate(clf)
    for x, y in zip(xs[20:], ys[20:], strict=True):
        clf.learn_one(x, y)
        twin.learn_one(x, y)
        assert twin.predict_one(x) == clf.predict_one(x)
    assert_same_model(clf, twin, xs)


def test_clone_starts_afresh():
    clf = learned([{"a": 1}, {"a": 2}], [0, 1], metric="minkowski", metric_params={"p": 3})
    twin = clf.clone()
    assert twin.metric_params == {"p": 3}
    assert twin.metric_params is not clf.metric_params
    assert twin.forest is None
    assert clf.clone({"update": "dift"}).update == "dift"


# In river's company.


@pytest.mark.parametrize(
    ("dataset", "update", "scaled", "floor"),
    [
        (datasets.Phishing(), "exact", False, 0.85),
        (datasets.Phishing(), "exact", True, 0.85),
        (datasets.Phishing(), "opfi", True, 0.85),
        (datasets.Phishing(), "dift", True, 0.85),
        (datasets.ImageSegments(), "exact", True, 0.9),
    ],
)
def test_progressive_validation(dataset, update, scaled, floor):
    model = OPFClassifier(update=update)
    if scaled:
        model = preprocessing.StandardScaler() | model
    accuracy = evaluate.progressive_val_score(dataset, model, metrics.Accuracy())
    assert accuracy.get() > floor


def test_probabilities_in_progressive_validation():
    model = preprocessing.MinMaxScaler() | OPFClassifier()
    auc = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    assert auc.get() > 0.85


def test_pipeline_of_batches():
    model = compose.Pipeline(preprocessing.StandardScaler(), OPFClassifier())
    rows = list(datasets.Phishing().take(200))
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    for begin in range(0, 150, 50):
        model.learn_many(X[begin : begin + 50], y[begin : begin + 50])
    assert (model.predict_many(X[150:]) == y[150:]).mean() > 0.75


def test_streams_tell_the_order_of_their_features():
    stream = OPFClassifier()
    stream.learn_one({"z": 1.0, "b": 2.0}, 0)
    stream.learn_one({"a": 1.0}, 1)
    assert stream.features == ["b", "z", "a"]


@pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
def test_explanations_equal_those_of_the_batch_classifier(update):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (60, 2)).astype(float), np.arange(60) % 3
    names = np.array(["c", "a", "b"])
    model = OPFClassifier(update=update)
    assert model.explain_one({"u": 1.0, "v": 2.0}) is None
    for row, label in zip(X, y, strict=True):
        model.learn_one({"u": row[0], "v": row[1]}, str(names[label]))
    before = model.predict_one({"u": 2.5, "v": 3.5})
    path = model.explain_one({"u": 2.5, "v": 3.5})
    assert path.label == before == model.predict_one({"u": 2.5, "v": 3.5})
    batch = opforest.OPFClassifier(update=update).fit(X[:1], names[y[:1]])
    for i in range(1, 60):
        batch.partial_fit(X[i : i + 1], names[y[i : i + 1]])
    assert path == batch.explain([2.5, 3.5])
    assert path.view.names == ("u", "v")
    assert sorted(path.table.names) == ["u", "v"]
    assert "<svg" in path._repr_html_()


def test_explanations_in_a_window_and_of_unknown_features():
    model = OPFClassifier(window_size=3)
    for i in range(6):
        model.learn_one({"u": float(i)}, i % 2)
    path = model.explain_one({"u": 4.25, "w": 1.0})
    assert dict(zip(path.table.names, path.table.values[-1], strict=True)) == {"u": 4.25, "w": 1.0}
    assert dict(zip(path.table.names, path.table.values[0], strict=True))["w"] == 0
    assert path.label == model.predict_one({"u": 4.25, "w": 1.0})
    assert path.conqueror in model.forest.ids
    assert model.features == ["u"]
    with pytest.raises(ValueError, match="must be a finite number"):
        model.explain_one({"u": "text"})
    assert model.explain_one({}).label in (0, 1)


def test_explaining_keeps_what_a_prediction_left_behind_valid():
    one, other = OPFClassifier(), OPFClassifier()
    rng = np.random.default_rng(1)
    for _ in range(30):
        x = {"u": float(rng.integers(0, 9)), "v": float(rng.integers(0, 9))}
        y = int(rng.integers(0, 3))
        for model in (one, other):
            model.predict_one(x)
        one.explain_one({"u": 1.5, "z": 4.0})
        for model in (one, other):
            model.learn_one(x, y)
    for name in ("edges", "cost", "root"):
        assert np.array_equal(getattr(one.forest, name), getattr(other.forest, name))


def test_semi_supervised_streams_explain_once_there_is_a_label():
    model = OPFClassifier(semi_supervised=True)
    model.learn_one({"u": 0.0}, None)
    assert model.explain_one({"u": 0.5}) is None
    model.learn_one({"u": 1.0}, "a")
    assert model.explain_one({"u": 0.2}).label == "a"
