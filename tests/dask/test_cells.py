"""On Dask by cells: the model of one machine, wherever space is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'opforest[dask]'")
import dask.array as da
from tests.support.blocks import grid, in_blocks, sizes_from
from tests.support.comparison import assert_same_model
from tests.support.strategies import learning_problems
from tests.support.tuning import tune, tuned

import dask
from opforest import OPFClassifier
from opforest.core.select.mst import is_kdtree_worthwhile
from opforest.dask import DaskOPFClassifier, cells, training
from opforest.dask.cells import count_cells, may_use_cells
from opforest.metrics import resolve


@pytest.fixture
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def fit_both(X, y, sizes, metric="euclidean", **params):
    """Fit by cells, on Dask, and on one machine."""
    clf = DaskOPFClassifier(metric, algorithm="kd_tree", **params)
    clf.fit(in_blocks(X, sizes), in_blocks(y, sizes))
    return clf, OPFClassifier(metric, **params).fit(X, y)


CUTS = st.lists(st.integers(0, 30), max_size=5)


@settings(max_examples=60)
@given(problem=learning_problems(), cuts=CUTS, size=st.sampled_from([1, 3, 10, 100]))
def test_any_cells_give_the_model_of_one_machine(problem, cuts, size):
    """On lattices with duplicates, there are ties within cells, between cells and on borders."""
    X, y, Q = problem
    sizes = sizes_from(cuts, len(X))
    with dask.config.set(scheduler="synchronous"), tuned(examples_per_part=size):
        clf, local = fit_both(X, y, sizes)
        clf.forest_.check()
        assert_same_model(clf, local, Q)
        parts = DaskOPFClassifier(keep="parts").fit(in_blocks(X, sizes), y)
        assert np.array_equal(parts.predict(Q), local.predict(Q))
        ids, offer = local.conquerors(Q)
        lazy = parts.conquerors(in_blocks(Q, sizes_from(cuts, len(Q))))
        for answers in (parts.conquerors(Q), [array.compute() for array in lazy]):
            assert np.array_equal(answers[0], ids)
            assert np.array_equal(answers[1], offer)
        assert_same_model(parts.to_local(), local, Q)


DATA = {
    "lattice": lambda rng, n, d: rng.integers(0, 4, (n, d)),
    "equal": lambda rng, n, d: np.ones((n, d)),
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "far clusters": lambda rng, n, d: rng.normal(size=(n, d)) + 1e4 * rng.integers(0, 2, (n, 1)),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
@pytest.mark.usefixtures("synchronous")
def test_dimensions(name, d):
    tune(examples_per_part=40)
    rng = np.random.default_rng(d)
    X = DATA[name](rng, 300, d).astype([np.float32, np.float64][d % 2])
    y, Q = rng.integers(0, 3, 300), X[:40] + rng.normal(size=(40, d)).round(1)
    clf, local = fit_both(X, y, (100, 0, 200))
    assert_same_model(clf, local, Q)
    parts = DaskOPFClassifier(keep="parts").fit(in_blocks(X, (300,)), y)
    assert np.array_equal(parts.predict(in_blocks(Q, (40,))).compute(), local.predict(Q))


METRICS = [
    ("manhattan", None),
    ("chebyshev", None),
    ("minkowski", {"p": 3}),
    ("cosine", None),
    ("haversine", None),
    ("gaussian", None),
]


@pytest.mark.parametrize(("metric", "params"), METRICS)
@pytest.mark.usefixtures("synchronous")
def test_metrics_with_boxes(metric, params):
    tune(examples_per_part=30)
    X, y = grid(200, 2)
    X = (X + 1) / 8
    sizes, Q = (90, 110), X[:30] + 0.01
    clf, local = fit_both(X, y, sizes, metric, metric_params=params)
    assert_same_model(clf, local, Q)
    parts = DaskOPFClassifier(metric, metric_params=params, keep="parts")
    parts.fit(in_blocks(X, sizes), y)
    for mine, right in zip(parts.conquerors(Q), local.conquerors(Q), strict=True):
        assert np.array_equal(mine, right)
    lazy = [array.compute() for array in parts.conquerors(in_blocks(Q, (10, 20)))]
    assert all(map(np.array_equal, lazy, local.conquerors(Q)))
    assert_same_model(parts.to_local(), local, Q)


@pytest.mark.usefixtures("synchronous")
def test_differences_that_are_lost_to_rounding(monkeypatch):
    """Squares of small differences underflow: then examples are compared by pairs of blocks."""
    tune(examples_per_part=10)
    X, y = grid(60, 2)
    X *= 1e-180
    given_up = []
    span = training._span_by_cells
    monkeypatch.setattr(training, "_span_by_cells", lambda *args: given_up.append(1) or span(*args))
    clf, local = fit_both(X, y, (20, 40))
    assert given_up
    assert_same_model(clf, local, X[:9])
    with pytest.raises(ValueError, match=r"lost to rounding.* Multiply all features"):
        DaskOPFClassifier(keep="parts").fit(in_blocks(X, (20, 40)), y)


def test_two_workers(client):
    """Unknown sizes of blocks, labels in other blocks, text."""
    tune(examples_per_part=60)
    X, y = grid(500, 3)
    X[:, 2] += np.arange(500) / 100
    names = np.array(["fir", "oak", "elm"])[y]
    lazy, labels = da.from_array(X, chunks=(130, 2)), da.from_array(names, chunks=90)
    some = X[:, 0] > 0
    blocks, known = lazy[lazy[:, 0] > 0], labels[da.from_array(some, chunks=90)]
    assert np.isnan(blocks.shape[0])
    local, Q = OPFClassifier().fit(X[some], names[some]), X + 0.25
    clf = DaskOPFClassifier(algorithm="kd_tree").fit(blocks, known)
    assert_same_model(clf, local, Q)
    parts = DaskOPFClassifier(keep="parts").fit(blocks, known)
    lazy_labels = parts.predict(lazy + 0.25)
    assert (lazy_labels.dtype, lazy_labels.shape) == (names.dtype, (500,))
    assert np.array_equal(lazy_labels.compute(), local.predict(Q))
    assert parts.score(lazy, labels) == local.score(X, names)
    assert parts.score(X, names) == local.score(X, names)
    assert np.array_equal(parts.predict(blocks).compute(), local.predict(X[some]))
    del parts  # the lazy array keeps what it needs
    assert np.array_equal(lazy_labels.compute(), local.predict(Q))


def test_when_cells_are_used():
    rng, metric = np.random.default_rng(0), resolve("euclidean")
    flat, deep = rng.random((5000, 2)), rng.random((5000, 30))
    assert may_use_cells(10**6, "auto", metric)
    assert may_use_cells(5, "kd_tree", metric)
    assert not may_use_cells(1000, "auto", metric)
    assert not may_use_cells(10**6, "brute", metric)
    assert not may_use_cells(10**6, "auto", resolve("canberra"))
    assert is_kdtree_worthwhile(flat, metric, "auto")
    assert is_kdtree_worthwhile(deep[:5], metric, "kd_tree")
    assert not is_kdtree_worthwhile(deep, metric, "auto")
    assert not is_kdtree_worthwhile(deep, resolve("manhattan"), "auto")


def test_the_number_of_cells(monkeypatch):
    monkeypatch.setattr(cells.os, "cpu_count", lambda: 4)
    assert [count_cells(n, None) for n in (1, 10**5, 10**6, 10**7, 10**8)] == [1, 4, 8, 16, 128]
    tune(examples_per_part=10)
    assert [count_cells(n, None) for n in (10, 20, 21, 160)] == [8, 8, 8, 16]
