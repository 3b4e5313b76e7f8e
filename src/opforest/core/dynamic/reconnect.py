"""Reconnect the components that remain when a vertex is removed from the spanning tree.

The missing edges are the smallest ones between components; Borůvka's algorithm finds them.
"""

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.dynamic.components import (
    Components,
    advance,
    append_to_list,
    component_of,
    group_of,
    start_lists,
)
from opforest.core.dynamic.dispatch import min_outgoing_edge, raise_heights, update_components
from opforest.core.jit import borrow, helper
from opforest.core.rooted_tree import link, reroot


@helper
def reconnect(arrays, index, bound, duplicates, neighbors, weights, metric):
    """Reconnect the components of the neighbors of a removed vertex by their smallest edges.

    Detached duplicates belong to the component of the oldest, but no search starts from them.
    Return the ends of the new edges and their components, arrays of shape (n_components − 1, 2).
    """
    vertices, counters, k = arrays.vertices, arrays.counters[0], neighbors.shape[0]
    edges, sides = np.empty((k - 1, 2), np.int64), np.empty((k - 1, 2), np.int64)
    stamp = counters.stamp + 2
    counters.stamp = stamp + k
    tail = neighbors.copy()
    for i in range(k):
        arrays.distances[neighbors[i]] = weights[i]
    rest = _traverse(vertices, arrays.distances, stamp, neighbors.copy(), tail)
    first, last, longest = neighbors.copy(), tail.copy(), weights[0] - weights[0]
    _prepend_duplicates(vertices, duplicates, stamp, first)
    update_components(index, vertices, stamp, rest, first, last)
    group = np.arange(k)
    components = borrow(Components(stamp, rest, group, neighbors, tail))
    u, v, weight = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k, arrays.cost.dtype)
    m = 0
    while m < k - 1:
        largest = find_group(group, rest)
        for i in range(k):
            if group[i] == i and i != largest:
                u[i], v[i], weight[i] = min_outgoing_edge(arrays, index, i, components, metric)
        for i in range(k):
            if group[i] != i or i == largest:
                continue
            a = group_of(vertices, u[i], stamp, rest, group)
            b = group_of(vertices, v[i], stamp, rest, group)
            if a == b:  # the other group chose the same edge
                continue
            group[a] = b
            vertices[tail[b]].next_in_list = neighbors[a]
            tail[b] = tail[a]
            reroot(vertices, u[i])
            link(vertices, u[i], v[i], weight[i])
            longest = max(longest, weight[i])
            edges[m, 0], edges[m, 1] = u[i], v[i]
            sides[m, 0] = component_of(vertices, u[i], stamp, rest, k)
            sides[m, 1] = component_of(vertices, v[i], stamp, rest, k)
            m += 1
    counters.longest = max(counters.longest, longest)
    for i in range(k):
        if i != rest:
            raise_heights(bound, index, vertices, first[i], last[i], longest)
    return edges, sides


@helper
def _prepend_duplicates(vertices, duplicates, stamp, first):
    """Put detached duplicates before the oldest of them, in its component."""
    if duplicates.first < 0:
        return
    mark = vertices[duplicates.oldest].mark
    first[mark - stamp] = duplicates.first
    v = duplicates.first
    while v != duplicates.oldest:
        vertices[v].mark = mark
        if v == duplicates.last:
            vertices[v].next_in_list = duplicates.oldest
        v = np.int64(vertices[v].next_in_list)


@helper
def _traverse(vertices, longest, stamp, at, tail):
    """Traverse all components until one is left, and return that one.

    ``at`` holds, for each component, the vertex whose neighbors come next. ``longest`` takes the
    longest edge from each vertex to the removed one.
    """
    unfinished = np.arange(at.shape[0])
    at, tail, active = borrow((at, tail, unfinished))
    start_lists(vertices, at, stamp, active)
    n_active = active.shape[0]
    while n_active > 1:
        turn = 0
        while turn < n_active and n_active > 1:
            i = active[turn]
            u = at[i]
            _visit(
                vertices,
                longest,
                u,
                np.int64(vertices[u].parent),
                vertices[u].weight,
                tail,
                i,
                stamp,
            )
            t = np.int64(vertices[u].first_child)
            while t >= 0:
                _visit(vertices, longest, u, t, vertices[t].weight, tail, i, stamp)
                t = np.int64(vertices[t].next_sibling)
            turn, n_active = advance(vertices, at, active, turn, n_active)
    return unfinished[0]


@helper
def _visit(vertices, longest, u, t, weight, tail, i, stamp):
    """Append t, a neighbor of u or −1, to the list of component i, unless it is there."""
    if t >= 0 and vertices[t].mark != stamp + i:
        longest[t] = max(longest[u], weight)
        append_to_list(vertices, t, tail, i, stamp)
