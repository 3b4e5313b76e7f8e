"""Compute the forest from a spanning tree: prototypes, costs, predecessors, and roots.

The path of the smallest maximum edge between two vertices lies on the minimum spanning tree. The
costs therefore take two linear passes over the tree, from the leaves to the root and back, and no
further distances. If labels are given, paths never cross an edge between two classes. If the seeds
are the prototypes, which are the ends of all such edges, this changes no cost: the nearer end
reaches the vertices behind it at no higher cost. Ties are thus resolved in favor of a vertex's own
class.

If several paths have the smallest cost, a vertex takes the one with the fewest steps since the cost
last rose, and among those the one through the neighbor with the smallest index. The forest is thus
a function of the tree alone.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.records import Tree


class Conquest(NamedTuple):
    """The path to each vertex."""

    cost: np.ndarray  #: its largest edge
    level: np.ndarray  #: the number of steps since the cost last rose


def as_tree(parent, weight) -> Tree:
    """Return the tree with these parents, −1 for its root, and weights."""
    order = np.full(len(parent), -1)
    _order(parent, order)
    return Tree(parent, weight, order)


@kernel
def _order(parent, order):
    """Write the vertices of a rooted tree, parents before children."""
    n = parent.shape[0]
    start = np.zeros(n + 3, np.int64)  # indexed by parent + 1: the root's parent is −1
    for v in range(n):
        start[parent[v] + 3] += 1
    for v in range(n + 1):
        start[v + 2] += start[v + 1]
    children = np.empty(n, np.int64)
    for v in range(n):
        slot = start[parent[v] + 2]
        start[parent[v] + 2] += 1
        children[slot] = v
    order[0] = children[0]
    end = 1
    i = 0
    while i < end:
        for slot in range(start[order[i] + 1], start[order[i] + 2]):
            order[end] = children[slot]
            end += 1
        i += 1


def count_cuts(parent, label):
    """Return the number of tree edges from each vertex to another class.

    If there is only one class, the first vertex gets 1, as a placeholder for the prototype.
    """
    child = np.flatnonzero((parent >= 0) & (label != label[parent]))
    cuts = np.bincount(child, minlength=len(parent))
    cuts += np.bincount(parent[child], minlength=len(parent))
    if len(child) == 0:
        cuts[:1] = 1
    return cuts


def conquer(tree, seeds, label=None) -> Conquest:
    """Return how the seeds, of cost 0, conquer the tree; costs are infinite where no path leads.

    If labels are given, paths stay among vertices of one label.
    """
    n = len(tree.parent)
    cost = np.full(n, np.inf, tree.weight.dtype)
    cost[seeds] = 0
    return spread_costs(tree, cost, label)


def _as_codes(label, n):
    """Return labels in the type for which kernels are compiled; all 0 if there are none."""
    return np.zeros(n, np.int32) if label is None else label.astype(np.int32, copy=False)


def spread_costs(tree, cost, label) -> Conquest:
    """Lower costs, of which some are known, along the edges of a tree or forest."""
    conquest = Conquest(cost, np.zeros(len(cost), np.int64))
    _conquer(tree, _as_codes(label, len(cost)), conquest)
    return conquest


@helper
def _offer(cost, level, weight):
    """Return the cost and the level of a path that is extended by one edge."""
    if weight > cost:
        return weight, 0
    return cost, level + 1


@helper
def _conquer_through(u, v, weight, cost, level):
    offer, steps = _offer(cost[u], level[u], weight)
    if offer < cost[v] or (offer == cost[v] and steps < level[v]):
        cost[v], level[v] = offer, steps


@kernel
def _conquer(tree, label, conquest):
    parent, weight, order = borrow(tree)
    cost, level = borrow(conquest)
    for i in range(order.shape[0] - 1, 0, -1):
        v = order[i]
        if parent[v] >= 0 and label[v] == label[parent[v]]:
            _conquer_through(v, parent[v], weight[v], cost, level)
    for i in range(1, order.shape[0]):
        v = order[i]
        if parent[v] >= 0 and label[v] == label[parent[v]]:
            _conquer_through(parent[v], v, weight[v], cost, level)


def trace_paths(tree, seeds, conquest, label=None):
    """Return the predecessor and the seed of each vertex, −1 for none, after a conquest."""
    n = len(tree.parent)
    predecessor, root = np.full(n, n), np.where(seeds, np.arange(n), -1)
    _trace(tree, _as_codes(label, n), conquest, predecessor, root)
    return predecessor, root


@helper
def _is_conquered_by(u, v, weight, cost, level):
    offer, steps = _offer(cost[u], level[u], weight)
    return offer == cost[v] and steps == level[v]


@kernel
def _trace(tree, label, conquest, predecessor, root):
    parent, weight, _ = borrow(tree)
    cost, level = borrow(conquest)
    n = parent.shape[0]
    for v in range(n):
        u = parent[v]
        if u < 0 or label[u] != label[v] or cost[v] == np.inf:
            continue
        if _is_conquered_by(u, v, weight[v], cost, level):
            predecessor[v] = min(predecessor[v], u)
        if _is_conquered_by(v, u, weight[v], cost, level):
            predecessor[u] = min(predecessor[u], v)
    for v in range(n):
        if root[v] == v or predecessor[v] == n:
            predecessor[v] = -1
    for v in range(n):
        u = v
        while root[u] < 0 and predecessor[u] >= 0:
            u = predecessor[u]
        top, u = root[u], v
        while root[u] < 0 and predecessor[u] >= 0:
            root[u] = top
            u = predecessor[u]
