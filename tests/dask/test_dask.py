"""On Dask: the same model, whatever the blocks, the workers and what happens to them."""

import pickle
import tracemalloc

import numba
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'opforest[dask]'")
import dask.array as da
import dask.dataframe as dd
from distributed import Client, default_client
from tests.support.blocks import grid, in_blocks, sizes_from
from tests.support.comparison import assert_same_model
from tests.support.measurement import COMMON
from tests.support.strategies import learning_problems
from tests.support.tuning import tune

import dask
from opforest import OPFClassifier
from opforest.core.mst.kruskal import Edges
from opforest.dask import DaskOPFClassifier
from opforest.dask.spanning import opforest_merge, opforest_span
from opforest.forest.probabilities import find_calibration
from opforest.metrics import resolve


@pytest.fixture
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


CUTS = st.lists(st.integers(0, 30), max_size=8)


@settings(max_examples=40)
@given(problem=learning_problems(), cuts=CUTS, other_cuts=CUTS)
def test_any_blocks_give_the_model_of_one_machine(problem, cuts, other_cuts):
    """Blocks may be empty; those of the labels may be others."""
    X, y, Q = problem
    with dask.config.set(scheduler="synchronous"):
        clf = DaskOPFClassifier().fit(
            in_blocks(X, sizes_from(cuts, len(X))), in_blocks(y, sizes_from(other_cuts, len(y)))
        )
        local = OPFClassifier().fit(X, y)
        clf.forest_.check()
        assert_same_model(clf, local, Q)
        assert clf.n_features_in_ == X.shape[1]
        queries = in_blocks(Q, sizes_from(cuts, len(Q)))
        for method in ("predict", "predict_proba", "predict_log_proba", "class_costs"):
            lazy, answer = getattr(clf, method)(queries), getattr(local, method)(Q)
            assert isinstance(lazy, da.Array)
            assert (lazy.shape, lazy.dtype) == (answer.shape, answer.dtype)
            assert np.array_equal(lazy.compute(), answer)


@pytest.mark.usefixtures("synchronous")
def test_the_conqueror_is_forgotten_by_its_id():
    """An id is a row of the whole set, whatever the blocks."""
    X, y = grid(60, 2)
    clf = DaskOPFClassifier().fit(in_blocks(X, (7, 0, 33, 20)), in_blocks(y, (60,)))
    why = clf.forget([0, 9]).explain(X[30] + 0.25)
    assert why == clf.to_local().explain(X[30] + 0.25)
    assert why.steps[-1].distance == np.linalg.norm(X[why.conqueror] - X[30] - 0.25)
    clf.forget([why.conqueror])
    left = np.setdiff1d(np.arange(60), [0, 9, why.conqueror])
    assert_same_model(clf, OPFClassifier().fit(X[left], y[left]), X, ids=False)
    assert clf.forest_.ids.tolist() == left.tolist()


@pytest.mark.parametrize("metric", [*COMMON, "topsoe", "jaccard"])
@pytest.mark.usefixtures("synchronous")
def test_every_metric(metric):
    X, y = grid(90, 4)
    X[:, :2] += [1, 2.5]  # no zero vectors, no constant ones
    X[:, 2:] += np.arange(180).reshape(90, 2) % 7 / 8
    clf = DaskOPFClassifier(metric).fit(in_blocks(X, (40, 1, 49)), y)
    assert_same_model(clf, OPFClassifier(metric).fit(X, y), X[:30] + 0.5)


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "brute"])
@pytest.mark.usefixtures("synchronous")
def test_every_algorithm(algorithm):
    """Also where a k-d tree spans pairs of blocks."""
    tune(few_to_span=2000)
    X, y = np.random.default_rng(0).random((4000, 2)).round(3), np.arange(4000) % 3
    clf = DaskOPFClassifier(algorithm=algorithm).fit(in_blocks(X, (1500, 1000, 1500)), y)
    assert_same_model(clf, OPFClassifier(algorithm=algorithm).fit(X, y), X[:50] + 0.1)


