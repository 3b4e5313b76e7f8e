"""Exact insertion: the forest that training anew on all examples would give.

The whole minimum spanning tree is kept, edges between classes included. A new vertex changes it
in a few places, and costs only near these and near the prototypes that came or went.
"""

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.costs import count_lost, repair_costs
from opforest.kernels.heap import append
from opforest.kernels.neighbours import enter, find_candidates, has_room, reprice
from opforest.kernels.rooted_tree import add_edge, count_crossing, hang
from opforest.kernels.state import CROSSING, ELDEST, PROTOTYPES, SIZE

#: Places in the report of an update.
LEARNED, GAINED, LOST, RECONQUERED = 0, 1, 2, 3
CASE_1, CASE_2, CASE_3, TAKEOVERS, REMOVED = 4, 5, 6, 7, 8


@kernel
def insert_exactly(state, index, end, measured, metric, report):
    """Insert the vertices from ``count[SIZE]`` to ``end``, whose rows and labels are in place.

    It stops early where an index has no room left.

    Parameters
    ----------
    index : Flat or Index
        Finds neighbours.
    measured : bool
        Whether ``gap`` holds the distances from the first of them already.
    metric : NamedTuple, jitted function or float
        Measures; with an ``Index`` it is the power of a Minkowski metric.
    report : array
        Numbers of examples learned, prototypes gained and lost, vertices reconquered.
    """
    state, index = borrow(state), borrow(index)
    for z in range(state.count[SIZE], end):
        if not has_room(index):
            return
        vertices, gaps, m = find_candidates(state, index, z, measured, metric)
        measured = False
        one_class = state.count[CROSSING] == 0
        prototypes = state.count[PROTOTYPES]
        ends, n_ends = _insert_into_tree(state, z, vertices, gaps, m)
        if one_class and state.count[CROSSING] > 0:
            eldest = state.count[ELDEST]
            state.cuts[eldest] -= 1  # it only stood in while there was one class
            state.count[PROTOTYPES] -= state.cuts[eldest] == 0
            ends = append(ends, n_ends, eldest)
            n_ends += 1
        state.cost[z] = np.inf
        vertices = append(vertices, m, z)
        doubt = np.zeros(n_ends, state.cost.dtype)
        changed, n_changed = repair_costs(state, ends, doubt, n_ends, vertices, m + 1)
        lost = count_lost(state, ends, n_ends)
        report[LOST] += lost
        report[GAINED] += state.count[PROTOTYPES] - prototypes + lost
        report[RECONQUERED] += n_changed
        enter(index, z, state.rows, state.label, state.cost)
        reprice(index, changed, n_changed, state.cost)
        state.count[SIZE] = z + 1
        report[LEARNED] += 1


@helper
def _insert_into_tree(state, z, vertices, gaps, m):
    """Update the tree; return the ends of the edges between classes that left it."""
    ends = np.empty(8, np.int64)
    n_ends = 0
    state.parent[z] = state.child[z] = state.after[z] = state.before[z] = -1
    state.cuts[z] = 0
    hang(state, z, vertices[0], gaps[0])
    count_crossing(state, z, vertices[0], 1)
    state.longest[0] = max(state.longest[0], gaps[0])
    longest_left = False
    for i in range(1, m):
        p, gap = vertices[i], gaps[i]
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
