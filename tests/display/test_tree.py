"""Plots of trees with any number of features."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.plots import blobs, legend_texts

from opforest import OPFClassifier, OPFSemiSupervised
from opforest.tree_plotting import TreeDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def lengths(collection):
    return np.array([np.hypot(*(b - a)) for a, b in collection.get_segments()])


def distances(X, edges):
    return np.sqrt(((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1))


def test_edges_are_as_long_as_the_distances_between_their_ends():
    X, y = blobs(d=7)
    clf = OPFClassifier().fit(X, y)
    display = TreeDisplay.from_estimator(clf)
    display.figure_.canvas.draw()
    edges = clf.forest_.edges
    is_cut = y[edges[:, 0]] != y[edges[:, 1]]
    np.testing.assert_allclose(lengths(display.edges_), distances(X, edges[~is_cut]))
    np.testing.assert_allclose(lengths(display.cuts_), distances(X, edges[is_cut]))
    stars = display.places[clf.forest_.prototypes]
    np.testing.assert_array_equal(display.prototypes_.get_offsets(), stars)
    assert len(display.points_.get_offsets()) == len(X) - len(stars)
    assert legend_texts(display) == ["0", "1", "prototype", "cut edge"]
    assert display.ax_.get_title() == f"Tree of 40 examples, {len(stars)} prototypes"


def test_the_picture_is_the_same_every_time():
    X, y = blobs(n=200, d=5)
    one, two = (TreeDisplay.from_estimator(OPFClassifier().fit(X, y)) for _ in range(2))
    np.testing.assert_array_equal(one.places, two.places)


def test_distances_alone_are_enough():
    X, y = blobs(d=4)
    clf = OPFClassifier("precomputed").fit(pairwise_distances(X), y)
    display = TreeDisplay.from_estimator(clf, legend=False)
    assert display.legend_ is None
    assert len(display.edges_.get_segments()) + len(display.cuts_.get_segments()) == 39


def test_pipelines_and_given_axes():
    X, y = blobs(d=4)
    _, ax = plt.subplots()
    pipeline = make_pipeline(StandardScaler(), OPFClassifier()).fit(X, y)
    display = TreeDisplay.from_estimator(pipeline, ax=ax)
    assert display.ax_ is ax
    assert display.plot().ax_ is not ax


@pytest.mark.parametrize("update", ["opfi", "dift"])
def test_forests_of_several_trees(update):
    X, y = blobs(n=200, d=3)
    clf = OPFClassifier(update=update).fit(X[:180], y[:180]).partial_fit(X[180:], y[180:])
    display = TreeDisplay.from_estimator(clf)
    assert len(display.edges_.get_segments()) == 200 - len(clf.forest_.prototypes)
    np.testing.assert_allclose(lengths(display.edges_), distances(X, clf.forest_.edges))


def test_semi_supervised_and_forgotten():
    X, y = blobs(d=3)
    clf = OPFSemiSupervised().fit(X, np.where(np.arange(40) < 10, y, -1))
    assert "10 labeled examples" in TreeDisplay.from_estimator(clf).ax_.get_title()
    clf = OPFClassifier().fit(X, y).forget([3, 5])
    assert len(TreeDisplay.from_estimator(clf).places) == 38


@pytest.mark.parametrize("n", [1, 2])
def test_tiny(n):
    display = TreeDisplay.from_estimator(OPFClassifier().fit(np.arange(float(n))[:, None], [0] * n))
    display.figure_.canvas.draw()


def test_wrong_estimators():
    X, y = blobs()
    with pytest.raises(NotFittedError, match="must be a fitted OPFClassifier, or a pipeline"):
        TreeDisplay.from_estimator(OPFClassifier())
    other = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="a Pipeline that ends in KNeighborsClassifier"):
        TreeDisplay.from_estimator(other)
