import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.support.plots import blobs, legend_texts
from tests.support.tuning import tune

from opforest import OPFClassifier, Pipeline, Preparation
from opforest import make_pipeline as make_own_pipeline
from opforest._utils.extras import install_command
from opforest.display.drawing import MARKERS
from opforest.display.palette import colors_of
from opforest.plotting import ForestDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def draw(X, y, coordinates=None, metric="euclidean", **options):
    clf = OPFClassifier(metric).fit(X, y)
    options.setdefault("grid_resolution", 12)
    display = ForestDisplay.from_estimator(
        clf, X if coordinates is None else coordinates, **options
    )
    display.figure_.canvas.draw()
    return clf, display


def cell_center(display, row, column, resolution):
    left, right, lower, upper = display.plane.extent
    x = left + (column + 0.5) / resolution * (right - left)
    return x, lower + (row + 0.5) / resolution * (upper - lower)


def test_draws_what_the_forest_says():
    X, y = blobs()
    clf, display = draw(X, y)
    forest = clf.forest_
    arcs = np.array(display.arcs_.get_segments())
    conquered = np.setdiff1d(np.arange(len(X)), forest.prototypes)
    assert len(arcs) == len(X) - len(forest.prototypes)
    np.testing.assert_array_equal(arcs[:, 0], X[forest.predecessor[conquered]])
    np.testing.assert_array_equal(arcs[:, 1], X[conquered])
    u, v = forest.edges[y[forest.edges[:, 0]] != y[forest.edges[:, 1]]].T
    np.testing.assert_array_equal(display.cuts_.get_segments(), np.stack((X[u], X[v]), axis=1))
    np.testing.assert_array_equal(display.prototypes_.get_offsets(), X[forest.prototypes])
    for k, dots in enumerate(display.points_):
        np.testing.assert_array_equal(dots.get_offsets(), X[conquered[y[conquered] == k]])
        np.testing.assert_allclose(dots.get_facecolor()[0, :3], colors_of(2)[k])
    assert len(display.points_) == 2


def test_regions_are_predictions_at_the_centers_of_cells():
    X, y = blobs()
    clf, display = draw(X, y, grid_resolution=7, eps=0.5)
    low, high = X.min(axis=0), X.max(axis=0)
    left, right, lower, upper = display.plane.extent
    np.testing.assert_allclose((left, lower), low - 0.5 * (high - low))
    np.testing.assert_allclose((right, upper), high + 0.5 * (high - low))
    assert display.ax_.get_xlim() == (left, right)
    assert display.ax_.get_ylim() == (lower, upper)
    for row, column in ((0, 0), (2, 5), (6, 3)):
        point = cell_center(display, row, column, 7)
        assert display.regions[row, column] == clf.predict([point])[0]
    assert display.regions_.get_array().shape[:2] == (7, 7)
    assert list(display.regions_.get_extent()) == [left, right, lower, upper]


def test_no_regions_and_no_legend_on_request():
    _, display = draw(*blobs(), grid_resolution=0, legend=False)
    assert display.regions is None
    assert display.regions_ is None
    assert display.legend_ is None
    assert "regions" not in display.ax_.get_title()
    _, display = draw(*blobs(d=3), grid_resolution=0)
    assert "PCA of 3 features" in display.ax_.get_title()
    assert "regions" not in display.ax_.get_title()


