"""Reconnect the components that remain when a vertex is removed from the spanning tree.

The missing edges are the smallest ones between components; Borůvka's algorithm finds them. The
components are traversed in turns until only one of them is unfinished, so the largest component
does not have to be traversed completely.
"""

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.dynamic.components import Pieces, group_of, piece_of
from opforest.core.dynamic.dispatch import min_outgoing_edge, note_pieces, raise_heights
from opforest.core.jit import helper
from opforest.core.rooted_tree import hang, turn


@helper
def _list_next(vertices, t, tail, i, stamp):
    """Put t at the end of the list of piece i."""
    vertices[t].mark = stamp + i
    vertices[t].link = -1
    vertices[tail[i]].link = t
    tail[i] = t


@helper
def reconnect(state, index, bound, aside, neighbors, lengths, k, metric):
    """Join the pieces by their smallest edges; return the ends of these, and in which pieces.

    Copies that are set aside belong to the piece of the eldest, but nobody searches from them.
    """
    vertices, counters = state.vertices, state.counters[0]
    new, side = np.empty(2 * k + 2, np.int64), np.empty(2 * k, np.int64)
    n_new = 0
    stamp = counters.stamp + 2
    counters.stamp = stamp + k
    head = neighbors[:k]
    tail, walking = head.copy(), np.arange(k)
    for i in range(k):
        state.gap[head[i]] = lengths[i]
    rest = _walk(vertices, state.gap, stamp, head.copy(), tail, walking)
    first, last, longest = head.copy(), tail.copy(), lengths[0] - lengths[0]
    _mark_aside(vertices, aside, stamp, first)
    note_pieces(index, vertices, stamp, rest, first, last)
    group = np.arange(k)
    pieces = Pieces(stamp, rest, group, head, tail)
    u, v, weight = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k, state.cost.dtype)
    groups = k
    while groups > 1:
        largest = find_group(group, rest)
        for i in range(k):
            if group[i] == i and i != largest:
                u[i], v[i], weight[i] = min_outgoing_edge(state, index, i, pieces, metric)
        for i in range(k):
            if group[i] != i or i == largest:
                continue
            a = group_of(vertices, u[i], stamp, rest, group)
            b = group_of(vertices, v[i], stamp, rest, group)
            if a == b:  # the other group chose the same edge
                continue
            group[a] = b
            vertices[tail[b]].link = head[a]
            tail[b] = tail[a]
            groups -= 1
            turn(vertices, u[i])
            hang(vertices, u[i], v[i], weight[i])
            longest = max(longest, weight[i])
            new[n_new], new[n_new + 1] = u[i], v[i]
            side[n_new] = piece_of(vertices, u[i], stamp, rest, k)
            side[n_new + 1] = piece_of(vertices, v[i], stamp, rest, k)
            n_new += 2
    counters.longest = max(counters.longest, longest)
    for i in range(k):
        if i != rest:
            raise_heights(bound, index, vertices, first[i], last[i], longest)
    return new, n_new, side


@helper
def _mark_aside(vertices, aside, stamp, first):
    """Put copies that are set aside before the eldest of them, in its piece."""
    if aside.first < 0:
        return
    mark = vertices[aside.oldest].mark
    first[mark - stamp] = aside.first
    v = aside.first
    while v != aside.oldest:
        vertices[v].mark = mark
        if v == aside.last:
            vertices[v].link = aside.oldest
        v = np.int64(vertices[v].link)


@helper
def _walk(vertices, reach, stamp, at, tail, walking):
    """Walk through all pieces by turns until one is left, and return that.

    ``at`` is, for each piece, the member whose neighbors come next; ``walking`` are the pieces
    that are not at their end.
    """
    n_walking = walking.shape[0]
    for i in range(n_walking):
        vertices[at[i]].mark = stamp + i
        vertices[at[i]].link = -1
    while n_walking > 1:
        turn_of = 0
        while turn_of < n_walking and n_walking > 1:
            i = walking[turn_of]
            u = at[i]
            t, length = np.int64(vertices[u].parent), vertices[u].weight
            next_one = np.int64(vertices[u].child)
            while True:
                if t >= 0 and vertices[t].mark != stamp + i:
                    reach[t] = max(reach[u], length)
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
    return walking[0]
