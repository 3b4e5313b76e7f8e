"""Probabilities: the exponent found from known examples, and what follows from it."""

import copy
import math
import pickle
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from tests.oracles import forest as oracle
from tests.oracles import probabilities as plain
from tests.support.comparison import insertions_only
from tests.support.measurement import COMMON, jitted_manhattan
from tests.support.strategies import learning_problems
from tests.support.tuning import tune, tuned

import opforest
from opforest import OPFClassifier, OPFSemiSupervised
from opforest.core.metrics.distances import measure_block
from opforest.forest import forest
from opforest.forest import probabilities as calibration
from opforest.forest.probabilities import LEAST, CostCalibration


@pytest.fixture
def few_judged():
    """Let a forest judge five examples, so that small ones have more than that."""
    tune(max_calibration_examples=5)
    return 5


@pytest.fixture
def searches(monkeypatch):
    """Count how often the calibration is found."""
    count = []

    def find(*args):
        count.append(args)
        return calibration.find_calibration(*args)

    monkeypatch.setattr(forest, "find_calibration", find)
    return count


def offers_by_hand(clf, at_most=1000):
    """Return the offers without themselves to the examples judged, in units, and their classes."""
    examples = clf.forest_.storage
    n = len(examples)
    ids = examples.vertices_of(examples.ids)
    rows = examples.arrays.rows
    kernel = examples.metric.kernel
    D = measure_block(rows, 0, examples.end, kernel)[np.ix_(ids, ids)]
    label, cost = clf.forest_.label.tolist(), examples.costs().tolist()
    some = plain.chosen(n, at_most)
    offers = [plain.offers_without(i, cost, label, D.tolist(), len(clf.classes_)) for i in some]
    units = clf.forest_.to_units(np.array(offers, rows.dtype)).astype(float).tolist()
    return units, [label[i] for i in some]


def offers_to_unlabeled(clf, X, y, at_most):
    """By class, what labeled examples would be offered if their own label had not been given."""
    D, seeds = oracle.table(X, oracle.squared_euclidean), np.flatnonzero(y >= 0)
    some = seeds[plain.chosen(len(seeds), at_most)]
    offers = []
    for i in some.tolist():
        given = [-1 if j == i else int(label) for j, label in enumerate(y)]
        row = [math.inf] * len(clf.classes_)
        if max(given) >= 0:
            label, _, cost, _ = oracle.seeded(D, given)
            row = plain.offers_without(i, cost.tolist(), label, D.tolist(), len(clf.classes_))
        offers.append(row)
    units = clf.forest_.to_units(np.array(offers, X.dtype)).astype(float).tolist()
    return units, y[some].tolist()


def assert_right(clf, at_most=1000):
    """Compare with what a plain search finds."""
    assert_right_for(clf, *offers_by_hand(clf, at_most))


def assert_right_for(clf, offers, own):
    found = clf.forest_.calibration()
    offers, own = plain.judged(offers, own)
    floor = plain.floor_of(offers)
    assert found.floor == floor
    if all(len({max(c, floor) for c in row if c < math.inf}) == 1 for row in offers):
        assert found.exponent == 1  # nothing can be told
        return
    expected = plain.find_exponent(offers, own, floor)
    best = plain.log_likelihood(expected, offers, own, floor)
    assert plain.log_likelihood(found.exponent, offers, own, floor) >= best - 1e-9 * abs(best)
    assert found.exponent == pytest.approx(expected, rel=1e-3)


def city_blocks(a, b):
    return np.abs(a - b).sum()


def assert_same_calibration(a, b):
    """To the bit, whatever has happened to the forests."""
    assert a.forest_.calibration()[:2] == b.forest_.calibration()[:2]


# Against a plain search.