def test_draws_into_given_axes_and_again_into_others():
    figure, (left, right) = plt.subplots(1, 2)
    _, display = draw(*blobs(), ax=left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert display.plot(right, legend=False) is display
    assert display.ax_ is right
    assert left.get_title() == right.get_title() != ""
    assert len(plt.get_fignums()) == 1


def test_string_labels_in_the_legend():
    X, y = blobs()
    clf, display = draw(X, np.array(["cat", "dog"])[y])
    assert legend_texts(display) == ["cat", "dog", "prototype", "cut edge"]
    assert (display.regions >= 0).all()
    title = display.ax_.get_title()
    assert title == f"Optimum-path forest: 40 examples, {len(clf.forest_.prototypes)} prototypes"


def test_many_classes_share_colors_and_markers_but_not_both():
    _, display = draw(*blobs(n=60, n_classes=12))
    assert legend_texts(display) == [*map(str, range(10)), "… 2 more", "prototype", "cut edge"]
    assert len(display.points_) == 12
    looks = {(*color, MARKERS[k % len(MARKERS)]) for k, color in enumerate(colors_of(60))}
    assert len(looks) == 60


def test_one_class_has_no_cut_edges():
    X, _ = blobs()
    _, display = draw(X, np.zeros(len(X), int))
    assert display.cuts_.get_segments() == []
    assert len(display.arcs_.get_segments()) == len(X) - 1
    assert legend_texts(display) == ["0", "prototype"]


def test_one_feature_is_drawn_on_a_line():
    X, y = blobs(d=1)
    clf, display = draw(X, y, grid_resolution=9)
    np.testing.assert_array_equal(display.plane.points, np.column_stack((X, np.zeros(len(X)))))
    assert display.regions.shape == (1, 9)
    left, right, *_ = display.plane.extent
    middle = left + 0.5 * (right - left)
    assert display.regions[0, 4] == clf.predict([[middle]])[0]
    assert len(display.arcs_.get_segments()) == len(X) - len(clf.forest_.prototypes)
    assert display.ax_.get_xlabel() == "feature 0"
    assert list(display.ax_.get_yticks()) == []


def test_more_features_are_reduced_by_pca():
    X, y = blobs(d=5)
    clf, display = draw(X, y)
    title = display.ax_.get_title()
    assert "PCA of 5 features" in title
    assert "% of variance; regions on its plane" in title
    centered = X - X.mean(axis=0)
    share = np.linalg.svd(centered, compute_uv=False) ** 2 / (centered**2).sum()
    assert f", {share[:2].sum():.0%} of variance" in title
    assert display.ax_.get_xlabel() == f"component 1 ({share[0]:.0%} of variance)"
    back = display.plane.to_features(display.plane.points)
    left_over = ((X - back) ** 2).sum() / (centered**2).sum()
    assert left_over == pytest.approx(1 - share[:2].sum())
    assert len(display.arcs_.get_segments()) == len(X) - len(clf.forest_.prototypes)


def test_large_grids_are_predicted_in_parts():
    _, whole = draw(*blobs(d=5))
    tune(plot_features_per_call=37)
    _, parts = draw(*blobs(d=5))
    np.testing.assert_array_equal(whole.regions, parts.regions)


def test_names_of_a_frame_become_axis_labels():
    X, y = blobs()
    _, display = draw(pd.DataFrame(X, columns=["width", "height"]), y)
    assert display.ax_.get_xlabel() == "width"
    assert display.ax_.get_ylabel() == "height"
    assert (display.regions >= 0).all()
    _, display = draw(X, y)
    assert display.ax_.get_ylabel() == "feature 1"


@pytest.mark.parametrize("d", [1, 2, 4])
def test_precomputed_takes_any_coordinates_and_has_no_regions(d):
    X, y = blobs(d=d)
    clf, display = draw(pairwise_distances(X), y, X, metric="precomputed")
    assert display.regions_ is None
    title = display.ax_.get_title().replace("\n", " ")
    assert "no regions: distances are precomputed" in title
    assert ("PCA" in title) == (d > 2)
    assert len(display.arcs_.get_segments()) == len(X) - len(clf.forest_.prototypes)


@pytest.mark.parametrize("metric", ["chi_squared", "squared_chord"])
def test_the_picture_stays_where_features_are_not_negative(metric):
    X, y = blobs()
    _, display = draw(X - X.min(axis=0), y, metric=metric)
    assert display.plane.extent[::2] == (0, 0)
    assert (display.regions >= 0).all()
    _, display = draw(X[:, :1] - X[:, 0].min(), y, metric=metric)
    assert display.plane.extent[::2] == (0, -1)
    X, y = blobs(d=6)
    _, display = draw(X - X.min(axis=0), y, metric=metric)
    title = display.ax_.get_title()
    assert "regions on its plane, negative features set to 0" in title.replace("\n", " ")
    assert max(map(len, title.splitlines())) <= 60
    assert (display.regions >= 0).all()


def test_the_background_is_empty_where_a_metric_is_undefined():
    X, y = np.array([[-1.0, -1.0], [1.0, -0.5], [-1.0, 0.5], [1.0, 1.0]]), [0, 0, 1, 1]
    _, display = draw(X, y, metric="cosine", grid_resolution=5)
    expected = np.zeros((5, 5), bool)
    expected[2, 2] = True  # the zero vector
    np.testing.assert_array_equal(display.regions < 0, expected)
    np.testing.assert_array_equal(display.regions_.get_array()[2, 2], [1, 1, 1])
    _, display = draw(X, y, metric="cosine", grid_resolution=1)
    assert "no regions: the metric is undefined" in display.ax_.get_title()


@pytest.mark.filterwarnings("ignore:metric 'distance' is a Python function")
def test_python_metric():
    def distance(x, y):
        return float(np.abs(x - y).sum())

    _, display = draw(*blobs(n=10), metric=distance, grid_resolution=3)
    assert (display.regions >= 0).all()


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("value", [0.0, 1e20])
def test_equal_examples(d, value):
    _, display = draw(np.full((3, d), value), [0, 1, 1])
    left, right, lower, upper = display.plane.extent
    assert left < right
    assert lower < upper
    assert (display.regions >= 0).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_single_example(d):
    _, display = draw(np.ones((1, d)), [7])
    assert len(display.arcs_.get_segments()) == 0
    assert (display.regions == 0).all()


def test_single_precision():
    X, y = blobs(d=3)
    _, display = draw(X.astype(np.float32), y)
    assert (display.regions >= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:-1], r"the 40 examples of the forest.* got shape \(39, 2\)"),
        (lambda X: X[:, :1], r"with 2 features, got shape \(40, 1\)"),
        (lambda X: X[:, 0], "Expected 2D array"),
        (lambda X: np.full(X.shape, "a"), "could not convert string"),
        (lambda X: X * np.nan, "Input X contains NaN"),
    ],
)
def test_wrong_examples(change, message):
    X, y = blobs()
    clf = OPFClassifier().fit(X, y)
    with pytest.raises(ValueError, match=message):
        ForestDisplay.from_estimator(clf, change(X))


