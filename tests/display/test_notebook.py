"""Notebook output of estimators and forests."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from tests.support.notebooks import HOSTILE, read, squares

import opforest
from opforest import OPFClassifier, OPFClustering, OPFKNNClassifier, OPFOutlier, OPFSemiSupervised
from opforest.display.notebook import MAX_DRAWN

HAS_ATTRIBUTES = hasattr(BaseEstimator, "_get_fitted_attr_html")  # since scikit-learn 1.9


def test_fitted_numbers_and_the_link_to_the_right_page():
    X, y = squares()
    clf = OPFClassifier()
    assert 'class="caption"' not in estimator_html_repr(clf)
    html = estimator_html_repr(clf.fit(X, y))
    count = len(clf.forest_.prototypes)
    assert f"60 examples, 2 features, 3 classes, {count} prototypes" in html
    link = "https://opforest.readthedocs.io/en/stable/api/generated/opforest.OPFClassifier.html"
    assert link in html
    assert "https://scikit-learn.org" not in html


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (OPFClustering(5), "60 examples, 2 features, "),
        (OPFOutlier(), "60 examples, 2 features, k = "),
        (OPFKNNClassifier(5), "60 examples, 2 features, 3 classes, k = "),
        (OPFSemiSupervised(), "60 examples, 2 features, 3 classes, 60 labeled examples"),
    ],
)
def test_the_family(estimator, said):
    X, y = squares()
    html = estimator_html_repr(estimator.fit(X, y))
    assert said in html
    assert f"api/generated/opforest.{type(estimator).__name__}.html" in html


@pytest.mark.parametrize("kind", [OPFClassifier, OPFSemiSupervised])
@pytest.mark.parametrize("voters", [5, "auto"])
def test_voters_are_shown_where_there_are_several(kind, voters):
    X, y = squares()
    assert "voters: " not in kind(voters=1).fit(X, y)._facts()
    clf = kind(voters=voters).fit(X, y)
    assert estimator_html_repr(clf).count(f", voters: {voters}<") == 1
    if HAS_ATTRIBUTES:
        assert "voters_" not in estimator_html_repr(clf)  # finding it takes time
        clf.predict(X)
        assert "voters_" in estimator_html_repr(clf)


def test_pipelines_show_the_numbers_of_their_last_step():
    X, y = squares()
    for kind in (
        make_pipeline,
        lambda *steps: opforest.Pipeline([("a", steps[0]), ("b", steps[1])]),
    ):
        html = estimator_html_repr(kind(StandardScaler(), OPFClassifier()).fit(X, y))
        assert "60 examples, 2 features, 3 classes" in html


def test_the_page_of_dask():
    dask = pytest.importorskip("opforest.dask")
    assert (
        dask.DaskOPFClassifier()._get_doc_link().endswith("/opforest.dask.DaskOPFClassifier.html")
    )


def test_classes_of_others_have_no_page():
    class Mine(OPFClassifier):
        pass

    assert Mine()._get_doc_link() == ""


def test_precomputed_distances_have_no_features():
    X, y = squares()
    table = np.abs(X[:, None] - X[None]).sum(axis=2)
    clf = OPFClassifier("precomputed").fit(table, y)
    assert "60 examples, 3 classes" in estimator_html_repr(clf)
    assert "none: distances" in clf.forest_._repr_html_()


@pytest.mark.skipif(not HAS_ATTRIBUTES, reason=f"scikit-learn {sklearn.__version__} shows none")
def test_showing_an_estimator_finds_no_calibration(monkeypatch):
    X, y = squares()
    clf = OPFClassifier().fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("opforest.forest.forest.find_calibration", None)
        assert "exponent_" not in estimator_html_repr(clf)
    clf.predict_proba(X)
    assert "exponent_" in estimator_html_repr(clf)
    clf.partial_fit(X[:1], y[:1])
    html = estimator_html_repr(clf)
    assert "exponent_" not in html
    assert "update_report_" in html


def test_hostile_classes_inject_nothing():
    X, y = squares()
    clf = OPFClassifier().fit(X, np.array([HOSTILE, "b", "c"])[y])
    assert "<script>alert" not in estimator_html_repr(clf)
    assert "onerror=alert(1)>" not in estimator_html_repr(clf)


def test_forests_show_numbers_classes_and_the_tree():
    X, y = squares()
    forest = OPFClassifier().fit(X, y).forest_
    page = read(forest._repr_html_())
    text = " ".join(page.text.split())
    assert "Optimum-path forest of 60 examples" in text
    assert "metriceuclidean" in text.replace(" ", "")
    assert page.tags.count("tr") == 6 + 1 + 3
    assert page.tags.count("polygon") == len(forest.prototypes)


@pytest.mark.parametrize("update", ["opfi", "dift"])
def test_grown_forests_say_by_what(update):
    X, y = squares(200)
    clf = OPFClassifier(update=update).fit(X[:180], y[:180]).partial_fit(X[180:], y[180:])
    html = clf.forest_._repr_html_()
    assert f"200 examples, grown by {update}" in html
    assert "nan" not in html


def test_many_classes_are_summed_up():
    X, _ = squares(40)
    page = read(OPFClassifier().fit(X, np.arange(40) % 20).forest_._repr_html_())
    assert "… 10 more" in page.text


def test_large_forests_are_not_drawn():
    X = np.arange(2.0 * (MAX_DRAWN + 1)).reshape(-1, 2)
    html = OPFClassifier().fit(X, X[:, 0] > 9).forest_._repr_html_()
    assert "<svg" not in html
    assert "1,001 examples" in html


def test_small_and_empty_forests():
    clf = OPFClassifier().fit([[0.0]], ["a"])
    assert "1 example" in read(clf.forest_._repr_html_()).text
    clf.forget([0])
    assert "0 examples" in read(clf.forest_._repr_html_()).text
    assert "0 examples" in estimator_html_repr(clf)


def test_copies_are_drawn_at_one_place():
    html = OPFClassifier().fit(np.ones((5, 3)), [0, 1, 0, 1, 1]).forest_._repr_html_()
    assert "nan" not in html
    read(html)
