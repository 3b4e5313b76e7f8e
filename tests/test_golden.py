"""Agreement with the real LibOPF, and with the paper's data."""

import numpy as np
import pytest

from opforest import OPFClassifier
from opforest.scores import opf_accuracy
from tests.support.data_files import LIBOPF, LIBOPF_SETS, PUBLISHED_DATA, read_dat, read_model


@pytest.fixture(scope="module")
def base1():
    """The paper's Base1."""
    return read_dat(PUBLISHED_DATA / "opfi" / "base1.opf")


def test_the_list_of_sets_is_complete():
    folders = sorted(path.parent.name for path in LIBOPF.glob("*/training.dat"))
    assert tuple(folders) == LIBOPF_SETS


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
def test_base1_scores_98_percent_at_every_scale(base1, scale, dtype):
    X, y = base1
    X = (X * scale).astype(dtype)
    half = np.random.default_rng(0).permutation(len(X)) < len(X) // 2
    clf = OPFClassifier().fit(X[half], y[half])
    assert opf_accuracy(y[~half], clf.predict(X[~half])) >= 0.98
    assert clf.forest_.dtype == dtype
