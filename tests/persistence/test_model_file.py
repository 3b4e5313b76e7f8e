"""Saved and loaded models: equal array by array, and going on as if they had never been away."""

import errno
import inspect
import os
import warnings
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.measurement import COMMON, jitted_manhattan
from tests.support.strategies import learning_problems

import opforest
from opforest import ModelFileError, OPFClassifier
from opforest.persistence.header import PARAMETERS
from opforest.persistence.registry import SERIALIZERS

UPDATES = ["exact", "opfi", "dift"]
SHOWN = ("label", "cost", "predecessor", "root", "prototypes", "edges", "ids", "points")


def wobbly(x, y):
    return float(np.abs(x - y).sum() + 0.5 * np.abs(x - y).max())


def weighted(x, y, weight):
    return weight * float(np.abs(x - y).sum())


@numba.njit
def jitted_otherwise(x, y):
    return 2 * np.abs(x - y).sum()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.opforest"


def again(model, path, metric=None):
    opforest.save(model, path)
    return opforest.load(path, metric)


def assert_same_forest(a, b):
    assert type(a) is type(b)
    for one, other in zip(a.storage.model(), b.storage.model(), strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    for name in SHOWN:
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.dtype == b.dtype
    if a.grown_by:
        assert np.array_equal(a.pair, b.pair)
        assert a.grown_by == b.grown_by
    b.check()


def assert_same(a, b):
    """Compare classifiers, attribute by attribute."""
    assert a.get_params() == b.get_params()
    assert a.classes_.dtype == b.classes_.dtype
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.n_features_in_ == b.n_features_in_
    assert getattr(a, "update_report_", None) == getattr(b, "update_report_", None)
    names = [getattr(model, "feature_names_in_", np.array([])).tolist() for model in (a, b)]
    assert names[0] == names[1]
    assert set(vars(a)) == set(vars(b))
    assert set(vars(a.forest_)) == set(vars(b.forest_))
    assert set(vars(a.forest_.storage)) == set(vars(b.forest_.storage))
    assert_same_forest(a.forest_, b.forest_)


def some(n, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 9, (n, 2)).astype(float), rng.integers(0, classes, n)


@pytest.mark.parametrize("update", UPDATES)
@given(problem=learning_problems(max_n=40), more=st.integers(0, 20))
@settings(max_examples=60)
def test_a_model_goes_on_learning_as_if_it_had_not_been_saved(
    tmp_path_factory, update, problem, more
):
    X, y, Q = problem
    path = tmp_path_factory.getbasetemp() / "going_on"
    first = max(1, len(X) - more)
    clf = OPFClassifier(update=update).fit(X[:first], y[:first])
    if first < len(X):
        clf.partial_fit(X[first:], y[first:])
    twin = again(clf, path)
    assert_same(clf, twin)
    for model in (clf, twin):
        model.partial_fit(Q, np.arange(len(Q)) % 3)
        if update == "exact":
            model.forget(model.forest_.ids[::3])
        model.partial_fit(X[:2], [7, 8][: len(X[:2])])
    assert_same(clf, twin)
    assert np.array_equal(clf.predict_proba(Q), twin.predict_proba(Q))
    assert_same(clf, again(twin, path))


@pytest.mark.parametrize(
    ("metric", "dtype"),
    [*((metric, np.float64) for metric in (*COMMON, "precomputed", "hellinger", "topsoe")),
     ("euclidean", np.float32), ("cosine", np.float32), ("manhattan", np.float32),
     ("precomputed", np.float32)],
)  # fmt: skip
def test_every_metric_comes_back(path, metric, dtype):
    rng = np.random.default_rng(1)
    X, y = rng.random((60, 5)).astype(dtype) + 0.01, rng.integers(0, 3, 60)
    if metric == "precomputed":
        X = np.abs(X[:, :1] - X[:, :1].T)
    params = {"minkowski": {"p": 2.5}, "gaussian": {"gamma": np.float64(0.5)}}.get(metric)
    clf = OPFClassifier(metric, metric_params=params).fit(X, y)
    twin = again(clf, path)
    assert_same(clf, twin)
    assert np.array_equal(clf.class_costs(X), twin.class_costs(X))
    assert twin.forest_.dtype == dtype


@pytest.mark.parametrize("p", [1, np.inf, np.float64(3)])
def test_parameters_of_a_metric_come_back(path, p):
    clf = OPFClassifier("minkowski", metric_params={"p": p}).fit(*some(20))
    twin = again(clf, path)
    assert_same(clf, twin)
    assert_same(clf.partial_fit(*some(5, 1)), twin.partial_fit(*some(5, 1)))


def test_a_table_goes_on_growing(path):
    X, y = some(40)
    D = np.abs(X[:, None] - X).sum(2)
    clf = OPFClassifier("precomputed").fit(D[:30, :30], y[:30])
    clf.forget([3, 4])
    twin = again(clf, path)
    keep = np.r_[0:3, 5:40]
    for model in (clf, twin):
        model.partial_fit(D[30:, keep], y[30:])
    assert_same(clf, twin)


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "öß漢"],
        [3, 1, -(2**62)],
        [2.0, -1.0, 7.0],
        [True, False, True],
        np.array(["x", "y", "yy"], object),
        np.array([1, 2, 3], np.uint8),
        np.array([1, 2, 3], ">i4"),
        np.array(["a", "b", "c"], "<U50"),
    ],
)
def test_labels_of_all_kinds_come_back(path, labels):
    clf = OPFClassifier().fit([[0.0], [1.0], [2.0]], labels)
    twin = again(clf, path)
    assert twin.classes_.tolist() == clf.classes_.tolist()
    assert twin.classes_.dtype == clf.classes_.dtype
    assert twin.predict([[0.9]]).tolist() == clf.predict([[0.9]]).tolist()


