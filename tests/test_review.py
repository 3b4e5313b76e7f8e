"""What reviewers broke, each mended and kept mended."""

import pickle
import warnings

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from opforest import OPFClassifier
from opforest.river import OPFClassifier as StreamClassifier
from opforest.scores import opf_accuracy
from test_updates import assert_same_model, insertions_only


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return OPFClassifier("chi_squared").fit(rng.random((60, 2)), rng.integers(0, 2, 60))


def test_a_failed_fit_leaves_the_old_model(model):
    before = pickle.dumps(model)
    queries = np.random.default_rng(1).random((3, 2))
    expected = model.predict(queries)
    for X, y in ((-np.ones((20, 40)), np.arange(20) % 2), (np.ones((4, 3)), [0.1, 0.2, 0.3, 0.4])):
        with pytest.raises(ValueError):
            model.fit(X, y)
        assert pickle.dumps(model) == before
        assert np.array_equal(model.predict(queries), expected)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.conquerors(np.ones((3, 40)))


def test_a_failed_first_fit_leaves_nothing():
    for method in ("fit", "partial_fit"):
        clf = OPFClassifier()
        with pytest.raises(ValueError, match="continuous"):
            getattr(clf, method)([[1.0], [2.0]], [0.5, 0.7])
        assert vars(clf) == vars(OPFClassifier())
        with pytest.raises(NotFittedError):
            clf.predict([[1.0]])


def test_labels_that_a_common_type_cannot_tell_apart_are_an_error():
    a = 2**53
    clf = OPFClassifier().fit([[0.0], [1.0], [5.0]], [a, a + 1, a + 1])
    before = pickle.dumps(clf)
    with pytest.raises(ValueError, match="cannot be told apart as float64"):
        clf.partial_fit([[10.0]], [7.0])
    assert pickle.dumps(clf) == before
    unsigned = OPFClassifier().fit([[0.0], [1.0]], np.array([2**63, 2**63 + 1], np.uint64))
    with pytest.raises(ValueError, match="cannot be told apart"):
        unsigned.partial_fit([[10.0]], [-1])


def test_announcing_no_classes_keeps_the_type_of_labels():
    clf = OPFClassifier().fit([[0.0], [1.0]], [0, 1]).partial_fit([[2.0]], [0], classes=[])
    assert clf.classes_.dtype == np.int64


def test_tables_symmetric_but_for_rounding_have_one_value_for_each_pair():
    D = np.array([[0, 1, 1.000001], [1, 0, 1], [1, 1, 0.0]])
    y = [0, 1, 0]
    rng = np.random.default_rng(0)
    noisy = np.abs(rng.integers(0, 4, (12, 1)) - rng.integers(0, 4, 12)) + 1.0
    noisy = (noisy + noisy.T) * (1 + 1e-7 * rng.random((12, 12)))
    for table, label in ((D, y), (noisy, np.arange(12) % 2)):
        whole = OPFClassifier("precomputed").fit(table, label)
        n = len(label) // 2
        with insertions_only():
            grown = OPFClassifier("precomputed").fit(table[:n, :n], label[:n])
            grown.partial_fit(table[n:], label[n:])
        assert_same_model(grown, whole, table)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 2e-2)])
def test_correlation_does_not_suffer_from_an_offset(dtype, tolerance):
    X = np.random.default_rng(0).normal(size=(20, 8))
    offset = X + (1e6 if dtype == np.float64 else 1e3)
    y = np.arange(20) % 2
    plain = OPFClassifier("correlation").fit(X, y).class_costs(X[::-1] * 2)
    moved = OPFClassifier("correlation").fit(offset.astype(dtype), y)
    np.testing.assert_allclose(
        moved.class_costs((offset[::-1] * 2).astype(dtype)), plain, atol=tolerance
    )


