"""Layer 4: pictures of forests. They need matplotlib, which is an extra."""

import textwrap
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from opforest.display.palette import PALETTE, colors_of
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.forest import BaseForest
from opforest.forest.seeded import SeededForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[Any]

MARKERS = [marker for marker in "osv^DP" for _ in PALETTE]
INK = "#222222"
DASHED = (0, (3, 2))
NAMED_CLASSES = 10  #: the most that a legend names
FEATURES_PER_CALL = 4_000_000  #: the most that grid points have in one prediction


class Plane(NamedTuple):
    """The plane that a picture shows."""

    points: Array  #: (n, 2): the examples
    extent: tuple[float, float, float, float]  #: left, right, lower and upper bound
    axis_labels: tuple[str, str]  #: the second one is empty if only the first axis has a meaning
    to_features: Callable[[Array], Array]  #: maps points of the plane to what ``predict`` takes
    description: str = ""
    note: str = ""  #: on the regions


class ForestDisplay:
    """A picture of an optimum-path forest; ``from_estimator`` makes one.

    Prototypes are stars, all other examples dots, in the color of their class. A thin line leads
    to each example from the one before it on the path from its prototype. Dashed lines are the
    edges of the minimum spanning tree that were cut because they join two classes. The background
    is what ``predict`` answers there. Of ``OPFSemiSupervised``, stars are the labeled examples,
    and dots have the labels that were inferred. Where there are many features,
    ``opforest.tree_plotting.TreeDisplay`` often shows more.

    Parameters
    ----------
    plane : Plane
        Where to draw the examples.
    forest : Forest
        The forest over them.
    classes : array of shape (n_classes,)
        The labels that the integers in ``forest.label`` stand for.
    regions : array of shape (rows, columns) or None
        The background: what is predicted at the centers of equal cells of the plane, lowest row
        first, as integers; −1 where the metric is undefined.
    title : str
        The title.

    Attributes
    ----------
    ax_, figure_, regions_, legend_ : Axes, Figure, AxesImage or None, Legend or None
        Where it was drawn; the background; the legend.
    arcs_, cuts_ : LineCollection
        The steps of all paths, one for each example but the prototypes; the cut edges.
    points_, prototypes_ : list of PathCollection, PathCollection
        The examples by class, without the prototypes; the prototypes.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from opforest import OPFClassifier
    >>> from opforest.plotting import ForestDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = ForestDisplay.from_estimator(OPFClassifier().fit(X, y), X)
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
        X: npt.ArrayLike,
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
        X : array-like of shape (n_samples, n_features)
            The known examples, in the order of ``forest_.ids``: if X_all has all that were ever
            learned, ``X_all[forest_.ids]``. More than two features are reduced
            to two principal components; the background is that of their plane. It is empty where
            the metric is undefined; if it needs non-negative features, negative ones are taken
            for 0. If it is ``"precomputed"``, X may be any coordinates, without a background.
            Of a pipeline, X are the examples before its first step: one or two columns of numbers
            are drawn as they are, anything else as the classifier gets it.
        grid_resolution : int, default=200
            Predictions along each axis; 0 for no background. Take few for a metric in Python.
        eps : float, default=0.05
            The margin around the examples, as a share of their range.
        legend : bool, default=True
            Whether to draw a legend, right of the axes.
        ax : Axes, default=None
            Where to draw; by default in a new figure.
        """
        require_matplotlib()
        if grid_resolution < 0 or not eps >= 0:
            raise ValueError(f"grid_resolution and eps must be >= 0, got {grid_resolution}, {eps}.")
        classifier, predictor, X = _unwrap(estimator, X)
        plane = choose_plane(predictor, _check_examples(classifier.forest_, predictor, X), eps)
        forest, predicted, note = classifier.forest_, None, ""
        if grid_resolution and get_tags(predictor).input_tags.pairwise:
            note = "no regions: distances are precomputed"
        elif grid_resolution:
            predicted = _predict_grid(predictor, plane, grid_resolution)
            note = plane.note if predicted.max() >= 0 else "no regions: the metric is undefined"
        stars = "labeled" if isinstance(forest, SeededForest) else "prototypes"
        title = f"Optimum-path forest: {len(forest)} examples, {len(forest.prototypes)} {stars}"
        remarks = "; ".join(filter(None, (plane.description, note)))
        title = "\n".join((title, *textwrap.wrap(remarks, 60)))
        return cls(plane, forest, classifier.classes_, predicted, title).plot(ax, legend=legend)

    def plot(self, ax: "Axes | None" = None, *, legend: bool = True) -> Self:
        """Draw the forest into ``ax``, or a new figure, and return the display itself."""
        require_matplotlib()
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        color = colors_of(len(self.classes))
        size = min(24.0, max(4.0, 9000 / len(self.forest)))
        self._draw_regions(color)
        self._draw_lines(color, width=0.16 * size**0.5)
        self._draw_points(color, size)
        self.legend_ = draw_legend(self, color) if legend else None
        (left, right, lower, upper), (x_label, y_label) = self.plane.extent, self.plane.axis_labels
        ax.set(xlim=(left, right), ylim=(lower, upper))
        ax.set(xlabel=_plain(x_label), ylabel=_plain(y_label))
        ax.set_title(self.title, fontsize="medium")
        if not y_label:
            ax.set_yticks([])
        return self

    def _draw_regions(self, color: Array) -> None:
        self.regions_ = None
        if self.regions is not None:
            soft = np.vstack((1 - 0.3 * (1 - color), np.ones(3)))  # white for −1
            self.regions_ = self.ax_.imshow(
                soft[self.regions], extent=self.plane.extent, origin="lower", aspect="auto",
                interpolation="bilinear", zorder=0,
            )  # fmt: skip

    def _draw_lines(self, color: Array, width: float) -> None:
        from matplotlib.collections import LineCollection

        label, predecessor, edges = self.forest.label, self.forest.predecessor, self.forest.edges
        conquered = np.flatnonzero(predecessor >= 0)
        arcs = self.plane.points[np.column_stack((predecessor[conquered], conquered))]
        cuts = self.plane.points[edges[label[edges[:, 0]] != label[edges[:, 1]]]]
        dark = 0.85 * color[label[conquered]]
        self.arcs_ = LineCollection(list(arcs), colors=dark, linewidths=width, alpha=0.8)
        self.cuts_ = LineCollection(list(cuts), colors=INK, linewidths=width, linestyles=[DASHED])
        for lines in (self.arcs_, self.cuts_):
            self.ax_.add_collection(lines, autolim=False)

    def _draw_points(self, color: Array, size: float) -> None:
        label, prototypes = self.forest.label, self.forest.prototypes
        conquered = np.flatnonzero(self.forest.predecessor >= 0)
        self.points_ = []
        for k in range(len(self.classes)):
            x, y = self.plane.points[conquered[label[conquered] == k]].T
            marker = MARKERS[k % len(MARKERS)]
            dots = self.ax_.scatter(x, y, size, [color[k]], marker=marker, linewidths=0, zorder=2)
            self.points_.append(dots)
        x, y = self.plane.points[prototypes].T
        self.prototypes_ = self.ax_.scatter(
            x, y, 2.5 * size + 30, color[label[prototypes]], marker="*", edgecolors=INK,
            linewidths=0.7, zorder=3,
        )  # fmt: skip


