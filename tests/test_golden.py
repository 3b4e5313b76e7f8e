"""Agreement with the real LibOPF, and with the paper's data."""

import numpy as np
import pytest

from opforest import OPFClassifier
from opforest.scores import opf_accuracy

SETS = ["cone-torus", "data1", "parkinsons"]


def read_dat(path):
    raw = path.read_bytes()
    n, _, d = np.frombuffer(raw, "<i4", 3)
    rows = np.frombuffer(raw, "<f4", offset=12).reshape(n, d + 2)
    return rows[:, 2:].astype(np.float64), rows[:, 1].copy().view("<i4")


def read_model(path):
    """Return the path costs and the predecessors of a classifier.opf."""
    raw = path.read_bytes()
    n, _, d = np.frombuffer(raw, "<i4", 3)
    nodes = np.frombuffer(raw, "<i4", n * (7 + d), offset=32).reshape(n, 7 + d)
    return nodes[:, 4].copy().view("<f4"), nodes[:, 2]


@pytest.fixture(params=SETS)
def golden(request, shared):
    return shared / "golden" / "libopf" / request.param


def test_the_list_of_sets_is_complete(shared):
    assert sorted(folder.name for folder in (shared / "golden" / "libopf").iterdir()) == SETS


def test_predictions_and_accuracy_are_those_of_libopf(golden):
    clf = OPFClassifier().fit(*read_dat(golden / "training.dat"))
    for part in ("training", "testing"):
        X, y = read_dat(golden / f"{part}.dat")
        predicted = clf.predict(X)
        assert np.array_equal(predicted, np.loadtxt(golden / f"{part}.dat.out", dtype=int))
    accuracy = float((golden / "testing.dat.acc").read_text().split()[0])
    assert 100 * opf_accuracy(y, predicted) == pytest.approx(accuracy, abs=1e-4)


def test_prototypes_and_costs_are_those_of_libopf(golden):
    clf = OPFClassifier().fit(*read_dat(golden / "training.dat"))
    path_cost, predecessor = read_model(golden / "classifier.opf")
    assert np.array_equal(clf.forest_.prototypes, np.flatnonzero(predecessor == -1))
    ours = 1e5 * np.log(1 + clf.forest_.cost**2)
    np.testing.assert_allclose(ours, path_cost, rtol=2e-3)
    in_libopf_units = OPFClassifier("log_squared_euclidean").fit(*read_dat(golden / "training.dat"))
    np.testing.assert_allclose(in_libopf_units.forest_.cost, path_cost, rtol=2e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1, 1e-2, 1e-4, 1e-8, 1e8])
def test_base1_scores_98_percent_at_every_scale(shared, scale, dtype):
    X, y = read_dat(shared / "data" / "opfi" / "base1.opf")
    X = (X * scale).astype(dtype)
    half = np.random.default_rng(0).permutation(len(X)) < len(X) // 2
    clf = OPFClassifier().fit(X[half], y[half])
    assert opf_accuracy(y[~half], clf.predict(X[~half])) >= 0.98
    assert clf.forest_.dtype == dtype