@settings(max_examples=60)
@given(problem=learning_problems())
def test_exponents_and_probabilities(problem):
    X, y, Q = problem
    clf = OPFClassifier().fit(X, y)
    assert_right(clf)
    exponent, floor, *_ = clf.forest_.calibration()
    proba, log_proba = clf.predict_proba(Q), clf.predict_log_proba(Q)
    for costs, row, logs in zip(clf.class_costs(Q).astype(float), proba, log_proba, strict=True):
        expected = plain.probabilities(costs.tolist(), exponent, floor)
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(np.exp(logs), expected, rtol=1e-9, atol=1e-300)
    for found in (proba, log_proba):
        assert ((found == found.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()
        assert np.array_equal(clf.classes_[found.argmax(axis=1)], clf.predict(Q))
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@settings(max_examples=60)
@given(problem=learning_problems(), kept=st.lists(st.booleans(), min_size=1, max_size=24))
def test_labels_are_left_out_where_few_are_given(algorithm, problem, kept):
    X, y, Q = problem
    y = np.where(np.resize(kept, len(y)), y, -1)
    if (y == -1).all():
        y[0] = 0
    y = np.searchsorted(np.unique(y[y >= 0]), y, side="right") - 1  # no class without a label
    with tuned(max_calibration_examples=7):
        clf = OPFSemiSupervised(algorithm=algorithm).fit(X, y)
        assert_right_for(clf, *offers_to_unlabeled(clf, X, y, 7))
        grown = OPFSemiSupervised(algorithm=algorithm)
        for i in range(len(X)):
            grown.partial_fit(X[i : i + 1], [-1], classes=clf.classes_)
        for i in np.flatnonzero(y >= 0):
            grown.label(i, y[i]).exponent_  # noqa: B018
        assert_same_calibration(clf, grown)
        assert np.array_equal(clf.predict_proba(Q), grown.predict_proba(Q))


@pytest.mark.parametrize("metric", ["canberra", "precomputed"])
def test_labels_are_left_out_by_any_metric(metric):
    rng = np.random.default_rng(0)
    points = rng.integers(1, 9, (60, 2)).astype(float)
    D = oracle.table(points, oracle.canberra)
    y = np.where(np.arange(60) % 4 == 0, (points.sum(axis=1) > 9).astype(int), -1)
    clf = OPFSemiSupervised(metric).fit(D if metric == "precomputed" else points, y)
    offers = []
    for i in np.flatnonzero(y >= 0):
        label, _, cost, _ = oracle.seeded(D, np.where(np.arange(60) == i, -1, y))
        offers.append(plain.offers_without(i, cost.tolist(), label, D.tolist(), 2))
    assert_right_for(clf, offers, y[y >= 0].tolist())


def test_inferred_labels_are_no_evidence():
    """Two clouds that overlap, with few labels: no forest is to be sure there."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 2)) + truth[:, None]
    y = np.where(np.arange(600) < 30, truth, -1)
    clf = OPFSemiSupervised().fit(X[:400], y[:400])
    assert log_loss(truth[400:], clf.predict_proba(X[400:])) < 0.8


@pytest.mark.parametrize("metric", [*COMMON, "topsoe", "precomputed", "python", "jitted"])
def test_all_metrics(metric):
    rng = np.random.default_rng(3)
    X, y = rng.integers(1, 5, (40, 3)).astype(float), rng.integers(0, 3, 40)
    X[:, 2] += 5  # no example has all features equal, for which correlation is undefined
    if metric == "precomputed":
        X = np.abs(X[:, None] - X[None]).sum(axis=2)
    function = {"python": city_blocks, "jitted": jitted_manhattan}.get(metric, metric)
    params = {"p": 3} if metric == "minkowski" else None
    clf = OPFClassifier(function, metric_params=params)
    with pytest.warns(UserWarning, match="a Python") if metric == "python" else nullcontext():
        clf.fit(X, y)
    assert_right(clf)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("update", ["opfi", "dift"])
@settings(max_examples=40)
@given(problem=learning_problems())
def test_approximate_forests(update, problem):
    X, y, _ = problem
    clf = OPFClassifier(update=update).fit(X[:3], y[:3])
    for i in range(3, len(X)):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_right(clf)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@settings(max_examples=60)
@given(problem=learning_problems())
def test_grown_and_refitted_models_are_equally_sharp(algorithm, problem):
    X, y, Q = problem
    with tuned(max_calibration_examples=7):
        clf = OPFClassifier(algorithm=algorithm)
        with insertions_only():
            for i in range(len(X)):
                clf.partial_fit(X[i : i + 1], y[i : i + 1])
                if i % 4 == 1:
                    clf.predict_proba(Q)
        assert_same_calibration(clf, OPFClassifier(algorithm="brute").fit(X, y))
        assert_right(clf, 7)
        left = np.arange(len(X)) % 3 != 1
        for i in np.flatnonzero(~left):
            clf.forget([i])
        if left.any():
            other = OPFClassifier().partial_fit(X[left], y[left], classes=clf.classes_)
            assert_same_calibration(clf, other)
            assert np.array_equal(clf.predict_proba(Q), other.predict_proba(Q))
            assert np.array_equal(clf.predict_log_proba(Q), other.predict_log_proba(Q))


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_many_examples_by_any_search_and_any_number_of_threads(algorithm):
    X, y = make_moons(3000, noise=0.3, random_state=0)
    expected = OPFClassifier(algorithm="brute").fit(X, y)
    for jobs in (None, 2, 3):
        clf = OPFClassifier(algorithm=algorithm, n_jobs=jobs).fit(X, y)
        assert_same_calibration(clf, expected)
    clf.forget(np.arange(0, 40)).partial_fit(X[:5], y[:5])
    assert clf.forest_.storage.fields.n_deleted[0]
    again = OPFClassifier().fit(np.concatenate((X[40:], X[:5])), np.concatenate((y[40:], y[:5])))
    assert_same_calibration(clf, again)


# What must come out.


def test_digits_are_as_sure_as_they_are_right():
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    clf = OPFClassifier().fit(train, y_train)
    proba = clf.predict_proba(test)
    assert log_loss(y_test, proba) < 0.15
    assert abs(proba.max(axis=1).mean() - clf.score(test, y_test)) < 0.03
    assert 10 < clf.exponent_ < 30


def test_where_nothing_can_be_told_costs_are_inverted():
    for X, y in (
        ([[0.0], [3.0]], [0, 1]),  # one example each
        ([[0.0], [1.0], [5.0]], [7, 7, 7]),  # one class
        (np.ones((6, 2)), [0, 1, 0, 1, 1, 0]),  # one point
        ([[2.0]], ["only"]),
    ):
        assert OPFClassifier().fit(X, y).exponent_ == 1
    assert OPFClassifier().fit([[0.0], [3.0]], [0, 1]).predict_proba([[1.0]])[0] == pytest.approx(
        [2 / 3, 1 / 3]
    )
    empty = OPFClassifier().fit([[0.0], [3.0]], [0, 1]).forget([0, 1])
    assert empty.exponent_ == 1
    with pytest.raises(ValueError, match="nothing left to predict with"):
        empty.predict_proba([[1.0]])
    with pytest.raises(AttributeError, match="before fit"):
        OPFClassifier().exponent_  # noqa: B018


def test_separable_classes_do_not_make_it_infinite():
    X = np.arange(40.0)[:, None]
    X[20:] += 1000
    y = np.arange(40) // 20
    clf = OPFClassifier().fit(X, y)
    assert_right(clf)
    assert 0 < clf.exponent_ < 10
    # Forty examples were right, and one made-up one was right by halves.
    assert 0.9 < clf.predict_proba([[10.0]])[0, 0] < 1


def test_labels_by_chance_make_it_small_but_never_nothing():
    rng = np.random.default_rng(0)
    clf = OPFClassifier().fit(rng.random((400, 3)), rng.integers(0, 2, 400))
    assert clf.exponent_ < 1
    board = [[i, j] for i in range(6) for j in range(6)]  # a chess board: neighbors mislead
    clf = OPFClassifier().fit(board, [(i + j) % 2 for i, j in board])
    assert clf.exponent_ == LEAST
    proba = clf.predict_proba([[2.4, 2.0], [2.1, 2.0]])
    assert (np.abs(proba - 0.5) < 0.02).all()
    assert proba[1, 0] > proba[0, 0] > 0.5


def test_an_exact_hit_is_no_certainty():
    X = np.repeat(np.arange(30.0), 3)[:, None]
    y = np.repeat(np.arange(30) // 15, 3)
    y[::9] ^= 1  # one in nine has another label than its two copies
    clf = OPFClassifier().fit(X, y)
    assert_right(clf)
    proba = clf.predict_proba(X)
    assert (clf.class_costs(X) == 0).any()
    assert 0 < proba.min() < proba.max() < 1
    assert np.isfinite(clf.predict_log_proba(X)).all()
    assert log_loss(y, proba) < 0.7


def test_classes_without_examples_have_no_probability():
    clf = OPFClassifier().partial_fit(*load_iris(return_X_y=True), classes=[0, 1, 2, 9])
    proba, log_proba = clf.predict_proba([[5.0, 3, 2, 1]]), clf.predict_log_proba([[5.0, 3, 2, 1]])
    assert proba[0, 3] == 0
    assert log_proba[0, 3] == -np.inf
    assert clf.exponent_ == OPFClassifier().fit(*load_iris(return_X_y=True)).exponent_


def test_units_do_not_matter_and_powers_hardly():
    X, y = make_moons(600, noise=0.2, random_state=0)
    Q = X[300:]
    plain_clf = OPFClassifier().fit(X[:300], y[:300])
    for scale in (2.0**-40, 2.0**40):
        scaled = OPFClassifier().fit(X[:300] * scale, y[:300])
        assert scaled.exponent_ == plain_clf.exponent_
        assert np.array_equal(scaled.predict_proba(Q * scale), plain_clf.predict_proba(Q))
    squared = OPFClassifier("sqeuclidean").fit(X[:300], y[:300])
    # The floor makes them differ a little.
    assert squared.exponent_ == pytest.approx(plain_clf.exponent_ / 2, rel=1e-3)


def test_logarithms_tell_where_probabilities_cannot():
    clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    found = CostCalibration(1e4, 0.0, *clf.forest_.calibration()[2:])
    costs, winner, known = np.array([[1.0, 1.5, 2.0]]), np.array([0]), np.ones((1, 3), bool)
    assert found.probabilities(costs, winner, known).tolist() == [[1, 0, 0]]
    logs = found.log_probabilities(costs, winner, known)
    np.testing.assert_allclose(logs, -1e4 * np.log(costs), atol=1e-12)
    logs = found.log_probabilities(np.array([[5e-324, 1e300, np.inf]]), winner, known)
    assert logs[0, 1] == pytest.approx(-1e4 * (math.log(1e300) + 744.44))
    assert logs[0, 2] == -np.inf
    nothing = CostCalibration(2.0, 0.0, 0, 0)
    shares = nothing.probabilities(np.array([[0.0, 0.0, 1.0]]), np.array([1]), known)
    assert shares[0] == pytest.approx([0.5, 0.5, 0])


# When it is found.


def test_it_is_found_once_for_each_change(searches):
    X, y = load_wine(return_X_y=True)
    clf = OPFClassifier().fit(X[::2], y[::2])
    clf.predict(X), clf.class_costs(X), clf.explain(X[0])
    assert len(searches) == 0
    first = clf.predict_proba(X)
    clf.predict_log_proba(X), clf.exponent_
    assert np.array_equal(clf.predict_proba(X), first)
    assert len(searches) == 1
    for twin in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(twin.predict_proba(X), first)
    assert len(searches) == 1
    clf.partial_fit(X[1:2], y[1:2])
    clf.predict_proba(X), clf.predict_proba(X)
    assert len(searches) == 2
    clf.forget([3])
    clf.predict_proba(X), clf.predict_proba(X)
    assert len(searches) == 3
    clf.fit(X, y).predict_proba(X)
    assert len(searches) == 4


def test_what_fails_changes_nothing(monkeypatch, searches):
    X, y = load_iris(return_X_y=True)
    clf = OPFClassifier().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        clf.predict_proba(X[:, :2])
    assert clf.forest_.found_calibration is None

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(forest, "find_calibration", interrupt)
        with pytest.raises(KeyboardInterrupt):
            clf.predict_proba(X)
    assert clf.forest_.found_calibration is None
    expected = clf.predict_proba(X)
    before = clf.forest_.found_calibration
    with pytest.raises(ValueError, match="features"):
        clf.partial_fit(X[:1, :2], y[:1])
    assert clf.forest_.found_calibration is before
    assert np.array_equal(clf.predict_proba(X), expected)
    assert len(searches) == 1


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_readers_see_one_model_while_another_thread_learns(algorithm):
    X, y = make_moons(400, noise=0.3, random_state=1)
    Q = X[:3] + 0.01
    clf = OPFClassifier(algorithm=algorithm).fit(X[:300], y[:300])
    small = OPFClassifier().fit(X[:300], y[:300])
    valid = {small.predict_proba(Q).tobytes()}
    for i in range(300, 304):
        small.partial_fit(X[i : i + 1], y[i : i + 1])
        valid.add(small.predict_proba(Q).tobytes())
    answers, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            answers.append(clf.predict_proba(Q).tobytes())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(15):
        for i in range(300, 304):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
        for number in clf.forest_.ids[-1:-5:-1]:
            clf.forget([number])
    stop.set()
    for reader in readers:
        reader.join()
    assert answers
    assert set(answers) <= valid


# Files.


def test_it_is_saved_with_the_model(tmp_path, searches):
    X, y = load_wine(return_X_y=True)
    clf = OPFClassifier().fit(X[::2], y[::2])
    opforest.save(clf, tmp_path / "without")
    expected = clf.predict_proba(X)
    opforest.save(clf, tmp_path / "with")
    assert np.array_equal(opforest.load(tmp_path / "with").predict_proba(X), expected)
    assert len(searches) == 1
    assert np.array_equal(opforest.load(tmp_path / "without").predict_proba(X), expected)
    assert len(searches) == 2
    clf.partial_fit(X[1:2], y[1:2])  # it is out of date, and not saved
    opforest.save(clf, tmp_path / "older")
    older = opforest.load(tmp_path / "older")
    assert older.forest_.found_calibration is None
    assert np.array_equal(older.predict_proba(X), clf.predict_proba(X))


# Streams.


def test_streams_find_it_again_when_enough_has_changed(searches, tmp_path):
    river = pytest.importorskip("opforest.river.classifier")
    rng = np.random.default_rng(0)
    model = river.OPFClassifier(window_size=30)
    assert model.exponent is None
    found = []
    for i, x in enumerate(rng.random((200, 2)).tolist()):
        x = {"a": x[0], "b": x[1]}
        if model.predict_proba_one(x) and len(searches) > len(found):
            found.append(i)
            batch = OPFClassifier().fit(model.forest.points, model.forest.label)
            assert model.exponent == pytest.approx(batch.exponent_)
            searches.pop()  # the batch's own search
        model.learn_one(x, int(x["a"] + x["b"] > 1))
        if i == 100:
            model = pickle.loads(pickle.dumps(model))
        if i == 110:
            opforest.save(model, tmp_path / "stream")
            model = opforest.load(tmp_path / "stream")
            assert model.exponent == pytest.approx(batch.exponent_)
    # At first of 1 example, then after 5 more, and 5 × 6 more; then of the 30 in the window, where
    # each new example also forgets one.
    assert found[:3] == [1, 6, 33]
    assert set(np.diff(found[2:])) == {75}


def test_a_stream_is_as_sure_as_a_batch_when_it_is_found():
    river = pytest.importorskip("opforest.river.classifier")
    X, y = load_iris(return_X_y=True)
    model, batch = river.OPFClassifier(), OPFClassifier().fit(X, y)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), label)
    for x, expected in zip(X[:20] + 0.03, batch.predict_proba(X[:20] + 0.03), strict=True):
        found = model.predict_proba_one(dict(enumerate(x.tolist())))
        np.testing.assert_allclose(list(found.values()), expected, rtol=1e-9)
