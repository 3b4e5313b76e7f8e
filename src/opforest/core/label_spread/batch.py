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

#: The label of a vertex that has none.
UNLabeled = -1


class Spread(NamedTuple):
    """How each vertex got its label. Without any seed, labels and costs are 0 and mean nothing."""

    label: np.ndarray  #: of its seed
    cost: np.ndarray  #: the largest edge on the way
    way: np.ndarray  #: the next vertex on the way to its seed; −1 for seeds


def spread_labels(tree: Tree, label: np.ndarray) -> Spread:
    """Spread the labels of all vertices that have one to the vertices that are ``UNLabeled``."""
    n = len(label)
    seeds = label != UNLabeled
    spread = Spread(np.array(label), np.zeros(n, tree.weight.dtype), np.full(n, -1, np.int32))
    if seeds.any():
        _spread(tree, seeds, np.where(seeds, -1, n), spread)
    else:
        spread.label[:] = 0
    return spread


@kernel
def _spread(tree, seeds, under, spread):
    """Go through the tree from its leaves to its root and back.

    ``under`` is the lower end of the largest edge on the way: −1 for seeds, n if there is no way.
    """
    parent, weight, order = borrow(tree)
    label, cost, way = borrow(spread)
    n = order.shape[0]
    for i in range(n - 1, 0, -1):
        v = order[i]
        if not seeds[parent[v]]:
            _offer(parent[v], v, v, parent, weight, under, label, way)
    for i in range(1, n):
        v = order[i]
        if not seeds[v] and way[parent[v]] != v:
            _offer(v, parent[v], v, parent, weight, under, label, way)
    for v in range(n):
        if 0 <= under[v] < n:  # n is left only where a forged tree does not span
            cost[v] = weight[under[v]]


@helper
def _offer(v, u, edge, parent, weight, under, label, way):
    """Let u offer its way to v, over the edge above the vertex ``edge``."""
    n = under.shape[0]
    if under[u] == n:
        return
    largest = edge
    if under[u] >= 0 and _is_before(edge, under[u], parent, weight):
        largest = under[u]
    if under[v] == n or _is_before(largest, under[v], parent, weight):
        under[v] = largest
        way[v] = u
        label[v] = label[u]


@helper
def _is_before(a, b, parent, weight):
    """Compare the edges above two vertices."""
    return precedes(weight[a], a, parent[a], weight[b], b, parent[b])
