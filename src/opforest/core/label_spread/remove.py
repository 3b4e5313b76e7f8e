"""Remove vertices exactly from a forest of seeds.

The spanning tree is reconnected as in any other forest. The vertices whose paths led through the
removed vertex z form components that keep their paths up to where z was. These components are
joined to the rest, and to each other, by the smallest tree edges between them.
"""

import numpy as np

from opforest.core.dynamic.components import component_of, group_of
from opforest.core.dynamic.dispatch import delete_from_index, has_room
from opforest.core.dynamic.duplicates import attach_duplicates, detach_duplicates, next_duplicate
from opforest.core.dynamic.reconnect import reconnect
from opforest.core.dynamic.remove import cut_out, delete_vertex
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, helper, kernel
from opforest.core.label_spread.index_summaries import update_summaries
from opforest.core.label_spread.seed_paths import follow, redirect
from opforest.core.rooted_tree import edge_weight, first_neighbor, next_neighbor
from opforest.core.vertex_list import add, members, new_list


@kernel
def remove_seeded(arrays, index, bound, to_remove, metric, report):
    """Remove vertices as ``remove_exactly`` does, from a forest of seeds."""
    arrays, index, bound = borrow(arrays), borrow(index), borrow(bound)
    for i in range(to_remove.shape[0]):
        if not has_room(index):
            return i
        _remove(arrays, index, bound, to_remove[i], metric, report[0])
    return to_remove.shape[0]


@helper
def _remove(arrays, index, bound, z, metric, report):
    vertices, counters = arrays.vertices, arrays.counters[0]
    was_seed, n_seeds = vertices[z].cuts > 0, counters.prototypes
    delete_from_index(index, bound, z, arrays)
    duplicates = detach_duplicates(arrays.rows, vertices, z, metric)
    neighbors, weights = cut_out(vertices, z)
    ends = _list_ends(vertices, arrays.seed_parent, z, neighbors, duplicates)
    delete_vertex(vertices, counters, arrays.cost, z)
    arrays.seed_parent[z] = -1
    counters.prototypes -= was_seed
    reconnect(arrays, index, bound, duplicates, neighbors, weights, metric)
    attach_duplicates(vertices, duplicates)
    changed = new_list()
    if counters.prototypes > 0 and ends[0] > 0:
        changed = _rejoin(arrays, members(ends), changed)
    elif counters.prototypes == 0 and n_seeds > 0:
        changed = _reset_all(arrays, changed)
    update_summaries(index, members(changed), arrays)
    counters.version += 1
    report.forgotten += 1
    report.prototypes_lost += was_seed
    report.reconquered += changed[0]


@helper
def _list_ends(vertices, seed_parent, z, neighbors, duplicates):
    """Return the vertices whose paths led to z next."""
    ends = new_list()
    for v in neighbors:
        if seed_parent[v] == z:
            ends = add(ends, v)
    v = duplicates.first
    while v >= 0:
        if seed_parent[v] == z:
            ends = add(ends, v)
        v = next_duplicate(vertices, v, duplicates)
    return ends


@helper
def _reset_all(arrays, changed):
    """Reset all vertices after the last seed was removed; return the changed ones."""
    for v in range(arrays.counters[0].size):
        if arrays.vertices[v].label >= 0:
            arrays.vertices[v].label = 0
            arrays.cost[v] = 0
            arrays.seed_parent[v] = -1
            changed = add(changed, v)
    return changed


@helper
def _rejoin(arrays, ends, changed):
    """Join components, whose paths end at ``ends``, to the rest; return the changed vertices."""
    counters, k = arrays.counters[0], ends.shape[0]
    stamp = counters.stamp + 2
    counters.stamp = stamp + k
    edges, sides, m = _list_joining_edges(arrays, stamp, ends)
    is_joined = np.zeros(k + 1, np.bool_)
    is_joined[k] = True  # the rest
    n_joined = 0
    while n_joined < m:  # work outwards from the rest
        for i in range(m):
            a, b = sides[i, 0], sides[i, 1]
            if is_joined[a] == is_joined[b]:
                continue
            inner, outer, component = edges[i, 0], edges[i, 1], a
            if is_joined[a]:
                inner, outer, component = outer, inner, b
            redirect(arrays, inner, ends[component], outer)
            changed = follow(arrays, inner, changed)
            is_joined[component] = True
            n_joined += 1
    return changed


@helper
def _list_joining_edges(arrays, stamp, ends):
    """Return the smallest edges that join all components, their sides, and their number."""
    vertices, k = arrays.vertices, ends.shape[0]
    u, v = _list_exits(vertices, arrays.seed_parent, stamp, ends)
    group, best = np.arange(k + 1), np.empty(k + 1, np.int64)  # the last one is the rest
    edges, sides, m = np.empty((k, 2), np.int64), np.empty((k, 2), np.int64), 0
    progress = True
    while progress:  # Borůvka's algorithm
        for i in range(k + 1):
            best[i] = -1
        for i in range(u.shape[0]):
            a = group_of(vertices, u[i], stamp, k, group)
            b = group_of(vertices, v[i], stamp, k, group)
            if a != b:
                best[a] = _smaller(vertices, u, v, i, best[a])
                best[b] = _smaller(vertices, u, v, i, best[b])
        progress = False
        for i in best:
            if i < 0:
                continue
            a = group_of(vertices, u[i], stamp, k, group)
            b = group_of(vertices, v[i], stamp, k, group)
            if a != b:
                group[a] = b
                edges[m, 0], edges[m, 1] = u[i], v[i]
                sides[m, 0] = component_of(vertices, u[i], stamp, k, k)
                sides[m, 1] = component_of(vertices, v[i], stamp, k, k)
                m += 1
                progress = True
    return edges, sides, m


@helper
def _smaller(vertices, u, v, i, j):
    """Return the smaller one of two edges; j may be −1."""
    if j < 0:
        return i
    weight, other = edge_weight(vertices, u[i], v[i]), edge_weight(vertices, u[j], v[j])
    return i if precedes(weight, u[i], v[i], other, u[j], v[j]) else j


@helper
def _list_exits(vertices, seed_parent, stamp, ends):
    """Mark the members of all components, and return the ends of the edges that leave them."""
    found = new_list()
    for i in range(ends.shape[0]):
        vertices[ends[i]].mark = stamp + i
        found = add(found, ends[i])
    u, v = new_list(), new_list()
    i = 1
    while i <= found[0]:
        a = found[i]
        i += 1
        t = first_neighbor(vertices, a)
        while t >= 0:
            if seed_parent[t] == a:
                vertices[t].mark = vertices[a].mark
                found = add(found, t)
            elif seed_parent[a] != t:
                u, v = add(u, a), add(v, t)
            t = next_neighbor(vertices, a, t)
    return members(u), members(v)
