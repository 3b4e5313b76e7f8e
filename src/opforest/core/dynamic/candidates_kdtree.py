"""Find candidate edges of the minimum spanning tree in a k-d tree.

The results are the same as those of ``candidates_scan``. Where searches would visit too many
vertices, insertions scan all of them for a while.
"""

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.dynamic.candidates_scan import list_candidates
from opforest.core.dynamic.components import group_of
from opforest.core.dynamic.duplicates import are_equal, has_elder_copy
from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import borrow, helper
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.dynamic import BUCKET, EFFORT, PAUSE
from opforest.core.kdtree.static import STACK
from opforest.core.metrics.distances import between, distance

#: Neighbors of a removed vertex that are tried first.
FEW_HEADS = 16

#: A scan of all vertices takes as long as a search that looks at 1 in 24 of them, and at 64 more.
SCANNED_PER_LOOK, FEW_LOOKS = 24, 64

#: Insertions that scan all vertices before a search is tried again.
PAUSE_BETWEEN_TRIALS = 64

#: All vertices count.
ALL = -1


@helper
def search_candidates(state, index, bound, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, the nearest first, and distances.

    ``measured`` says whether ``gap`` holds the distances from z already, if no search is tried now.
    """
    measured = measured and index.room[PAUSE] > 0
    near, gaps = np.empty(16, np.int64), np.empty(16, state.rows.dtype)
    near[0], gaps[0] = -1, np.inf
    near, gaps, m = search_near(state, index, bound, z, bound.landmark, ALL, near, gaps, metric)
    if m == 0:
        return list_candidates(state, index, bound, z, measured, metric)
    return near, gaps, m


@helper
def search_near(state, index, bound, z, kin, wanted, near, gaps, metric):
    """Find the nearest vertex to z, and those that the bound does not exclude.

    The more features there are, the more a search looks at. Where that takes longer than to look
    at all vertices, it is given up, and tried again only now and then.

    Parameters
    ----------
    kin : array
        A number for each vertex; those count of which it is ``wanted``.
    near, gaps : arrays
        Their first entries are a vertex that counts, or −1, and its distance from z.

    Returns
    -------
    near, gaps : array
        The vertices, the nearest first, and their distances.
    m : int
        How many they are; 0 if it was given up.
    """
    rows, room, enough = state.rows, index.room, z // SCANNED_PER_LOOK + FEW_LOOKS
    if room[PAUSE] > 0:
        room[PAUSE] -= 1
        return near, gaps, 0
    stack, least = np.empty(STACK, np.int64), np.empty(STACK, rows.dtype)
    lent = borrow((stack, least))
    near[0], gaps[0], looks = _find_nearest(
        rows[z], index.nodes, index.box, index.vertex, index.points, kin, wanted,
        near[0], gaps[0], 2 * enough, lent[0], lent[1], metric,
    )  # fmt: skip
    m = 1
    if looks <= 2 * enough and (gaps[0] > 0 or not are_equal(rows, near[0], z)):
        near, gaps, m, looks = _list_within(
            rows[z], state.counters[0].longest, index, bound, kin, wanted, near, gaps, looks,
            2 * enough, lent[0], metric,
        )  # fmt: skip
    stack[0] = least.shape[0]  # this keeps both arrays alive until here
    room[EFFORT] += (16 * looks - room[EFFORT]) // 8  # sixteen times a moving average
    if room[EFFORT] > 16 * enough:
        room[PAUSE] = PAUSE_BETWEEN_TRIALS
    return near, gaps, m if looks <= 2 * enough else 0


@helper
def _find_nearest(
    x, nodes, box, vertex, points, kin, wanted, nearest, best, allowed, stack, least, metric
):  # fmt: skip
    """Return the vertex with the smallest (distance from x, index), the distance, and the looks."""
    looks = 0
    stack[0] = 0
    least[0] = 0
    m = 1
    while m > 0 and looks <= allowed:
        m -= 1
        node = stack[m]
        if least[m] > best or (least[m] == best and nodes[node].oldest > nearest):
            continue
        below = np.int64(nodes[node].child)
        if below < 0:
            begin = (-1 - below) * BUCKET
            looks += nodes[node].count
            for place in range(begin, begin + nodes[node].count):
                gap = distance(x, points[place], metric)
                if gap < best or (gap == best and vertex[place] < nearest):
                    v = np.int64(vertex[place])
                    if wanted == ALL or kin[v] == wanted:
                        nearest, best = v, gap
            continue
        left = distance_to_box(x, box, below, metric)
        right = distance_to_box(x, box, below + 1, metric)
        nearer = below + (right < left)
        stack[m], least[m] = 2 * below + 1 - nearer, max(left, right)
        stack[m + 1], least[m + 1] = nearer, min(left, right)
        m += 2
    return nearest, best, looks


@helper
def _list_within(
    x, longest, index, bound, kin, wanted, near, gaps, looks, allowed, stack, metric
):  # fmt: skip
    """Add to the nearest vertex all those that the bound does not exclude."""
    nodes, _, box, vertex, points, _, _, _ = index
    landmark, heights, table = bound
    t = near[0]
    place, height = landmark[t], heights[t]
    stack[0] = 0
    height_of_stack, m = 1, 1
    while height_of_stack > 0 and looks <= allowed:
        height_of_stack -= 1
        node = stack[height_of_stack]
        own = nodes[node]
        limit = min(longest, max(height, table[place, own.landmark], own.slack))
        if distance_to_box(x, box, node, metric) > limit:
            continue
        below = np.int64(own.child)
        if below >= 0:
            stack[height_of_stack] = below
            stack[height_of_stack + 1] = below + 1
            height_of_stack += 2
            continue
        begin = (-1 - below) * BUCKET
        looks += own.count
        for slot in range(begin, begin + own.count):
            v = np.int64(vertex[slot])
            gap = distance(x, points[slot], metric)
            if v == t or (wanted != ALL and kin[v] != wanted):
                continue
            if gap <= min(longest, max(height, table[place, landmark[v]], heights[v])):
                near, gaps = append(near, m, v), append(gaps, m, gap)
                m += 1
    return near, gaps, m, looks


@helper
def _try_heads(rows, own, group, head, nowhere, metric):
    """Return the best of a few edges between neighbors of the removed vertex."""
    best = (np.int64(-1), np.int64(-1), nowhere)
    u = head[own]
    for i in range(min(head.shape[0], FEW_HEADS)):
        if find_group(group, i) != own:
            weight = between(u, head[i], rows, metric)
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
    best = _try_heads(state.rows, own, pieces.group, pieces.head, bound[0], metric)
    lent = borrow((stack, bound, pieces.group))
    u = pieces.head[own]
    while u >= 0:
        if state.gap[u] <= best[2] and not has_elder_copy(state.rows, state.vertices, u, metric):
            best = _way_out_from(
                best, u, state.rows[u], own, state.vertices, pieces.stamp, pieces.rest, lent[2],
                index.nodes, index.pieces, index.box, index.vertex, index.points, lent[0], lent[1],
                metric,
            )  # fmt: skip
        u = np.int64(state.vertices[u].link)
    stack[0] = bound.shape[0]  # this keeps both arrays alive until here
    return best


@helper
def _way_out_from(
    best, u, x, own, vertices, stamp, rest, group, nodes, pieces, box, vertex, points, stack, bound,
    metric,
):  # fmt: skip
    """Return the better one of an edge and the smallest from u to another group."""
    stack[0] = 0
    bound[0] = 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        # No edge into the node precedes one of this length to its eldest vertex.
        if not precedes(bound[m], u, nodes[node].oldest, best[2], best[0], best[1]):
            continue
        piece = pieces[node].mark - stamp
        if piece >= 0 and pieces[node].inside == nodes[node].count and group[piece] == own:
            continue  # all of it is in this group; one that has been joined twice is not seen
        below = np.int64(nodes[node].child)
        if below < 0:
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + nodes[node].count):
                weight = distance(x, points[place], metric)
                if weight <= best[2]:
                    v = np.int64(vertex[place])
                    if (
                        precedes(weight, u, v, best[2], best[0], best[1])
                        and group_of(vertices, v, stamp, rest, group) != own
                    ):
                        best = (u, v, weight)
            continue
        gap = distance_to_box(x, box, below, metric)
        other = distance_to_box(x, box, below + 1, metric)
        near = below + (other < gap)
        stack[m], bound[m] = 2 * below + 1 - near, max(gap, other)
        stack[m + 1], bound[m + 1] = near, min(gap, other)
        m += 2
    return best
