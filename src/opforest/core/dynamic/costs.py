"""Repair the costs after the spanning tree has changed in a few places."""

import numpy as np

from opforest.core.heap import pop, push
from opforest.core.jit import helper
from opforest.core.rooted_tree import edge_weight, first_neighbor, next_neighbor
from opforest.core.vertex_list import add, members, new_list


@helper
def count_lost(vertices, counters, ends):
    """Return how many of these vertices, which were prototypes, have no cut edges left."""
    counters.stamp += 2
    lost = 0
    for v in ends:
        vertex = vertices[v]
        lost += vertex.cuts == 0 and vertex.mark != counters.stamp
        vertex.mark = counters.stamp
    return lost


@helper
def repair_costs(vertices, cost, starts, lost_cost, sources):
    """Repair the costs; return the list of the vertices whose cost was computed again.

    Costs rise only where a path has lost an edge or its prototype. There, a flood over the new tree
    finds all vertices that may have been conquered through it. All other costs only fall, starting
    from vertices without a cost and from new prototypes. Floods start at ``starts``; ``lost_cost``
    are the costs of the lost paths up to there, 0 for prototypes. ``sources`` are vertices that may
    be new prototypes, or new vertices, with an infinite cost.
    """
    keys, waiting = np.empty(16, cost.dtype), np.empty(16, np.int64)
    m = 0
    for i in range(starts.shape[0]):
        v = starts[i]
        is_valid = vertices[v].cuts > 0 or lost_cost[i] > cost[v]
        if not is_valid and not _has_prototype(vertices, cost, v):
            keys, waiting, m = push(keys, waiting, m, lost_cost[i], v)
    invalidated, keys, waiting = _flood(vertices, cost, keys, waiting, m)
    m = 0
    for v in sources:
        if cost[v] == np.inf:
            invalidated = add(invalidated, v)
        elif vertices[v].cuts > 0 and cost[v] > 0:
            cost[v] = 0
            keys, waiting, m = push(keys, waiting, m, cost[v], v)
    for v in members(invalidated):
        cost[v] = np.inf
    for v in members(invalidated):
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
    invalidated = new_list()
    while m > 0:
        key, u = keys[0], waiting[0]
        m = pop(keys, waiting, m)
        if cost[u] < 0:  # already invalidated
            continue
        cost[u] = -1
        invalidated = add(invalidated, u)
        t = first_neighbor(vertices, u)
        while t >= 0:
            offer = max(key, edge_weight(vertices, u, t))
            if vertices[t].cuts == 0 and offer <= cost[t]:
                keys, waiting, m = push(keys, waiting, m, offer, t)
            t = next_neighbor(vertices, u, t)
    return invalidated, keys, waiting


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
    changed = new_list()
    while m > 0:
        key, u = keys[0], waiting[0]
        m = pop(keys, waiting, m)
        if key > cost[u]:
            continue
        changed = add(changed, u)
        t = first_neighbor(vertices, u)
        while t >= 0:
            offer = max(key, edge_weight(vertices, u, t))
            if offer < cost[t]:
                cost[t] = offer
                keys, waiting, m = push(keys, waiting, m, cost[t], t)
            t = next_neighbor(vertices, u, t)
    return changed