@numba.njit
def largest_gap(x, y):
    return np.nan if x[0] + y[0] == 99 else np.abs(x - y).max()


def test_a_users_function(client):
    X, y = grid(60, 3)
    clf = DaskOPFClassifier(largest_gap).fit(in_blocks(X, (25, 35)), y)
    assert np.array_equal(clf.forest_.edges, OPFClassifier("chebyshev").fit(X, y).forest_.edges)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
@pytest.mark.parametrize("sizes", [(500,), (250, 250), (100,) * 5, (1, 498, 1), (71,) * 7 + (3,)])
def test_two_workers_give_the_model_of_one_machine(client, sizes, dtype):
    X, y = grid(500, 3)
    X, names = X.astype(dtype), np.array(["fir", "oak", "elm"])[y]
    clf = DaskOPFClassifier().fit(in_blocks(X, sizes), in_blocks(names, (200, 300)))
    local = OPFClassifier().fit(X, names)
    assert clf.client_ is client
    assert_same_model(clf, local, X[:40])
    lazy = clf.predict(in_blocks(X, sizes[::-1]))
    assert np.array_equal(lazy.compute(), local.predict(X))


def test_columns_in_blocks_and_sizes_unknown(client):
    X, y = grid(400, 4)
    some = (X[:, 0] > 1) & (X[:, 0] < 4)
    lazy = da.from_array(X, chunks=(60, 3))
    clf = DaskOPFClassifier().fit(lazy[lazy[:, 0] > 0][:, :], y[X[:, 0] > 0])
    assert_same_model(clf, OPFClassifier().fit(X[X[:, 0] > 0], y[X[:, 0] > 0]), X)
    mask = da.from_array(some, chunks=60)
    Q, labels = lazy[mask], da.from_array(y, chunks=60)[mask]
    assert np.isnan(Q.shape[0])
    clf.fit(Q, labels)
    local = OPFClassifier().fit(X[some], y[some])
    assert_same_model(clf, local, X)
    assert np.array_equal(clf.predict_proba(Q).compute(), local.predict_proba(X[some]))
    assert clf.score(Q, labels) == local.score(X[some], y[some])


def test_data_frames(client):
    frame = load_iris(as_frame=True).frame
    frame["kind"] = frame.pop("target").map({0: "setosa", 1: "versicolor", 2: "virginica"})
    columns = [name for name in frame if name != "kind"]
    lazy = dd.from_pandas(frame, npartitions=5)
    clf = DaskOPFClassifier().fit(lazy[columns], lazy["kind"])
    local = OPFClassifier().fit(frame[columns], frame["kind"])
    assert clf.feature_names_in_.tolist() == columns
    assert_same_model(clf, local, frame[columns] + 0.05)
    labels = clf.predict(lazy[columns] + 0.05)
    assert isinstance(labels, da.Array)
    assert np.array_equal(labels.compute(), local.predict(frame[columns] + 0.05))
    assert clf.score(lazy[columns], lazy["kind"]) == 1
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(lazy[columns[::-1]])
    with pytest.raises(ValueError, match="expecting 4 features"), pytest.warns(match="names"):
        clf.predict(da.zeros((3, 5)))
    assert "feature_names_in_" not in vars(clf.fit(lazy[columns].to_dask_array(), lazy["kind"]))


@pytest.mark.parametrize(
    ("metric", "value", "message"),
    [
        ("euclidean", np.nan, "X contains NaN"),
        ("euclidean", np.inf, "X contains infinity"),
        ("euclidean", 1e200, "Features are too large"),
        ("chi_squared", -1, r"got np.float64\(-1.0\) in row 3, column 0"),
        ("cosine", 0, "zero vector, and row 3"),
    ],
)
def test_bad_examples_are_named_and_change_nothing(client, metric, value, message):
    X, y = grid(20, 1)
    X += 1
    clf = DaskOPFClassifier(metric).fit(in_blocks(X, (8, 12)), y)
    before = pickle.dumps(clf)
    X[11] = value
    with pytest.raises(ValueError, match=message) as caught:
        clf.fit(in_blocks(X, (8, 8, 4)), y)
    assert "block 1 of X, which begins with row 8" in str(caught.value)
    assert pickle.dumps(clf) == before


