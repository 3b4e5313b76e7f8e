"""Remove vertices exactly: the result is the forest of a fit on the remaining examples.

Removing a vertex z splits the minimum spanning tree into one component per neighbor of z. All
other edges stay in the tree. The steps are: take z out (``cut_out``), reconnect the components
(``reconnect``), update the prototypes, and repair the costs that may have risen (``costs``).
Duplicates of z are detached during the removal and attached again at the end (``duplicates``).
"""

import numpy as np

from opforest.core.dynamic.costs import count_lost, repair_costs
from opforest.core.dynamic.dispatch import has_room, leave, update_min_cost
from opforest.core.dynamic.duplicates import _count_aside, _take_back, set_copies_aside
from opforest.core.dynamic.reconnect import _list_next, reconnect
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.records import DELETED
from opforest.core.rooted_tree import count_crossing, largest_between, unlink


@kernel
def remove_exactly(state, index, bound, to_remove, metric, report):
    """Remove vertices, those of the list ``to_remove`` in their order; some vertex must be left.

    It stops early where an index has no room left, and returns how many it has removed.
    """
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    for i in range(to_remove.shape[0]):
        if not has_room(index):
            return i
        _remove(state, index, bound, to_remove[i], metric, report[0])
    return to_remove.shape[0]


@helper
def _remove(state, index, bound, z, metric, report):
    vertices, cost, counters = state.vertices, state.cost, state.counters[0]
    prototypes, was_prototype = counters.prototypes, vertices[z].cuts > 0
    one_class = counters.n_cut_edges == 0
    oldest, label, own_cost = counters.oldest, vertices[z].label, cost[z]
    leave(index, bound, z, state.rows, vertices, cost)
    aside = set_copies_aside(state.rows, vertices, z, metric)
    lost_aside = _count_aside(vertices, counters, z, aside)
    neighbors, lengths, k = cut_out(vertices, z)
    for i in range(k):
        count_crossing(vertices, counters, z, neighbors[i], -1)
    safe = -1
    if not was_prototype:
        safe = _find_source(vertices, counters, cost, neighbors, lengths, k, own_cost)
    counters.prototypes -= vertices[z].cuts > 0  # if it was the placeholder of a single class
    make_hole(vertices, counters, cost, z)
    new, n_new, side = reconnect(state, index, bound, aside, neighbors, lengths, k, metric)
    for i in range(0, n_new, 2):
        count_crossing(vertices, counters, new[i], new[i + 1], 1)
    if aside.first >= 0:  # its copies may have made it a prototype
        new = append(new, n_new, aside.oldest)
        n_new += 1
    ends = np.empty(k + 1, np.int64)
    n_ends = 0
    for i in range(k):
        if vertices[neighbors[i]].label != label:
            ends[n_ends] = neighbors[i]
            n_ends += 1
    if counters.n_cut_edges == 0 and not (one_class and z != oldest):
        oldest = counters.oldest  # the placeholder of a single class
        counters.prototypes += vertices[oldest].cuts == 0
        vertices[oldest].cuts += 1
        new = append(new, n_new, oldest)
        n_new += 1
    lost = count_lost(vertices, counters, ends, n_ends) + lost_aside + was_prototype
    doubtful, doubt, m = _list_doubts(
        vertices, counters, cost, own_cost, neighbors[:k], lengths, safe, lost, new, side, ends,
        n_ends,
    )  # fmt: skip
    changed, n_changed = repair_costs(vertices, cost, doubtful, doubt, m, new, n_new)
    changed, n_changed = _take_back(vertices, cost, aside, changed, n_changed)
    update_min_cost(index, changed, n_changed, vertices, cost)
    counters.version += 1
    report.forgotten += 1
    report.prototypes_lost += lost
    report.prototypes_gained += counters.prototypes - prototypes + lost
    report.reconquered += n_changed


