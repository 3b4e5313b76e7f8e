"""From the minimum spanning tree to the forest: prototypes, costs, predecessors, roots.

The cheapest path between two vertices, by its largest edge, lies on the tree. So conquest takes
two linear passes over the tree, leaves to root and back, and no second look at the distances.
It never crosses an edge between two classes: both ends of such an edge are prototypes, so the
near one reaches whatever lies behind it at least as cheaply. That is how ties go to a vertex's
own class.

Several paths may be cheapest. Among them a vertex takes the one with the fewest steps since the
cost last rose, and among those the one through the neighbour with the smallest index. So the
forest is a function of the tree alone.
"""

import numpy as np

from opforest._jit import helper, kernel


@kernel
def order_tree(parent):
    """Return the vertices of a rooted tree, parents before children."""
    n = parent.shape[0]
    start = np.zeros(n + 1, np.int64)
    for v in range(n):
        if parent[v] >= 0:
            start[parent[v] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    children = np.empty(n, np.int64)
    filled = start[:n].copy()
    order = np.empty(n, np.int64)
    for v in range(n):
        if parent[v] >= 0:
            children[filled[parent[v]]] = v
            filled[parent[v]] += 1
        else:
            order[0] = v
    end = 1
    for i in range(n):
        v = order[i]
        for slot in range(start[v], start[v + 1]):
            order[end] = children[slot]
            end += 1
    return order


@kernel
def count_cuts(parent, label):
    """Return how many tree edges lead from each vertex to another class: 0 for no prototype.

    Where there is only one class, the first vertex stands in as the prototype.
    """
    n = parent.shape[0]
    cuts = np.zeros(n, np.int64)
    one_class = True
    for v in range(n):
        if parent[v] >= 0 and label[v] != label[parent[v]]:
            cuts[v] += 1
            cuts[parent[v]] += 1
            one_class = False
    if one_class:
        cuts[0] = 1
    return cuts


@helper
def _offer(cost, level, weight):
    """Extend a path of this cost, with ``level`` steps since it last rose, by one edge."""
    if weight > cost:
        return weight, 0
    return cost, level + 1


@helper
def _conquer_through(u, v, weight, cost, level):
    """Let ``u`` make ``v`` an offer."""
    offer, steps = _offer(cost[u], level[u], weight)
    if offer < cost[v] or (offer == cost[v] and steps < level[v]):
        cost[v], level[v] = offer, steps


@kernel
def conquer(parent, weight, order, label, cuts):
    """Return each vertex's cost, and the number of steps since it last rose on the way there."""
    n = parent.shape[0]
    cost = np.full(n, np.inf, weight.dtype)
    level = np.zeros(n, np.int64)
    for v in range(n):
        if cuts[v] > 0:
            cost[v] = 0
    for i in range(n - 1, 0, -1):
        v = order[i]
        if label[v] == label[parent[v]]:
            _conquer_through(v, parent[v], weight[v], cost, level)
    for i in range(1, n):
        v = order[i]
        if label[v] == label[parent[v]]:
            _conquer_through(parent[v], v, weight[v], cost, level)
    return cost, level


@helper
def _is_conquered_by(u, v, weight, cost, level):
    offer, steps = _offer(cost[u], level[u], weight)
    return offer == cost[v] and steps == level[v]


@kernel
def trace_paths(parent, weight, label, cuts, cost, level):
    """Return each vertex's predecessor (−1 for prototypes) and the prototype at its root."""
    n = parent.shape[0]
    predecessor = np.full(n, n)
    for v in range(n):
        u = parent[v]
        if u < 0 or label[u] != label[v]:
            continue
        if _is_conquered_by(u, v, weight[v], cost, level):
            predecessor[v] = min(predecessor[v], u)
        if _is_conquered_by(v, u, weight[v], cost, level):
            predecessor[u] = min(predecessor[u], v)
    root = np.full(n, -1)
    for v in range(n):
        if cuts[v] > 0:
            predecessor[v] = -1
            root[v] = v
    for v in range(n):
        u = v
        while root[u] < 0:
            u = predecessor[u]
        top = root[u]
        u = v
        while root[u] < 0:
            root[u] = top
            u = predecessor[u]
    return predecessor, root
