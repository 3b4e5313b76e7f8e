"""Insert vertices exactly: the result is the forest of a fit on all examples.

The complete minimum spanning tree is kept, including the edges between classes. A new vertex
changes the tree in a few places, and costs change only near these and near the prototypes that were
gained or lost.
"""

import numpy as np

from opforest.core.dynamic.bottleneck_bound import extend
from opforest.core.dynamic.costs import count_lost, repair_costs
from opforest.core.dynamic.dispatch import enter, find_candidates, has_room, update_min_cost
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
        Finds neighbors.
    bound : Bound
        Bounds the largest edges between vertices; it takes the new ones in.
    measured : bool
        Whether ``gap`` holds the distances from the first of them already.
    report : array
        One record of the counters of an ``UpdateReport``.
    """
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    for z in range(state.counters[0].size, end):
        if not has_room(index):
            return
        _insert(state, index, bound, z, measured, metric, report[0])
        measured = False


@helper
def _insert(state, index, bound, z, measured, metric, report):
    vertices, cost, counters = state.vertices, state.cost, state.counters[0]
    near, gaps, m = find_candidates(state, index, bound, z, measured, metric)
    extend(bound, z, near[0], gaps[0])
    one_class = counters.n_cut_edges == 0
    prototypes = counters.prototypes
    ends, n_ends = _insert_into_tree(vertices, counters, z, near, gaps, m)
    if one_class and counters.n_cut_edges > 0:
        oldest = counters.oldest
        vertices[oldest].cuts -= 1  # the placeholder of a single class
        counters.prototypes -= vertices[oldest].cuts == 0
        ends = append(ends, n_ends, oldest)
        n_ends += 1
    cost[z] = np.inf
    near = append(near, m, z)
    doubt = np.zeros(n_ends, cost.dtype)
    changed, n_changed = repair_costs(vertices, cost, ends, doubt, n_ends, near, m + 1)
    lost = count_lost(vertices, counters, ends, n_ends)
    enter(index, bound, z, state.rows, vertices, cost)
    update_min_cost(index, changed, n_changed, vertices, cost)
    counters.size = z + 1
    counters.version += 1
    report.learned += 1
    report.prototypes_lost += lost
    report.prototypes_gained += counters.prototypes - prototypes + lost
    report.reconquered += n_changed


@helper
def _insert_into_tree(vertices, counters, z, near, gaps, m):
    """Update the tree; return the ends of the edges between classes that left it."""
    ends = np.empty(8, np.int64)
    n_ends = 0
    isolate(vertices, z)
    hang(vertices, z, near[0], gaps[0])
    count_crossing(vertices, counters, z, near[0], 1)
    counters.longest = max(counters.longest, gaps[0])
    longest_left = False
    for i in range(1, m):
        p, gap = near[i], gaps[i]
        x, y, weight = add_edge(vertices, counters, z, p, gap)
        if x == z and y == p:
            continue
        longest_left |= weight == counters.longest
        count_crossing(vertices, counters, z, p, 1)
        count_crossing(vertices, counters, x, y, -1)
        if x != z and y != z and vertices[x].label != vertices[y].label:
            ends = append(ends, n_ends, x)
            ends = append(ends, n_ends + 1, y)
            n_ends += 2
    if longest_left:
        counters.longest = 0
        for v in range(z + 1):
            counters.longest = max(counters.longest, vertices[v].weight)
    return ends, n_ends
