"""Remove vertices exactly: the result is the forest of a fit on the remaining examples.

Removing a vertex z splits the minimum spanning tree into one component per neighbor of z. All
other edges stay in the tree. The steps are: cut z out, reconnect the components (``reconnect``),
update the prototypes, and repair the costs that may have risen (``costs``). Duplicates of z are
detached during the removal and attached again at the end (``duplicates``).
"""

import numpy as np

from opforest.core.dynamic.components import advance, append_to_list, start_lists
from opforest.core.dynamic.costs import count_lost, repair_costs
from opforest.core.dynamic.dispatch import delete_from_index, has_room, update_min_cost
from opforest.core.dynamic.duplicates import (
    attach_duplicates,
    count_detached,
    detach_duplicates,
    update_duplicate_costs,
)
from opforest.core.dynamic.reconnect import reconnect
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.records import DELETED
from opforest.core.rooted_tree import (
    count_edge,
    cut,
    edge_weight,
    first_neighbor,
    heaviest_between,
    next_neighbor,
)
from opforest.core.vertex_list import add, members, new_list


@kernel
def remove_exactly(arrays, index, bound, to_remove, metric, report):
    """Remove vertices in this order; at least one vertex must remain.

    Return how many were removed: fewer than given if the index runs out of room.
    """
    arrays, index, bound = borrow(arrays), borrow(index), borrow(bound)
    for i in range(to_remove.shape[0]):
        if not has_room(index):
            return i
        _remove(arrays, index, bound, to_remove[i], metric, report[0])
    return to_remove.shape[0]


@helper
def _remove(arrays, index, bound, z, metric, report):
    vertices, cost, counters = arrays.vertices, arrays.cost, arrays.counters[0]
    prototypes, was_prototype = counters.prototypes, vertices[z].cuts > 0
    one_class = counters.n_cut_edges == 0
    oldest, label, own_cost = counters.oldest, vertices[z].label, cost[z]
    delete_from_index(index, bound, z, arrays)
    duplicates = detach_duplicates(arrays.rows, vertices, z, metric)
    lost = count_detached(vertices, counters, z, duplicates) + was_prototype
    neighbors, weights = cut_out(vertices, z)
    for v in neighbors:
        count_edge(vertices, counters, z, v, -1)
    source = -1
    if not was_prototype:
        source = _find_source(vertices, counters, cost, neighbors, weights, own_cost)
    counters.prototypes -= vertices[z].cuts > 0  # if it was the placeholder of a single class
    delete_vertex(vertices, counters, cost, z)
    edges, sides = reconnect(arrays, index, bound, duplicates, neighbors, weights, metric)
    sources = new_list()
    for i in range(edges.shape[0]):
        sources = add(add(sources, edges[i, 0]), edges[i, 1])
        count_edge(vertices, counters, edges[i, 0], edges[i, 1], 1)
    if duplicates.first >= 0:  # they may have made it a prototype
        sources = add(sources, duplicates.oldest)
    ends = new_list()
    for v in neighbors:
        if vertices[v].label != label:
            ends = add(ends, v)
    if counters.n_cut_edges == 0 and not (one_class and z != oldest):
        oldest = counters.oldest  # the placeholder of a single class
        counters.prototypes += vertices[oldest].cuts == 0
        vertices[oldest].cuts += 1
        sources = add(sources, oldest)
    lost += count_lost(vertices, counters, members(ends))
    through_z, is_valid = weights.copy(), np.zeros(neighbors.shape[0], np.bool_)
    for i in range(neighbors.shape[0]):
        through_z[i] = max(own_cost, weights[i])  # the cost of paths through z
        is_valid[i] = i == source or through_z[i] > cost[neighbors[i]]
    if lost == 0:
        _validate_rejoined(arrays, neighbors, through_z, edges, sides, is_valid)
    starts, lost_cost = _list_starts(neighbors, through_z, is_valid, members(ends))
    changed = repair_costs(vertices, cost, starts, lost_cost, members(sources))
    attach_duplicates(vertices, duplicates)
    changed = update_duplicate_costs(vertices, cost, duplicates, changed)
    update_min_cost(index, members(changed), vertices, cost)
    counters.version += 1
    report.forgotten += 1
    report.prototypes_lost += lost
    report.prototypes_gained += counters.prototypes - prototypes + lost
    report.reconquered += changed[0]


