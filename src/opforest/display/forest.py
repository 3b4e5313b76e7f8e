"""Plots of forests."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags

from opforest.core.metrics.types import Array
from opforest.display import drawing
from opforest.display.layout import split_edges
from opforest.display.palette import colors_of
from opforest.display.plane import Plane, check_points, choose_plane, make_title, predict_grid
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.pipeline import classifier_of
from opforest.forest.forest import BaseForest
from opforest.forest.seeded import SeededForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ForestDisplay:
    """A plot of an optimum-path forest; ``from_estimator`` makes one.

    Prototypes are stars, other examples dots, in the color of their class. A thin line connects
    each example with its predecessor on the path from its prototype. Dashed lines are the edges of
    the minimum spanning tree that were cut because they join two classes. The background is the
    class that ``predict`` returns there. For ``OPFSemiSupervised``, stars are labeled examples, and
    dots have inferred labels. With many features, ``opforest.tree_plotting.TreeDisplay`` often
    shows more.

    Parameters
    ----------
    plane : Plane
        Where to draw the examples.
    forest : Forest
        The forest.
    classes : array of shape (n_classes,)
        The labels of the integers in ``forest.label``.
    regions : array of shape (rows, columns) or None
        The background: the class predicted at the centers of equal cells of the plane, lowest row
        first, as integers; −1 where the metric is undefined.
    title : str
        The title.

    Attributes
    ----------
    ax_, figure_, regions_, legend_ : Axes, Figure, AxesImage or None, Legend or None
        The axes and figure, the background, the legend.
    arcs_, cuts_ : LineCollection
        The arcs of all paths, one for each example except prototypes; the cut edges.
    points_, prototypes_ : list of PathCollection, PathCollection
        The examples by class, without the prototypes; the prototypes.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from opforest import OPFClassifier
    >>> from opforest.plotting import ForestDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = ForestDisplay.from_estimator(OPFClassifier().fit(X, y))
    >>> display.ax_.get_title()
    'Optimum-path forest: 60 examples, 6 prototypes'
    """

    def __init__(
        self, plane: Plane, forest: BaseForest, classes: Array, regions: Array | None, title: str
    ) -> None:
        self.plane, self.forest, self.classes = plane, forest, classes
        self.regions, self.title = regions, title

    @classmethod
    def from_estimator(
        cls,
        estimator: OPFClassifier | Pipeline,
        X: npt.ArrayLike | None = None,
        *,
        grid_resolution: int = 200,
        eps: float = 0.05,
        legend: bool = True,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the forest of a classifier and return the display.

        Parameters
        ----------
        estimator : OPFClassifier or Pipeline
            A fitted classifier, or a fitted scikit-learn pipeline that ends in one.
        X : array-like of shape (n_samples, n_features), default=None
            The known examples, in the order of ``forest_.ids``; by default, as the classifier holds
            them. More than two features are reduced to two principal components; the background is
            that of their plane. It is empty where the metric is undefined; if the metric needs
            non-negative features, negative ones are set to 0. If it is ``"precomputed"``, the
            classifier holds distances only: X may be any coordinates, without a background. For a
            pipeline, X are the examples before its first step: one or two columns of numbers are
            drawn as they are, anything else as the classifier receives it.
        grid_resolution : int, default=200
            Predictions along each axis; 0 for no background. Choose few for a metric in Python.
        eps : float, default=0.05
            The margin around the examples, as a fraction of their range.
        legend : bool, default=True
            Whether to draw a legend, right of the axes.
        ax : Axes, default=None
            Where to draw, by default in a new figure.
        """
        drawing.require_matplotlib()
        if grid_resolution < 0 or not eps >= 0:
            raise ValueError(f"grid_resolution and eps must be >= 0, got {grid_resolution}, {eps}.")
        classifier, predictor, X = _unwrap(estimator, X)
        forest, predicted, note = classifier.forest_, None, ""
        names = None if predictor is estimator else _names_out(estimator)
        order = "of the forest, in the order of forest_.ids (X[forest_.ids] if some were forgotten)"
        points = check_points(predictor, X, forest, order)
        plane = choose_plane(predictor, points, eps, names)
        if grid_resolution and get_tags(predictor).input_tags.pairwise:
            note = "no regions: distances are precomputed"
        elif grid_resolution and X is None and not _are_features(forest, points):
            note = "no regions: these are not features, but the points that the metric compares"
        elif grid_resolution:
            predicted = predict_grid(predictor, plane, grid_resolution)
            note = plane.note if predicted.max() >= 0 else "no regions: the metric is undefined"
        stars = "labeled" if isinstance(forest, SeededForest) else "prototypes"
        title = f"Optimum-path forest: {len(forest)} examples, {len(forest.prototypes)} {stars}"
        title = make_title(title, plane.description, note)
        return cls(plane, forest, classifier.classes_, predicted, title).plot(ax, legend=legend)

    def plot(self, ax: "Axes | None" = None, *, legend: bool = True) -> Self:
        """Draw the forest into ``ax``, or a new figure, and return the display itself."""
        self.ax_ = ax = drawing.new_axes(ax)
        self.figure_ = ax.figure
        forest, points, color = self.forest, self.plane.points, colors_of(len(self.classes))
        label, predecessor, prototypes = forest.label, forest.predecessor, forest.prototypes
        size = drawing.dot_size(len(forest))
        width, (_, cut) = 0.16 * size**0.5, split_edges(forest.edges, label)
        self._draw_regions(color)
        self.arcs_ = drawing.draw_arcs(ax, points, predecessor, color[label], width, 0.8)
        self.cuts_ = drawing.draw_cuts(ax, points, cut, width)
        self.points_ = []
        for k, shade in enumerate(color):
            own = points[(predecessor >= 0) & (label == k)]
            marker = drawing.MARKERS[k % len(drawing.MARKERS)]
            self.points_.append(drawing.draw_dots(ax, own, size, [shade], marker))
        self.prototypes_ = drawing.draw_stars(
            ax, points[prototypes], 2.5 * size + 30, color[label[prototypes]], 0.7
        )
        self.legend_ = drawing.draw_forest_legend(self, color) if legend else None
        self.plane.finish(ax, self.title)
        return self

    def _draw_regions(self, color: Array) -> None:
        self.regions_ = None
        if self.regions is not None:
            soft = np.vstack((1 - 0.3 * (1 - color), np.ones(3)))  # white for −1
            self.regions_ = self.ax_.imshow(
                soft[self.regions], extent=self.plane.extent, origin="lower", aspect="auto",
                interpolation="bilinear", zorder=0,
            )  # fmt: skip


