"""Repair the costs after the spanning tree has changed in a few places."""

import numpy as np

from opforest.core.heap import append, pop, push
from opforest.core.jit import helper
from opforest.core.rooted_tree import edge_weight, first_neighbor, next_neighbor


@helper
def count_lost(vertices, counters, ends, n_ends):
    """Return how many of these vertices, which were prototypes, have no cut edges left."""
    counters.stamp += 2
    lost = 0
    for i in range(n_ends):
        vertex = vertices[ends[i]]
        lost += vertex.cuts == 0 and vertex.mark != counters.stamp
        vertex.mark = counters.stamp
    return lost


@helper
def repair_costs(vertices, cost, starts, lost_cost, n_starts, sources, n_sources):
    """Repair the costs.

    Costs rise only where a path has lost an edge or its prototype. There, a flood over the new tree
    finds all vertices that may have been conquered through it. All other costs only fall, starting
    from vertices without a cost and from new prototypes.

    Parameters
    ----------
    starts, lost_cost : arrays
        Where floods start, and the costs of the lost paths up to there: 0 for prototypes.
    sources : array
        Vertices that may be new prototypes, or new vertices, with an infinite cost.

    Returns
    -------
    changed, n_changed : array, int
        The vertices whose cost was computed again.
    """
    keys, waiting = np.empty(16, cost.dtype), np.empty(16, np.int64)
    m = 0
    for i in range(n_starts):
        v = starts[i]
        is_valid = vertices[v].cuts > 0 or lost_cost[i] > cost[v]
        if not is_valid and not _has_prototype(vertices, cost, v):
            keys, waiting, m = push(keys, waiting, m, lost_cost[i], v)
    invalidated, n_invalidated, keys, waiting = _flood(vertices, cost, keys, waiting, m)
    m = 0
    for i in range(n_sources):
        v = sources[i]
        if cost[v] == np.inf:
            invalidated = append(invalidated, n_invalidated, v)
            n_invalidated += 1
        elif vertices[v].cuts > 0 and cost[v] > 0:
            cost[v] = 0
            keys, waiting, m = push(keys, waiting, m, cost[v], v)
    for i in range(n_invalidated):
        cost[invalidated[i]] = np.inf
    for i in range(n_invalidated):
        v = invalidated[i]
        cost[v] = _best_offer(vertices, cost, v)
        if cost[v] < np.inf:
            keys, waiting, m = push(keys, waiting, m, cost[v], v)
    return _conquer(vertices, cost, keys, waiting, m)


@helper
def _has_prototype(vertices, cost, v):
    """Return whether a neighboring prototype offers v its cost, which is valid then."""
    t = first_neighbor(vertices, v)
    while t >= 0:
        if edge_weight(vertices, v, t) == cost[v] and vertices[t].cuts > 0 and cost[t] == 0:
            return True
        t = next_neighbor(vertices, v, t)
    return False


@helper
def _flood(vertices, cost, keys, waiting, m):
    """Return the vertices that may have been conquered on lost paths; their costs become −1."""
    invalidated = np.empty(16, np.int64)
    n_invalidated = 0
    while m > 0:
        key, u = keys[0], waiting[0]
        m = pop(keys, waiting, m)
        if cost[u] < 0:  # already invalidated
            continue
        cost[u] = -1
        invalidated = append(invalidated, n_invalidated, u)
        n_invalidated += 1
        t = first_neighbor(vertices, u)
        while t >= 0:
            offer = max(key, edge_weight(vertices, u, t))
            if vertices[t].cuts == 0 and offer <= cost[t]:
                keys, waiting, m = push(keys, waiting, m, offer, t)
            t = next_neighbor(vertices, u, t)
    return invalidated, n_invalidated, keys, waiting


@helper
def _best_offer(vertices, cost, v):
    """Return the cost of v according to its neighbors."""
    if vertices[v].cuts > 0:
        return vertices[v].weight - vertices[v].weight
    best = cost[v]
    t = first_neighbor(vertices, v)
    while t >= 0:
        best = min(best, max(cost[t], edge_weight(vertices, v, t)))
        t = next_neighbor(vertices, v, t)
    return best


@helper
def _conquer(vertices, cost, keys, waiting, m):
    """Conquer from all vertices in the heap; return those whose cost is final."""
    changed = np.empty(16, np.int64)
    n_changed = 0
    while m > 0:
        key, u = keys[0], waiting[0]
        m = pop(keys, waiting, m)
        if key > cost[u]:
            continue
        changed = append(changed, n_changed, u)
        n_changed += 1
        t = first_neighbor(vertices, u)
        while t >= 0:
            offer = max(key, edge_weight(vertices, u, t))
            if offer < cost[t]:
                cost[t] = offer
                keys, waiting, m = push(keys, waiting, m, cost[t], t)
            t = next_neighbor(vertices, u, t)
    return changed, n_changed
