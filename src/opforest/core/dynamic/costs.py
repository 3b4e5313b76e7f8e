"""Repair the costs after the spanning tree has changed in a few places."""

import numpy as np

from opforest.core.heap import append, pop, push
from opforest.core.jit import helper


@helper
def count_lost(vertices, counters, ends, n_ends):
    """Return how many of these, all of them prototypes before, have no cut edges any more."""
    counters.stamp += 2
    lost = 0
    for i in range(n_ends):
        vertex = vertices[ends[i]]
        lost += vertex.cuts == 0 and vertex.mark != counters.stamp
        vertex.mark = counters.stamp
    return lost


@helper
def repair_costs(vertices, cost, doubtful, doubt, n_doubtful, new, n_new):
    """Bring costs up to date.

    Costs may rise only where a path has lost an edge or its prototype: there a flood over the new
    tree finds all who may have been conquered that way. Everything else only falls, beginning at
    vertices without a cost and at new prototypes.

    Parameters
    ----------
    doubtful, doubt : arrays
        Where floods begin, and the costs of the lost paths up to there: 0 for prototypes.
    new : array
        Vertices that may be new prototypes; or new altogether, with an infinite cost.

    Returns
    -------
    changed, n_changed : array, int
        The vertices whose cost was found anew.
    """
    keys, waiting = np.empty(16, cost.dtype), np.empty(16, np.int64)
    m = 0
    for i in range(n_doubtful):
        v = doubtful[i]
        if vertices[v].cuts == 0 and doubt[i] <= cost[v] and not _has_prototype(vertices, cost, v):
            keys, waiting, m = push(keys, waiting, m, doubt[i], v)
    invalid, n_invalid, keys, waiting = _flood(vertices, cost, keys, waiting, m)
    m = 0
    for i in range(n_new):
        v = new[i]
        if cost[v] == np.inf:
            invalid = append(invalid, n_invalid, v)
            n_invalid += 1
        elif vertices[v].cuts > 0 and cost[v] > 0:
            cost[v] = 0
            keys, waiting, m = push(keys, waiting, m, cost[v], v)
    for i in range(n_invalid):
        cost[invalid[i]] = np.inf
    for i in range(n_invalid):
        v = invalid[i]
        cost[v] = _best_offer(vertices, cost, v)
        if cost[v] < np.inf:
            keys, waiting, m = push(keys, waiting, m, cost[v], v)
    return _conquer(vertices, cost, keys, waiting, m)


@helper
def _has_prototype(vertices, cost, v):
    """Tell whether a prototype next to v offers exactly the cost of v, which is then certain."""
    t, weight = np.int64(vertices[v].parent), vertices[v].weight
    next_one = np.int64(vertices[v].child)
    while True:
        if t >= 0 and weight == cost[v] and vertices[t].cuts > 0 and cost[t] == 0:
            return True
        if next_one < 0:
            return False
        t, weight = next_one, vertices[next_one].weight
        next_one = np.int64(vertices[next_one].after)


@helper
def _flood(vertices, cost, keys, waiting, m):
    """Return those who may have been conquered on paths that are lost; their costs are −1."""
    invalid = np.empty(16, np.int64)
    n_invalid = 0
    while m > 0:
        key, u = keys[0], waiting[0]
        m = pop(keys, waiting, m)
        if cost[u] < 0:
            continue
        cost[u] = -1  # the flood has been here
        invalid = append(invalid, n_invalid, u)
        n_invalid += 1
        t, weight = np.int64(vertices[u].parent), vertices[u].weight
        next_one = np.int64(vertices[u].child)
        while True:
            if t >= 0 and vertices[t].cuts == 0 and max(key, weight) <= cost[t]:
                keys, waiting, m = push(keys, waiting, m, max(key, weight), t)
            if next_one < 0:
                break
            t, weight = next_one, vertices[next_one].weight
            next_one = np.int64(vertices[next_one].after)
    return invalid, n_invalid, keys, waiting


@helper
def _best_offer(vertices, cost, v):
    """Return what a vertex costs by what its neighbors cost."""
    t, weight = np.int64(vertices[v].parent), vertices[v].weight
    next_one = np.int64(vertices[v].child)
    if vertices[v].cuts > 0:
        return weight - weight
    best = cost[v]
    while True:
        if t >= 0:
            best = min(best, max(cost[t], weight))
        if next_one < 0:
            return best
        t, weight = next_one, vertices[next_one].weight
        next_one = np.int64(vertices[next_one].after)


@helper
def _conquer(vertices, cost, keys, waiting, m):
    """Conquer from all vertices in the heap; return those whose cost was found."""
    changed = np.empty(16, np.int64)
    n_changed = 0
    while m > 0:
        key, u = keys[0], waiting[0]
        m = pop(keys, waiting, m)
        if key > cost[u]:
            continue
        changed = append(changed, n_changed, u)
        n_changed += 1
        t, weight = np.int64(vertices[u].parent), vertices[u].weight
        next_one = np.int64(vertices[u].child)
        while True:
            if t >= 0 and max(key, weight) < cost[t]:
                cost[t] = max(key, weight)
                keys, waiting, m = push(keys, waiting, m, cost[t], t)
            if next_one < 0:
                break
            t, weight = next_one, vertices[next_one].weight
            next_one = np.int64(vertices[next_one].after)
    return changed, n_changed
