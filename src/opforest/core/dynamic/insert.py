"""Insert vertices exactly: the result is the forest of a fit on all examples.

The complete minimum spanning tree is kept, including the edges between classes. A new vertex
changes the tree in a few places, and costs change only near these and near the prototypes that were
gained or lost.
"""

import numpy as np

from opforest.core.dynamic.bottleneck_bound import extend
from opforest.core.dynamic.costs import count_lost, repair_costs
from opforest.core.dynamic.dispatch import (
    find_candidates,
    has_room,
    insert_into_index,
    update_min_cost,
)
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.rooted_tree import add_edge, count_edge, isolate, link, update_longest
from opforest.core.vertex_list import add, members, new_list


@kernel
def insert_exactly(arrays, index, bound, end, measured, metric, report):
    """Insert the vertices from ``counters.size`` to ``end``, whose rows and labels are in place.

    Insertion stops early if the index, a ``NoIndex`` or a ``DynamicKDTree``, runs out of room. The
    bound is extended by the new vertices. ``measured`` tells whether ``distances`` already holds
    the distances from the first of them. ``report`` is a record of the counters of an update.
    """
    arrays, index, bound = borrow(arrays), borrow(index), borrow(bound)
    for z in range(arrays.counters[0].size, end):
        if not has_room(index):
            return
        _insert(arrays, index, bound, z, measured, metric, report[0])
        measured = False


@helper
def _insert(arrays, index, bound, z, measured, metric, report):
    vertices, cost, counters = arrays.vertices, arrays.cost, arrays.counters[0]
    near, distances, m = find_candidates(arrays, index, bound, z, measured, metric)
    extend(bound, z, near[0], distances[0])
    one_class = counters.n_cut_edges == 0
    prototypes = counters.prototypes
    ends = _insert_into_tree(vertices, counters, z, near, distances, m)
    if one_class and counters.n_cut_edges > 0:
        oldest = counters.oldest
        vertices[oldest].cuts -= 1  # the placeholder of a single class
        counters.prototypes -= vertices[oldest].cuts == 0
        ends = add(ends, oldest)
    cost[z] = np.inf
    sources, lost_cost = append(near, m, z)[: m + 1], np.zeros(ends[0], cost.dtype)
    changed = repair_costs(vertices, cost, members(ends), lost_cost, sources)
    lost = count_lost(vertices, counters, members(ends))
    insert_into_index(index, bound, z, arrays)
    update_min_cost(index, members(changed), vertices, cost)
    counters.size = z + 1
    counters.version += 1
    report.learned += 1
    report.prototypes_lost += lost
    report.prototypes_gained += counters.prototypes - prototypes + lost
    report.reconquered += changed[0]


@helper
def _insert_into_tree(vertices, counters, z, near, distances, m):
    """Update the tree; return the ends of the edges between classes that were removed."""
    ends = new_list()
    isolate(vertices, z)
    link(vertices, z, near[0], distances[0])
    count_edge(vertices, counters, z, near[0], 1)
    counters.longest = max(counters.longest, distances[0])
    longest_left = False
    for i in range(1, m):
        p = near[i]
        x, y, weight = add_edge(vertices, counters, z, p, distances[i])
        if x == z and y == p:
            continue
        longest_left |= weight == counters.longest
        count_edge(vertices, counters, z, p, 1)
        count_edge(vertices, counters, x, y, -1)
        if x != z and y != z and vertices[x].label != vertices[y].label:
            ends = add(add(ends, x), y)
    if longest_left:
        update_longest(vertices, counters, z + 1)
    return ends
