"""Exact insertion: the forest that training anew on all examples would give.

The whole minimum spanning tree is kept, edges between classes included. A new vertex changes it
in a few places, and costs only near these and near the prototypes that came or went.
"""

import numpy as np

from opforest._jit import helper, kernel
from opforest.kernels.candidates import (
    drop_shadowed,
    lowest_gaps,
    measure_from,
    take_nearest,
)  # fmt: skip
from opforest.kernels.distances import TILE
from opforest.kernels.heap import append, pop, push
from opforest.kernels.rooted_tree import add_edge, count_crossing, hang
from opforest.kernels.state import CROSSING, PROTOTYPES, SIZE

#: Places in the report of an update.
LEARNED, GAINED, LOST, RECONQUERED = 0, 1, 2, 3
CASE_1, CASE_2, CASE_3, TAKEOVERS = 4, 5, 6, 7


@kernel
def insert_exactly(state, end, measured, metric, report):
    """Insert the vertices from ``count[SIZE]`` to ``end``, whose rows and labels are in place.

    Parameters
    ----------
    measured : bool
        Whether ``gap`` holds the distances from the first of them already.
    report : array
        Numbers of examples learned, prototypes gained and lost, vertices reconquered.
    """
    distance = np.empty(TILE, state.gap.dtype)
    for z in range(state.count[SIZE], end):
        if not measured:
            measure_from(state, z, z, state.longest[0], metric)
        measured = False
        one_class = state.count[CROSSING] == 0
        prototypes = state.count[PROTOTYPES]
        before, n_before = _insert_into_tree(state, z, distance, metric)
        if one_class and state.count[CROSSING] > 0:
            state.cuts[0] -= 1  # it only stood in while there was one class
            state.count[PROTOTYPES] -= state.cuts[0] == 0
            before = append(before, n_before, 0)
            n_before += 1
        lost = _repair_costs(state, z, before, n_before, report)
        report[LOST] += lost
        report[GAINED] += state.count[PROTOTYPES] - prototypes + lost
        state.count[SIZE] = z + 1
        report[LEARNED] += 1


@helper
def _insert_into_tree(state, z, distance, metric):
    """Update the tree; return the ends of the edges between classes that left it."""
    ends = np.empty(8, np.int64)
    n_ends = 0
    state.parent[z] = state.child[z] = state.after[z] = state.before[z] = -1
    state.cuts[z] = 0
    longest = state.longest[0]
    lowest = lowest_gaps(state, z, longest)
    p, gap = take_nearest(state, lowest, z)
    hang(state, z, p, gap)
    count_crossing(state, z, p, 1)
    state.longest[0] = max(longest, gap)
    longest_left = False
    dropping = True
    while True:
        dropping = dropping and drop_shadowed(state, lowest, p, z, distance, metric)
        p, gap = take_nearest(state, lowest, z)
        if p < 0:
            break
        x, y, weight = add_edge(state, z, p, gap)
        if x == z and y == p:
            continue
        longest_left |= weight == state.longest[0]
        count_crossing(state, z, p, 1)
        count_crossing(state, x, y, -1)
        if x != z and y != z and state.label[x] != state.label[y]:
            ends = append(ends, n_ends, x)
            ends = append(ends, n_ends + 1, y)
            n_ends += 2
    if longest_left:
        state.longest[0] = 0
        for v in range(z + 1):
            state.longest[0] = max(state.longest[0], state.weight[v])
    return ends, n_ends


@helper
def _repair_costs(state, z, before, n_before, report):
    """Bring costs up to date after z has joined the tree.

    A new vertex raises no minimax distance, so only where a prototype was lost may a cost rise:
    there a flood over the new tree finds all who may have been conquered by it. Everything else
    only falls, beginning at z and at new prototypes. Returns how many prototypes were lost.
    """
    cost, cuts = state.cost, state.cuts
    keys = np.empty(16, cost.dtype)
    vertices = np.empty(16, np.int64)
    m = 0
    cost[z] = np.inf
    for i in range(n_before):
        v = before[i]
        if cuts[v] == 0:
            keys, vertices, m = push(keys, vertices, m, cost[v], v)
    invalid = np.empty(16, np.int64)
    n_invalid = lost = 0
    while m > 0:
        key, u = keys[0], vertices[0]
        m = pop(keys, vertices, m)
        if cost[u] < 0:
            continue
        lost += cost[u] == 0 and _is_among(before, n_before, u)
        cost[u] = -1  # the flood has been here
        invalid = append(invalid, n_invalid, u)
        n_invalid += 1
        t, weight, following = state.parent[u], state.weight[u], state.child[u]
        while True:
            if t >= 0 and cuts[t] == 0 and max(key, weight) <= cost[t]:
                keys, vertices, m = push(keys, vertices, m, max(key, weight), t)
            if following < 0:
                break
            t, weight, following = following, state.weight[following], state.after[following]
    if cost[z] >= 0:
        invalid = append(invalid, n_invalid, z)
        n_invalid += 1
    for i in range(n_invalid):
        cost[invalid[i]] = np.inf
    _reconquer(state, z, invalid, n_invalid, keys, vertices, report)
    return lost


@helper
def _is_among(items, m, item):
    for i in range(m):
        if items[i] == item:
            return True
    return False


@helper
def _reconquer(state, z, invalid, n_invalid, keys, vertices, report):
    """Conquer anew: from new prototypes, and into the invalid vertices from their neighbours."""
    cost, cuts = state.cost, state.cuts
    m = 0
    t, following = state.parent[z], state.child[z]
    while True:  # neighbours of z that have become prototypes
        if t >= 0 and cuts[t] > 0 and cost[t] > 0:
            cost[t] = 0
            keys, vertices, m = push(keys, vertices, m, cost[t], t)
        if following < 0:
            break
        t, following = following, state.after[following]
    for i in range(n_invalid):
        v = invalid[i]
        if cuts[v] > 0:
            cost[v] = 0
        else:
            t, weight, following = state.parent[v], state.weight[v], state.child[v]
            while True:
                if t >= 0:
                    cost[v] = min(cost[v], max(cost[t], weight))
                if following < 0:
                    break
                t, weight, following = following, state.weight[following], state.after[following]
        if cost[v] < np.inf:
            keys, vertices, m = push(keys, vertices, m, cost[v], v)
    while m > 0:
        key, u = keys[0], vertices[0]
        m = pop(keys, vertices, m)
        if key > cost[u]:
            continue
        report[RECONQUERED] += 1
        t, weight, following = state.parent[u], state.weight[u], state.child[u]
        while True:
            if t >= 0 and max(key, weight) < cost[t]:
                cost[t] = max(key, weight)
                keys, vertices, m = push(keys, vertices, m, cost[t], t)
            if following < 0:
                break
            t, weight, following = following, state.weight[following], state.after[following]
