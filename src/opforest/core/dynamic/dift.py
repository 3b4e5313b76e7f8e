"""DIFT, the baseline of Ponti & Riva: each new vertex becomes a prototype, nothing else changes."""

from opforest.core.dynamic.dispatch import enter, has_room
from opforest.core.jit import borrow, kernel
from opforest.core.rooted_tree import isolate


@kernel
def insert_prototypes(state, index, bound, lines, end, report):
    """Insert the vertices from ``tally.size`` to ``end``, whose rows and labels are in place.

    It stops early where an index has no room left. The heights of the bound are the costs.
    """
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    vertices, cost, counters = state.vertices, state.cost, state.counters[0]
    root, pair = borrow(lines)
    for z in range(counters.size, end):
        if not has_room(index):
            return
        isolate(vertices, z)
        cost[z] = 0
        root[z] = z
        pair[z] = -1
        enter(index, bound, z, state.rows, vertices, cost)
        counters.size = z + 1
        counters.version += 1
        report[0].learned += 1
        report[0].prototypes_gained += 1
