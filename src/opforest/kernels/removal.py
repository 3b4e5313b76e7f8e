"""Exact removal: the forest that training on the remaining examples would give.

Without z the tree falls into pieces, one for each neighbour. All other edges stay; what is missing
are the smallest edges between pieces, found in Borůvka's rounds. All pieces but the largest are
walked through, by turns, so that the largest one need not be.
"""

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.costs import count_lost, repair_costs
from opforest.kernels.heap import append
from opforest.kernels.insertion import GAINED, LOST, RECONQUERED, REMOVED
from opforest.kernels.neighbours import find_way_out, has_room, leave, reprice
from opforest.kernels.pieces import Pieces, find_group, group_of, piece_of
from opforest.kernels.rooted_tree import count_crossing, hang, largest_between, turn, unlink
from opforest.kernels.state import CROSSING, ELDEST, FORGOTTEN, HOLES, PROTOTYPES, STAMP


@kernel
def remove_exactly(state, index, doomed, done, metric, report):
    """Remove vertices from place ``done`` of the list ``doomed`` on; some vertex must be left.

    It stops early where an index has no room left, and returns how far it came.
    """
    state, index = borrow(state), borrow(index)
    for i in range(done, doomed.shape[0]):
        if not has_room(index):
            return i
        _remove(state, index, doomed[i], metric, report)
        report[REMOVED] += 1
    return doomed.shape[0]


@helper
def _remove(state, index, z, metric, report):
    prototypes, was_prototype = state.count[PROTOTYPES], state.cuts[z] > 0
    one_class = state.count[CROSSING] == 0
    eldest, label, cost = state.count[ELDEST], state.label[z], state.cost[z]
    leave(index, z, state.rows, state.label, state.cost)
    neighbours, lengths, k = _cut_out(state, z)
    safe = -1 if was_prototype else _find_source(state, neighbours, lengths, k, cost)
    state.count[PROTOTYPES] -= state.cuts[z] > 0  # if it stood in where there is one class
    _make_hole(state, z)
    new, n_new, side = _join_pieces(state, index, neighbours, lengths, k, metric)
    ends = np.empty(k + 1, np.int64)
    n_ends = 0
    for i in range(k):
        if state.label[neighbours[i]] != label:
            ends[n_ends] = neighbours[i]
            n_ends += 1
    if state.count[CROSSING] == 0 and not (one_class and z != eldest):
        eldest = state.count[ELDEST]  # now it stands in
        state.count[PROTOTYPES] += state.cuts[eldest] == 0
        state.cuts[eldest] += 1
        new = append(new, n_new, eldest)
        n_new += 1
    lost = count_lost(state, ends, n_ends) + was_prototype
    doubtful, doubt, m = _list_doubts(
        state, cost, neighbours[:k], lengths, safe, lost, new, side, ends, n_ends
    )
    changed, n_changed = repair_costs(state, doubtful, doubt, m, new, n_new)
    report[LOST] += lost
    report[GAINED] += state.count[PROTOTYPES] - prototypes + lost
    report[RECONQUERED] += n_changed
    reprice(index, changed, n_changed, state.cost)


@helper
def _list_doubts(state, cost, neighbours, lengths, safe, lost, new, side, ends, n_ends):
    """Return where costs may have risen, with z, which had this cost, out of the way.

    Behind a neighbour of z they have if z was on the way there and no way through a new edge is as
    good; and at prototypes that lost their last cut edge.
    """
    k = neighbours.shape[0]
    kept = np.zeros(k, np.bool_)
    for i in range(k):
        kept[i] = i == safe or max(cost, lengths[i]) > state.cost[neighbours[i]]
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
            weight = state.weight[u] if state.parent[u] == v else state.weight[v]
            way = max(weight, largest_between(state, u, neighbours[a]), state.cost[v])
            if way <= max(cost, lengths[a]):
                kept[a] = progress = True
    doubtful, doubt = np.empty(k + n_ends, np.int64), np.zeros(k + n_ends, state.cost.dtype)
    m = 0
    for i in range(k):
        if not kept[i]:
            doubtful[m], doubt[m] = neighbours[i], max(cost, lengths[i])
            m += 1
    for i in range(n_ends):
        doubtful[m] = ends[i]
        m += 1
    return doubtful, doubt, m


@helper
def _make_hole(state, z):
    state.label[z] = FORGOTTEN
    state.cost[z] = np.inf
    state.cuts[z] = 0
    state.count[HOLES] += 1
    while state.label[state.count[ELDEST]] < 0:
        state.count[ELDEST] += 1


@helper
def _cut_out(state, z):
    """Take z out of the tree; return its neighbours, the lengths of its edges, their number."""
    neighbours, lengths = np.empty(8, np.int64), np.empty(8, state.cost.dtype)
    k = 0
    if state.parent[z] >= 0:
        neighbours[0], lengths[0] = state.parent[z], state.weight[z]
        k = 1
        unlink(state, z)
    while state.child[z] >= 0:
        v = state.child[z]
        neighbours, lengths = append(neighbours, k, v), append(lengths, k, state.weight[v])
        k += 1
        unlink(state, v)
    for i in range(k):
        count_crossing(state, z, neighbours[i], -1)
    return neighbours, lengths, k