def test_feature_names_are_remembered_and_checked(path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"length": [0.0, 1, 5], "width ✓": [1.0, 2, 3]})
    clf = again(OPFClassifier().fit(X, [0, 0, 1]), path)
    assert clf.feature_names_in_.tolist() == ["length", "width ✓"]
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(X.rename(columns={"length": "height"}))


def test_a_forest_with_an_index_comes_back(path):
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 2)), rng.integers(0, 3, 3000)
    clf = OPFClassifier(algorithm="kd_tree", n_jobs=-1).fit(X[:2900], y[:2900]).forget(range(50))
    twin = again(clf, path)
    for model in (clf, twin):
        model.partial_fit(X[2900:], y[2900:]).forget([60, 2950])
    assert_same(clf, twin)


def test_a_model_that_has_forgotten_all_comes_back_and_learns(path):
    clf = OPFClassifier().fit(*some(5)).forget(range(5))
    twin = again(clf, path)
    for model in (clf, twin):
        model.partial_fit(*some(4, 1))
    assert twin.forest_.ids.tolist() == [5, 6, 7, 8]
    assert_same(clf, twin)


def test_a_function_must_be_passed_again(path):
    with pytest.warns(UserWarning, match="Python function"):
        clf = OPFClassifier(weighted, metric_params={"weight": 2}).fit(*some(20))
    opforest.save(clf, path)
    with pytest.raises(ModelFileError, match=r"function 'weighted'.*Pass it again"):
        opforest.load(path)
    with pytest.raises(ModelFileError, match="Pass it again"):
        opforest.load(path, "euclidean")
    with pytest.raises(ModelFileError, match="fails on its examples"):
        opforest.load(path, wobbly)
    with pytest.raises(ModelFileError, match="is not the one it was learned with"):
        opforest.load(path, lambda x, y, weight: wobbly(x, y))
    twin = opforest.load(path, weighted)
    assert_same(clf, twin)
    assert_same(clf.partial_fit(*some(9, 1)), twin.partial_fit(*some(9, 1)))


def test_so_must_a_compiled_function(path):
    clf = OPFClassifier(jitted_manhattan).fit(*some(20))
    twin = again(clf, path, jitted_manhattan)
    assert_same(clf.partial_fit(*some(9, 1)), twin.partial_fit(*some(9, 1)))
    with pytest.raises(ModelFileError, match="Pass it again"):
        opforest.load(path)
    with pytest.raises(ModelFileError, match="is not the one it was learned with"):
        opforest.load(path, jitted_otherwise)


def test_a_metric_that_contradicts_the_file_is_refused(path):
    clf = OPFClassifier("manhattan").fit(*some(9))
    assert_same(clf, again(clf, path, "manhattan"))
    for metric in ("euclidean", jitted_manhattan):
        with pytest.raises(ModelFileError, match="its metric is 'manhattan'"):
            opforest.load(path, metric)