@pytest.mark.usefixtures("synchronous")
def test_bad_input():
    X, y = grid(20, 2)
    blocks = in_blocks(X, (10, 10))
    clf = DaskOPFClassifier()
    for wrong in (X, pd.DataFrame(X), X.tolist()):
        with pytest.raises(TypeError, match=r"must be a Dask array or data frame, .*OPFClassifier"):
            clf.fit(wrong, y)
    with pytest.raises(ValueError, match="two dimensions"):
        clf.fit(blocks[:, 0], y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[20, 19\]"):
        clf.fit(blocks, in_blocks(y[:19], (19,)))
    with pytest.raises(ValueError, match="at least one row"):
        clf.fit(blocks[:0], y[:0])
    with pytest.raises(ValueError, match="Unknown label type"):
        clf.fit(blocks, y + 0.5)
    with pytest.raises(ValueError, match=r"'precomputed' needs a table .*OPFClassifier"):
        DaskOPFClassifier("precomputed").fit(blocks, y)
    with pytest.raises(ValueError, match=r"Decorate the function with @numba.njit"):
        DaskOPFClassifier(lambda x, y: 0.0).fit(blocks, y)
    with pytest.raises(ValueError, match="one of"):
        DaskOPFClassifier("euclidian").fit(blocks, y)
    with pytest.raises(ValueError, match="one of"):
        DaskOPFClassifier(algorithm="ball").fit(blocks, y)
    with pytest.raises(ValueError, match="one of"):
        DaskOPFClassifier(update="none").fit(blocks, y)
    missing = pd.DataFrame(X).astype("Int64")
    missing.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match="block 0 of X"):
        clf.fit(dd.from_pandas(missing, npartitions=2), y)
    X[[4, 15], 0] = 49, 50
    with pytest.raises(ValueError, match=r"undefined .* for the training examples") as caught:
        DaskOPFClassifier(largest_gap).fit(in_blocks(X, (10, 10)), y)
    with pytest.raises(ValueError, match="undefined") as expected:
        OPFClassifier(largest_gap).fit(X, y)
    assert str(caught.value) == str(expected.value)
    with pytest.raises(NotFittedError):
        clf.predict(blocks)
    with pytest.raises(NotFittedError):
        clf.client_  # noqa: B018
    assert not hasattr(clf, "forest_")


@pytest.mark.usefixtures("synchronous")
def test_one_example():
    clf = DaskOPFClassifier().fit(da.ones((1, 2)), ["only"])
    assert clf.predict(da.zeros((2, 2))).compute().tolist() == ["only", "only"]


def test_the_plain_classifier_learns_on(client):
    X, y = grid(300, 2)
    clf = DaskOPFClassifier().fit(in_blocks(X[:200], (50,) * 4), y[:200])
    local = clf.to_local()
    assert type(local) is OPFClassifier
    local.partial_fit(X[200:], y[200:])
    assert_same_model(local, OPFClassifier().fit(X, y), X[:50] + 0.5)
    assert_same_model(clf, OPFClassifier().fit(X[:200], y[:200]), X[:50] + 0.5)
    lazy = clf.predict_proba(in_blocks(X, (150, 150)))  # asks the model as it is now
    clf.partial_fit(X[200:], y[200:])
    assert_same_model(clf, local, X[:50] + 0.5)
    now = clf.predict_proba(in_blocks(X, (150, 150)))
    assert np.array_equal(now.compute(), local.predict_proba(X))
    for name in ("predict", "predict_proba"):
        lazy_too = getattr(clf, name)(in_blocks(X, (150, 150)), priors="balanced")
        assert np.array_equal(lazy_too.compute(), getattr(local, name)(X, priors="balanced"))
    assert np.array_equal(lazy.compute(), OPFClassifier().fit(X[:200], y[:200]).predict_proba(X))
    clf.forget(np.arange(200))
    rest = OPFClassifier().fit(X[200:], y[200:])
    assert np.array_equal(clf.predict(in_blocks(X, (300,))).compute(), rest.predict(X))


