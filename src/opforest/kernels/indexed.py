"""What an update must find near a vertex, by an index; ``metric`` is the power p of ``boxes``."""

import numpy as np

from opforest._jit import borrow, helper
from opforest.kernels.boxes import box_distance, row_distance, shadows
from opforest.kernels.heap import pop, put
from opforest.kernels.index import BUCKET
from opforest.kernels.kdtree import STACK
from opforest.kernels.pieces import find_group, group_by_mark
from opforest.kernels.rooted_tree import precedes

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
        if taken == vertices.shape[0] or m + BUCKET > keys.shape[0]:
            return -1
        if (code >> 32) & 1:
            v = code >> 33
            if not _is_shadowed(rows, v, key, vertices, taken, p):
                vertices[taken], gaps[taken] = v, key
                taken += 1
                if key == 0 and _is_copy(rows, v, z):
                    break  # whatever comes later is as far from v as from z
            continue
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
def _is_copy(rows, v, z):
    for i in range(rows.shape[1]):
        if rows[v, i] != rows[z, i]:
            return False
    return True


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


# An edge from u to another piece closes a circle through z, so it is no shorter than any edge on
# the way from u to z, which is what ``gap`` holds.
@helper
def search_way_out(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""
    best = _try_heads(state.rows, own, pieces.group, pieces.head, metric)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, state.cost.dtype)
    lent = borrow((stack, bound, pieces.group))
    u = pieces.head[own]
    while u >= 0:
        if state.gap[u] <= best[2]:
            best = _way_out_from(
                best, u, own, state.rows, state.mark, pieces.stamp, pieces.rest, lent[2],
                index.child, index.count, index.low, index.high, index.eldest, index.vertex,
                index.points, lent[0], lent[1], metric,
            )  # fmt: skip
        u = state.link[u]
    stack[0] = bound.shape[0]  # their last use, and not before they are free
    return best


@helper
def _way_out_from(
    best, u, own, rows, mark, stamp, rest, group, child, count, low, high, eldest, vertex, points,
    stack, bound, p,
):  # fmt: skip
    """Return the better one of an edge and the smallest from u to another group."""
    stack[0] = 0
    bound[0] = 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        # No edge into the node precedes one of this length to its eldest vertex.
        if not precedes(bound[m], u, eldest[node], best[2], best[0], best[1]):
            continue
        below = child[node]
        if below < 0:
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + count[node]):
                weight = row_distance(points, place, rows, u, p)
                if weight <= best[2]:
                    v = np.int64(vertex[place])
                    if (
                        precedes(weight, u, v, best[2], best[0], best[1])
                        and group_by_mark(mark, v, stamp, rest, group) != own
                    ):
                        best = (u, v, weight)
            continue
        gap = box_distance(rows, u, low, high, below, p)
        other = box_distance(rows, u, low, high, below + 1, p)
        near = below + (other < gap)
        stack[m], bound[m] = 2 * below + 1 - near, max(gap, other)
        stack[m + 1], bound[m + 1] = near, min(gap, other)
        m += 2
    return best