def test_wrong_number_of_rows_for_precomputed():
    X, y = blobs()
    clf = OPFClassifier("precomputed").fit(pairwise_distances(X), y)
    with pytest.raises(ValueError, match="must hold the 40 examples"):
        ForestDisplay.from_estimator(clf, X[1:])


@pytest.mark.parametrize("options", [{"grid_resolution": -1}, {"eps": -0.1}, {"eps": np.nan}])
def test_wrong_grid(options):
    with pytest.raises(ValueError, match="grid_resolution and eps must be >= 0, got "):
        draw(*blobs(), **options)


def test_wrong_estimators():
    X, y = blobs()
    with pytest.raises(NotFittedError, match="must be a fitted OPFClassifier"):
        ForestDisplay.from_estimator(OPFClassifier(), X)
    with pytest.raises(ValueError, match="got KNeighborsClassifier"):
        ForestDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X)
    other = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="got a Pipeline that ends in KNeighborsClassifier"):
        ForestDisplay.from_estimator(other, X)
    with pytest.raises(NotFittedError, match="or a pipeline that ends in one"):
        ForestDisplay.from_estimator(make_pipeline(StandardScaler(), OPFClassifier()), X)


@pytest.mark.parametrize(
    "kind", [make_pipeline, lambda *steps: Pipeline(list(zip("ab", steps, strict=True)))]
)
def test_a_pipeline_of_two_features_is_drawn_in_their_own_units(kind):
    X, y = blobs()
    X *= [1, 1000]
    pipeline = kind(StandardScaler(), OPFClassifier()).fit(X, y)
    display = ForestDisplay.from_estimator(pipeline, X, grid_resolution=7)
    np.testing.assert_array_equal(display.plane.points, X)
    for row, column in ((0, 0), (2, 5), (6, 3)):
        point = cell_center(display, row, column, 7)
        assert display.regions[row, column] == pipeline.predict([point])[0]
    assert len(display.arcs_.get_segments()) == 40 - len(pipeline[-1].forest_.prototypes)


def test_a_pipeline_of_many_features_is_drawn_as_the_classifier_gets_them():
    X, y = blobs(d=5)
    scaler = StandardScaler().fit(X)
    pipeline = make_pipeline(scaler, None, "passthrough", OPFClassifier()).fit(X, y)
    display = ForestDisplay.from_estimator(pipeline, X, grid_resolution=5)
    alone = ForestDisplay.from_estimator(pipeline[-1], scaler.transform(X), grid_resolution=5)
    np.testing.assert_array_equal(display.plane.points, alone.plane.points)
    np.testing.assert_array_equal(display.regions, alone.regions)
    reduced = make_pipeline(PCA(2), OPFClassifier()).fit(X, y)
    display = ForestDisplay.from_estimator(reduced, X, grid_resolution=5)
    np.testing.assert_allclose(display.plane.points, reduced[0].transform(X))


def test_a_pipeline_of_a_frame_with_names():
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["width", "height"])
    for first in (StandardScaler(), Preparation(scale="standard")):
        pipeline = make_pipeline(first, OPFClassifier()).fit(frame, y)
        display = ForestDisplay.from_estimator(pipeline, frame, grid_resolution=5)
        assert (display.regions >= 0).all()
        np.testing.assert_array_equal(display.plane.points, X)
    assert display.ax_.get_xlabel() in ("width", "feature 0")