def _unwrap(estimator: Any, X: Any) -> tuple[OPFClassifier, Any, Any]:
    """Return the classifier, the estimator that predicts in the plane, and the examples to draw."""
    classifier = classifier_of(estimator)
    if X is None:
        return classifier, classifier, X
    is_pairwise = get_tags(classifier).input_tags.pairwise
    if classifier is estimator or is_pairwise or _are_few_numbers(X):
        return classifier, estimator, X
    for _, step in estimator.steps[:-1]:
        X = X if step is None or step == "passthrough" else step.transform(X)
    return classifier, classifier, X


def _are_few_numbers(X: Any) -> bool:
    """Return whether a table has at most two columns, of numbers."""
    try:
        return bool(check_array(X, dtype=np.float64).shape[1] <= 2)
    except (TypeError, ValueError):  # text, or missing cells
        return False


def _are_features(forest: BaseForest, points: Array) -> bool:
    """Return whether a metric takes the points that it compares for examples, as they are."""
    if forest.metric.keeps_points:
        return True
    try:
        return bool(np.allclose(forest.metric.embed(points), points))
    except ValueError:
        return False


def _names_out(pipeline: Pipeline) -> list[str] | None:
    """Return the names of the features that the last step of a pipeline gets, if it knows them."""
    try:
        return [str(name) for name in pipeline[:-1].get_feature_names_out()]
    except (AttributeError, ValueError, NotFittedError):
        return None