def test_a_metric_changed_after_fit_is_an_error(model):
    for params in ({"metric": "manhattan"}, {"metric": "minkowski", "metric_params": {"p": 3}}):
        clf = pickle.loads(pickle.dumps(model)).set_params(**params)
        with pytest.raises(ValueError, match="learned with metric 'chi_squared'"):
            clf.partial_fit([[1.0, 1.0]], [0])


def test_underflow_is_said():
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match="differ so little.*float32") as caught:
        OPFClassifier().fit((1e-24 * X).astype(np.float32), y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Rescale"):
        OPFClassifier().fit(1e-165 * X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric, scale in (("euclidean", 1e-100), ("manhattan", 1e-200)):
            OPFClassifier(metric).fit(scale * X, y)


def test_frames_of_precomputed_distances_grow():
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = np.abs(X[:, None] - X).sum(axis=2)
    frame = pd.DataFrame(D, columns=[f"s{i}" for i in range(30)])
    y = np.arange(30) % 2
    clf = OPFClassifier("precomputed").fit(frame.iloc[:28, :28], y[:28])
    clf.partial_fit(frame.iloc[28:], y[28:])
    assert clf.predict(D[:3]).shape == (3,)
    assert not hasattr(clf, "feature_names_in_")


@numba.njit
def sometimes_infinite(x, y):
    return np.inf if abs(x[0] - y[0]) > 3 else abs(x[0] - y[0])


@numba.njit
def of_three(x, y, z):
    return 0.0


def test_functions_that_are_no_metrics():
    with pytest.raises(ValueError, match="undefined"):
        OPFClassifier(sometimes_infinite).fit([[0.0], [2.0], [4.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="must take two 1-D arrays of float64"):
        OPFClassifier(of_three).fit([[0.0], [2.0]], [0, 1])

    def greedy(x, y):
        x -= y
        return float(abs(x).sum())

    with (
        pytest.warns(UserWarning, match="njit"),
        pytest.raises(ValueError, match="read-only"),
    ):
        OPFClassifier(greedy).fit([[0.0], [2.0]], [0, 1])
    for params in ({"p": "3"}, {"p": None}):
        with pytest.raises(ValueError, match="p > 0"):
            OPFClassifier("minkowski", metric_params=params).fit([[0.0]], [0])


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


def test_a_stream_that_fails_after_its_update_was_changed_is_as_before():
    stream = StreamClassifier()
    for i in range(6):
        stream.learn_one({"a": float(i)}, i % 2)
    stream.update = "opfi"
    with pytest.raises(ValueError, match="too large"):
        stream.learn_one({"a": 1e200}, 0)
    stream.update = "exact"
    stream.learn_one({"a": 3.5}, 0)
    assert len(stream.forest) == 7


def test_streams_tell_the_order_of_their_features():
    stream = StreamClassifier()
    stream.learn_one({"z": 1.0, "b": 2.0}, 0)
    stream.learn_one({"a": 1.0}, 1)
    assert stream.features == ["b", "z", "a"]


def test_small_things():
    with pytest.raises(ValueError, match="at least one label"):
        opf_accuracy([], [])
    frame = pd.DataFrame({"left": [0.0, 1.0, 4.0], "right": [1.0, 0.0, 2.0]})
    clf = OPFClassifier().fit(frame, [0, 0, 1])
    assert clf.explain(frame.iloc[2]).label == 1
    many = OPFClassifier().fit(np.arange(60.0)[:, None], np.arange(60) // 2)
    many.partial_fit(np.arange(30.0)[:, None], np.arange(30))  # no talk of regression


def test_dollars_are_no_formulas():
    from matplotlib import pyplot as plt

    from opforest.plotting import ForestDisplay

    frame = pd.DataFrame({"$x_$": [0.0, 1.0, 4.0], "y": [1.0, 0.0, 2.0]})
    clf = OPFClassifier().fit(frame, ["$b^$", "$b^$", "c"])
    display = ForestDisplay.from_estimator(clf, frame, grid_resolution=10)
    display.figure_.canvas.draw()
    plt.close(display.figure_)
