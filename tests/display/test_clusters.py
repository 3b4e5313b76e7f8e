"""Plots of clusters, and of labeled and inferred examples."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from opforest import OPFClustering, OPFOutlier, OPFSemiSupervised
from opforest.cluster_plotting import ClusterDisplay
from opforest.plotting import ForestDisplay

X, Y = make_moons(120, noise=0.06, random_state=0)


def test_clusters_have_roots_and_paths():
    model = OPFClustering(20).fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    assert len(display.roots_.get_offsets()) == len(model.roots_)
    assert len(display.points_.get_offsets()) == 120
    assert len(display.arcs_.get_paths()) == 120 - len(model.roots_)
    assert f"{len(model.roots_)} clusters" in display.ax_.get_title()


def test_own_points():
    model = OPFClustering(20).fit(X)
    display = ClusterDisplay.from_estimator(model)
    assert np.array_equal(display.plane.points, X)
    distances = np.abs(X[:, :1] - X[:, :1].T)
    with pytest.raises(ValueError, match="holds no points to draw: pass X"):
        ClusterDisplay.from_estimator(OPFClustering(20, metric="precomputed").fit(distances))


def test_many_features_one_feature_and_wrong_ones():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, 5))
    display = ClusterDisplay.from_estimator(OPFClustering(5).fit(wide), wide)
    assert "PCA of 5 features" in display.ax_.get_title()
    ClusterDisplay.from_estimator(OPFClustering(5).fit(wide[:, :1]), wide[:, :1])
    with pytest.raises(ValueError, match="X must hold the 40 examples"):
        ClusterDisplay.from_estimator(OPFClustering(5).fit(wide), wide[:, :3])
    with pytest.raises(ValueError, match="must be an OPFClustering, got OPFOutlier"):
        ClusterDisplay.from_estimator(OPFOutlier().fit(wide), wide)


def test_what_is_labeled_and_what_was_inferred():
    y = np.where(np.arange(120) % 20 == 0, Y, -1)
    display = ForestDisplay.from_estimator(OPFSemiSupervised().fit(X, y), X, grid_resolution=10)
    assert "6 labeled" in display.ax_.get_title()
    assert len(display.prototypes_.get_offsets()) == 6
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert {"labeled", "inferred"} <= set(names)