@helper
def _list_doubts(
    vertices, counters, cost, own_cost, neighbors, lengths, safe, lost, new, side, ends, n_ends
):
    """Return where costs may have risen after the removal of z, which had this cost.

    Behind a neighbor of z they have if z was on the way there and no way through a new edge is as
    good; and at prototypes that lost their last cut edge.
    """
    k = neighbors.shape[0]
    kept = np.zeros(k, np.bool_)
    for i in range(k):
        kept[i] = i == safe or max(own_cost, lengths[i]) > cost[neighbors[i]]
    tried = np.zeros(k, np.bool_)
    progress = lost == 0
    while progress:
        progress = False
        for i in range(0, 2 * (k - 1), 2):
            u, v, a, b = new[i], new[i + 1], side[i], side[i + 1]
            if kept[a] == kept[b] or tried[i // 2]:
                continue
            tried[i // 2] = True
            if kept[a]:
                u, v, a, b = v, u, b, a
            weight = vertices[u].weight if vertices[u].parent == v else vertices[v].weight
            way = max(weight, largest_between(vertices, counters, u, neighbors[a]), cost[v])
            if way <= max(own_cost, lengths[a]):
                kept[a] = progress = True
    doubtful, doubt = np.empty(k + n_ends, np.int64), np.zeros(k + n_ends, cost.dtype)
    m = 0
    for i in range(k):
        if not kept[i]:
            doubtful[m], doubt[m] = neighbors[i], max(own_cost, lengths[i])
            m += 1
    for i in range(n_ends):
        doubtful[m] = ends[i]
        m += 1
    return doubtful, doubt, m


@helper
def make_hole(vertices, counters, cost, z):
    """Leave a hole where z, which is out of the tree, has been."""
    vertices[z].label = DELETED
    vertices[z].cuts = 0
    cost[z] = np.inf
    counters.n_deleted += 1
    while vertices[counters.oldest].label < 0:
        counters.oldest += 1


@helper
def cut_out(vertices, z):
    """Take z out of the tree; return its neighbors, the lengths of its edges, their number."""
    vertex = vertices[z]
    neighbors = np.empty(8, np.int64)
    lengths = np.full(8, vertex.weight)
    k = 0
    if vertex.parent >= 0:
        neighbors[0] = vertex.parent
        k = 1
        unlink(vertices, z)
    while vertex.child >= 0:
        v = np.int64(vertex.child)
        neighbors, lengths = append(neighbors, k, v), append(lengths, k, vertices[v].weight)
        k += 1
        unlink(vertices, v)
    return neighbors, lengths, k


@helper
def _find_source(vertices, counters, cost, neighbors, lengths, k, c):
    """Return the neighbor through which the removed vertex z was conquered at cost c.

    Nobody in its piece was conquered through z alone: they are reached from where z was. Where
    several neighbors cost c, too, the one is looked for from which the cost rose to c.
    """
    walking = np.empty(k, np.int64)
    n_walking = 0
    for i in range(k):
        if max(cost[neighbors[i]], lengths[i]) == c:
            if cost[neighbors[i]] < c:
                return i
            walking[n_walking] = i
            n_walking += 1
    if n_walking <= 1:  # 0 only in the forest of a forged file, whose tree is not minimal
        return walking[0] if n_walking == 1 else -1
    stamp = counters.stamp + 2
    counters.stamp = stamp + k
    at = neighbors[:k].copy()
    return _find_rise(vertices, cost, stamp, at, at.copy(), walking, n_walking, c)


@helper
def _find_rise(vertices, cost, stamp, at, tail, walking, n_walking, c):
    """Walk by turns among vertices of cost c until one is found where the cost begins."""
    for i in range(n_walking):
        vertex = vertices[at[walking[i]]]
        vertex.mark = stamp + walking[i]
        vertex.link = -1
    while True:
        turn_of = 0
        while turn_of < n_walking:
            i = walking[turn_of]
            if n_walking == 1:
                return i
            u = at[i]
            if vertices[u].cuts > 0:
                return i
            t, length = np.int64(vertices[u].parent), vertices[u].weight
            next_one = np.int64(vertices[u].child)
            while True:
                if t >= 0 and max(cost[t], length) == c and vertices[t].mark != stamp + i:
                    if cost[t] < c:
                        return i
                    _list_next(vertices, t, tail, i, stamp)
                if next_one < 0:
                    break
                t, length = next_one, vertices[next_one].weight
                next_one = np.int64(vertices[next_one].after)
            at[i] = vertices[u].link
            if at[i] < 0:
                n_walking -= 1
                walking[turn_of] = walking[n_walking]
            else:
                turn_of += 1
