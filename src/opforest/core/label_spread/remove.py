"""Remove vertices exactly from a forest of seeds.

The spanning tree is reconnected as in any other forest. The vertices whose paths led through the
removed vertex z form components that keep their paths up to where z was. These components are
joined to the rest, and to each other, by the smallest tree edges between them.
"""

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.dynamic.dispatch import has_room, leave
from opforest.core.dynamic.duplicates import hang_copies, set_copies_aside
from opforest.core.dynamic.reconnect import reconnect
from opforest.core.dynamic.remove import cut_out, make_hole
from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.label_spread.index_summaries import refresh
from opforest.core.label_spread.seed_paths import follow, redirect, step


@kernel
def remove_seeded(state, index, bound, to_remove, metric, report):
    """Remove vertices as ``remove_exactly`` does, from a forest of seeds."""
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    for i in range(to_remove.shape[0]):
        if not has_room(index):
            return i
        _remove(state, index, bound, to_remove[i], metric, report[0])
    return to_remove.shape[0]


@helper
def _remove(state, index, bound, z, metric, report):
    vertices, cost, way, counters = state.vertices, state.cost, state.way, state.counters[0]
    was_seed, seeds = vertices[z].cuts > 0, counters.prototypes
    leave(index, bound, z, state.rows, vertices, cost)
    aside = set_copies_aside(state.rows, vertices, z, metric)
    neighbors, lengths, k = cut_out(vertices, z)
    top, n_tops = _list_tops(vertices, way, z, neighbors, k, aside)
    make_hole(vertices, counters, cost, z)
    way[z] = -1
    counters.prototypes -= was_seed
    reconnect(state, index, bound, aside, neighbors, lengths, k, metric)
    hang_copies(vertices, aside)
    changed = np.empty(16, np.int64)
    n_changed = 0
    if counters.prototypes > 0:
        changed, n_changed = _join(vertices, cost, counters, way, top[:n_tops], changed)
    elif seeds > 0:
        changed, n_changed = _lose_all(vertices, cost, counters, way, changed)
    refresh(index, changed, n_changed, vertices, cost, counters)
    counters.version += 1
    report.forgotten += 1
    report.prototypes_lost += was_seed
    report.reconquered += n_changed


@helper
def _list_tops(vertices, way, z, neighbors, k, aside):
    """Return the neighbors, and copies set aside, whose way led through z; and their number."""
    top = np.empty(8, np.int64)
    n_tops = 0
    for i in range(k):
        if way[neighbors[i]] == z:
            top = append(top, n_tops, neighbors[i])
            n_tops += 1
    v = aside.first
    while v >= 0:
        if way[v] == z:
            top = append(top, n_tops, v)
            n_tops += 1
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)
    return top, n_tops


@helper
def _lose_all(vertices, cost, counters, way, changed):
    """Reset all vertices when the last seed has gone; return them."""
    m = 0
    for v in range(counters.size):
        if vertices[v].label >= 0:
            vertices[v].label = 0
            cost[v] = 0
            way[v] = -1
            changed = append(changed, m, v)
            m += 1
    return changed, m


@helper
def _join(vertices, cost, counters, way, top, changed):
    """Join pieces, whose ways end at ``top``, to the rest; return which vertices have changed."""
    k = top.shape[0]
    n_changed = 0
    if k == 0:
        return changed, n_changed
    stamp = counters.stamp + 2
    counters.stamp = stamp + k
    u, v, m = _list_exits(vertices, way, stamp, top)
    order = _sorted(vertices, u[:m], v[:m])
    group = np.arange(k + 1)  # the last one is the rest
    taken, n_taken = np.empty(k, np.int64), 0
    for i in range(m):
        edge = order[i]
        a = find_group(group, _piece(vertices, u[edge], stamp, k))
        b = find_group(group, _piece(vertices, v[edge], stamp, k))
        if a != b:
            group[a] = b
            taken[n_taken] = edge
            n_taken += 1
    side = np.empty((k, 2), np.int64)
    for i in range(n_taken):
        side[i, 0] = _piece(vertices, u[taken[i]], stamp, k)
        side[i, 1] = _piece(vertices, v[taken[i]], stamp, k)
    is_joined = np.zeros(k + 1, np.bool_)
    is_joined[k] = True
    n_joined = 0
    while n_joined < n_taken:  # work outwards from the rest
        for i in range(n_taken):
            a, b = side[i]
            if is_joined[a] == is_joined[b]:
                continue
            inner, outer, piece = u[taken[i]], v[taken[i]], a
            if is_joined[a]:
                inner, outer, piece = outer, inner, b
            redirect(vertices, counters, way, inner, top[piece], outer)
            changed, n_changed = follow(vertices, cost, counters, way, inner, changed, n_changed)
            is_joined[piece] = True
            n_joined += 1
    return changed, n_changed


@helper
def _piece(vertices, v, stamp, k):
    piece = vertices[v].mark - stamp
    return piece if 0 <= piece < k else k


@helper
def _list_exits(vertices, way, stamp, top):
    """Mark the members of all pieces, and return the ends of edges that lead out of them."""
    member = np.empty(16, np.int64)
    m = 0
    for i in range(top.shape[0]):
        vertices[top[i]].mark = stamp + i
        member = append(member, m, top[i])
        m += 1
    u, v = np.empty(16, np.int64), np.empty(16, np.int64)
    n_exits = 0
    i = 0
    while i < m:
        a = member[i]
        i += 1
        t = np.int64(vertices[a].parent)
        next_one = np.int64(vertices[a].child)
        while True:
            if t >= 0:
                if way[t] == a:
                    vertices[t].mark = vertices[a].mark
                    member = append(member, m, t)
                    m += 1
                elif way[a] != t:
                    u, v = append(u, n_exits, a), append(v, n_exits, t)
                    n_exits += 1
            if next_one < 0:
                break
            t = next_one
            next_one = np.int64(vertices[next_one].after)
    return u, v, n_exits


@helper
def _sorted(vertices, u, v):
    """Return the order of edges by (weight, smaller index, larger index)."""
    m = u.shape[0]
    order, other = np.arange(m), np.empty(m, np.int64)
    width = 1
    while width < m:  # merge sort
        for begin in range(0, m, 2 * width):
            i, middle = begin, min(begin + width, m)
            j, end = middle, min(begin + 2 * width, m)
            for slot in range(begin, end):
                left = i < middle
                if left and j < end:
                    a, b = order[i], order[j]
                    left = not precedes(
                        step(vertices, u[b], v[b]), u[b], v[b],
                        step(vertices, u[a], v[a]), u[a], v[a],
                    )  # fmt: skip
                if left:
                    other[slot] = order[i]
                    i += 1
                else:
                    other[slot] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order
