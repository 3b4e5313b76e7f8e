"""Checks of the invariants of a forest: its tree, its costs and paths, and its stored examples.

The methods ``check`` and ``check_model`` of forests call these functions. Each raises an
``AssertionError`` that names the first broken invariant.
"""

import numpy as np

from opforest.core.metrics.types import Array
from opforest.core.records import DELETED
from opforest.core.tree_costs import as_tree, count_cuts
from opforest.forest.state import ForestState, TreeModel
from opforest.forest.storage import ForestStorage


def require(condition: object, complaint: str) -> None:
    """Raise an ``AssertionError`` unless the condition holds, even under ``python -O``."""
    if not condition:
        raise AssertionError(complaint)


def check_tree(storage: ForestStorage, model: TreeModel) -> None:
    """Check that the tree of a supervised forest spans, and that its edges are counted."""
    label, parent, _, cuts, _ = model
    _check_spanning(storage, model)
    child = np.flatnonzero(parent >= 0)
    n_cut_edges = (label[child] != label[parent[child]]).sum()
    require(np.array_equal(cuts, count_cuts(parent, label)), "cut edges are miscounted")
    require(storage.arrays.counters[0]["n_cut_edges"] == n_cut_edges, "cut edges are miscounted")
    require(storage.n_prototypes == (cuts > 0).sum(), "prototypes are miscounted")


def check_seeded_tree(storage: ForestStorage, model: TreeModel) -> None:
    """Check that the tree of a semi-supervised forest spans, and that its seeds are counted."""
    _check_spanning(storage, model)
    require(((model.cuts == 0) | (model.cuts == 1)).all(), "seeds are miscounted")
    require(storage.n_prototypes == model.cuts.sum(), "prototypes are miscounted")


def _check_spanning(storage: ForestStorage, model: TreeModel) -> None:
    n, parent, weight = len(model.label), model.parent, model.weight
    require((parent >= 0).sum() == n - 1, "the tree does not have exactly one root")
    order = as_tree(parent, weight).order
    require(np.array_equal(np.sort(order), np.arange(n)), "the tree does not span")
    require((weight <= storage.arrays.counters[0]["longest"]).all(), "an edge is too long")


def check_seeded_model(found: ForestState, expected: ForestState) -> None:
    """Check that labels, costs and paths are those expected from the tree and the seeds."""
    model = expected.model
    require(np.array_equal(found.model.label, model.label), "a label is not that of its seed")
    require(np.array_equal(found.model.cost, model.cost), "a cost is not the largest edge")
    is_same = (
        found.seed_parent is not None
        and expected.seed_parent is not None
        and np.array_equal(found.seed_parent, expected.seed_parent)
    )
    require(is_same, "a path does not lead to its seed")


def check_pairs(model: TreeModel, prototypes: Array, pair: Array) -> None:
    """Check that the pairs of an approximate forest are those of prototypes."""
    label, parent, *_ = model
    require((pair[parent >= 0] == -1).all(), "an ordinary example has a pair")
    paired = prototypes[pair[prototypes] >= 0]
    require(np.isin(pair[paired], prototypes).all(), "a pair is not a prototype")
    require((label[pair[paired]] != label[paired]).all(), "a pair is of the same class")


def check_costs(cost: Array, prototypes: Array) -> None:
    """Check that costs are finite, and 0 for prototypes."""
    require(np.isfinite(cost).all(), "a cost is not finite")
    require((cost[prototypes] == 0).all(), "the cost of a prototype is not 0")


def check_paths(model: TreeModel, prototypes: Array, predecessor: Array, root: Array) -> None:
    """Check that paths follow the tree from prototypes, and that costs are those of paths."""
    label, parent, weight, _, cost = model
    conquered = np.flatnonzero(predecessor >= 0)
    before = predecessor[conquered]
    downwards = parent[conquered] == before
    require((downwards | (parent[before] == conquered)).all(), "a path leaves the tree")
    step = np.where(downwards, weight[conquered], weight[before])
    is_largest = cost[conquered] == np.maximum(cost[before], step)
    require(is_largest.all(), "a cost is not the largest step of its path")
    require((root[conquered] == root[before]).all(), "a path does not lead to the root")
    require(np.array_equal(np.unique(root), prototypes), "roots are not the prototypes")
    require((label == label[root]).all(), "conquered by another class")


def check_storage(storage: ForestStorage) -> None:
    """Check arrival numbers, deleted vertices and the sizes of arrays."""
    arrays, end, ids = storage.arrays, storage.end, storage.ids
    counters = arrays.counters[0]
    require((np.diff(ids) > 0).all(), "arrival numbers are out of order")
    require((ids >= 0).all() and (ids < storage.next_id).all(), "an arrival number is too large")
    is_deleted = arrays.vertices["label"][:end] == DELETED
    require(counters["n_deleted"] == is_deleted.sum(), "deleted vertices are miscounted")
    is_infinite = np.isinf(arrays.cost[:end])
    require(np.array_equal(is_deleted, is_infinite), "a deleted vertex has a cost")
    if len(storage):
        oldest = np.flatnonzero(~is_deleted)[0]
        require(counters["oldest"] == oldest, "the oldest example is another one")
    require(len(storage.fields.arrival) >= end, "arrival numbers are missing")
    require(len(arrays.rows) >= end, "points are missing")
