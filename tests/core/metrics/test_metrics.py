import pickle

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.distance import cdist
from tests.oracles import forest as oracle
from tests.support.measurement import COMMON, PARAMS, REDUCED, jitted_manhattan
from tests.support.strategies import learning_problems

from opforest import OPFClassifier
from opforest.core.metrics.registry import ALIASES, METRIC_NAMES
from opforest.metrics import resolve

#: Parameters without a default.
NEEDED = {"seuclidean": {"V": [1.0]}, "mahalanobis": {"V": [[1.0]]}}


def own_units(name, X, Y):
    """The metric's definition, by SciPy where it has one."""
    D2 = cdist(X, Y, "sqeuclidean")
    return {
        "log_squared_euclidean": lambda: 1e5 * np.log(1 + D2),
        "gaussian": lambda: 1 - np.exp(-0.5 * D2),
        "chi_squared": lambda: 0.5 * np.array([[oracle.chi_squared(x, y) for y in Y] for x in X]),
        "squared_chi_squared": lambda: np.array([[oracle.chi_squared(x, y) for y in Y] for x in X]),
        "squared_chord": lambda: cdist(np.sqrt(X), np.sqrt(Y), "sqeuclidean"),
        "manhattan": lambda: cdist(X, Y, "cityblock"),
        "minkowski": lambda: cdist(X, Y, "minkowski", p=3),
    }.get(name, lambda: cdist(X, Y, name))()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", COMMON)
def test_values_are_in_the_metrics_own_units(name, dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 6, (30, 5)).astype(dtype)
    X[:, 0] += rng.random(30).astype(dtype)
    y = np.arange(30) % 3
    params = {"minkowski": {"p": 3}, "gaussian": {"gamma": 0.5}}.get(name)
    clf = OPFClassifier(name, metric_params=params).fit(X[:20], y[:20])
    expected = own_units(name, X[20:].astype(np.float64), X[:20].astype(np.float64))
    index, cost = clf.conquerors(X[20:])
    offers = np.maximum(clf.forest_.cost, expected)
    rtol = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(cost, offers.min(axis=1), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(
        offers[np.arange(10), index], offers.min(axis=1), rtol=rtol, atol=rtol
    )
    assert cost.dtype == dtype


@pytest.mark.parametrize("name", REDUCED)
@settings(max_examples=40)
@given(problem=learning_problems(max_d=20, max_n=9, non_negative=True))
def test_a_pair_has_one_value_in_every_code_path(name, problem):
    """Tree weights, search and the oracle agree to the bit, in both directions."""
    X, _, Q = problem
    if name == "braycurtis":
        X, Q = X + X.dtype.type(1), Q + X.dtype.type(1)
    D = oracle.table(X, REDUCED[name])
    assert np.array_equal(D, D.T)
    clf = OPFClassifier(name, metric_params=PARAMS.get(name)).fit(X, np.zeros(len(X)))
    forest = clf.forest_
    model = forest.storage.model()
    for v, u in enumerate(model.parent):
        if u >= 0:
            assert model.weight[v] == D[u, v]
    for v in range(len(X)):  # a forest of one example offers the plain distance
        alone = OPFClassifier(name, metric_params=PARAMS.get(name)).fit(X[v : v + 1], [0])
        queries = alone.forest_.queries
        _, offer = queries.find(queries.prepare(Q))
        assert np.array_equal(offer, oracle.table(X[v : v + 1], REDUCED[name], Q)[:, 0])


def test_monotone_relatives_share_one_kernel():
    kernels = {
        name: type(resolve(name, NEEDED.get(name)).kernel).__name__
        for name in METRIC_NAMES
        if name != "precomputed"
    }
    shared = {name for name, kernel in kernels.items() if kernel == "SquaredEuclidean"}
    assert shared == {
        "euclidean", "sqeuclidean", "log_squared_euclidean", "gaussian", "cosine", "correlation",
        "squared_chord", "minkowski", "log_euclidean", "average_euclidean", "chord", "matusita",
        "hellinger", "bhattacharyya", "haversine", "mahalanobis", "seuclidean",
    }  # fmt: skip
    assert kernels["chi_squared"] == kernels["squared_chi_squared"]
    for p, name in ((1, "manhattan"), (2, "euclidean"), (np.inf, "chebyshev")):
        assert resolve("minkowski", {"p": p}).kernel == resolve(name).kernel


def test_an_embedded_row_does_not_depend_on_the_rows_beside_it():
    X = np.random.default_rng(0).normal(size=(50, 17))
    for name in ("cosine", "correlation"):
        embed = resolve(name).embed
        together = embed(np.asfortranarray(X))
        for i in range(50):
            assert np.array_equal(embed(X[i : i + 1])[0], together[i])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("euclidian", "Did you mean 'euclidean'?"),
        ("manhatan", "Did you mean 'manhattan'?"),
        ("chi_square", "Did you mean 'chi_squared'?"),
        ("mahattan", "Did you mean 'manhattan'?"),
        ("Euclidean", "Did you mean 'euclidean'?"),
        ("cityblok", "Did you mean 'cityblock'?"),
    ],
)
def test_unknown_names_get_a_suggestion(name, hint):
    with pytest.raises(
        ValueError, match=r"metric must be one of \['additive_symmetric'.*or a callable"
    ) as error:
        OPFClassifier(name).fit([[0.0], [1.0]], [0, 1])
    assert hint in str(error.value)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize(
    ("alias", "name"),
    [("euclid", "euclidean"), ("l1", "manhattan"), ("chi2", "chi_squared"), *ALIASES.items()],
)
def test_other_names_mean_the_same_metrics(alias, name):
    assert resolve(alias) == resolve(name)


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("zzzzzzz", None, "no metric 'zzzzzzz'. metric must be one of"),
        (3, None, "got 3"),
        ("euclidean", {"p": 3}, "takes no parameters in metric_params, got \\['p'\\]"),
        ("minkowski", {"q": 3}, "takes only 'p' and 'w'"),
        ("minkowski", {"p": 0}, "p > 0, got 0"),
        ("gaussian", {"gamma": -1}, "gamma > 0, got -1"),
    ],
)
def test_bad_metrics_and_parameters(metric, params, message):
    with pytest.raises(ValueError, match=message):
        OPFClassifier(metric, metric_params=params).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("metric", "X", "message"),
    [
        ("cosine", [[1.0, 2.0], [0.0, 0.0]], "zero vector, and row 1"),
        ("correlation", [[1.0, 2.0], [3.0, 3.0]], "all equal, and row 1"),
        ("chi_squared", [[1.0, 2.0], [3.0, -4.0]], "Negative values in data.*row 1, column 1"),
        ("squared_chord", [[1.0, -2.0], [3.0, 4.0]], "Negative values in data"),
        ("braycurtis", [[1.0, -2.0], [-1.0, 2.0]], "undefined .* examples 0 and 1"),
        ("euclidean", [[1e200, 0.0], [0.0, 0.0]], "Features are too large.*1e\\+200"),
        ("manhattan", [[1e308, 0.0], [-1e308, 0.0]], "Features are too large"),
        ("canberra", [[1e308, 0.0], [-1e308, 0.0]], "Features are too large"),
    ],
)
def test_a_metric_that_is_undefined_on_the_data_says_so(metric, X, message):
    with pytest.raises(ValueError, match=message):
        OPFClassifier(metric).fit(X, [0, 1])
    fine = OPFClassifier(metric).fit([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], [0, 1, 1])
    bad_query = [[-1.0, -2.0]] if metric == "braycurtis" else X
    with pytest.raises(ValueError, match=r"undefined|Negative|too large"):
        fine.predict(bad_query)