def test_what_cannot_be_saved_is_refused_and_leaves_no_file(path):
    X, y = some(9)
    with pytest.raises(ValueError, match="not fitted"):
        opforest.save(OPFClassifier(), path)
    with pytest.raises(ValueError, match="got dict"):
        opforest.save({}, path)
    with pytest.raises(ValueError, match="learned with metric 'euclidean'"):
        opforest.save(OPFClassifier().fit(X, y).set_params(metric="manhattan"), path)
    with pytest.raises(ValueError, match="n_jobs must be"):
        opforest.save(OPFClassifier(n_jobs=10**6).fit(X, y), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = OPFClassifier(weighted, metric_params={"weight": np.array(1.0)}).fit(X, y)
    with pytest.raises(ValueError, match="metric_params must be strings, numbers"):
        opforest.save(clf, path)
    assert list(path.parent.iterdir()) == []


def test_a_file_keeps_its_mode_and_a_link_its_target(path):
    clf = OPFClassifier().fit(*some(9))
    opforest.save(clf, path)
    path.chmod(0o640)
    link = path.with_name("link")
    link.symlink_to(path)
    opforest.save(clf.partial_fit(*some(3, 1)), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert_same(clf, opforest.load(path))
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["link", path.name]


def test_a_missing_folder_is_named(tmp_path, monkeypatch):
    model = OPFClassifier().fit([[0.0], [1.0]], [0, 1])
    monkeypatch.chdir(tmp_path)
    for folder in ("models/new", str(tmp_path / "models")):
        with pytest.raises(FileNotFoundError, match=f"There is no folder: '{folder}'$"):
            opforest.save(model, f"{folder}/m.opforest")


def test_errors_name_the_file_and_not_a_temporary_one(path, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError, match=f"Permission denied: '{path}'$"):
        opforest.save(OPFClassifier().fit([[0.0], [1.0]], [0, 1]), path)


def test_only_files_are_replaced_and_read(tmp_path):
    clf = OPFClassifier().fit(*some(9))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        opforest.save(clf, pipe)
    with pytest.raises(ModelFileError, match="no model in this folder"):
        opforest.load(tmp_path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        opforest.load("/dev/zero")
    with pytest.raises(FileNotFoundError):
        opforest.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        opforest.save(clf, tmp_path / "no folder" / "model")


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = {name: float(rng.integers(0, 5)) for name in rng.choice(["a", "b", 3, "d"], 3, False)}
        yield (
            {int(k) if k == "3" else str(k): v for k, v in x.items()},
            ["no", "yes", 7][int(sum(x.values())) % 3],
        )


@pytest.mark.parametrize(
    "options",
    [{}, {"window_size": 20}, {"update": "opfi"}, {"update": "dift"}, {"metric": "cosine"}],
)
def test_a_stream_goes_on(path, options):
    pytest.importorskip("river")
    from opforest.river import OPFClassifier as StreamClassifier

    model = StreamClassifier(**options)
    assert again(model, path).forest is None
    for k, (x, y) in enumerate(stream(120)):
        if options.get("metric") == "cosine":
            x = {**x, "one": 1.0}
        if k in (1, 60):
            model.predict_one({**x, "unknown": 2.0})
            twin = again(model, path)
            for name in ("metric", "metric_params", "update", "window_size", "features", "labels"):
                assert getattr(model, name) == getattr(twin, name)
        if k >= 1:
            assert twin.predict_one(x) == model.predict_one(x)
            assert twin.predict_proba_one(x) == model.predict_proba_one(x)
            twin.learn_one(x, y)
        model.learn_one(x, y)
    assert_same_forest(model.forest, twin.forest)


def test_a_stream_with_labels_that_are_no_scalars_is_refused(path):
    pytest.importorskip("river")
    from opforest.river import OPFClassifier as StreamClassifier

    model = StreamClassifier()
    model.learn_one({"a": 1.0}, ("a", "tuple"))
    with pytest.raises(ValueError, match="labels must be strings, numbers"):
        opforest.save(model, path)


#: Parameters that are saved in a way of their own, and one that belongs to a session.
OTHER_PARAMETERS = {"metric", "metric_params", "verbose"}


@pytest.mark.parametrize("serializer", SERIALIZERS.values(), ids=list(SERIALIZERS))
def test_every_parameter_is_saved_and_checked_when_it_is_read(serializer):
    if serializer.module.startswith("opforest.river"):
        pytest.importorskip("river")
    kind = getattr(import_module(serializer.module), serializer.class_name)
    assert set(serializer.parameters) <= set(PARAMETERS)
    assert set(serializer.parameters) == set(inspect.signature(kind).parameters) - OTHER_PARAMETERS
