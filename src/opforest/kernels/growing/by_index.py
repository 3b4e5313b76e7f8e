"""What an update must find near a vertex, by an index."""

import numpy as np

from opforest._jit import borrow, helper
from opforest.kernels.growing.pieces import group_of
from opforest.kernels.growing.tree import precedes
from opforest.kernels.heap import pop, put
from opforest.kernels.kdtree.boxes import row_distance, row_distance_to_box, shadows
from opforest.kernels.kdtree.fixed import STACK
from opforest.kernels.kdtree.index import BUCKET
from opforest.kernels.spanning.sets import find_group

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
        near, gaps = np.empty(room, np.int64), np.empty(room, dtype)
        keys, codes = np.empty(room, dtype), np.empty(room, np.int64)
        lent = borrow((near, gaps, keys, codes))
        taken = _take_candidates(
            z, state.rows, state.tally[0].longest, index.nodes, index.box, index.vertex,
            index.points, lent[0], lent[1], lent[2], lent[3], metric.p,
        )  # fmt: skip
        room = 2 * (keys.shape[0] + codes.shape[0])  # their last use, and not before they are free
        if taken >= 0:
            return near, gaps, taken


@helper
def _take_candidates(
    z, rows, longest, nodes, box, vertex, points, near, gaps, keys, codes, p
):  # fmt: skip
    """Fill ``near`` and ``gaps`` and return their number; −1 if there was no room."""
    zero = rows[z, 0] - rows[z, 0]
    taken = 0
    m = put(keys, codes, 0, zero, _code(nodes[0].eldest, 0, 0))
    while m > 0:
        key, code = keys[0], codes[0]
        m = pop(keys, codes, m)
        if taken > 0 and key > longest:
            break
        if taken == near.shape[0] or m + BUCKET > keys.shape[0]:
            return -1
        if (code >> 32) & 1:
            v = code >> 33
            if not _is_shadowed(rows, v, key, near, taken, p):
                near[taken], gaps[taken] = v, key
                taken += 1
                if key == 0 and _is_copy(rows, v, z):
                    break  # whatever comes later is as far from v as from z
            continue
        node = code & 0xFFFFFFFF
        below = np.int64(nodes[node].child)
        if _is_box_shadowed(rows, z, box, node, key, near, taken, p):
            continue
        if below < 0:
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + nodes[node].count):
                v = np.int64(vertex[place])
                gap = row_distance(points, place, rows, z, p)
                if not _is_shadowed(rows, v, gap, near, taken, p):
                    m = put(keys, codes, m, gap, _code(v, 1, 0))
            continue
        for node in range(below, below + 2):
            least = max(key, row_distance_to_box(rows, z, box, node, p))
            m = put(keys, codes, m, least, _code(nodes[node].eldest, 0, node))
    return taken


@helper
def _is_copy(rows, v, z):
    for i in range(rows.shape[1]):
        if rows[v, i] != rows[z, i]:
            return False
    return True


@helper
def _is_shadowed(rows, v, gap, near, taken, p):
    for i in range(taken):
        if row_distance(rows, near[i], rows, v, p) <= gap:
            return True
    return False


@helper
def _is_box_shadowed(rows, z, box, node, key, near, taken, p):
    for i in range(taken):
        if shadows(rows, near[i], z, box, node, key, p):
            return True
    return False


@helper
def _try_heads(rows, own, group, head, nowhere, p):
    """Return the best of a few edges between neighbours of the vertex that is gone."""
    best = (np.int64(-1), np.int64(-1), nowhere)
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
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, state.cost.dtype)
    bound[0] = np.inf
    best = _try_heads(state.rows, own, pieces.group, pieces.head, bound[0], metric.p)
    lent = borrow((stack, bound, pieces.group))
    u = pieces.head[own]
    while u >= 0:
        if state.gap[u] <= best[2]:
            best = _way_out_from(
                best, u, own, state.rows, state.vertices, pieces.stamp, pieces.rest, lent[2],
                index.nodes, index.box, index.vertex, index.points, lent[0], lent[1], metric.p,
            )  # fmt: skip
        u = np.int64(state.vertices[u].link)
    stack[0] = bound.shape[0]  # their last use, and not before they are free
    return best


@helper
def _way_out_from(
    best, u, own, rows, vertices, stamp, rest, group, nodes, box, vertex, points, stack, bound, p
):  # fmt: skip
    """Return the better one of an edge and the smallest from u to another group."""
    stack[0] = 0
    bound[0] = 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        # No edge into the node precedes one of this length to its eldest vertex.
        if not precedes(bound[m], u, nodes[node].eldest, best[2], best[0], best[1]):
            continue
        below = np.int64(nodes[node].child)
        if below < 0:
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + nodes[node].count):
                weight = row_distance(points, place, rows, u, p)
                if weight <= best[2]:
                    v = np.int64(vertex[place])
                    if (
                        precedes(weight, u, v, best[2], best[0], best[1])
                        and group_of(vertices, v, stamp, rest, group) != own
                    ):
                        best = (u, v, weight)
            continue
        gap = row_distance_to_box(rows, u, box, below, p)
        other = row_distance_to_box(rows, u, box, below + 1, p)
        near = below + (other < gap)
        stack[m], bound[m] = 2 * below + 1 - near, max(gap, other)
        stack[m + 1], bound[m + 1] = near, min(gap, other)
        m += 2
    return best