@pytest.mark.usefixtures("synchronous")
def test_the_calibration_is_found_once_and_not_by_workers(monkeypatch):
    X, y = grid(60, 2)
    clf, local = DaskOPFClassifier().fit(in_blocks(X, (30, 30)), y), OPFClassifier().fit(X, y)
    clf.predict(in_blocks(X, (30, 30))).compute()  # tasks have the model already
    expected = local.predict_proba(X), local.predict_log_proba(X)
    count = []

    def find(*args):
        count.append(args)
        return find_calibration(*args)

    monkeypatch.setattr("opforest.forest.forest.find_calibration", find)
    lazy = clf.predict_proba(in_blocks(X, (20,) * 3)), clf.predict_log_proba(in_blocks(X, (60,)))
    assert len(count) == 1
    for answer, right in zip(lazy, expected, strict=True):
        assert np.array_equal(answer.compute(), right)
    assert len(count) == 1
    assert clf.exponent_ == local.exponent_ == clf.to_local().exponent_


def test_parameters_pickles_and_clones(client):
    X, y = grid(30, 2)
    clf = DaskOPFClassifier("manhattan", client=client).fit(in_blocks(X, (15, 15)), y)
    # A cluster tells of its progress by opforest.dask.progress.
    assert set(clf.get_params()) == {*OPFClassifier().get_params(), "client", "keep"} - {"verbose"}
    queries = in_blocks(X, (30,))
    answer = clf.predict(queries).compute()
    twin = pickle.loads(pickle.dumps(clf))
    assert twin.client is None
    assert clf.client is client
    assert np.array_equal(twin.predict(queries).compute(), answer)
    assert np.array_equal(twin.predict(X), answer)  # at once
    copy = clone(clf)
    assert copy.client is client
    assert copy.metric == "manhattan"
    assert not hasattr(copy, "forest_")


def test_without_a_client_no_cluster_is_started(client):
    X, y = grid(30, 2)
    with dask.config.set(scheduler="threads"):
        clf = DaskOPFClassifier().fit(in_blocks(X, (15, 15)), y)
        assert clf.score(in_blocks(X, (30,)), y) == OPFClassifier().fit(X, y).score(X, y)
    assert default_client() is client


def test_attributes_are_listed_without_a_client(client, monkeypatch):
    X, y = grid(30, 2)
    clf = DaskOPFClassifier().fit(in_blocks(X, (15, 15)), y)

    def find_none():
        raise ValueError("No clients found")

    monkeypatch.setattr("opforest.dask.classifier.distributed.default_client", find_none)
    assert "predict" in dir(clf)
    assert not hasattr(clf, "client_")


def test_a_client_that_is_not_the_current_one(client):
    X, y = grid(60, 2)
    blocks, local = in_blocks(X, (25, 20, 15)), OPFClassifier().fit(X, y)
    with Client(client.scheduler.address, set_as_default=False) as other:
        clf = DaskOPFClassifier(client=other).fit(blocks, in_blocks(y, (30, 30)))
        assert_same_model(clf, local, X[:9] + 0.5)
        assert clf.score(blocks, y) == local.score(X, y)
        lazy = clf.predict(blocks)
        assert np.array_equal(other.compute(lazy).result(), local.predict(X))
    for scheduler in ("synchronous", "threads", client):
        assert np.array_equal(lazy.compute(scheduler=scheduler), local.predict(X))


