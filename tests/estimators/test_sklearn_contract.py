"""What scikit-learn expects of a classifier."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from opforest import OPFClassifier


@parametrize_with_checks(
    [OPFClassifier(), OPFClassifier("manhattan"), OPFClassifier("precomputed")]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_pipeline_and_grid_search(iris):
    pipeline = make_pipeline(StandardScaler(), OPFClassifier())
    search = GridSearchCV(pipeline, {"opfclassifier__metric": ["euclidean", "manhattan"]}, cv=3)
    assert search.fit(*iris).best_score_ > 0.9


def test_cross_validation_slices_both_axes_of_a_precomputed_matrix(iris):
    X, y = iris
    D = pairwise_distances(X, metric="manhattan")
    assert np.array_equal(
        cross_val_score(OPFClassifier("precomputed"), D, y, cv=5),
        cross_val_score(OPFClassifier("manhattan"), X, y, cv=5),
    )


def test_bagging_and_calibration(iris):
    X, y = iris
    bagging = BaggingClassifier(OPFClassifier(), n_estimators=5, random_state=0).fit(X, y)
    assert bagging.score(X, y) > 0.9
    calibrated = CalibratedClassifierCV(OPFClassifier(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_inspection(iris):
    X, y = iris
    clf = OPFClassifier().fit(X, y)
    importance = permutation_importance(clf, X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.argmax() in (2, 3)
    flat = OPFClassifier().fit(X[:, 2:], y)
    display = DecisionBoundaryDisplay.from_estimator(
        flat, X[:, 2:], grid_resolution=10, response_method="predict"
    )
    assert display.response.shape[:2] == (10, 10)


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda clf: pickle.loads(pickle.dumps(clf)),
        copy.deepcopy,
        lambda clf: clone(clf).fit(*load_iris(return_X_y=True)),
    ],
)
def test_copies_are_equal(iris, duplicate):
    X, y = iris
    for metric, params in (("euclidean", None), ("minkowski", {"p": 3}), ("gaussian", None)):
        clf = OPFClassifier(metric, metric_params=params).fit(X, y)
        twin = duplicate(clf)
        assert np.array_equal(twin.predict_proba(X), clf.predict_proba(X))
        assert np.array_equal(twin.forest_.cost, clf.forest_.cost)


def test_joblib_with_memory_maps(iris, tmp_path):
    X, y = iris
    clf = OPFClassifier().fit(X, y)
    joblib.dump(clf, tmp_path / "model.joblib")
    for mode in (None, "r"):
        loaded = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
        assert np.array_equal(loaded.predict(X), clf.predict(X))


def test_tags():
    assert OPFClassifier("precomputed").__sklearn_tags__().input_tags.pairwise
    assert not OPFClassifier().__sklearn_tags__().input_tags.pairwise
    assert OPFClassifier("chi_squared").__sklearn_tags__().input_tags.positive_only
