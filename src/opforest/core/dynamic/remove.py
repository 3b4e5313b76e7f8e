"""Exact removal: the forest you would get by refitting on the remaining examples.

Without z the tree falls into pieces, one for each neighbour. All other edges stay; what is missing
are the smallest edges between pieces, found in Borůvka's rounds. All pieces but the largest are
walked through, by turns, so that the largest one need not be. Copies of z are set aside meanwhile:
where they belong is known.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.dynamic.candidates import is_copy
from opforest.core.dynamic.components import Pieces, group_of, piece_of
from opforest.core.dynamic.costs import count_lost, repair_costs
from opforest.core.dynamic.dispatch import (
    find_way_out,
    has_room,
    leave,
    note_pieces,
    raise_heights,
    reprice,
)
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.records import FORGOTTEN
from opforest.core.rooted_tree import count_crossing, hang, largest_between, turn, unlink


@kernel
def remove_exactly(state, index, bound, doomed, metric, report):
    """Remove vertices, those of the list ``doomed`` in their order; some vertex must be left.

    It stops early where an index has no room left, and returns how many it has removed.
    """
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    for i in range(doomed.shape[0]):
        if not has_room(index):
            return i
        _remove(state, index, bound, doomed[i], metric, report[0])
    return doomed.shape[0]


@helper
def _remove(state, index, bound, z, metric, report):
    vertices, cost, tally = state.vertices, state.cost, state.tally[0]
    prototypes, was_prototype = tally.prototypes, vertices[z].cuts > 0
    one_class = tally.crossing == 0
    eldest, label, own_cost = tally.eldest, vertices[z].label, cost[z]
    leave(index, bound, z, state.rows, vertices, cost)
    aside = set_copies_aside(state.rows, vertices, z, metric)
    lost_aside = _count_aside(vertices, tally, z, aside)
    neighbours, lengths, k = cut_out(vertices, z)
    for i in range(k):
        count_crossing(vertices, tally, z, neighbours[i], -1)
    safe = -1
    if not was_prototype:
        safe = _find_source(vertices, tally, cost, neighbours, lengths, k, own_cost)
    tally.prototypes -= vertices[z].cuts > 0  # if it was the placeholder of a single class
    make_hole(vertices, tally, cost, z)
    new, n_new, side = join_pieces(state, index, bound, aside, neighbours, lengths, k, metric)
    for i in range(0, n_new, 2):
        count_crossing(vertices, tally, new[i], new[i + 1], 1)
    if aside.first >= 0:  # its copies may have made it a prototype
        new = append(new, n_new, aside.eldest)
        n_new += 1
    ends = np.empty(k + 1, np.int64)
    n_ends = 0
    for i in range(k):
        if vertices[neighbours[i]].label != label:
            ends[n_ends] = neighbours[i]
            n_ends += 1
    if tally.crossing == 0 and not (one_class and z != eldest):
        eldest = tally.eldest  # the placeholder of a single class
        tally.prototypes += vertices[eldest].cuts == 0
        vertices[eldest].cuts += 1
        new = append(new, n_new, eldest)
        n_new += 1
    lost = count_lost(vertices, tally, ends, n_ends) + lost_aside + was_prototype
    doubtful, doubt, m = _list_doubts(
        vertices, tally, cost, own_cost, neighbours[:k], lengths, safe, lost, new, side, ends,
        n_ends,
    )  # fmt: skip
    changed, n_changed = repair_costs(vertices, cost, doubtful, doubt, m, new, n_new)
    changed, n_changed = _take_back(vertices, cost, aside, changed, n_changed)
    reprice(index, changed, n_changed, vertices, cost)
    tally.version += 1
    report.forgotten += 1
    report.prototypes_lost += lost
    report.prototypes_gained += tally.prototypes - prototypes + lost
    report.reconquered += n_changed


@helper
def _list_doubts(
    vertices, tally, cost, own_cost, neighbours, lengths, safe, lost, new, side, ends, n_ends
):
    """Return where costs may have risen after the removal of z, which had this cost.

    Behind a neighbour of z they have if z was on the way there and no way through a new edge is as
    good; and at prototypes that lost their last cut edge.
    """
    k = neighbours.shape[0]
    kept = np.zeros(k, np.bool_)
    for i in range(k):
        kept[i] = i == safe or max(own_cost, lengths[i]) > cost[neighbours[i]]
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
            way = max(weight, largest_between(vertices, tally, u, neighbours[a]), cost[v])
            if way <= max(own_cost, lengths[a]):
                kept[a] = progress = True
    doubtful, doubt = np.empty(k + n_ends, np.int64), np.zeros(k + n_ends, cost.dtype)
    m = 0
    for i in range(k):
        if not kept[i]:
            doubtful[m], doubt[m] = neighbours[i], max(own_cost, lengths[i])
            m += 1
    for i in range(n_ends):
        doubtful[m] = ends[i]
        m += 1
    return doubtful, doubt, m


@helper
def make_hole(vertices, tally, cost, z):
    """Leave a hole where z, which is out of the tree, has been."""
    vertices[z].label = FORGOTTEN
    vertices[z].cuts = 0
    cost[z] = np.inf
    tally.holes += 1
    while vertices[tally.eldest].label < 0:
        tally.eldest += 1


@helper
def cut_out(vertices, z):
    """Take z out of the tree; return its neighbours, the lengths of its edges, their number."""
    vertex = vertices[z]
    neighbours = np.empty(8, np.int64)
    lengths = np.full(8, vertex.weight)
    k = 0
    if vertex.parent >= 0:
        neighbours[0] = vertex.parent
        k = 1
        unlink(vertices, z)
    while vertex.child >= 0:
        v = np.int64(vertex.child)
        neighbours, lengths = append(neighbours, k, v), append(lengths, k, vertices[v].weight)
        k += 1
        unlink(vertices, v)
    return neighbours, lengths, k


@helper
def _find_source(vertices, tally, cost, neighbours, lengths, k, c):
    """Return the neighbour through which the removed vertex z was conquered at cost c.

    Nobody in its piece was conquered through z alone: they are reached from where z was. Where
    several neighbours cost c, too, the one is looked for from which the cost rose to c.
    """
    walking = np.empty(k, np.int64)
    n_walking = 0
    for i in range(k):
        if max(cost[neighbours[i]], lengths[i]) == c:
            if cost[neighbours[i]] < c:
                return i
            walking[n_walking] = i
            n_walking += 1
    if n_walking <= 1:  # 0 only in the forest of a forged file, whose tree is not minimal
        return walking[0] if n_walking == 1 else -1
    stamp = tally.stamp + 2
    tally.stamp = stamp + k
    at = neighbours[:k].copy()
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


@helper
def _list_next(vertices, t, tail, i, stamp):
    """Put t at the end of the list of piece i."""
    vertices[t].mark = stamp + i
    vertices[t].link = -1
    vertices[tail[i]].link = t
    tail[i] = t


@helper
def join_pieces(state, index, bound, aside, neighbours, lengths, k, metric):
    """Join the pieces by their smallest edges; return the ends of these, and in which pieces.

    Copies that are set aside belong to the piece of the eldest, but nobody searches from them.
    """
    vertices, tally = state.vertices, state.tally[0]
    new, side = np.empty(2 * k + 2, np.int64), np.empty(2 * k, np.int64)
    n_new = 0
    stamp = tally.stamp + 2
    tally.stamp = stamp + k
    head = neighbours[:k]
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
                u[i], v[i], weight[i] = find_way_out(state, index, i, pieces, metric)
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
    tally.longest = max(tally.longest, longest)
    for i in range(k):
        if i != rest:
            raise_heights(bound, index, vertices, first[i], last[i], longest)
    return new, n_new, side


@helper
def _mark_aside(vertices, aside, stamp, first):
    """Put copies that are set aside before the eldest of them, in its piece."""
    if aside.first < 0:
        return
    mark = vertices[aside.eldest].mark
    first[mark - stamp] = aside.first
    v = aside.first
    while v != aside.eldest:
        vertices[v].mark = mark
        if v == aside.last:
            vertices[v].link = aside.eldest
        v = np.int64(vertices[v].link)


# Let z be the eldest of all vertices at distance 0 from it, and the next one, e, a copy of z. The
# edges from z come first among those of length 0, and first among those of any other length that
# lead to z or to a copy of it. So all copies hang on z and have no other edges; and without z they
# hang on e and have no other edges. A copy that is a prototype makes one of e, too, and any other
# costs what e costs, so nobody else needs them to find its own edges and costs.
class Aside(NamedTuple):
    """The copies of a vertex, taken out of the tree: a list, in which ``link`` leads on."""

    eldest: int  #: the copy on which the others will hang, which has stayed in the tree
    first: int  #: of the others; −1 if none are set aside
    last: int


@helper
def set_copies_aside(rows, vertices, z, metric):
    """Take the copies of z, if it is the eldest of them, out of the tree but for the next one."""
    none = np.int64(-1)
    eldest, has_more = none, False
    t, length = np.int64(vertices[z].parent), vertices[z].weight
    next_one = np.int64(vertices[z].child)
    while True:
        if t >= 0 and length == 0:
            if t < z:
                return Aside(none, none, none)
            has_more = eldest >= 0
            eldest = min(eldest, t) if has_more else t
        if next_one < 0:
            break
        t, length = next_one, vertices[next_one].weight
        next_one = np.int64(vertices[next_one].after)
    if not has_more or not is_copy(rows, eldest, z, metric):
        return Aside(none, none, none)
    first, last = none, none
    next_one = np.int64(vertices[z].child)
    while next_one >= 0:
        t = next_one
        next_one = np.int64(vertices[t].after)
        is_leaf = vertices[t].child < 0  # or the forest is that of a forged file
        if t != eldest and vertices[t].weight == 0 and is_leaf and is_copy(rows, t, z, metric):
            unlink(vertices, t)
            vertices[t].link = first
            first, last = t, t if last < 0 else last
    return Aside(eldest, first, last)


@helper
def _count_aside(vertices, tally, z, aside):
    """Count edges between classes as if copies hung on the eldest; return prototypes lost."""
    lost = 0
    v = aside.first
    while v >= 0:
        was_prototype = vertices[v].cuts > 0
        count_crossing(vertices, tally, z, v, -1)
        count_crossing(vertices, tally, aside.eldest, v, 1)
        lost += was_prototype and vertices[v].cuts == 0
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)
    return lost


@helper
def hang_copies(vertices, aside):
    """Hang copies that were set aside on the eldest of them."""
    v = aside.first
    while v >= 0:
        hang(vertices, v, aside.eldest, vertices[v].weight)
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)


@helper
def _take_back(vertices, cost, aside, changed, n_changed):
    """Hang copies on the eldest of them, and find their costs; return whose cost has changed."""
    hang_copies(vertices, aside)
    v = aside.first
    while v >= 0:
        found = cost[v] - cost[v] if vertices[v].cuts > 0 else cost[aside.eldest]
        if cost[v] != found:
            cost[v] = found
            changed = append(changed, n_changed, v)
            n_changed += 1
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)
    return changed, n_changed


@helper
def _walk(vertices, reach, stamp, at, tail, walking):
    """Walk through all pieces by turns until one is left, and return that.

    ``at`` is, for each piece, the member whose neighbours come next; ``walking`` are the pieces
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
