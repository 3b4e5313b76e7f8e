"""Layer 4: pictures of the trees of forests. They need matplotlib, which is an extra."""

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.pipeline import Pipeline

from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.display.forest import DASHED, INK, classifier_of, draw_legend, require_matplotlib
from opforest.display.layout import lay_out
from opforest.display.palette import colors_of
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.forest import BaseForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TreeDisplay:
    """A picture of the tree of an optimum-path forest; ``from_estimator`` makes one.

    The tree is laid out in the plane by itself, so it does not matter how many features there are,
    or whether there are any: each edge is as long as the distance between its ends. That shows
    which classes touch, which examples are far from all others, and which are an island in another
    class. Positions and angles mean nothing. Prototypes are stars, all other examples dots, in the
    color of their class; dashed edges join two classes and were cut.

    Parameters
    ----------
    places : array of shape (n_samples, 2)
        Where to draw the examples.
    forest : Forest
        The forest over them.
    classes : array of shape (n_classes,)
        The labels that the integers in ``forest.label`` stand for.

    Attributes
    ----------
    ax_, figure_, legend_ : Axes, Figure, Legend or None
        Where it was drawn; the legend.
    edges_, cuts_ : LineCollection
        The edges within classes; those between.
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
        cls,
        estimator: OPFClassifier | Pipeline,
        *,
        legend: bool = True,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the tree of a classifier and return the display.

        Parameters
        ----------
        estimator : OPFClassifier or Pipeline
            A fitted classifier, or a fitted scikit-learn pipeline that ends in one. Up to 10,000
            examples take seconds; of more, branches are not turned apart.
        legend : bool, default=True
            Whether to draw a legend, right of the axes.
        ax : Axes, default=None
            Where to draw; by default in a new figure.
        """
        require_matplotlib()
        classifier = classifier_of(estimator)
        forest = classifier.forest_
        with forest.storage.lock.read():
            length = forest.edge_lengths().astype(np.float64)
            if not np.isfinite(length.sum()):
                raise ValueError("the distances are too large to draw. Rescale the features.")
            places = lay_out(len(forest), forest.edges, length)
            return cls(places, forest, classifier.classes_).plot(ax, legend=legend)

    def plot(self, ax: "Axes | None" = None, *, legend: bool = True) -> Self:
        """Draw the tree into ``ax``, or a new figure, and return the display itself."""
        require_matplotlib()
        from matplotlib.collections import LineCollection

        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        forest, at, color = self.forest, self.places, colors_of(len(self.classes))
        label, edges, prototypes = forest.label, forest.edges, forest.prototypes
        is_cut = label[edges[:, 0]] != label[edges[:, 1]]
        size = min(24.0, max(2.0, 9000 / max(1, len(forest))))
        inside, between, width = edges[~is_cut], edges[is_cut], 0.25 * size**0.5
        self.edges_ = LineCollection(
            list(at[inside]), colors=0.85 * color[label[inside[:, 0]]], linewidths=width
        )
        self.cuts_ = LineCollection(
            list(at[between]), colors=INK, linewidths=width, linestyles=[DASHED]
        )
        for lines in (self.edges_, self.cuts_):
            ax.add_collection(lines)
        rest = np.setdiff1d(np.arange(len(forest)), prototypes)
        x, y = at.T
        self.points_ = ax.scatter(
            x[rest], y[rest], size, color[label[rest]], linewidths=0, zorder=2
        )  # fmt: skip
        self.prototypes_ = ax.scatter(
            x[prototypes], y[prototypes], 2 * size + 25, color[label[prototypes]], marker="*",
            edgecolors=INK, linewidths=0.6, zorder=3,
        )  # fmt: skip
        self.legend_ = draw_legend(self, color) if legend else None
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.03)
        ax.set_axis_off()
        ax.set_title(self._title(), fontsize="medium")
        return self

    def _title(self) -> str:
        forest = self.forest
        seeds = count(len(forest.prototypes), forest.seed_name)
        return f"Tree of {count(len(forest), 'example')}, {seeds}"
