"""Checks of the invariants of a forest: its tree, its costs and paths, and its stored examples.

The methods ``check``, ``check_model`` and ``check_tree`` of forests call these functions. Each
raises an ``AssertionError`` that names the first invariant that is broken.
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


def check_tree(examples: ForestStorage, model: TreeModel) -> None:
    """Check that the tree of a supervised forest spans, and that its edges are counted."""
    label, parent, weight, cuts, _ = model
    n, counters = len(label), examples.arrays.counters[0]
    child = np.flatnonzero(parent >= 0)
    require(len(child) == n - 1, "the tree has not one root")
    order = as_tree(parent, weight).order
    require(np.array_equal(np.sort(order), np.arange(n)), "the tree does not span")
    n_cut_edges = label[child] != label[parent[child]]
    require(np.array_equal(cuts, count_cuts(parent, label)), "cut edges are miscounted")
    require(counters["n_cut_edges"] == n_cut_edges.sum(), "crossing edges are miscounted")
    require(counters["prototypes"] == (cuts > 0).sum(), "prototypes are miscounted")
    require((weight <= counters["longest"]).all(), "an edge is too long")


def check_seeded_tree(examples: ForestStorage, model: TreeModel) -> None:
    """Check that the tree of a semi-supervised forest spans, and that its seeds are counted."""
    label, parent, weight, cuts, _ = model
    counters = examples.arrays.counters[0]
    require((parent >= 0).sum() == len(label) - 1, "the tree does not have exactly one root")
    order = as_tree(parent, weight).order
    require(np.array_equal(np.sort(order), np.arange(len(label))), "the tree does not span")
    require(((cuts == 0) | (cuts == 1)).all(), "seeds are miscounted")
    require(counters["prototypes"] == cuts.sum(), "prototypes are miscounted")
    require((weight <= counters["longest"]).all(), "an edge is too long")


def check_seeded_model(found: ForestState, expected: ForestState) -> None:
    """Check that labels, costs and ways are those expected from the tree and the seeds."""
    model = expected.model
    require(np.array_equal(found.model.label, model.label), "a label is not that of its seed")
    require(np.array_equal(found.model.cost, model.cost), "a cost is no largest edge")
    is_same = (
        found.seed_parent is not None
        and expected.seed_parent is not None
        and (found.seed_parent == expected.seed_parent).all()
    )
    require(is_same, "a way leads elsewhere")


def check_pairs(model: TreeModel, prototypes: Array, pair: Array) -> None:
    """Check that the pairs of an approximate forest are those of prototypes."""
    label, parent, *_ = model
    require((pair[parent >= 0] == -1).all(), "an ordinary example has a pair")
    paired = prototypes[pair[prototypes] >= 0]
    require(np.isin(pair[paired], prototypes).all(), "a pair is no prototype")
    require((label[pair[paired]] != label[paired]).all(), "a pair is of the same class")


def check_costs(cost: Array, prototypes: Array) -> None:
    """Check that costs are finite, and 0 for prototypes."""
    require(np.isfinite(cost).all(), "a cost is not finite")
    require((cost[prototypes] == 0).all(), "a prototype costs something")


def check_paths(model: TreeModel, prototypes: Array, predecessor: Array, root: Array) -> None:
    """Check that paths follow the tree from prototypes, and that costs are those of paths."""
    label, parent, weight, _, cost = model
    conquered = np.flatnonzero(predecessor >= 0)
    before = predecessor[conquered]
    downwards = parent[conquered] == before
    require((downwards | (parent[before] == conquered)).all(), "a path leaves the tree")
    step = np.where(downwards, weight[conquered], weight[before])
    require((cost[conquered] == np.maximum(cost[before], step)).all(), "a cost is no maximum")
    require((root[conquered] == root[before]).all(), "a path does not lead to the root")
    is_root = np.zeros(len(label), bool)
    is_root[root] = True
    require(np.array_equal(np.flatnonzero(is_root), prototypes), "roots are not the prototypes")
    require((label == label[root]).all(), "conquered by another class")


def check_examples(examples: ForestStorage) -> None:
    """Check arrival numbers, and the index or ranking of the examples."""
    body, state = examples.fields, examples.arrays
    ids, counters = examples.ids, state.counters[0]
    require((np.diff(ids) > 0).all(), "arrival numbers are out of order")
    require((ids >= 0).all() and (ids < examples.end + body.removed).all(),
           "an arrival number is yet to come")  # fmt: skip
    label = state.vertices["label"][: examples.end]
    n_deleted = label == DELETED
    require(counters["n_deleted"] == n_deleted.sum(), "holes are miscounted")
    require(np.array_equal(n_deleted, np.isinf(state.cost[: examples.end])), "a hole has a cost")
    if len(examples):
        require(counters["oldest"] == np.flatnonzero(~n_deleted)[0], "the eldest is another one")
    require(len(body.arrival) >= examples.end, "arrival numbers are missing")
    require(len(state.rows) >= examples.end, "points are missing")
    fault = examples.find_fault()
    require(not fault, fault)
