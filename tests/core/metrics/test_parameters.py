"""Metrics whose parameters have an entry for each feature, and the one of the globe."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import haversine_distances
from tests.support.comparison import same_forest
from tests.support.strategies import learning_problems

import opforest
from opforest import Learner, OPFClassifier, OPFClustering
from opforest.metrics import resolve

COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.5]])

#: Metric, parameters, and SciPy's name and arguments.
CASES = [
    ("seuclidean", {"V": [0.5, 2.0, 9.0]}, {"V": [0.5, 2.0, 9.0]}),
    ("mahalanobis", {"V": COVARIANCE}, {"VI": np.linalg.inv(COVARIANCE)}),
    ("mahalanobis", {"VI": COVARIANCE}, {"VI": COVARIANCE}),
    ("minkowski", {"p": 3, "w": [0.5, 2.0, 0.0]}, {"p": 3, "w": [0.5, 2.0, 0.0]}),
    ("minkowski", {"p": 1, "w": [0.5, 2.0, 1.0]}, {"p": 1, "w": [0.5, 2.0, 1.0]}),
    ("minkowski", {"p": 2, "w": [0.5, 2.0, 1.0]}, {"p": 2, "w": [0.5, 2.0, 1.0]}),
    ("minkowski", {"p": np.inf, "w": [0.5, 2.0, 0.0]}, {"p": np.inf, "w": [0.5, 2.0, 0.0]}),
]


def random_problem(seed=0, n=60, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)).round(1).astype(dtype), np.arange(n) % 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "params", "others"), CASES)
def test_values_are_those_of_scipy(name, params, others, dtype):
    X, y = random_problem(dtype=dtype)
    clf = OPFClassifier(name, metric_params=params).fit(X[:40], y[:40])
    D = cdist(X[40:].astype(float), X[:40].astype(float), name, **others)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    distances, ids = clf.kneighbors(X[40:], 40)
    np.testing.assert_allclose(distances, np.sort(D), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        np.take_along_axis(D, ids, axis=1), distances, rtol=tolerance, atol=tolerance
    )
    offers = np.maximum(clf.forest_.cost, D)
    np.testing.assert_allclose(clf.conquerors(X[40:])[1], offers.min(axis=1), rtol=tolerance)
    assert distances.dtype == dtype


@settings(max_examples=40)
@given(problem=learning_problems(max_d=3, max_n=12))
def test_weights_of_one_change_nothing(problem):
    X, y, Q = problem
    ones = np.ones(X.shape[1])
    for metric, params, plain in (
        ("minkowski", {"p": 3, "w": ones}, {"p": 3}),
        ("minkowski", {"p": 2, "w": ones}, {"p": 2}),
        ("seuclidean", {"V": ones}, {"p": 2}),
        ("mahalanobis", {"VI": np.diag(ones)}, {"p": 2}),
        ("mahalanobis", {"V": np.diag(ones)}, {"p": 2}),
    ):
        one = OPFClassifier(metric, metric_params=params).fit(X, y)
        other = OPFClassifier("minkowski", metric_params=plain).fit(X, y)
        np.testing.assert_array_equal(one.forest_.points, X)
        np.testing.assert_array_equal(one.forest_.edges, other.forest_.edges)
        np.testing.assert_array_equal(one.conquerors(Q)[0], other.conquerors(Q)[0])


@given(
    st.lists(st.tuples(st.floats(-1.5, 1.5), st.floats(-3.1, 3.1)), min_size=2, max_size=9),
)
def test_haversine_is_that_of_scikit_learn(places):
    X = np.array(places)
    clf = OPFClassifier("haversine").fit(X, np.zeros(len(X)))
    D = haversine_distances(X)
    found = np.array([
        OPFClassifier("haversine").fit(x[None], [0]).conquerors(X)[1] for x in X
    ])  # fmt: skip
    # Near the other side of the globe, the sine of half the arc hardly changes.
    np.testing.assert_allclose(found, D, atol=2e-7)
    assert clf.n_features_in_ == 2
    assert clf.forest_.points.shape[1] == 3


def test_degrees_and_other_features_are_refused():
    for X, message in (
        ([[52.5, 13.4], [48.1, 11.6]], r"latitude of row 0 of X is 52.5.*np.radians"),
        ([[0.5, 13.4], [0.1, 0.6]], r"longitude of row 0 of X is 13.4"),
        ([[0.5], [0.1]], "two features, the latitude and the longitude in radians, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            OPFClassifier("haversine").fit(X, [0, 1])


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("seuclidean", None, r"needs metric_params=\{'V': the variances.*X.var\(axis=0\)"),
        ("seuclidean", {"V": [1.0, 0.0]}, "positive variances V, got 0 for feature 1"),
        ("seuclidean", {"V": [1.0, np.nan]}, "finite numbers, got"),
        ("seuclidean", {"V": 3.0}, "finite numbers, got 3.0"),
        ("seuclidean", {"V": [1.0]}, "V of metric 'seuclidean' is for 1 features, but X has 2"),
        ("seuclidean", {"V": [1e-308, 1e-308]}, "Features are too large"),
        ("mahalanobis", None, "needs metric_params=.*np.cov"),
        ("mahalanobis", {"V": np.eye(2), "VI": np.eye(2)}, "not both"),
        ("mahalanobis", {"V": [[1.0, 2.0], [2.0, 1.0]]}, "positive definite.*small number"),
        ("mahalanobis", {"V": [[1.0, 0.5], [0.0, 1.0]]}, "symmetric"),
        ("mahalanobis", {"V": [[1.0, 0.5]]}, "symmetric"),
        ("mahalanobis", {"V": "abc"}, "finite numbers"),
        ("minkowski", {"w": [1.0, -1.0]}, "not negative"),
        ("minkowski", {"w": [0.0, 0.0]}, "at least one that is not 0"),
        ("minkowski", {"w": [1.0, 1.0, 1.0]}, "is for 3 features, but X has 2"),
    ],
)
def test_bad_parameters(metric, params, message):
    with pytest.raises(ValueError, match=message):
        OPFClassifier(metric, metric_params=params).fit([[0.0, 1.0], [1.0, 2.0]], [0, 1])


@pytest.mark.parametrize(("name", "params", "others"), CASES)
def test_a_row_is_embedded_alone_as_among_others(name, params, others):
    X, _ = random_problem()
    embed = resolve(name, params).embed
    together = embed(np.asfortranarray(X))
    for i, row in enumerate(X):
        assert np.array_equal(embed(row[None])[0], together[i])


def test_the_triangles_are_right():
    """Against exact arithmetic: L Lᵀ = V, and the embedding multiplies by the inverse of L."""
    V = np.array([[4.0, 2.0], [2.0, 5.0]])
    assert np.array_equal(resolve("mahalanobis", {"VI": V}).embedding.scale, [[2, 0], [1, 2]])
    inverse = resolve("mahalanobis", {"V": V}).embedding.scale
    assert np.array_equal(inverse.T, [[Fraction(1, 2), 0], [Fraction(-1, 4), Fraction(1, 2)]])


@pytest.mark.parametrize(("name", "params", "others"), [*CASES, ("haversine", None, None)])
def test_saved_models_are_the_same(name, params, others, tmp_path):
    X, y = random_problem()
    X = X[:, :2] / 4 if name == "haversine" else X
    path = str(tmp_path / "model")
    clf = OPFClassifier(name, metric_params=params).fit(X[:40], y[:40])
    opforest.save(clf, path)
    loaded = opforest.load(path)
    assert loaded.forest_.metric == clf.forest_.metric
    expected = clone(clf).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:]).forget([3, 41])
    for one in (loaded, pickle.loads(pickle.dumps(clf)), clf):
        one.partial_fit(X[40:], y[40:]).forget([3, 41])
        assert same_forest(one, expected)
    opforest.save(loaded, path)
    groups = OPFClustering(5, metric=name, metric_params=params).fit(X)
    opforest.save(groups, path)
    assert np.array_equal(opforest.load(path).predict(X), groups.predict(X))
    store = str(tmp_path / "store")
    with Learner(store, metric=name, metric_params=params) as learner:
        learner.learn(X[:40], y[:40])
        expected = learner.predict(X)
    with Learner(store) as learner:
        assert np.array_equal(learner.predict(X), expected)
    with Learner(store, metric=name, metric_params=params) as learner:
        assert np.array_equal(learner.predict(X), expected)


def test_changed_parameters_are_noticed(tmp_path):
    X, y = random_problem()
    clf = OPFClassifier("seuclidean", metric_params={"V": X.var(axis=0)}).fit(X, y)
    clf.set_params(metric_params={"V": X.var(axis=0)}).partial_fit(X[:2], y[:2])
    clf.set_params(metric_params={"V": list(X.var(axis=0))}).partial_fit(X[:2], y[:2])
    clf.set_params(metric_params={"V": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="have been changed since"):
        clf.partial_fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="Fit it again"):
        opforest.save(clf, str(tmp_path / "model"))


def test_streams_refuse_parameters_for_certain_features():
    stream = pytest.importorskip("opforest.river")
    for metric, params in (
        ("seuclidean", {"V": [1.0]}),
        ("minkowski", {"w": [1.0]}),
        ("mahalanobis", {"V": [[1.0]]}),
        ("haversine", None),
    ):
        with pytest.raises(ValueError, match="cannot learn from a stream"):
            stream.OPFClassifier(metric, params).learn_one({"x": 1.0}, 0)


@pytest.mark.parametrize(("name", "params", "others"), CASES)
def test_examples_are_restored_from_points(name, params, others):
    X, _ = random_problem()
    metric = resolve(name, params)
    found = metric.restore(metric.embed(X))
    known = ~np.isnan(found)
    np.testing.assert_allclose(found[known], X[known], atol=1e-12)
    assert known.all(axis=0).sum() == (2 if 0.0 in (others.get("w") or ()) else 3)


def test_places_are_restored_from_the_sphere():
    X = np.radians([[52.5, 13.4], [-33.9, 151.2], [90.0, 0.0]])
    metric = resolve("haversine")
    np.testing.assert_allclose(metric.restore(metric.embed(X)), X, atol=1e-9)
    assert metric.to_units(np.array([4.0]), 2)[0] == math.pi
