"""Insert vertices exactly: the result is the forest of a fit on all examples.

The complete minimum spanning tree is kept, including the edges between classes. A new vertex
changes the tree in a few places, and costs change only near these and near the prototypes that were
gained or lost.
"""

import numpy as np

from opforest.core.dynamic.bottleneck_bound import extend
from opforest.core.dynamic.costs import count_lost, repair_costs
from opforest.core.dynamic.dispatch import enter, find_candidates, has_room, reprice
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.rooted_tree import add_edge, count_crossing, hang, isolate


@kernel
def insert_exactly(state, index, bound, end, measured, metric, report):
    """Insert the vertices from ``tally.size`` to ``end``, whose rows and labels are in place.

    It stops early where an index has no room left.

    Parameters
    ----------
    index : Flat or Index
        Finds neighbours.
    bound : Bound
        Bounds the largest edges between vertices; it takes the new ones in.
    measured : bool
        Whether ``gap`` holds the distances from the first of them already.
    report : array
        One record of the counters of an ``UpdateReport``.
    """
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    for z in range(state.tally[0].size, end):
        if not has_room(index):
            return
        _insert(state, index, bound, z, measured, metric, report[0])
        measured = False


@helper
def _insert(state, index, bound, z, measured, metric, report):
    vertices, cost, tally = state.vertices, state.cost, state.tally[0]
    near, gaps, m = find_candidates(state, index, bound, z, measured, metric)
    extend(bound, z, near[0], gaps[0])
    one_class = tally.crossing == 0
    prototypes = tally.prototypes
    ends, n_ends = _insert_into_tree(vertices, tally, z, near, gaps, m)
    if one_class and tally.crossing > 0:
        eldest = tally.eldest
        vertices[eldest].cuts -= 1  # the placeholder of a single class
        tally.prototypes -= vertices[eldest].cuts == 0
        ends = append(ends, n_ends, eldest)
        n_ends += 1
    cost[z] = np.inf
    near = append(near, m, z)
    doubt = np.zeros(n_ends, cost.dtype)
    changed, n_changed = repair_costs(vertices, cost, ends, doubt, n_ends, near, m + 1)
    lost = count_lost(vertices, tally, ends, n_ends)
    enter(index, bound, z, state.rows, vertices, cost)
    reprice(index, changed, n_changed, vertices, cost)
    tally.size = z + 1
    tally.version += 1
    report.learned += 1
    report.prototypes_lost += lost
    report.prototypes_gained += tally.prototypes - prototypes + lost
    report.reconquered += n_changed


@helper
def _insert_into_tree(vertices, tally, z, near, gaps, m):
    """Update the tree; return the ends of the edges between classes that left it."""
    ends = np.empty(8, np.int64)
    n_ends = 0
    isolate(vertices, z)
    hang(vertices, z, near[0], gaps[0])
    count_crossing(vertices, tally, z, near[0], 1)
    tally.longest = max(tally.longest, gaps[0])
    longest_left = False
    for i in range(1, m):
        p, gap = near[i], gaps[i]
        x, y, weight = add_edge(vertices, tally, z, p, gap)
        if x == z and y == p:
            continue
        longest_left |= weight == tally.longest
        count_crossing(vertices, tally, z, p, 1)
        count_crossing(vertices, tally, x, y, -1)
        if x != z and y != z and vertices[x].label != vertices[y].label:
            ends = append(ends, n_ends, x)
            ends = append(ends, n_ends + 1, y)
            n_ends += 2
    if longest_left:
        tally.longest = 0
        for v in range(z + 1):
            tally.longest = max(tally.longest, vertices[v].weight)
    return ends, n_ends
