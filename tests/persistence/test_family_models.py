"""Saving and loading the family's models; files of anything else are refused."""

import numpy as np
import pytest
from tests.support.comparison import assert_same_model

import opforest
from opforest import (
    OPFClustering,
    OPFKNNClassifier,
    OPFOutlier,
    OPFSemiSupervised,
)
from opforest.persistence.container import read_container, write_container

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(60, 3)), RNG.normal(size=(20, 3))
Y = np.where(RNG.random(60) < 0.3, RNG.integers(0, 3, 60), -1)


def again(model, folder, **options):
    opforest.save(model, folder / "model.opforest")
    return opforest.load(folder / "model.opforest", **options)


@pytest.mark.parametrize("seeds", ["labeled", "prototypes"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "canberra"])
def test_semi_supervised_forests_go_on(tmp_path, metric, seeds):
    clf = OPFSemiSupervised(metric, seeds=seeds).fit(X[:50], Y[:50]).forget([3, 7])
    twin = again(clf, tmp_path)
    assert_same_model(clf, twin, Q)
    for model in (clf, twin):
        free = np.flatnonzero(Y[8:50] == -1)[:3] + 8
        model.partial_fit(X[50:], Y[50:]).label(free, [2, 1, 0]).forget(20)
    twin.source_forest().check()
    assert_same_model(clf, twin, Q)


def test_the_calibration_is_kept_until_a_label_comes(tmp_path):
    clf = OPFSemiSupervised().fit(X, Y).forget([3, 7])
    clf.predict_proba(Q)
    twin = again(clf, tmp_path)
    found = twin.forest_.found_calibration
    assert found == clf.forest_.found_calibration
    assert found.is_of(twin.forest_.storage)
    free = np.flatnonzero(Y[8:] == -1)[0] + 8
    twin.label(free, 2)
    assert not found.is_of(twin.forest_.storage)
    labels = np.delete(np.where(np.arange(60) == free, 2, Y), [3, 7])
    fresh = OPFSemiSupervised().fit(np.delete(X, [3, 7], axis=0), labels)
    assert np.array_equal(twin.predict_proba(Q), fresh.predict_proba(Q))


def test_without_a_label_or_an_example(tmp_path):
    clf = OPFSemiSupervised().partial_fit(X, np.full(60, -1))
    twin = again(clf, tmp_path).label(0, 5)
    assert twin.transduction_.tolist() == [5] * 60
    assert again(twin.forget(twin.forest_.ids), tmp_path).forest_.ids.tolist() == []


@pytest.mark.parametrize(
    "model",
    [
        OPFClustering(6, merge_by="area", threshold=0.1),
        OPFClustering(6, metric="minkowski", metric_params={"p": 3}),
        OPFKNNClassifier(4, metric="manhattan"),
        OPFOutlier(5, metric="cosine"),
    ],
)
def test_densities(tmp_path, model):
    model.fit(X, np.array(list("abc"))[Y])
    twin = again(model, tmp_path)
    assert type(twin) is type(model)
    assert str(twin.get_params()) == str(model.get_params())
    assert np.array_equal(model.predict(Q), twin.predict(Q))
    assert np.array_equal(model.density_, twin.density_)
    assert np.array_equal(model.predecessor_, twin.predecessor_)
    for name in (
        "labels_",
        "roots_",
        "normalized_cuts_",
        "accuracies_",
        "classes_",
        "offset_",
        "k_",
    ):
        if hasattr(model, name):
            assert np.array_equal(getattr(model, name), getattr(twin, name))


def test_a_function_must_be_passed_again(tmp_path):
    def apart(a, b):
        return float(np.abs(a - b).sum())

    with pytest.warns(UserWarning, match="njit"):
        model = OPFClustering(4, metric=apart).fit(X)
    with pytest.raises(opforest.ModelFileError, match="which is not saved in files"):
        again(model, tmp_path)
    twin = again(model, tmp_path, metric=apart)
    assert np.array_equal(model.predict(Q), twin.predict(Q))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("root", lambda a: a + 60, "a root is not the last ancestor"),
        ("root", lambda a: np.roll(a, 1), "a root is not the last ancestor"),
        ("predecessor", lambda a: a - 5, "a predecessor is not an example"),
        ("predecessor", lambda a: np.roll(np.arange(len(a)), 1), "form a cycle"),
        ("density", lambda a: a * 0, "a density is not"),
        ("value", lambda a: a - 5000, "a value is out of range"),
        ("scale", lambda a: a * np.nan, "its scale is invalid"),
        ("rows", lambda a: a * np.inf, "not finite"),
        ("cuts", lambda a: a[None], "its cuts"),
        ("density", lambda a: a[:-1], "array 'density'"),
    ],
)
def test_forged_clusterings_are_refused(tmp_path, name, change, message):
    path = tmp_path / "model.opforest"
    opforest.save(OPFClustering(5).fit(X), path)
    header, arrays = read_container(path)
    with np.errstate(invalid="ignore"):
        arrays = {**arrays, name: change(arrays[name])}
    write_container(path, header, arrays)
    with pytest.raises(opforest.ModelFileError, match=message):
        opforest.load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("label", lambda a: np.roll(a, 1), "label"),
        ("label", lambda a: a - 1, "class of an example"),
        ("cost", lambda a: a + 1, "a cost"),
        ("cuts", lambda a: a * 2, "seeds are miscounted"),
        ("parent", lambda a: np.where(a < 0, 0, -1), "root|cycle|tree|weight|edge|apart"),
    ],
)
def test_forged_forests_of_seeds_are_refused(tmp_path, name, change, message):
    path = tmp_path / "model.opforest"
    opforest.save(OPFSemiSupervised().fit(X, Y), path)
    header, arrays = read_container(path)
    write_container(path, header, {**arrays, name: change(arrays[name])})
    with pytest.raises(opforest.ModelFileError, match=message):
        opforest.load(path)
