"""DIFT, the baseline of Ponti & Riva: each new vertex becomes a prototype, nothing else changes."""

from opforest.core.dynamic.dispatch import has_room, insert_into_index
from opforest.core.jit import borrow, kernel
from opforest.core.rooted_tree import isolate


@kernel
def insert_prototypes(arrays, index, bound, trees, end, report):
    """Insert the vertices from ``counters.size`` to ``end``, as ``insert_exactly`` does.

    The heights of the bound are the costs.
    """
    arrays, index, bound = borrow(arrays), borrow(index), borrow(bound)
    vertices, cost, counters = arrays.vertices, arrays.cost, arrays.counters[0]
    root, pair = borrow(trees)
    for z in range(counters.size, end):
        if not has_room(index):
            return
        isolate(vertices, z)
        cost[z] = 0
        root[z] = z
        pair[z] = -1
        insert_into_index(index, bound, z, arrays)
        counters.size = z + 1
        counters.version += 1
        report[0].learned += 1
        report[0].prototypes_gained += 1