def test_a_pipeline_of_text_and_of_missing_cells():
    X, y = blobs()
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.array(["a", "b"])[y]})
    first = Preparation(encode="onehot", scale="minmax")
    pipeline = make_pipeline(first, OPFClassifier()).fit(frame, y)
    display = ForestDisplay.from_estimator(pipeline, frame, grid_resolution=5)
    assert "PCA of 3 features" in display.ax_.get_title()
    X[0, 0] = np.nan
    pipeline = make_pipeline(SimpleImputer(), OPFClassifier()).fit(X, y)
    display = ForestDisplay.from_estimator(pipeline, X, grid_resolution=5)
    assert np.isfinite(display.plane.points).all()


def test_a_pipeline_that_measures_distances_itself():
    X, y = blobs()
    measure = FunctionTransformer(lambda some: pairwise_distances(some, X))
    pipeline = make_pipeline(measure, OPFClassifier("precomputed")).fit(X, y)
    display = ForestDisplay.from_estimator(pipeline, X, grid_resolution=5)
    np.testing.assert_array_equal(display.plane.points, X)
    plain = ForestDisplay.from_estimator(OPFClassifier().fit(X, y), X, grid_resolution=5)
    np.testing.assert_array_equal(display.regions, plain.regions)


def test_a_pipeline_and_other_examples_than_it_learned():
    X, y = blobs()
    pipeline = make_pipeline(StandardScaler(), OPFClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"the 40 examples .* got shape \(39, 2\)"):
        ForestDisplay.from_estimator(pipeline, X[1:])


def test_says_how_to_install_matplotlib(monkeypatch):
    X, y = blobs()
    clf, display = draw(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape(install_command("plot"))):
        ForestDisplay.from_estimator(clf, X)
    with pytest.raises(ImportError, match=re.escape(install_command("plot"))):
        display.plot()


def test_dollars_are_no_formulas():
    frame = pd.DataFrame({"$x_$": [0.0, 1.0, 4.0], "y": [1.0, 0.0, 2.0]})
    clf = OPFClassifier().fit(frame, ["$b^$", "$b^$", "c"])
    display = ForestDisplay.from_estimator(clf, frame, grid_resolution=10)
    display.figure_.canvas.draw()
    plt.close(display.figure_)


class TestOwnPoints:
    """Without X, the points that the classifier holds are drawn."""

    def test_they_are_the_examples(self):
        X, y = make_moons(40, noise=0.2, random_state=0)
        clf = OPFClassifier().fit(X, y)
        own, given = ForestDisplay.from_estimator(clf), ForestDisplay.from_estimator(clf, X)
        assert np.array_equal(own.plane.points, given.plane.points)
        assert np.array_equal(own.regions, given.regions)
        assert own.title == given.title
        clf.partial_fit([[9.0, 9.0]], [0]).forget([3, 7])
        own = ForestDisplay.from_estimator(clf)
        assert np.array_equal(own.plane.points, np.vstack((np.delete(X, [3, 7], 0), [9, 9])))

    def test_a_pipeline_shows_what_its_last_step_gets(self):
        X, y = make_moons(40, noise=0.2, random_state=0)
        pipeline = make_own_pipeline(StandardScaler(), OPFClassifier()).fit(X, y)
        display = ForestDisplay.from_estimator(pipeline)
        assert np.array_equal(display.plane.points, pipeline.prepare(X))
        assert display.ax_.get_xlabel() == "x0"
        assert display.regions is not None

    @pytest.mark.parametrize(
        ("metric", "has_regions"),
        [("cosine", True), ("correlation", True), ("bhattacharyya", False), ("manhattan", True)],
    )
    def test_metrics_that_compare_other_points(self, metric, has_regions):
        X = np.random.default_rng(0).random((20, 3)) + 0.1
        X /= X.sum(axis=1)[:, None]
        clf = OPFClassifier(metric).fit(X, np.arange(20) % 2)
        display = ForestDisplay.from_estimator(clf, grid_resolution=10)
        assert (display.regions is not None) == has_regions
        assert ("points that the metric compares" in " ".join(display.title.split())) != has_regions

    def test_distances_are_no_points(self):
        distances = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        clf = OPFClassifier("precomputed").fit(distances, [0, 0, 1, 1])
        with pytest.raises(ValueError, match="holds no points to draw: pass X"):
            ForestDisplay.from_estimator(clf)
