"""A class without examples offers nothing, whatever the metric: it was announced, or emptied."""

import warnings

import numpy as np
import pytest

from opforest import OPFClassifier, OPFSemiSupervised, active
from opforest.core.metrics.registry import METRIC_NAMES
from opforest.metrics import resolve
from tests.support.measurement import PARAMS

#: Answers that must be the same.
ANSWERS = ("class_costs", "predict_proba", "predict_log_proba", "predict")

#: Those that made something finite, or NaN, of an infinite offer, and one that did not.
FRAGILE = ("dice", "gaussian", "kulczynski", "soergel", "euclidean")

#: Those that are infinite for examples that have nothing in common.
UNBOUNDED = ("bhattacharyya", "kulczynski")

#: Metrics with kernels of their own, which take their time to compile; clark and max_symmetric, a
#: sum over features and a function of sums, stand for them. Values are compared in test_formulas.
SIMILAR = {
    "additive_symmetric", "hassanat", "jeffreys", "lorentzian", "mean_censored_euclidean",
    "min_symmetric", "vicis_symmetric1", "vicis_symmetric2", "vicis_symmetric3",
    "vicis_wave_hedges",
}  # fmt: skip


def blobs(n, seed=0):
    """Two classes of distributions that overlap, and an example of a third, in the middle."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.uniform(1.0, 3.0, (n, 3)) + y[:, None] * [1.0, 0.0, 0.5]
    middle = np.array([[2.0, 2.5, 2.0]])
    return X / X.sum(axis=1, keepdims=True), y, middle / middle.sum()


def measured(metric, X, known=None):
    """The examples, or a table of distances in their stead."""
    known = X if known is None else known
    if metric == "haversine":
        return X[:, :2]
    return np.abs(X[:, None] - known).sum(axis=2) if metric == "precomputed" else X


def make(metric, kind=OPFClassifier, **params):
    return kind(metric, metric_params=PARAMS.get(metric), **params)


def assert_same_answers(one, other, queries, empty):
    """Compare by equality; the class at the index ``empty`` has no examples."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ANSWERS:
            answers = getattr(one, name)(queries), getattr(other, name)(queries)
            np.testing.assert_array_equal(*answers)
        assert one.exponent_ == other.exponent_
        assert (one.class_costs(queries)[:, empty] == np.inf).all()
        share = one.predict_proba(queries)
    assert (share[:, empty] == 0).all()
    assert np.isfinite(share).all()
    np.testing.assert_allclose(share.sum(axis=1), 1)
    assert (one.predict_log_proba(queries)[:, empty] == -np.inf).all()


