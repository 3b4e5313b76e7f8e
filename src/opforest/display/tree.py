"""Plots of the trees of forests."""

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.pipeline import Pipeline

from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.display import drawing
from opforest.display.layout import make_layout, split_edges
from opforest.display.palette import colors_of
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.pipeline import classifier_of
from opforest.forest.forest import BaseForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TreeDisplay:
    """A plot of the tree of an optimum-path forest; ``from_estimator`` makes one.

    The layout depends on the tree alone, not on features: each edge is as long as the distance of
    its ends. It shows which classes touch, which examples are far from all others, and which are
    islands in another class. Positions and angles have no meaning. Prototypes are stars, other
    examples dots, in the color of their class; dashed edges join two classes and were cut.

    Parameters
    ----------
    places : array of shape (n_samples, 2)
        Where to draw the examples.
    forest : Forest
        The forest.
    classes : array of shape (n_classes,)
        The labels of the integers in ``forest.label``.

    Attributes
    ----------
    ax_, figure_, legend_ : Axes, Figure, Legend or None
        The axes and figure; the legend.
    edges_, cuts_ : LineCollection
        The edges within classes; the cut edges.
    points_, prototypes_ : PathCollection
        The examples other than prototypes; the prototypes.

    See Also
    --------
    opforest.plotting.ForestDisplay : The examples themselves, with decision regions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from opforest import OPFClassifier
    >>> from opforest.tree_plotting import TreeDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> display = TreeDisplay.from_estimator(OPFClassifier().fit(X[:200], y[:200]))
    >>> display.ax_.get_title()
    'Tree of 200 examples, 20 prototypes'
    """

    def __init__(self, places: Array, forest: BaseForest, classes: Array) -> None:
        self.places, self.forest, self.classes = places, forest, classes

    @classmethod
    def from_estimator(
        cls, estimator: OPFClassifier | Pipeline, *, legend: bool = True, ax: "Axes | None" = None
    ) -> Self:
        """Draw the tree of a classifier and return the display.

        Parameters
        ----------
        estimator : OPFClassifier or Pipeline
            A fitted classifier, or a fitted scikit-learn pipeline that ends in one. 10,000 examples
            take seconds; larger trees get a simpler layout.
        legend, ax
            As for ``ForestDisplay.from_estimator``.
        """
        drawing.require_matplotlib()
        classifier = classifier_of(estimator)
        forest = classifier.forest_
        with forest.storage.lock.read():
            length = forest.edge_lengths().astype(np.float64)
            if not np.isfinite(length.sum()):
                raise ValueError("the distances are too large to draw. Rescale the features.")
            places = make_layout(len(forest), forest.edges, length)
            return cls(places, forest, classifier.classes_).plot(ax, legend=legend)

    def plot(self, ax: "Axes | None" = None, *, legend: bool = True) -> Self:
        """Draw the tree into ``ax``, or a new figure, and return the display itself."""
        self.ax_ = ax = drawing.new_axes(ax)
        self.figure_ = ax.figure
        forest, places, color = self.forest, self.places, colors_of(len(self.classes))
        label, prototypes = forest.label, forest.prototypes
        inside, cut = split_edges(forest.edges, label)
        size = drawing.dot_size(len(forest), 2.0)
        width, dark = 0.25 * size**0.5, 0.85 * color[label[inside[:, 0]]]
        self.edges_ = drawing.draw_lines(ax, places, inside, width, colors=dark)
        self.cuts_ = drawing.draw_cuts(ax, places, cut, width)
        rest = np.setdiff1d(np.arange(len(forest)), prototypes)
        self.points_ = drawing.draw_dots(ax, places[rest], size, color[label[rest]])
        self.prototypes_ = drawing.draw_stars(
            ax, places[prototypes], 2 * size + 25, color[label[prototypes]], 0.6
        )
        self.legend_ = drawing.draw_forest_legend(self, color) if legend else None
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.03)
        ax.set_axis_off()
        seeds = count(len(prototypes), forest.seed_name)
        title = f"Tree of {count(len(forest), 'example')}, {seeds}"
        ax.set_title(title, fontsize="medium")
        return self
