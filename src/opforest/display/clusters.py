"""Plots of clusters."""

from typing import TYPE_CHECKING, Self

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from opforest.display import drawing
from opforest.display.palette import colors_of
from opforest.display.plane import Plane, check_points, choose_plane, make_title
from opforest.estimators.clustering import OPFClustering

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ClusterDisplay:
    """A plot of clusters and their densities; ``from_estimator`` makes one.

    Examples are dots in the color of their cluster, paler where the density is lower. Roots, the
    maxima of the density, are stars. A thin line connects each example with its predecessor on the
    path from its root.

    Parameters
    ----------
    plane : Plane
        Where to draw the examples.
    clustering : OPFClustering
        The fitted estimator.
    title : str
        The title.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and figure.
    arcs_ : LineCollection
        The arcs of all paths.
    points_, roots_ : PathCollection
        All examples; the roots.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from opforest import OPFClustering
    >>> from opforest.cluster_plotting import ClusterDisplay
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> display = ClusterDisplay.from_estimator(OPFClustering(60).fit(X))
    >>> display.ax_.get_title().split(":")[0]
    'Optimum-path clusters'
    """

    def __init__(self, plane: Plane, clustering: OPFClustering, title: str) -> None:
        self.plane, self.clustering, self.title = plane, clustering, title

    @classmethod
    def from_estimator(
        cls,
        estimator: OPFClustering,
        X: npt.ArrayLike | None = None,
        *,
        eps: float = 0.05,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the clusters of an estimator and return the display.

        Parameters
        ----------
        estimator : OPFClustering
            A fitted estimator.
        X : array-like of shape (n_samples, n_features), default=None
            The examples it was fitted on, in the same order; by default, as the estimator holds
            them. More than two features are reduced to two principal components. If the metric is
            ``"precomputed"``, any coordinates, which the estimator does not hold.
        eps, ax
            As for ``ForestDisplay.from_estimator``.
        """
        drawing.require_matplotlib()
        if not isinstance(estimator, OPFClustering):
            name = type(estimator).__name__
            raise ValueError(f"estimator must be an OPFClustering, got {name}.")
        check_is_fitted(estimator, "density_forest_")
        forest = estimator.density_forest_
        points = check_points(estimator, X, forest, "of the clustering, in the same order")
        plane = choose_plane(estimator, points, eps)
        n, n_clusters = len(forest), len(estimator.roots_)
        title = f"Optimum-path clusters: {n} examples, {n_clusters} clusters, k = {estimator.k_}"
        return cls(plane, estimator, make_title(title, plane.description)).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the clusters into ``ax``, or a new figure, and return the display itself."""
        self.ax_ = ax = drawing.new_axes(ax)
        self.figure_ = ax.figure
        clustering, points = self.clustering, self.plane.points
        roots, size = clustering.roots_, drawing.dot_size(len(points))
        color, width = colors_of(len(roots))[clustering.labels_], 0.12 * size**0.5
        self.arcs_ = drawing.draw_arcs(ax, points, clustering.predecessor_, color, width, 0.6)
        strength = (0.3 + 0.7 * clustering.density_ / 1000)[:, None]
        self.points_ = drawing.draw_dots(ax, points, size, 1 - strength * (1 - color))
        self.roots_ = drawing.draw_stars(ax, points[roots], 3 * size + 40, color[roots], 0.8)
        self.roots_.set_label("root")
        self.plane.finish(ax, self.title)
        return self
