"""Maintain the paths from vertices to their seeds as edges and seeds change.

Paths consist of edges of the spanning tree. With one additional vertex above all seeds, they form a
minimum spanning tree themselves: a new edge closes a cycle, and the largest edge of the cycle is
removed.

Functions that change labels or costs add the changed vertices to a list and return it.
"""

import numpy as np

from opforest.core.edge_order import precedes
from opforest.core.jit import helper
from opforest.core.rooted_tree import (
    edge_weight,
    first_neighbor,
    heaviest_on_cycle,
    heaviest_to_ancestor,
    next_neighbor,
)
from opforest.core.vertex_list import add


@helper
def redirect(arrays, u, last, target):
    """Redirect the path of u to ``target``, and reverse its old path up to ``last``.

    The redirected vertices are marked with the stamp of the counters.
    """
    counters = arrays.counters[0]
    counters.stamp += 2
    v = u
    while True:
        after = np.int64(arrays.seed_parent[v])
        arrays.seed_parent[v] = target
        arrays.vertices[v].mark = counters.stamp
        if v == last:
            return
        target, v = v, after


@helper
def follow(arrays, u, changed):
    """Update labels and costs of u, whose path was redirected, and of all behind it."""
    vertices, cost, seed_parent = arrays.vertices, arrays.cost, arrays.seed_parent
    stamp = arrays.counters[0].stamp
    after = np.int64(seed_parent[u])
    if after < 0:
        cost[u] = 0
    else:
        cost[u] = max(cost[after], edge_weight(vertices, u, after))
        vertices[u].label = vertices[after].label
    changed = add(changed, u)
    i = changed[0]
    while i <= changed[0]:
        v = changed[i]
        i += 1
        label = vertices[v].label
        t = first_neighbor(vertices, v)
        while t >= 0:
            if seed_parent[t] == v:
                value = max(cost[v], edge_weight(vertices, v, t))
                differs = value != cost[t] or label != vertices[t].label
                if differs or vertices[t].mark == stamp:
                    cost[t] = value
                    vertices[t].label = label
                    changed = add(changed, t)
            t = next_neighbor(vertices, v, t)
    return changed


@helper
def _spread_first(arrays, seed, changed):
    """Spread the label of the first seed over a tree that had none."""
    vertices, cost, seed_parent = arrays.vertices, arrays.cost, arrays.seed_parent
    seed_parent[seed] = -1
    cost[seed] = 0
    changed = add(changed, seed)
    i = changed[0]
    while i <= changed[0]:
        v = changed[i]
        i += 1
        t = first_neighbor(vertices, v)
        while t >= 0:
            if t != seed_parent[v]:
                seed_parent[t] = v
                cost[t] = max(cost[v], edge_weight(vertices, v, t))
                vertices[t].label = vertices[seed].label
                changed = add(changed, t)
            t = next_neighbor(vertices, v, t)
    return changed


@helper
def add_seed(arrays, v, changed):
    """Make v, which already has its label, a seed: the largest edge on its path is removed."""
    arrays.vertices[v].cuts = 1
    arrays.counters[0].prototypes += 1
    if arrays.counters[0].prototypes == 1:
        return _spread_first(arrays, v, changed)
    none = np.int64(-1)
    last = heaviest_to_ancestor(arrays.vertices, arrays.seed_parent, v, none)
    redirect(arrays, v, last, none)
    return follow(arrays, v, changed)


@helper
def offer_edge(arrays, u, v, changed):
    """Let paths use a new edge of the tree, unless it is the largest of its cycle."""
    vertices, cost, seed_parent = arrays.vertices, arrays.cost, arrays.seed_parent
    weight = edge_weight(vertices, u, v)
    if weight > cost[u] and weight > cost[v]:
        return changed
    near, far, last = heaviest_on_cycle(vertices, seed_parent, arrays.counters[0], u, v)
    if last < 0:
        return changed
    after = np.int64(seed_parent[last])
    if precedes(edge_weight(vertices, last, after), last, after, weight, u, v):
        return changed
    redirect(arrays, near, last, far)
    return follow(arrays, near, changed)
