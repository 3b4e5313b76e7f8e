"""What an update must find near a vertex, by an index; ``metric`` is the power p of ``boxes``."""

import numpy as np

from opforest._jit import borrow, helper
from opforest.kernels.boxes import box_distance, box_gap, row_distance, shadows
from opforest.kernels.heap import pop, put
from opforest.kernels.index import BUCKET
from opforest.kernels.kdtree import STACK
from opforest.kernels.pieces import find_group, group_by_mark
from opforest.kernels.rooted_tree import precedes
from opforest.kernels.state import STAMP

#: How many neighbours of a vertex that is gone are tried first.
FEW_HEADS = 16


# Nodes and vertices wait in one heap, by distance from z, then by their eldest vertex, nodes first.
# So when a node has its turn, every vertex p taken before it precedes, by (distance, index), all
# vertices in the node: who is not farther from p than from z is out (candidates.py).


@helper
def _code(eldest, is_vertex, node):
    return (np.int64(eldest) << 33) | (is_vertex << 32) | node


@helper
def search_candidates(state, index, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, in order, and their distances."""
    dtype = state.rows.dtype
    room = 128
    while True:
        vertices, gaps = np.empty(room, np.int64), np.empty(room, dtype)
        keys, codes = np.empty(room, dtype), np.empty(room, np.int64)
        lent = borrow((vertices, gaps, keys, codes))
        taken = _take_candidates(
            z, state.rows, state.longest[0], index.child, index.count, index.low, index.high,
            index.eldest, index.vertex, index.points, lent[0], lent[1], lent[2], lent[3], metric,
        )  # fmt: skip
        room = 2 * (keys.shape[0] + codes.shape[0])  # their last use, and not before they are free
        if taken >= 0:
            return vertices, gaps, taken


@helper
def _take_candidates(
    z, rows, longest, child, count, low, high, eldest, vertex, points, vertices, gaps, keys, codes,
    p,
):  # fmt: skip
    """Fill ``vertices`` and ``gaps`` and return their number; −1 if there was no room."""
    zero = rows[z, 0] - rows[z, 0]
    taken = 0
    m = put(keys, codes, 0, zero, _code(eldest[0], 0, 0))
    while m > 0:
        key, code = keys[0], codes[0]
        m = pop(keys, codes, m)
        if taken > 0 and key > longest:
            break
        if (code >> 32) & 1:
            v = code >> 33
            if not _is_shadowed(rows, v, key, vertices, taken, p):
                vertices[taken], gaps[taken] = v, key
                taken += 1
            continue
        if m + BUCKET > keys.shape[0] or taken == vertices.shape[0]:
            return -1
        node = code & 0xFFFFFFFF
        below = child[node]
        if _is_box_shadowed(rows, z, low, high, node, key, vertices, taken, p):
            continue
        if below < 0:
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + count[node]):
                v = vertex[place]
                gap = row_distance(points, place, rows, z, p)
                if not _is_shadowed(rows, v, gap, vertices, taken, p):
                    m = put(keys, codes, m, gap, _code(v, 1, 0))
            continue
        for node in range(below, below + 2):
            near = max(key, box_distance(rows, z, low, high, node, p))
            m = put(keys, codes, m, near, _code(eldest[node], 0, node))
    return taken


@helper
def _is_shadowed(rows, v, gap, vertices, taken, p):
    for i in range(taken):
        if row_distance(rows, vertices[i], rows, v, p) <= gap:
            return True
    return False


@helper
def _is_box_shadowed(rows, z, low, high, node, key, vertices, taken, p):
    for i in range(taken):
        if shadows(rows, vertices[i], z, low, high, node, key, p):
            return True
    return False


@helper
def _try_heads(rows, own, group, head, p):
    """Return the best of a few edges between neighbours of the vertex that is gone."""
    nowhere = np.full(1, np.inf, rows.dtype)
    best = (np.int64(-1), np.int64(-1), nowhere[0])
    u = head[own]
    for i in range(min(head.shape[0], FEW_HEADS)):
        if find_group(group, i) != own:
            weight = row_distance(rows, min(u, head[i]), rows, max(u, head[i]), p)
            if precedes(weight, u, head[i], best[2], best[0], best[1]):
                best = (u, head[i], weight)
    return best


@helper
def search_way_out(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""
    state.count[STAMP] += 2
    mark = state.count[STAMP]
    _count_own(
        pieces.head[own], state.link, mark, index.home, index.holder, index.above, index.own,
        index.stamp,
    )  # fmt: skip
    best = _try_heads(state.rows, own, pieces.group, pieces.head, metric)
    stack = np.empty((4 * STACK, 2), np.int64)
    bound = np.empty(4 * STACK, state.cost.dtype)
    lent = borrow((stack, bound, pieces.group))
    best = _closest_pair(
        best, own, mark, state.mark, pieces.stamp, pieces.rest, lent[2], index.child,
        index.count, index.low, index.high, index.eldest, index.own, index.stamp, index.vertex,
        index.points, lent[0], lent[1], metric,
    )  # fmt: skip
    stack[0, 0] = bound.shape[0]  # their last use, and not before they are free
    return best


@helper
def _count_own(v, link, mark, home, holder, above, own, stamp):
    """Note for all nodes how many points of a list they hold."""
    while v >= 0:
        node = holder[home[v] // BUCKET]
        while node >= 0:
            if stamp[node] != mark:
                stamp[node] = mark
                own[node] = 0
            own[node] += 1
            node = above[node]
        v = link[v]


@helper
def _closest_pair(
    best, own_group, own_mark, mark, stamp, rest, group, child, count, low, high, eldest, own,
    own_stamp, vertex, points, stack, bound, p,
):  # fmt: skip
    """Return the smallest edge between a group and the rest, of two nodes at a time."""
    stack[0, 0] = stack[0, 1] = 0
    bound[0] = 0
    m = 1
    while m > 0:
        m -= 1
        a, b = stack[m, 0], stack[m, 1]
        # No edge between the two precedes one of this length between their eldest vertices.
        if (
            own_stamp[a] != own_mark
            or (own_stamp[b] == own_mark and own[b] == count[b])
            or not precedes(bound[m], eldest[a], eldest[b], best[2], best[0], best[1])
        ):
            continue
        if child[a] < 0 and child[b] < 0:
            best = _closest_in_buckets(
                best, (-1 - child[a]) * BUCKET, count[a], (-1 - child[b]) * BUCKET, count[b],
                own_group, mark, stamp, rest, group, vertex, points, p,
            )  # fmt: skip
            continue
        split_a = child[b] < 0 or (child[a] >= 0 and count[a] > count[b])
        a_1, b_1 = (child[a], b) if split_a else (a, child[b])
        a_2, b_2 = (a_1 + 1, b) if split_a else (a, b_1 + 1)
        gap_1 = box_gap(low, high, a_1, b_1, p)
        gap_2 = box_gap(low, high, a_2, b_2, p)
        if gap_2 < gap_1:
            a_1, b_1, gap_1, a_2, b_2, gap_2 = a_2, b_2, gap_2, a_1, b_1, gap_1
        stack[m, 0], stack[m, 1], bound[m] = a_2, b_2, gap_2
        stack[m + 1, 0], stack[m + 1, 1], bound[m + 1] = a_1, b_1, gap_1
        m += 2
    return best


@helper
def _closest_in_buckets(
    best, a, count_a, b, count_b, own_group, mark, stamp, rest, group, vertex, points, p
):
    for i in range(a, a + count_a):
        u = np.int64(vertex[i])
        if group_by_mark(mark, u, stamp, rest, group) != own_group:
            continue
        for j in range(b, b + count_b):
            v = np.int64(vertex[j])
            weight = row_distance(points, i, points, j, p)
            if (
                weight <= best[2]
                and precedes(weight, u, v, best[2], best[0], best[1])
                and group_by_mark(mark, v, stamp, rest, group) != own_group
            ):
                best = (u, v, weight)
    return best
