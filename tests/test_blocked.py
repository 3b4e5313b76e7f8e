"""Conquerors by matrix products and by the scan: the same bits."""

import threading
import warnings
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController

import oracle
from opforest import OPFClassifier, indexing
from opforest._blas import one_blas_thread
from opforest.kernels import boruvka_by_products, products
from opforest.kernels.boruvka_by_products import span_by_products
from opforest.kernels.products import find_conquerors_by_products
from opforest.kernels.search import find_conquerors, rank
from opforest.kernels.spanning_tree import span
from opforest.metrics import SquaredEuclidean
from strategies import DTYPES, learning_problems
from test_updates import assert_same_model

SQUARED = SquaredEuclidean()


def always():
    """Let products be used for any number of queries and features."""
    return patch.multiple(indexing, FEATURES_FOR_PRODUCTS=1, WORTH_PRODUCTS=1)


def find_all(X, cost, Q, block=products.BLOCK, patience=products.PATIENCE):
    """Return what products find, after a comparison with the scan and the oracle."""
    ranking = rank(X, np.arange(len(X)), cost, SQUARED)
    with patch.multiple(products, BLOCK=block, PATIENCE=patience), warnings.catch_warnings():
        warnings.simplefilter("error")
        winner, offer = find_conquerors_by_products(Q, X, ranking, SQUARED)
    for other in (find_conquerors(Q, X, ranking, SQUARED), slow(X, cost, Q)):
        assert np.array_equal(winner, other[0])
        assert np.array_equal(offer, other[1])
        assert offer.dtype == other[1].dtype
    return winner, offer


def slow(X, cost, Q):
    if X.size * len(Q) > 10**6:  # the oracle takes seconds
        return find_conquerors(Q, X, rank(X, np.arange(len(X)), cost, SQUARED), SQUARED)
    return oracle.conquerors(cost, oracle.table(X, oracle.squared_euclidean, Q))


def count_measured(X, cost, Q):
    """Return how many distances a query needs on average."""
    seen = []
    make = products.Found

    def keep(*arrays):
        seen.append(make(*arrays))
        return seen[-1]

    with patch.object(products, "Found", keep):
        find_all(X, cost, Q)
    return seen[0].measured.mean()


def data(n, d, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 50, d)).astype(dtype)
    cost = (d * rng.random(n)).astype(dtype)
    cost[rng.random(n) < 0.3] = 0
    return X[:n], cost, X[n:]


