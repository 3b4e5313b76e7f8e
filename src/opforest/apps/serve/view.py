"""A forest as the page draws it: points on a plane, paths, prototypes, cut edges, regions."""

import base64
from typing import Any, NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.explanation import Explanation, describe_features
from opforest.forest.forest import BaseForest
from opforest.learner.validation import Array

#: Examples that the page draws, and columns and rows of the grid of regions.
MAX_POINTS, GRID = 2000, (160, 120)

#: Features of an explanation in an answer; those in which examples differ least are only counted.
MAX_FEATURES = 20

#: Features up to which a k-d tree makes regions cheap; how many times slower a Python function is.
FEW_FEATURES, SLOWER = 8, 1000

#: The smallest fraction of the grid that is worth drawing, and the margin around the points.
MIN_FRACTION, MARGIN = 0.2, 0.08


class Plane(NamedTuple):
    """A plane in feature space, and the part of it that is drawn."""

    center: Array
    axes: Array  #: of shape (2, d)
    bounds: tuple[float, float, float, float]  #: left, bottom, right, top

    @property
    def is_all(self) -> bool:
        """Whether the plane contains all examples."""
        return bool(self.axes.shape[1] <= 2)

    def project(self, X: Array) -> Array:
        """Return the coordinates of examples on the plane."""
        return (X - self.center) @ self.axes.T

    def lift(self, points: Array) -> Array:
        """Return the points of feature space at coordinates of the plane."""
        return points @ self.axes + self.center

    def grid(self, columns: int, rows: int) -> Array:
        """Return the coordinates of a grid, row by row from the top left."""
        left, bottom, right, top = self.bounds
        x = left + (np.arange(columns) + 0.5) / columns * (right - left)
        y = top - (np.arange(rows) + 0.5) / rows * (top - bottom)
        return np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)


def find_plane(X: Array) -> Plane:
    """Return the plane of the first two principal axes, or of the features if there are two."""
    d = X.shape[1]
    center = np.zeros(d)
    if d <= 2:
        axes = np.eye(2, d)
    else:
        center = X.mean(axis=0)
        _, _, axes = np.linalg.svd(X - center, full_matrices=False)
        axes = np.vstack((axes, np.zeros((2, d))))[:2]
        axes = axes * np.where(axes.sum(axis=1, keepdims=True) < 0, -1, 1)
    return Plane(center, axes, bounds_of((X - center) @ axes.T))


def bounds_of(points: Array) -> tuple[float, float, float, float]:
    """Return the left, bottom, right and top of all points, with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.where(high > low, high - low, np.maximum(1.0, np.abs(high) * 0.1))
    middle, half = (low + high) / 2, size * (0.5 + MARGIN)
    return (*(middle - half).tolist(), *(middle + half).tolist())


def choose_grid(forest: BaseForest) -> tuple[int, int]:
    """Return columns and rows of the grid: fewer, or none, if all would take too long."""
    metric = forest.metric
    if not metric.keeps_points:  # points of the plane are not examples
        return 0, 0
    if forest.n_features <= FEW_FEATURES and not metric.is_table:
        return GRID
    each = len(forest) * forest.n_features * (SLOWER if metric.is_table else 1)
    fraction = min(1.0, float(np.sqrt(tuning.values.region_work / (each * GRID[0] * GRID[1]))))
    if fraction < MIN_FRACTION:
        return 0, 0
    return int(fraction * GRID[0]), int(fraction * GRID[1])


def draw_regions(forest: BaseForest, plane: Plane, grid: tuple[int, int], voters: int | str) -> str:
    """Return the class of each point of a grid as a byte in Base64; empty if not computed."""
    if 0 in grid:
        return ""
    try:
        calibration = None if voters == 1 else forest.calibration(voters=voters)
        points = plane.lift(plane.grid(*grid)).astype(forest.dtype)
        code = forest.classify(points, calibration=calibration)
    except ValueError:  # the metric is not defined for some points of the plane
        return ""
    return base64.b64encode(np.minimum(code, 255).astype(np.uint8).tobytes()).decode()


def draw_forest(model: OPFClassifier, plane: Plane) -> dict[str, Any]:
    """Return the drawing of a model; examples of a large one are sampled evenly by age."""
    learned = model.fitted_forest()
    with learned.read():
        forest, classes = learned
        n = len(forest)
        chosen = np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).astype(np.int64))
        points = plane.project(np.asarray(forest.points[chosen], np.float64))
        label, prototypes = forest.label, forest.prototypes
        predecessor, edges = forest.predecessor, forest.edges
        grid = choose_grid(forest)
        ids, regions = forest.ids[chosen], draw_regions(forest, plane, grid, model.voters)
    place = np.full(n + 1, -1)
    place[chosen] = np.arange(len(chosen))
    cut = place[edges[label[edges[:, 0]] != label[edges[:, 1]]]]
    return {
        "examples": n,
        "classes": classes.tolist(),
        "bounds": plane.bounds,
        "points": np.round(points, 6).tolist(),
        "label": label[chosen].tolist(),
        "prototypes": [v for v in place[prototypes].tolist() if v >= 0],
        "predecessor": place[predecessor[chosen]].tolist(),
        "cut": cut[(cut >= 0).all(axis=1)].tolist(),
        "grid": grid,
        "regions": regions,
        "ids": ids.tolist(),
    }


def describe_path(path: Explanation) -> dict[str, Any]:
    """Return a path as JSON values; the last step is the example itself, without an id."""
    names = ("id", "key", "label", "distance", "cost")
    found: dict[str, Any] = {
        "label": path.label,
        "cost": path.cost,
        "rival": None if path.rival is None else describe_path(path.rival),
        "steps": [{name: getattr(step, name) for name in names} for step in path.steps],
    }
    if path.table is not None:
        found["features"] = describe_features(path, MAX_FEATURES)
    if path.voters:
        names = ("id", "key", "label", "offer", "weight")
        found["voters"] = [{name: getattr(one, name) for name in names} for one in path.voters]
    return found