def test_what_scikit_learn_keeps_is_kept():
    X, y = grid(20, 2)
    clf = DaskOPFClassifier()
    clf.note = "mine"
    with sklearn.config_context(enable_metadata_routing=True):
        clf.set_score_request(sample_weight=True)
        for same in (clone(clf), clf.fit(in_blocks(X, (20,)), y)):
            assert same.get_metadata_routing().score.requests == {"sample_weight": True}
    assert clf.note == "mine"


def test_a_class_with_parameters_of_its_own():
    class Named(DaskOPFClassifier):
        def __init__(self, metric="euclidean", *, name="", client=None):
            super().__init__(metric, client=client)
            self.name = name

    X, y = grid(20, 2)
    clf = Named(name="mine").fit(in_blocks(X, (15, 5)), y)
    assert (clf.name, type(clf.to_local())) == ("mine", OPFClassifier)


# A task holds its two blocks, which it is given, and beside them no more than this.
COPIES, BYTES_PER_ROW, BYTES_PER_EDGE = 2.1, 200, 60

# By matrix products, it has room for edges, too.
SIFTED_COPIES, SIFTED_BYTES_PER_ROW, ROOM = 3.2, 400, 24 * 2**20


@pytest.mark.parametrize(
    ("d", "copies", "bytes_per_row", "room"),
    [(2, COPIES, BYTES_PER_ROW, 0), (40, SIFTED_COPIES, SIFTED_BYTES_PER_ROW, ROOM)],
)
def test_memory_of_a_task(d, copies, bytes_per_row, room):
    blocks = [np.random.default_rng(i).normal(size=(5000, d)) for i in range(2)]
    metric = resolve("euclidean")
    opforest_span([block[:10] for block in blocks], [0, 10], metric, "auto")  # load the kernels
    tracemalloc.start()
    peaks = []
    for _ in range(3):  # other threads, of Dask's own, may allocate meanwhile
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        edges = opforest_span(blocks, [0, 5000], metric, "brute")
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    peak = min(peaks)
    n_bytes = sum(block.nbytes for block in blocks)
    assert peak <= copies * n_bytes + bytes_per_row * 10_000 + room
    parts = [Edges(*(np.array(array) for array in edges)) for _ in range(4)]
    n_edges = len(edges.weight)
    opforest_merge([Edges(*(array[:10] for array in part)) for part in parts])
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    opforest_merge(parts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - before <= BYTES_PER_EDGE * 4 * n_edges + 16 * 10_000  # and the groups


def test_dask_ml():
    wrappers = pytest.importorskip("dask_ml.wrappers", reason="dask-ml is not installed")
    X, y = grid(300, 3)
    blocks, labels = in_blocks(X, (100,) * 3), in_blocks(y, (100,) * 3)
    local = OPFClassifier().fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        grown = wrappers.Incremental(OPFClassifier(), shuffle_blocks=False).fit(
            blocks, labels, classes=np.unique(y)
        )
        assert_same_model(grown.estimator_, local, X[:50] + 0.5)
        post = wrappers.ParallelPostFit(local)
        assert np.array_equal(post.predict(blocks).compute(), local.predict(X))


@pytest.mark.parametrize("voters", [5, "auto"])
def test_votes_are_those_of_one_machine(synchronous, voters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    local = OPFClassifier(voters=voters).fit(X, y)
    clf = DaskOPFClassifier(voters=voters).fit(in_blocks(X, [80, 120]), in_blocks(y, [80, 120]))
    queries = in_blocks(X + 0.1, [50, 150])
    assert np.array_equal(clf.predict(queries).compute(), local.predict(X + 0.1))
    assert np.array_equal(clf.predict_proba(queries).compute(), local.predict_proba(X + 0.1))
    assert clf.to_local().voters == voters
    one = clf.set_params(voters=1).predict(queries).compute()
    assert np.array_equal(one, OPFClassifier().fit(X, y).predict(X + 0.1))
