"""A forest as a page draws it: points on a plane, paths, prototypes, cut edges, regions."""

import base64
from typing import Any, NamedTuple

import numpy as np

from opforest.estimators.classifier import OPFClassifier
from opforest.forest.forest import BaseForest
from opforest.learner.validation import Array

#: Examples that a page draws at the most, and columns and rows of the grid of regions.
MOST_POINTS = 2000
GRID = (160, 120)

#: Features of distances that may be measured to find the regions, about a second's work. Up to so
#: many features a k-d tree measures few of them, and a Python function is so many times slower.
WORK, FEW_FEATURES, SLOWER = 5e9, 8, 1000

#: With a smaller part of the columns of the grid, regions are not drawn.
LEAST = 0.2

#: What is left free around the points.
MARGIN = 0.08


class Plane(NamedTuple):
    """The plane on which examples are drawn: where it is, and what is seen of it."""

    center: Array
    axes: Array  #: of shape (2, d)
    bounds: tuple[float, float, float, float]  #: left, bottom, right, top

    @property
    def is_all(self) -> bool:
        """Whether the examples themselves are on it."""
        return bool(self.axes.shape[1] <= 2)

    def project(self, X: Array) -> Array:
        """Return the coordinates of examples."""
        return (X - self.center) @ self.axes.T

    def lift(self, points: Array) -> Array:
        """Return the examples that are at these coordinates of the plane."""
        return points @ self.axes + self.center

    def grid(self, columns: int, rows: int) -> Array:
        """Return the points whose classes make up the regions, from the top left, row by row."""
        left, bottom, right, top = self.bounds
        x = left + (np.arange(columns) + 0.5) / columns * (right - left)
        y = top - (np.arange(rows) + 0.5) / rows * (top - bottom)
        return np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)


def find_plane(X: Array) -> Plane:
    """Return the plane of the first two principal axes; with two features, that of these."""
    d = X.shape[1]
    center = np.zeros(d)
    if d <= 2:
        axes = np.eye(2, d)
    else:
        center = X.mean(axis=0)
        _, _, axes = np.linalg.svd(X - center, full_matrices=False)
        axes = np.vstack((axes, np.zeros((2, d))))[:2]
        axes = axes * np.where(axes.sum(axis=1, keepdims=True) < 0, -1, 1)
    points = (X - center) @ axes.T
    return Plane(center, axes, bounds_of(points))


def bounds_of(points: Array) -> tuple[float, float, float, float]:
    """Return bounds that contain all points and a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.where(high > low, high - low, np.maximum(1.0, np.abs(high) * 0.1))
    middle = (low + high) / 2
    half = size * (0.5 + MARGIN)
    left, bottom = (middle - half).tolist()
    right, top = (middle + half).tolist()
    return left, bottom, right, top


def choose_grid(forest: BaseForest) -> tuple[int, int]:
    """Return columns and rows of the grid: fewer, or none, where all would take too long."""
    metric = forest.metric
    if not metric.keeps_points:  # what is on the plane is no example, but made of some
        return 0, 0
    if forest.n_features <= FEW_FEATURES and not metric.is_table:
        return GRID
    each = len(forest) * forest.n_features * (SLOWER if metric.is_table else 1)
    share = min(1.0, float(np.sqrt(WORK / (each * GRID[0] * GRID[1]))))
    return (int(share * GRID[0]), int(share * GRID[1])) if share >= LEAST else (0, 0)


def draw_regions(forest: BaseForest, plane: Plane, grid: tuple[int, int]) -> str:
    """Return the class of each point of a grid as a byte; empty if there are no regions."""
    if 0 in grid:
        return ""
    try:
        code = forest.classify(plane.lift(plane.grid(*grid)).astype(forest.dtype))
    except ValueError:  # of some points on the plane the metric has no distances
        return ""
    return base64.b64encode(np.minimum(code, 255).astype(np.uint8).tobytes()).decode()


def draw_forest(model: OPFClassifier, plane: Plane) -> dict[str, Any]:
    """Return what is drawn of a model: of a large one, examples sampled evenly by age."""
    learned = model.fitted_forest()
    with learned.read():
        forest, classes = learned
        n = len(forest)
        chosen = np.arange(n)
        if n > MOST_POINTS:
            chosen = np.unique(np.linspace(0, n - 1, MOST_POINTS).astype(np.int64))
        points = plane.project(np.asarray(forest.points[chosen], np.float64))
        label, prototypes = forest.label, forest.prototypes
        predecessor, edges = forest.predecessor, forest.edges
        grid = choose_grid(forest)
        ids, regions = forest.ids[chosen], draw_regions(forest, plane, grid)
    place = np.full(n + 1, -1)
    place[chosen] = np.arange(len(chosen))
    cut = edges[label[edges[:, 0]] != label[edges[:, 1]]]
    cut = place[cut]
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
