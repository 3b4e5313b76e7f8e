"""The plane of a plot: where examples are drawn, and which class is predicted where."""

import textwrap
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.utils import check_array, get_tags

from opforest._utils import tuning
from opforest.core.metrics.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plane(NamedTuple):
    """The plane that a plot shows."""

    points: Array  #: (n, 2): the examples
    extent: tuple[float, float, float, float]  #: left, right, lower and upper bound
    axis_labels: tuple[str, str]  #: the second one is empty if only the first axis has a meaning
    to_features: Callable[[Array], Array]  #: maps points of the plane to examples for ``predict``
    description: str = ""
    note: str = ""  #: about the decision regions

    def finish(self, ax: "Axes", title: str) -> None:
        """Set limits, labels and title of the axes."""
        left, right, lower, upper = self.extent
        x_label, y_label = map(escape_math, self.axis_labels)
        ax.set(xlim=(left, right), ylim=(lower, upper), xlabel=x_label, ylabel=y_label)
        ax.set_title(title, fontsize="medium")
        if not y_label:
            ax.set_yticks([])


def escape_math(text: object) -> str:
    """Escape a text so that matplotlib does not read it as a formula."""
    return str(text).replace("$", r"\$")


def make_title(title: str, *remarks: str) -> str:
    """Return a title above its remarks."""
    return "\n".join((title, *textwrap.wrap("; ".join(filter(None, remarks)), 60)))


def check_points(estimator: Any, X: npt.ArrayLike | None, forest: Any, order: str) -> Array:
    """Return the examples to draw, by default those of the forest, or raise an error."""
    is_pairwise = get_tags(estimator).input_tags.pairwise
    if X is None and is_pairwise:
        raise ValueError(
            "the estimator was fitted on distances, so it holds no points to draw: pass X, with "
            "coordinates of the examples."
        )
    points: Array = check_array(forest.points if X is None else X, dtype=np.float64, input_name="X")
    n, d = len(forest), points.shape[1] if is_pairwise else estimator.n_features_in_
    if points.shape != (n, d):
        raise ValueError(
            f"X must hold the {n} examples {order}, with {d} features, got shape {points.shape}."
        )
    return points


def choose_plane(
    estimator: Any, X: Array, eps: float, feature_names: list[str] | None = None
) -> Plane:  # fmt: skip
    """Return the plane of one or two features, or of the principal components of more.

    Features have these names, or those that the estimator knows.
    """
    d, tags = X.shape[1], get_tags(estimator).input_tags
    least = 0.0 if tags.positive_only else -np.inf
    if d > 2:
        return _principal_plane(X, eps, least)
    points = X if d == 2 else np.column_stack((X, np.zeros(len(X))))
    extent = _surround(points, eps, np.array([least, least if d == 2 else -np.inf]))
    names = feature_names or [f"feature {k}" for k in range(d)]
    if not tags.pairwise:
        names = [str(name) or " " for name in getattr(estimator, "feature_names_in_", names)]
    return Plane(points, extent, (names[0], "".join(names[1:])), lambda plane: plane[:, :d])


def _principal_plane(X: Array, eps: float, least: float) -> Plane:
    pca = PCA(2, svd_solver="full")
    with np.errstate(invalid="ignore"):  # the total variance may be 0
        points = pca.fit(X if len(X) > 1 else np.vstack((X, X))).transform(X)
    explained = np.nan_to_num(pca.explained_variance_ratio_)
    x_label, y_label = (f"component {k + 1} ({explained[k]:.0%} of variance)" for k in range(2))
    return Plane(
        points,
        _surround(points, eps, np.full(2, -np.inf)),
        (x_label, y_label),
        lambda plane: np.maximum(pca.inverse_transform(plane), least),
        f"PCA of {X.shape[1]} features, {explained.sum():.0%} of variance",
        "regions on its plane" + (", negative features set to 0" if least == 0 else ""),
    )


def _surround(points: Array, eps: float, least: Array) -> tuple[float, float, float, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.where(high > low, eps * (high - low), np.maximum(1, abs(high)))
    left, lower = np.maximum(low - margin, least).tolist()
    right, upper = (high + margin).tolist()
    return left, right, lower, upper


def predict_grid(estimator: Any, plane: Plane, resolution: int) -> Array:
    """Return the classes predicted at the centers of equal cells; −1 where undefined."""
    left, right, lower, upper = plane.extent
    center = (np.arange(resolution) + 0.5) / resolution
    rows = center if plane.axis_labels[1] else np.array([0.5])
    x, y = np.meshgrid(left + center * (right - left), lower + rows * (upper - lower))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return _predict(estimator, plane, np.column_stack((x.ravel(), y.ravel()))).reshape(x.shape)


def _predict(estimator: Any, plane: Plane, grid: Array) -> Array:
    """Predict; halve the grid on errors, until each undefined point is alone."""
    if (
        len(grid) == 1
        or len(grid) * estimator.n_features_in_ <= tuning.values.plot_features_per_call
    ):
        try:
            predicted = estimator.predict(plane.to_features(grid))
            codes: Array = np.searchsorted(estimator.classes_, predicted)
            return codes
        except ValueError:
            if len(grid) == 1:
                return np.array([-1])
    return np.concatenate([_predict(estimator, plane, half) for half in np.array_split(grid, 2)])