@helper
def _validate_rejoined(arrays, neighbors, through_z, edges, sides, is_valid):
    """Mark the components whose costs are valid because a new edge offers the same costs.

    Costs behind a neighbor of z have risen only if z was on the path there and no path through a
    new edge is as good.
    """
    vertices, cost, counters = arrays.vertices, arrays.cost, arrays.counters[0]
    is_tried = np.zeros(edges.shape[0], np.bool_)
    progress = True
    while progress:
        progress = False
        for i in range(edges.shape[0]):
            u, v, a, b = edges[i, 0], edges[i, 1], sides[i, 0], sides[i, 1]
            if is_valid[a] == is_valid[b] or is_tried[i]:
                continue
            is_tried[i] = True
            if is_valid[a]:
                u, v, a, b = v, u, b, a
            inside = heaviest_between(vertices, counters, u, neighbors[a])
            if max(edge_weight(vertices, u, v), inside, cost[v]) <= through_z[a]:
                is_valid[a] = progress = True


@helper
def _list_starts(neighbors, through_z, is_valid, ends):
    """Return where costs may have risen, and the costs of the lost paths up to there.

    These are the neighbors whose costs are not valid, and former prototypes.
    """
    size = neighbors.shape[0] + ends.shape[0]
    starts, lost_cost = np.empty(size, np.int64), np.zeros(size, through_z.dtype)
    m = 0
    for i in range(neighbors.shape[0]):
        if not is_valid[i]:
            starts[m], lost_cost[m] = neighbors[i], through_z[i]
            m += 1
    for v in ends:
        starts[m] = v
        m += 1
    return starts[:m], lost_cost[:m]


@helper
def delete_vertex(vertices, counters, cost, z):
    """Mark z, which is not in the tree any more, as deleted."""
    vertices[z].label = DELETED
    vertices[z].cuts = 0
    cost[z] = np.inf
    counters.n_deleted += 1
    while vertices[counters.oldest].label < 0:
        counters.oldest += 1


@helper
def cut_out(vertices, z):
    """Cut z out of the tree; return its neighbors and the weights of its edges."""
    vertex = vertices[z]
    neighbors = np.empty(8, np.int64)
    weights = np.full(8, vertex.weight)
    k = 0
    if vertex.parent >= 0:
        neighbors[0] = vertex.parent
        k = 1
        cut(vertices, z)
    while vertex.first_child >= 0:
        v = np.int64(vertex.first_child)
        neighbors, weights = append(neighbors, k, v), append(weights, k, vertices[v].weight)
        k += 1
        cut(vertices, v)
    return neighbors[:k], weights[:k]


@helper
def _find_source(vertices, counters, cost, neighbors, weights, c):
    """Return the neighbor through which the removed vertex was conquered at cost c.

    No vertex of its component was conquered through the removed one alone. If several neighbors
    have cost c, too, the one is found whose component contains the vertex where the cost rose to c.
    """
    k = neighbors.shape[0]
    active = np.empty(k, np.int64)
    n_active = 0
    for i in range(k):
        if max(cost[neighbors[i]], weights[i]) == c:
            if cost[neighbors[i]] < c:
                return i
            active[n_active] = i
            n_active += 1
    if n_active <= 1:  # 0 only in the forest of a forged file, whose tree is not minimal
        return active[0] if n_active == 1 else -1
    stamp = counters.stamp + 2
    counters.stamp = stamp + k
    at = neighbors.copy()
    return _find_rise(vertices, cost, stamp, at, at.copy(), active[:n_active], c)


@helper
def _find_rise(vertices, cost, stamp, at, tail, active, c):
    """Traverse vertices of cost c in several components until one is found where the cost rose."""
    at, tail, active = borrow((at, tail, active))
    start_lists(vertices, at, stamp, active)
    turn, n_active = 0, active.shape[0]
    while n_active > 1:
        i = active[turn]
        u = at[i]
        if vertices[u].cuts > 0:
            return i
        t = first_neighbor(vertices, u)
        while t >= 0:
            offer = max(cost[t], edge_weight(vertices, u, t))
            if offer == c and vertices[t].mark != stamp + i:
                if cost[t] < c:
                    return i
                append_to_list(vertices, t, tail, i, stamp)
            t = next_neighbor(vertices, u, t)
        turn, n_active = advance(vertices, at, active, turn, n_active)
        turn = turn if turn < n_active else 0
    return active[0]