@settings(max_examples=200)
@given(
    problem=learning_problems(max_n=40, max_d=40, queries=12),
    offset=st.sampled_from([0, 0, 1e3, 1e6, 1e9]),
    scale=st.sampled_from([1, 1, 1e-19, 1e-23, 1e-40, 1e-160, 1e-310, 1e8]),
    block=st.sampled_from([3, 8, 256]),
    patience=st.sampled_from([0, 3, 64]),
    levels=st.integers(1, 5),
)
def test_any_data(problem, offset, scale, block, patience, levels):
    X, _, Q = problem
    X, Q = ((a * scale + offset).astype(X.dtype) for a in (X, Q))
    D = oracle.table(X, oracle.squared_euclidean)
    step = D.max() / levels
    cost = D[0] // step * step if step > 0 else D[0]
    cost = np.nan_to_num(cost).astype(X.dtype)
    find_all(X, cost, Q, block, patience)
    find_all(X, np.zeros_like(cost), Q, block, patience)


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=60, max_d=40, queries=9),
    offset=st.sampled_from([0, 0, 1e6, 1e9]),
    n_jobs=st.sampled_from([None, 1, 2]),
)
def test_models_are_the_same(problem, offset, n_jobs):
    X, y, Q = problem
    X, Q = X + X.dtype.type(offset), Q + X.dtype.type(offset)
    scan = OPFClassifier(algorithm="brute").fit(X, y)
    offers, costs = scan.conquerors(Q), scan.class_costs(Q)
    with always():
        blocked = OPFClassifier(algorithm="brute", n_jobs=n_jobs).fit(X, y)
        assert indexing.products_pay(len(Q), blocked.forest_._ranking, X, blocked.forest_.metric)
        assert_same_model(blocked, scan, Q)
        for a, b in zip(blocked.conquerors(Q), offers, strict=True):
            assert np.array_equal(a, b)
        assert np.array_equal(blocked.class_costs(Q), costs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestHardCases:
    """Each made to break a bound that is too small, or to take for ever."""

    def test_plain(self, dtype):
        assert count_measured(*data(1000, 30, dtype)) < 10

    def test_far_from_the_origin(self, dtype):
        """Centring takes the offset away: as few distances are measured as without it."""
        X, cost, Q = data(1000, 30, dtype)
        offset = dtype(1e3 if dtype is np.float32 else 1e9)
        assert count_measured(X + offset, cost, Q + offset) < 10

    def test_two_clusters_far_apart(self, dtype):
        """No centre helps: estimates are worth nothing, and queries go to the scan."""
        X, cost, Q = data(3000, 30, dtype)
        far = dtype(1e5 if dtype is np.float32 else 1e10)
        X[::2] += far
        Q[::2] += far
        assert count_measured(X, cost, Q) > products.PATIENCE

    def test_one_far_away(self, dtype):
        X, cost, Q = data(1000, 30, dtype)
        X[7] = 1e12
        find_all(X, cost, Q)

    def test_copies(self, dtype):
        X, cost, Q = data(600, 30, dtype)
        X[300:] = X[:300]
        cost[:] = np.repeat(cost[:20], 30)
        find_all(X, cost, np.concatenate((Q, X[:50], X[:1])))
        find_all(np.repeat(X[:1], 600, axis=0), cost, Q)

    def test_grid(self, dtype):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (700, 26)).astype(dtype)
        find_all(X[:650], rng.integers(0, 4, 650).astype(dtype), X[650:])

    @pytest.mark.parametrize("power", [-0.5, -0.48, -0.45, -0.9, -1.04])
    def test_underflow(self, dtype, power):
        X, cost, Q = data(300, 30, dtype)
        scale = dtype(float(np.finfo(dtype).tiny) ** -power)
        find_all(X * scale, (cost * scale * scale).astype(dtype), Q * scale)

    @pytest.mark.parametrize("share", [1, 0.999, 0.5, 1e-3])
    def test_as_large_as_allowed(self, dtype, share):
        X, _, Q = data(300, 30, dtype)
        limit = (float(np.finfo(dtype).max) / (4 * 30)) ** 0.5 / 2
        X, Q = (np.clip(a / 2, -1, 1) * dtype(limit * share) for a in (X, Q))
        X[::3] = np.sign(X[::3]) * dtype(limit * share)
        clf = OPFClassifier(algorithm="brute").fit(X, np.arange(300) % 2)
        find_all(X, clf.forest_.state.cost, Q)

    def test_norms_near_overflow(self, dtype):
        """Larger than the estimator allows; distances are finite, estimates may not be."""
        rng = np.random.default_rng(0)
        side = dtype(float(np.finfo(dtype).max) ** 0.5 / 4)
        X, Q = (side * rng.choice([-1, 1, 0.9], (m, 3)).astype(dtype) for m in (200, 30))
        find_all(X, np.zeros(200, dtype), Q)

    def test_centre_overflows(self, dtype):
        X = np.full((40, 3), np.finfo(dtype).max)
        find_all(X, np.zeros(40, dtype), X.copy())

    @pytest.mark.parametrize("power", [0, 0.45, 0.5, 0.55])
    @pytest.mark.parametrize("d", [1, 2, 31, 2000])
    def test_no_estimate_is_too_high(self, dtype, d, power):
        """The proof, put to the test: estimates against distances that all but cancel."""
        rng = np.random.default_rng(d)
        base = rng.normal(size=d) * 10.0 ** rng.integers(-3, 4, d)
        near = base + 1e-4 * rng.normal(size=(40, d))
        X = np.concatenate((near, -near)) * float(np.finfo(dtype).tiny) ** power
        X = X.astype(dtype)
        for centre in (np.zeros(d, dtype), X.mean(axis=0), X[0]):
            points, norm = products.centre_points(X, centre)
            factor = points * (-2 * products.share_kept(points))
            estimate = factor @ points.T + (norm[:, None] + norm)
            distance = oracle.table(X, squared_in_order)
            assert (estimate <= distance).all()
            # Nor is the bound far too low: it is about as wide again as the errors may be.
            size = np.einsum("ij,ij->i", points, points)
            width = (3 * d + 20) * np.finfo(dtype).eps * (size[:, None] + size + distance)
            assert (estimate >= distance - width - 20 * d * np.finfo(dtype).tiny).all()


def squared_in_order(x, y):
    """``oracle.squared_euclidean``, faster: ``cumsum`` adds one after another."""
    return np.cumsum((x - y) * (x - y))[-1]


@given(dtype=DTYPES, d=st.integers(1, 50))
def test_sums_in_order(dtype, d):
    x, y = np.random.default_rng(d).normal(size=(2, d)).astype(dtype)
    assert squared_in_order(x, y) == oracle.squared_euclidean(x, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "squared_chord", "gaussian"])
