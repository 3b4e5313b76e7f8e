"""Validate the parts of a forest before kernels see them.

Kernels validate nothing, so all indices that they read are checked here, as well as the structure
of k-d trees and of spanning forests, on which loops rely.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from opforest.core.kdtree.static import LEAF, StaticKDTree, count_nodes
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import CellForest, has_cycle
from opforest.core.parts.conquest import Map
from opforest.core.parts.costs import CellCosts, Ports
from opforest.core.parts.fragments import N_COARSE
from opforest.core.parts.links import Links, Pool
from opforest.persistence.container import require

INDEX = np.dtype(np.int32)
ID = np.dtype(np.int64)


class ModelSize(NamedTuple):
    """What limits the numbers in the parts of a model."""

    n_examples: int
    n_classes: int
    n_coordinates: int  #: of a point
    dtype: np.dtype[Any]  #: of coordinates and distances


def check_record(record: Any, size: ModelSize) -> None:
    """Raise a ``ModelFileError`` unless kernels can use a part of a model."""
    CHECKS[type(record)](record, size)


def _require_array(
    array: Array,
    name: str,
    dtype: np.dtype[Any],
    *shape: int,
    low: int = 0,
    high: int | None = None,
) -> None:
    """Require a type, a shape, and numbers from ``low`` up to, but not including, ``high``."""
    is_valid = array.dtype == dtype and array.shape == shape
    require(
        is_valid, f"its array {name!r} must be {dtype} of shape {shape}, not {array.dtype} of "
        f"{array.shape}.",
    )  # fmt: skip
    if high is not None and array.size:
        is_valid = bool(array.min() >= low and array.max() < high)
        require(is_valid, f"its array {name!r} must have numbers from {low} to {high - 1}.")


def _require_distances(array: Array, name: str, dtype: np.dtype[Any], n: int) -> None:
    _require_array(array, name, dtype, n)
    # NaN is not at least 0, either.
    is_valid = array.size == 0 or (array.min() >= 0 and array.max() < np.inf)
    require(is_valid, f"its array {name!r} must have finite numbers of at least 0.")


def _check_forest(forest: CellForest, size: ModelSize) -> None:
    tree, n, n_points = forest.tree, len(forest.id), len(forest.tree.points)
    require(0 < n_points <= n <= size.n_examples, "it has too few or too many examples.")
    _check_tree(tree, size)
    _require_array(forest.border, "border", size.dtype, n_points)
    _require_array(forest.fragment, "fragment", INDEX, n_points, high=n_points)
    _require_array(forest.id, "id", ID, n, high=size.n_examples)
    require((np.diff(forest.id) > 0).all(), "its ids are not in ascending order.")
    _require_array(forest.number, "number", INDEX, n, high=n)
    ids = np.full(n, -1)
    ids[forest.number] = forest.id
    require(n == 0 or ids.min() >= 0, "its numbers are not those of all examples.")
    require(np.array_equal(ids[:n_points], tree.vertex), "its ids are not those of its points.")
    _require_array(forest.label, "label", INDEX, n, high=size.n_classes)
    _check_coarse(forest)
    _check_pool(forest.certain, "certain", n, size)
    _check_pool(forest.uncertain, "uncertain", n_points, size)
    _check_duplicates(forest.certain, n_points, n)
    require(not has_cycle(n, forest.certain.u, forest.certain.v), "its edges form a cycle.")


def _check_tree(tree: StaticKDTree, size: ModelSize) -> None:
    """Check that nodes are halves of their parents, so that no path is longer than a stack."""
    n, n_nodes = len(tree.points), count_nodes(len(tree.points))
    _require_array(tree.points, "points", size.dtype, n, size.n_coordinates)
    _require_array(tree.box, "box", size.dtype, n_nodes, 2, size.n_coordinates)
    for array, name in ((tree.points, "points"), (tree.box, "box")):
        require(np.isfinite(array).all(), f"its array {name!r} must have finite numbers.")
    _require_array(tree.vertex, "vertex", ID, n, high=size.n_examples)
    require(tree.nodes.shape == (n_nodes,), "its k-d tree has the wrong number of nodes.")
    begin, end, child = (
        np.ascontiguousarray(tree.nodes[name]) for name in ("begin", "end", "child")
    )
    message = "the nodes of its k-d tree are not halves of each other."
    inner = np.flatnonzero(child >= 0)
    left, right = child[inner], child[inner] + 1
    require((left > inner).all() and (left < n_nodes - 1).all(), message)
    require(len(np.unique(left)) == len(left) and 2 * len(left) + 1 == n_nodes, message)
    require(begin[0] == 0 and end[0] == n, message)
    middle = (begin[inner] + end[inner]) // 2
    for nodes, first, last in ((left, begin[inner], middle), (right, middle, end[inner])):
        require((begin[nodes] == first).all() and (end[nodes] == last).all(), message)
    size_of_node = end - begin
    require((size_of_node > 0).all(), message)
    require(((child >= 0) == (size_of_node > LEAF)).all(), message)


def _check_coarse(forest: CellForest) -> None:
    coarse, nodes = forest.coarse, forest.tree.nodes
    require(coarse.ndim == 1 and 0 < len(coarse) <= N_COARSE, "it has too many coarse boxes.")
    _require_array(coarse, "coarse", ID, len(coarse), high=len(nodes))
    chosen = nodes[coarse]
    order = np.argsort(chosen["begin"])
    ends = np.append(0, chosen["end"][order])
    is_valid = np.array_equal(ends[:-1], chosen["begin"][order]) and ends[-1] == nodes["end"][0]
    require(is_valid, "its coarse boxes do not contain each point once.")


def _check_pool(pool: Pool, name: str, n: int, size: ModelSize) -> None:
    n_edges = len(pool.weight)
    for end in ("u", "v"):
        _require_array(getattr(pool, end), f"{name}.{end}", INDEX, n_edges, high=n)
    _require_distances(pool.weight, f"{name}.weight", size.dtype, n_edges)
    require((np.diff(pool.weight) >= 0).all(), f"its {name} edges are not in ascending order.")


def _check_duplicates(certain: Pool, n_points: int, n: int) -> None:
    """Check that the first edges join each duplicate to a point."""
    u, v = (ends[: n - n_points] for ends in certain[:2])
    is_valid = np.array_equal(v, np.arange(n_points, n)) and (u < n_points).all()
    require(is_valid, "its duplicates are not joined to points.")


def _check_costs(costs: CellCosts, size: ModelSize) -> None:
    n = len(costs.cost)
    _require_distances(costs.cost, "cost", size.dtype, n)
    _require_array(costs.is_prototype, "is_prototype", np.dtype(np.bool_), n)
    _require_array(costs.first, "first", INDEX, len(costs.first), high=n)


def check_cell(forest: CellForest, costs: CellCosts) -> None:
    """Raise an error unless costs are those of a cell."""
    nodes, message = forest.tree.nodes, "its costs are not those of its examples."
    require(len(costs.cost) == len(forest.id) and len(costs.first) == len(nodes), message)
    is_inside = (costs.first >= nodes["begin"]) & (costs.first < nodes["end"])
    require(is_inside.all(), message)


def _check_links(links: Links, size: ModelSize) -> None:
    n = len(links.weight)
    for name in ("u", "v"):
        _require_array(getattr(links, name), name, ID, n, high=size.n_examples)
    for name in ("a", "b"):
        _require_array(getattr(links, name), name, INDEX, n, high=size.n_examples)
    _require_distances(links.weight, "weight", size.dtype, n)


def _check_ports(ports: Ports, size: ModelSize) -> None:
    n = len(ports.id)
    _require_array(ports.id, "id", ID, n, high=size.n_examples)
    require((np.diff(ports.id) > 0).all(), "its ids are not in ascending order.")
    _require_array(ports.label, "label", INDEX, n, high=size.n_classes)
    _require_array(ports.is_prototype, "is_prototype", np.dtype(np.bool_), n)
    _require_distances(ports.cost, "cost", size.dtype, n)


def _check_map(cells: Map, size: ModelSize) -> None:
    n = len(cells.box)
    require(n > 0, "it has no cells.")
    _require_array(cells.box, "box", size.dtype, n, 2, size.n_coordinates)
    require(np.isfinite(cells.box).all(), "its boxes must have finite numbers.")
    _require_distances(cells.cost, "cost", size.dtype, n)
    _require_array(cells.id, "id", ID, n, high=size.n_examples)


CHECKS: dict[type, Callable[[Any, ModelSize], None]] = {
    CellForest: _check_forest,
    CellCosts: _check_costs,
    Links: _check_links,
    Ports: _check_ports,
    Map: _check_map,
}