@helper
def _find_source(state, neighbours, lengths, k, c):
    """Return which neighbour of z, gone now, was on a way by which z was conquered at cost c.

    Nobody in its piece was conquered through z alone: they are reached from where z was. Where
    several neighbours cost c, too, the one is looked for from which the cost rose to c.
    """
    walking = np.empty(k, np.int64)
    n_walking = 0
    for i in range(k):
        if max(state.cost[neighbours[i]], lengths[i]) == c:
            if state.cost[neighbours[i]] < c:
                return i
            walking[n_walking] = i
            n_walking += 1
    if n_walking <= 1:  # 0 only in the forest of a forged file, whose tree is not minimal
        return walking[0] if n_walking == 1 else -1
    stamp = state.count[STAMP] + 2
    state.count[STAMP] = stamp + k
    return _find_rise(
        neighbours, state.cost, state.cuts, state.parent, state.weight, state.child, state.after,
        state.mark, state.link, stamp, neighbours[:k].copy(), neighbours[:k].copy(), walking,
        n_walking, c,
    )  # fmt: skip


@helper
def _find_rise(
    neighbours, cost, cuts, parent, weight, child, after, mark, link, stamp, tail, at, walking,
    n_walking, c,
):  # fmt: skip
    """Walk by turns among vertices of cost c until one is found where the cost begins."""
    for i in range(n_walking):
        v = neighbours[walking[i]]
        mark[v] = stamp + walking[i]
        link[v] = -1
    while True:
        turn_of = 0
        while turn_of < n_walking:
            i = walking[turn_of]
            if n_walking == 1:
                return i
            u = at[i]
            if cuts[u] > 0:
                return i
            t, length, following = parent[u], weight[u], child[u]
            while True:
                if t >= 0 and max(cost[t], length) == c and mark[t] != stamp + i:
                    if cost[t] < c:
                        return i
                    mark[t] = stamp + i
                    link[t] = -1
                    link[tail[i]] = t
                    tail[i] = t
                if following < 0:
                    break
                t, length, following = following, weight[following], after[following]
            at[i] = link[u]
            if at[i] < 0:
                n_walking -= 1
                walking[turn_of] = walking[n_walking]
            else:
                turn_of += 1


@helper
def _join_pieces(state, index, neighbours, lengths, k, metric):
    """Join the pieces by their smallest edges; return the ends of these, and in which pieces."""
    new, side = np.empty(2 * k + 2, np.int64), np.empty(2 * k, np.int64)
    n_new = 0
    stamp = state.count[STAMP] + 2
    state.count[STAMP] = stamp + k
    tail = neighbours[:k].copy()
    for i in range(k):
        state.gap[neighbours[i]] = lengths[i]
    rest = _walk(
        neighbours, k, state.parent, state.weight, state.child, state.after, state.mark,
        state.link, state.gap, stamp, tail, neighbours[:k].copy(), np.arange(k),
    )  # fmt: skip
    pieces = Pieces(stamp, rest, np.arange(k), neighbours[:k], tail)
    groups = k
    while groups > 1:
        rest = find_group(pieces.group, pieces.rest)
        u, v = np.empty(k, np.int64), np.empty(k, np.int64)
        weight = np.empty(k, state.cost.dtype)
        for i in range(k):
            if pieces.group[i] == i and i != rest:
                u[i], v[i], weight[i] = find_way_out(state, index, i, pieces, metric)
        for i in range(k):
            if pieces.group[i] != i or i == rest:
                continue
            a, b = group_of(state.mark, u[i], pieces), group_of(state.mark, v[i], pieces)
            if a == b:  # the other group chose the same edge
                continue
            pieces.group[a] = b
            state.link[pieces.tail[b]] = pieces.head[a]
            pieces.tail[b] = pieces.tail[a]
            groups -= 1
            turn(state, u[i])
            hang(state, u[i], v[i], weight[i])
            count_crossing(state, u[i], v[i], 1)
            state.longest[0] = max(state.longest[0], weight[i])
            new[n_new], new[n_new + 1] = u[i], v[i]
            side[n_new] = piece_of(state.mark, u[i], pieces)
            side[n_new + 1] = piece_of(state.mark, v[i], pieces)
            n_new += 2
    return new, n_new, side


@helper
def _walk(neighbours, k, parent, weight, child, after, mark, link, reach, stamp, tail, at, walking):
    """Walk through all pieces by turns until one is left, and return that.

    ``at`` is, for each piece, the member whose neighbours come next; ``walking`` are the pieces
    that are not at their end.
    """
    for i in range(k):
        mark[neighbours[i]] = stamp + i
        link[neighbours[i]] = -1
    n_walking = k
    while n_walking > 1:
        turn_of = 0
        while turn_of < n_walking and n_walking > 1:
            i = walking[turn_of]
            u = at[i]
            t, length, following = parent[u], weight[u], child[u]
            while True:
                if t >= 0 and mark[t] != stamp + i:
                    mark[t] = stamp + i
                    reach[t] = max(reach[u], length)
                    link[t] = -1
                    link[tail[i]] = t
                    tail[i] = t
                if following < 0:
                    break
                t, length, following = following, weight[following], after[following]
            at[i] = link[u]
            if at[i] < 0:
                n_walking -= 1
                walking[turn_of] = walking[n_walking]
            else:
                turn_of += 1
    return walking[0]