def test_threads_and_metrics(dtype, metric):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 40)).astype(dtype)
    y = rng.integers(0, 3, 2000)
    clf = OPFClassifier(metric, algorithm="brute").fit(X[:2000], y)
    with patch.object(indexing, "WORTH_PRODUCTS", np.inf):
        expected = (*clf.conquerors(X[2000:]), clf.class_costs(X[2000:]))
    for n_jobs in (None, 1, 2):
        clf.set_params(n_jobs=n_jobs)
        for per_call in (300, 8192):
            with patch.object(indexing, "QUERIES_PER_CALL", per_call):
                found = (*clf.conquerors(X[2000:]), clf.class_costs(X[2000:]))
            for a, b in zip(found, expected, strict=True):
                assert np.array_equal(a, b)


def test_when_products_pay():
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 40)), rng.integers(0, 2, 300)

    def pay(metric="euclidean", d=40, n_queries=1000):
        forest = OPFClassifier(metric).fit(X[:, :d], y).forest_
        ranking = forest._ranking_for(n_queries)
        return indexing.products_pay(n_queries, ranking, forest.state.rows, forest.metric)

    assert pay()
    assert pay("cosine")
    assert not pay("manhattan")
    assert not pay(d=10)
    assert not pay(n_queries=100)


def test_parts_are_even():
    X = np.random.default_rng(0).random((50, 40))
    forest = OPFClassifier().fit(X, X[:, 0] > 0.5).forest_
    part = indexing.queries_per_call(8193, forest._ranking, X, forest.metric)
    assert part == 4097


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in libraries]


def test_one_blas_thread_gives_back_what_it_found():
    before = blas_threads()
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            second_is_in.set()
            first_is_out.wait(60)

    thread = threading.Thread(target=second)
    with one_blas_thread():
        thread.start()
        second_is_in.wait(60)
        assert set(blas_threads()) == {1}
    first_is_out.set()
    thread.join()
    assert blas_threads() == before
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == before
    with one_blas_thread(), one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_threads_of_the_user_leave_the_setting_alone():
    before = blas_threads()
    X = np.random.default_rng(0).random((2000, 40))
    clf = OPFClassifier(algorithm="brute", n_jobs=2).fit(X[:1000], X[:1000, 0] > 0.5)
    expected = clf.conquerors(X)[0].tolist()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(clf.conquerors(X)[0].tolist()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6
    assert blas_threads() == before


def span_both(X, others=2048, block=256, rough=1.0, n_jobs=1):
    """Return the tree by products, after a comparison with Prim's algorithm."""
    sizes = {"BLOCK": block, "OTHERS": others, "ROUGH": rough}
    with patch.multiple(boruvka_by_products, **sizes), warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = span_by_products(X, SQUARED, n_jobs)
    if tree is not None:
        dense = span(X, SQUARED)
        assert np.array_equal(tree.weight, dense.weight)
        assert np.array_equal(tree.parent, dense.parent)
    return tree


@settings(max_examples=150)
@given(
    problem=learning_problems(max_n=60, max_d=40, queries=1),
    offset=st.sampled_from([0, 0, 1e3, 1e6, 1e9]),
    scale=st.sampled_from([1, 1, 1e-19, 1e-23, 1e-40, 1e-160, 1e-310, 1e8]),
    block=st.sampled_from([2, 256]),
    others=st.sampled_from([3, 2048]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_spanning_by_products(problem, offset, scale, block, others, n_jobs):
    X = problem[0]
    if X.dtype == np.float64:
        X = X * scale + offset
    assert span_both(X, others, block, np.inf, n_jobs) is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["one cloud", "clusters", "copies"])
def test_spanning_more_points_by_products(dtype, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 40))
    if kind == "clusters":
        X = 20 * X[rng.integers(0, 9, 1200)] + 0.5 * X
    elif kind == "copies":
        X = np.round(X[rng.integers(0, 100, 1200)])
    assert span_both(X.astype(dtype), 500) is not None


def test_rough_estimates_leave_the_tree_to_prim():
    rng = np.random.default_rng(0)
    X = (1e4 * rng.normal(size=(5, 40)))[rng.integers(0, 5, 2000)] + rng.normal(size=(2000, 40))
    assert span_both(X.astype(np.float32), rough=1 / 64) is None


def test_many_features_are_spanned_by_products():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 130)), rng.integers(0, 3, 300)
    dense = OPFClassifier(algorithm="brute").fit(X, y)
    with (
        patch.object(indexing, "BYTES_TO_SPAN", 0),
        patch.object(indexing, "span", side_effect=AssertionError),
    ):
        assert_same_model(OPFClassifier().fit(X, y), dense, X[:50] + 0.1)