def draw_legend(display: Any, color: Array) -> Any:
    """Draw the legend of a picture of a forest, right of its axes, and return it."""
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], ls="", marker=MARKERS[k], color=color[k], label=_plain(name))
        for k, name in enumerate(display.classes[:NAMED_CLASSES])
    ]
    if (more := len(display.classes) - NAMED_CLASSES) > 0:
        keys.append(Line2D([], [], ls="", label=f"… {more} more"))
    has_seeds = isinstance(display.forest, SeededForest)
    star = "labeled" if has_seeds else "prototype"
    keys.append(Line2D([], [], ls="", marker="*", ms=11, mec=INK, mfc="w", label=star))
    if has_seeds:
        keys.append(Line2D([], [], ls="", marker="o", ms=4, color=INK, label="inferred"))
    if display.cuts_.get_paths():
        keys.append(Line2D([], [], ls=DASHED, lw=0.9, color=INK, label="cut edge"))
    return display.ax_.legend(handles=keys, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def require_matplotlib() -> None:
    """Raise an ``ImportError`` that says what to install if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'opforest[plot]'") from error


def classifier_of(estimator: Any) -> OPFClassifier:
    """Return a fitted classifier, or the one in which a pipeline ends."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    is_other = isinstance(estimator, Pipeline) and not isinstance(last, OPFClassifier)
    name = f"a Pipeline that ends in {type(last).__name__}" if is_other else "%(name)s"
    message = (
        f"estimator must be a fitted OPFClassifier, or a pipeline that ends in one, got {name}"
    )
    check_is_fitted(last, "forest_", msg=f"{message}.")
    return last  # type: ignore[no-any-return]


def _unwrap(estimator: Any, X: Any) -> tuple[OPFClassifier, Any, Any]:
    """Return the classifier, what predicts the points of a picture, and the examples to draw."""
    classifier = classifier_of(estimator)
    if classifier is estimator:
        return classifier, estimator, X
    if get_tags(classifier).input_tags.pairwise or _are_few_numbers(X):
        return classifier, estimator, X
    for _, step in estimator.steps[:-1]:
        X = X if step is None or step == "passthrough" else step.transform(X)
    return classifier, classifier, X


def _are_few_numbers(X: Any) -> bool:
    """Tell whether a table can be drawn as it is."""
    try:
        return bool(check_array(X, dtype=np.float64).shape[1] <= 2)
    except (TypeError, ValueError):  # text, or missing cells
        return False


def _check_examples(forest: BaseForest, predictor: Any, X: npt.ArrayLike) -> Array:
    points: Array = check_array(X, dtype=np.float64, input_name="X")
    any_d = get_tags(predictor).input_tags.pairwise
    n, d = len(forest), points.shape[1] if any_d else predictor.n_features_in_
    if points.shape != (n, d):
        raise ValueError(
            f"X must hold the {n} examples that the forest knows, in the order of forest_.ids, "
            f"with {d} features, got shape {points.shape}. If examples have been forgotten, pass "
            "X[forest_.ids]."
        )
    return points


def choose_plane(estimator: Any, X: Array, eps: float) -> Plane:
    """Return the plane of one or two features, or of the principal components of more."""
    d, tags = X.shape[1], get_tags(estimator).input_tags
    least = 0.0 if tags.positive_only else -np.inf
    if d > 2:
        return _principal_plane(X, eps, least)
    points = X if d == 2 else np.column_stack((X, np.zeros(len(X))))
    extent = _surround(points, eps, np.array([least, least if d == 2 else -np.inf]))
    names = [f"feature {k}" for k in range(d)]
    if not tags.pairwise:
        names = [str(name) or " " for name in getattr(estimator, "feature_names_in_", names)]
    return Plane(points, extent, (names[0], "".join(names[1:])), lambda plane: plane[:, :d])


def _principal_plane(X: Array, eps: float, least: float) -> Plane:
    pca = PCA(2, svd_solver="full")
    with np.errstate(invalid="ignore"):  # the total variance may be 0
        points = pca.fit(X if len(X) > 1 else np.vstack((X, X))).transform(X)
    share = np.nan_to_num(pca.explained_variance_ratio_)
    x_label, y_label = (f"component {k + 1} ({share[k]:.0%} of variance)" for k in range(2))
    return Plane(
        points,
        _surround(points, eps, np.full(2, -np.inf)),
        (x_label, y_label),
        lambda plane: np.maximum(pca.inverse_transform(plane), least),
        f"PCA of {X.shape[1]} features, {share.sum():.0%} of variance",
        "regions on its plane" + (", negative features taken for 0" if least == 0 else ""),
    )


def _surround(points: Array, eps: float, least: Array) -> tuple[float, float, float, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.where(high > low, eps * (high - low), np.maximum(1, abs(high)))
    left, lower = np.maximum(low - margin, least).tolist()
    right, upper = (high + margin).tolist()
    return left, right, lower, upper


def _predict_grid(estimator: Any, plane: Plane, resolution: int) -> Array:
    left, right, lower, upper = plane.extent
    center = (np.arange(resolution) + 0.5) / resolution
    rows = center if plane.axis_labels[1] else np.array([0.5])
    x, y = np.meshgrid(left + center * (right - left), lower + rows * (upper - lower))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return _predict(estimator, plane, np.column_stack((x.ravel(), y.ravel()))).reshape(x.shape)


def _predict(estimator: Any, plane: Plane, grid: Array) -> Array:
    """Return classes, −1 where undefined: the grid is halved until such points are single."""
    if len(grid) == 1 or len(grid) * estimator.n_features_in_ <= FEATURES_PER_CALL:
        try:
            predicted = estimator.predict(plane.to_features(grid))
            codes: Array = np.searchsorted(estimator.classes_, predicted)
            return codes
        except ValueError:
            if len(grid) == 1:
                return np.array([-1])
    return np.concatenate([_predict(estimator, plane, half) for half in np.array_split(grid, 2)])


def _plain(text: object) -> str:
    """Return a text that matplotlib does not read as a formula."""
    return str(text).replace("$", r"\$")