@pytest.mark.parametrize("metric", sorted({*METRIC_NAMES} - SIMILAR))
def test_forgetting_a_class_equals_never_having_known_it(metric):
    X, y, middle = blobs(24)
    known, queries = np.concatenate((X[:16], middle, middle)), measured(metric, X[16:], X[:16])
    # Two at once are forgotten without kernels that would have to be compiled for each metric.
    clf = make(metric).fit(measured(metric, known), [*y[:16], 2, 2]).forget([16, 17])
    two = make(metric).partial_fit(measured(metric, X[:16]), y[:16], classes=[0, 1, 2])
    assert_same_answers(clf, two, queries, 2)
    # To a model that has never heard of the third class, the others are the same.
    plain = make(metric).fit(measured(metric, X[:16]), y[:16])
    assert plain.exponent_ == clf.exponent_
    np.testing.assert_array_equal(plain.class_costs(queries), clf.class_costs(queries)[:, :2])
    np.testing.assert_array_equal(plain.predict_proba(queries), clf.predict_proba(queries)[:, :2])


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_infinite_offers_stay_infinite(metric):
    for dtype in (np.float32, np.float64):
        reduced = np.array([0.25, np.inf, 0.5], dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = resolve(metric, PARAMS.get(metric)).to_units(reduced, 3)
        plain = resolve(metric, PARAMS.get(metric)).to_units(reduced[::2], 3)
        assert found.dtype == plain.dtype == dtype
        assert found[1] == np.inf
        np.testing.assert_array_equal(found[::2], plain)


@pytest.mark.parametrize("metric", ["gaussian", "kulczynski"])
@pytest.mark.parametrize("empty", [0, 1])
def test_a_kernel_that_forgets_leaves_nothing_behind(metric, empty):
    """One of many is not forgotten by training on the others."""
    X, y, middle = blobs(140)
    label = np.where(y[:120] < empty, y[:120], y[:120] + 1)
    clf = make(metric).fit(np.concatenate((middle, X[:120])), [empty, *label]).forget([0])
    two = make(metric).partial_fit(X[:120], label, classes=[0, 1, 2])
    assert_same_answers(clf, two, X[120:], empty)


@pytest.mark.parametrize("metric", FRAGILE)
def test_among_many_classes(metric):
    """More than are searched one by one."""
    X, _, _ = blobs(120)
    y = np.arange(100) % 40
    clf = make(metric).fit(X[:100], y).forget([7, 47, 87])
    left = np.flatnonzero(y != 7)
    other = make(metric).partial_fit(X[left], y[left], classes=range(40))
    assert_same_answers(clf, other, X[100:], 7)


@pytest.mark.parametrize("metric", FRAGILE)
@pytest.mark.parametrize("seeds", ["labeled", "prototypes"])
def test_semi_supervised(metric, seeds):
    X, y, middle = blobs(24)
    y = np.where(np.arange(24) % 3 == 2, -1, y)
    clf = make(metric, OPFSemiSupervised, seeds=seeds)
    gone = [16] if metric == "euclidean" else [16, 17]  # two at once as above
    known = np.concatenate((X[:16], *[middle] * len(gone)))
    clf.fit(known, [*y[:16], *[2] * len(gone)]).forget(gone)
    two = make(metric, OPFSemiSupervised, seeds=seeds)
    two.partial_fit(X[:16], y[:16], classes=[0, 1, 2])
    assert_same_answers(clf, two, X[16:], 2)


@pytest.mark.parametrize("metric", ["gaussian", "kulczynski", "euclidean"])
def test_streams(metric):
    river = pytest.importorskip("opforest.river.classifier")
    pd = pytest.importorskip("pandas")
    from tests.support.streams import as_dicts

    X, y, middle = blobs(24)
    stream = river.OPFClassifier(metric, window_size=16)
    for x, label in zip(as_dicts(np.concatenate((middle, X[:16]))), [2, *y[:16]], strict=True):
        stream.learn_one(x, int(label))
    two = make(metric).partial_fit(X[:16], y[:16], classes=[0, 1, 2])
    expected = two.predict_proba(X[16:])
    stream._calibration = None  # so that it is found now
    for x, share in zip(as_dicts(X[16:]), expected, strict=True):
        found = stream.predict_proba_one(x)
        assert [found[label] for label in (0, 1, 2)] == share.tolist()
    frame = stream.predict_proba_many(pd.DataFrame(as_dicts(X[16:])))
    np.testing.assert_array_equal(frame[[0, 1, 2]], expected)


@pytest.mark.parametrize("metric", FRAGILE)
def test_dask(metric):
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("opforest.dask")
    X, y, middle = blobs(24)
    known = da.from_array(np.concatenate((X[:16], middle, middle)), chunks=(6, 3))
    clf = make(metric, dask.DaskOPFClassifier).fit(known, np.array([*y[:16], 2, 2]))
    clf.forget([16, 17])
    two = make(metric).partial_fit(X[:16], y[:16], classes=[0, 1, 2])
    assert_same_answers(clf, two, X[16:], 2)
    queries = da.from_array(X[16:], chunks=(3, 3))
    for name in ANSWERS:
        answer = getattr(clf, name)(queries).compute()
        np.testing.assert_array_equal(answer, getattr(two, name)(X[16:]))


@pytest.mark.parametrize("metric", UNBOUNDED)
def test_an_empty_class_does_not_share_with_those_that_are_infinitely_far(metric):
    X = np.array([[0.5, 0.5, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]])
    clf = make(metric).partial_fit(X, [0, 1], classes=[0, 1, 2])
    query = [[0.0, 0.0, 0.5, 0.5]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clf.class_costs(query).tolist() == [[np.inf] * 3]
        assert clf.predict_proba(query)[0] == pytest.approx([0.5, 0.5, 0])
        assert clf.predict_log_proba(query)[0] == pytest.approx([*np.log([0.5, 0.5]), -np.inf])
        assert clf.predict_proba(query).argmax() == clf.predict(query)[0]
        assert active.margin(clf, query) == [0]
    river = pytest.importorskip("opforest.river.classifier")
    from tests.support.streams import as_dicts

    stream = river.OPFClassifier(metric, window_size=2)
    rows = [[0.25, 0.25, 0.5, 0.0], *X.tolist()]
    for x, label in zip(as_dicts(np.array(rows)), (2, 0, 1), strict=True):
        stream.learn_one(x, label)
    found = stream.predict_proba_one(as_dicts(np.array(query))[0])
    assert [found[label] for label in (0, 1, 2)] == pytest.approx([0.5, 0.5, 0])
