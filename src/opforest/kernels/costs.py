"""Costs after the tree has changed in a few places."""

import numpy as np

from opforest._jit import helper
from opforest.kernels.heap import append, pop, push
from opforest.kernels.state import STAMP


@helper
def count_lost(state, ends, n_ends):
    """Return how many of these, all of them prototypes before, have no cut edges any more."""
    state.count[STAMP] += 2
    lost = 0
    for i in range(n_ends):
        v = ends[i]
        lost += state.cuts[v] == 0 and state.mark[v] != state.count[STAMP]
        state.mark[v] = state.count[STAMP]
    return lost


@helper
def repair_costs(state, doubtful, doubt, n_doubtful, new, n_new):
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
    keys, vertices = np.empty(16, state.cost.dtype), np.empty(16, np.int64)
    invalid, n_invalid, keys, vertices = _flood(state, doubtful, doubt, n_doubtful, keys, vertices)
    cost, cuts, parent, child = state.cost, state.cuts, state.parent, state.child
    length, after = state.weight, state.after
    m = 0
    for i in range(n_new):
        v = new[i]
        if cost[v] == np.inf:
            invalid = append(invalid, n_invalid, v)
            n_invalid += 1
        elif cuts[v] > 0 and cost[v] > 0:
            cost[v] = 0
            keys, vertices, m = push(keys, vertices, m, cost[v], v)
    for i in range(n_invalid):
        cost[invalid[i]] = np.inf
    for i in range(n_invalid):
        v = invalid[i]
        cost[v] = _best_offer(v, cost, cuts, parent, length, child, after)
        if cost[v] < np.inf:
            keys, vertices, m = push(keys, vertices, m, cost[v], v)
    return _conquer(state, keys, vertices, m)


@helper
def _flood(state, doubtful, doubt, n_doubtful, keys, vertices):
    """Return those who may have been conquered on paths that are lost; their costs are −1."""
    cost, cuts, parent, child = state.cost, state.cuts, state.parent, state.child
    length, after = state.weight, state.after
    m = 0
    for i in range(n_doubtful):
        v = doubtful[i]
        if cuts[v] == 0 and doubt[i] <= cost[v]:
            keys, vertices, m = push(keys, vertices, m, doubt[i], v)
    invalid = np.empty(16, np.int64)
    n_invalid = 0
    while m > 0:
        key, u = keys[0], vertices[0]
        m = pop(keys, vertices, m)
        if cost[u] < 0:
            continue
        cost[u] = -1  # the flood has been here
        invalid = append(invalid, n_invalid, u)
        n_invalid += 1
        t, weight, following = parent[u], length[u], child[u]
        while True:
            if t >= 0 and cuts[t] == 0 and max(key, weight) <= cost[t]:
                keys, vertices, m = push(keys, vertices, m, max(key, weight), t)
            if following < 0:
                break
            t, weight, following = following, length[following], after[following]
    return invalid, n_invalid, keys, vertices


@helper
def _best_offer(v, cost, cuts, parent, length, child, after):
    """Return what a vertex costs by what its neighbours cost."""
    if cuts[v] > 0:
        return length[v] - length[v]
    best = cost[v]
    t, weight, following = parent[v], length[v], child[v]
    while True:
        if t >= 0:
            best = min(best, max(cost[t], weight))
        if following < 0:
            return best
        t, weight, following = following, length[following], after[following]


@helper
def _conquer(state, keys, vertices, m):
    """Conquer from all vertices in the heap; return those whose cost was found."""
    cost, parent, length = state.cost, state.parent, state.weight
    child, after = state.child, state.after
    changed = np.empty(16, np.int64)
    n_changed = 0
    while m > 0:
        key, u = keys[0], vertices[0]
        m = pop(keys, vertices, m)
        if key > cost[u]:
            continue
        changed = append(changed, n_changed, u)
        n_changed += 1
        t, weight, following = parent[u], length[u], child[u]
        while True:
            if t >= 0 and max(key, weight) < cost[t]:
                cost[t] = max(key, weight)
                keys, vertices, m = push(keys, vertices, m, cost[t], t)
            if following < 0:
                break
            t, weight, following = following, length[following], after[following]
    return changed, n_changed
