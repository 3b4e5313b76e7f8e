"""Layer 4: pictures of clusters. They need matplotlib, which is an extra."""

import textwrap
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from opforest.core.metrics.types import Array
from opforest.display.forest import INK, Plane, choose_plane, require_matplotlib
from opforest.display.palette import colors_of
from opforest.estimators.clustering import OPFClustering

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ClusterDisplay:
    """A picture of clusters and their densities; ``from_estimator`` makes one.

    Examples are dots in the color of their cluster, the paler the less dense they are. Roots, the
    tops of the density, are stars. A thin line leads to each example from the one before it on the
    path from its root.

    Parameters
    ----------
    plane : Plane
        Where to draw the examples.
    clustering : OPFClustering
        The clusters.
    title : str
        The title.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    arcs_ : LineCollection
        The steps of all paths.
    points_, roots_ : PathCollection
        All examples; the roots.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from opforest import OPFClustering
    >>> from opforest.cluster_plotting import ClusterDisplay
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> display = ClusterDisplay.from_estimator(OPFClustering(60).fit(X), X)
    >>> display.ax_.get_title().split(":")[0]
    'Optimum-path clusters'
    """

    def __init__(self, plane: Plane, clustering: OPFClustering, title: str) -> None:
        self.plane, self.clustering, self.title = plane, clustering, title

    @classmethod
    def from_estimator(
        cls,
        estimator: OPFClustering,
        X: npt.ArrayLike,
        *,
        eps: float = 0.05,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the clusters that were found and return the display.

        Parameters
        ----------
        estimator : OPFClustering
            A fitted estimator.
        X : array-like of shape (n_samples, n_features)
            The examples it was fitted on, in the same order. More than two features are reduced
            to two principal components. If the metric is ``"precomputed"``, any coordinates.
        eps : float, default=0.05
            The margin around the examples, as a share of their range.
        ax : Axes, default=None
            Where to draw; by default in a new figure.
        """
        require_matplotlib()
        if not isinstance(estimator, OPFClustering):
            name = type(estimator).__name__
            raise ValueError(f"estimator must be an OPFClustering, got {name}.")
        check_is_fitted(estimator, "density_forest_")
        points: Array = check_array(X, dtype=np.float64, input_name="X")
        n, d = len(estimator.labels_), estimator.n_features_in_
        is_any = get_tags(estimator).input_tags.pairwise
        if len(points) != n or (points.shape[1] != d and not is_any):
            raise ValueError(
                f"X must hold the {n} examples that were clustered, in the same order, with {d} "
                f"features, got shape {points.shape}."
            )
        plane = choose_plane(estimator, points, eps)
        count = len(estimator.roots_)
        title = f"Optimum-path clusters: {n} examples, {count} clusters, k = {estimator.k_}"
        title = "\n".join((title, *textwrap.wrap(plane.description, 60)))
        return cls(plane, estimator, title).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the clusters into ``ax``, or a new figure, and return the display itself."""
        require_matplotlib()
        from matplotlib.collections import LineCollection

        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        found, points = self.clustering, self.plane.points
        labels, before = found.labels_, found.predecessor_
        color = colors_of(len(found.roots_))[labels]
        strength = (0.3 + 0.7 * found.density_ / 1000)[:, None]
        size = min(24.0, max(4.0, 9000 / len(labels)))
        taken = np.flatnonzero(before >= 0)
        steps = points[np.column_stack((before[taken], taken))]
        self.arcs_ = LineCollection(
            list(steps), colors=0.85 * color[taken], linewidths=0.12 * size**0.5, alpha=0.6
        )
        ax.add_collection(self.arcs_, autolim=False)
        pale = 1 - strength * (1 - color)
        x, y = points.T
        self.points_ = ax.scatter(x, y, size, pale, linewidths=0, zorder=2)
        tops = found.roots_
        self.roots_ = ax.scatter(
            x[tops], y[tops], 3 * size + 40, color[tops], marker="*", edgecolors=INK,
            linewidths=0.8, zorder=3, label="root",
        )  # fmt: skip
        (left, right, lower, upper), (x_label, y_label) = self.plane.extent, self.plane.axis_labels
        ax.set(xlim=(left, right), ylim=(lower, upper), xlabel=x_label, ylabel=y_label)
        ax.set_title(self.title, fontsize="medium")
        return self
