"""Spread labels from seeds along a spanning tree.

Take the edges of the tree in the order of (weight, smaller index, larger index), except those that
would join two components with a seed each. With one additional vertex, joined to each seed by an
edge shorter than any other, the result is a minimum spanning tree. The path of a vertex leads to
the seed that it reaches by the smallest maximum edge. Paths through two different neighbors share
no edge, so their largest edges differ, and one is smaller: paths never tie.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, helper, kernel
from opforest.core.records import Tree

#: The label of a vertex without one.
UNLABELED = -1


class Spread(NamedTuple):
    """How each vertex got its label. Without any seed, labels and costs are 0 and mean nothing."""

    label: np.ndarray  #: of its seed
    cost: np.ndarray  #: the largest edge on the path
    seed_parent: np.ndarray  #: the next vertex on the path to its seed; −1 for seeds


def spread_labels(tree: Tree, label: np.ndarray) -> Spread:
    """Spread the labels of all labeled vertices to those that are ``UNLABELED``."""
    n = len(label)
    seeds = label != UNLABELED
    spread = Spread(np.array(label), np.zeros(n, tree.weight.dtype), np.full(n, -1, np.int32))
    if seeds.any():
        _spread(tree, seeds, np.where(seeds, -1, n), spread)
    else:
        spread.label[:] = 0
    return spread


@kernel
def _spread(tree, seeds, heaviest, spread):
    """Traverse the tree from its leaves to its root and back.

    ``heaviest`` is the lower end of the largest edge on the path: −1 for seeds, n without a path.
    """
    tree, spread = borrow(tree), borrow(spread)
    parent, weight, order = tree
    n = order.shape[0]
    for i in range(n - 1, 0, -1):
        v = order[i]
        if not seeds[parent[v]]:
            _offer(parent[v], v, v, tree, heaviest, spread)
    for i in range(1, n):
        v = order[i]
        if not seeds[v] and spread.seed_parent[parent[v]] != v:
            _offer(v, parent[v], v, tree, heaviest, spread)
    for v in range(n):
        if 0 <= heaviest[v] < n:  # n remains only where a forged tree does not span
            spread.cost[v] = weight[heaviest[v]]


@helper
def _offer(v, u, edge, tree, heaviest, spread):
    """Let u offer its path to v, over the edge above the vertex ``edge``."""
    n = heaviest.shape[0]
    if heaviest[u] == n:
        return
    largest = edge
    if heaviest[u] >= 0 and _is_before(edge, heaviest[u], tree):
        largest = heaviest[u]
    if heaviest[v] == n or _is_before(largest, heaviest[v], tree):
        heaviest[v] = largest
        spread.seed_parent[v] = u
        spread.label[v] = spread.label[u]


@helper
def _is_before(a, b, tree):
    """Compare the edges above two vertices."""
    parent, weight, _ = tree
    return precedes(weight[a], a, parent[a], weight[b], b, parent[b])