def test_two_zero_vectors_are_the_same_to_bray_curtis():
    clf = OPFClassifier("braycurtis").fit([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [0, 0, 1])
    assert clf.predict([[0.0, 0.0]]).tolist() == [0]


@numba.njit
def jitted_undefined(x, y):
    """Return a valid distance, or an invalid one of three kinds."""
    apart = abs(x[0] - y[0])
    if 5 < apart < 10:
        return np.nan
    if 10 < apart < 12:
        return -1.0
    return apart if apart < 20 else np.inf


def python_manhattan(x, y, weight=1.0):
    return float(weight * np.abs(x - y).sum())


def test_functions_of_users():
    rng = np.random.default_rng(1)
    X, Q = rng.integers(0, 5, (40, 3)).astype(float), rng.integers(0, 5, (20, 3)).astype(float)
    y = rng.integers(0, 3, 40)
    named = OPFClassifier("manhattan").fit(X, y)
    jitted = OPFClassifier(jitted_manhattan).fit(X, y)
    with pytest.warns(UserWarning, match=r"'python_manhattan'.*@numba\.njit") as caught:
        python = OPFClassifier(python_manhattan).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="njit"):
        doubled = OPFClassifier(python_manhattan, metric_params={"weight": 2.0}).fit(X, y)
    for clf, unit in ((jitted, 1), (python, 1), (doubled, 2)):
        assert np.array_equal(clf.forest_.edges, named.forest_.edges)
        assert np.array_equal(clf.forest_.cost, named.forest_.cost * unit)
        assert np.array_equal(clf.predict(Q), named.predict(Q))
        assert np.array_equal(clf.class_costs(Q), named.class_costs(Q) * unit)
        again = pickle.loads(pickle.dumps(clf))
        assert np.array_equal(again.predict(Q), named.predict(Q))
        clf.forest_.check()


def test_bad_functions_of_users():
    X = [[0.0], [1.0], [9.0]]
    with pytest.raises(ValueError, match="'jitted_undefined' must give a finite"):
        OPFClassifier(jitted_undefined).fit(X, [0, 0, 1])
    for bad in ([[0.0], [11.0]], [[0.0], [15.0], [30.0]]):  # the tree would not need 0 to 30
        with pytest.raises(ValueError, match="undefined"):
            OPFClassifier(jitted_undefined).fit(bad, [0, 0, 1][: len(bad)])
    fine = OPFClassifier(jitted_undefined).fit(X[:2], [0, 1])
    assert fine.predict([[2.0]]).tolist() == [1]
    with pytest.raises(ValueError, match="query 1 and a training example"):
        fine.predict([[2.0], [8.0]])
    with pytest.raises(ValueError, match="Put them into the function"):
        OPFClassifier(jitted_manhattan, metric_params={"weight": 1}).fit(X, [0, 0, 1])
    with (
        pytest.warns(UserWarning, match=r"njit"),
        pytest.raises(ValueError, match=r"undefined .* for rows 0 and 1 of X"),
    ):
        OPFClassifier(lambda x, y: np.nan).fit(X, [0, 0, 1])


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


@numba.njit
def of_three(x, y, z):
    return 0.0


def test_functions_that_are_no_metrics():
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
