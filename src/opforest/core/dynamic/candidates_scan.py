"""Find candidate edges of the minimum spanning tree by a scan of all vertices.

Insertion of a vertex z: the candidates are the edge to the nearest vertex t (the one with the
smallest index among equals) and the edges to all v with d(z, v) ≤ m(t, v), where m is the largest
edge on the tree path and ``bound`` gives an upper bound of it. There are few of them, and no other
edge is examined again. If z is a duplicate of t, the edge to t is the only candidate: of two edges
of equal length, the one from t comes first.

Removal of a vertex: the candidate is the smallest edge from one component to another.
"""

import numpy as np

from opforest.core.dynamic.components import group_of
from opforest.core.dynamic.duplicates import has_elder_copy, is_duplicate
from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import helper
from opforest.core.metrics.distances import TILE, count_tiles, measure, smallest

#: Not a distance: marks a vertex that is out.
OUT = -1

#: Vertices that are looked at together, to see whether any of them is a candidate.
BLOCK = 64

#: No bit pattern is larger.
LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)


@helper
def measure_from(state, z, n, limit, metric):
    """Write the distances from z to the vertices below n into ``gap``, as far as they matter.

    A tile all of whose distances exceed both ``limit`` and that of the nearest may be left out.
    """
    least, bound = LARGEST, np.inf
    for tile in range(count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        gap, bits = state.gap[first:last], state.bits[first:last]
        if measure(gap, state.rows[z], z, state.rows, state.tiles[tile], first, bound, metric):
            if state.counters[0].n_deleted > 0:
                cost = state.cost[first:last]
                for j in range(last - first):
                    gap[j] = gap[j] if cost[j] < np.inf else OUT
            if limit < np.inf:
                lowest = smallest(bits, least)
                if lowest < least:
                    nearest = gap[_place_of(bits, lowest)]
                    if nearest >= 0:
                        least, bound = lowest, max(limit, nearest)
        else:
            for j in range(last - first):
                gap[j] = OUT


@helper
def nearest_of(bits, n):
    """Return the vertex with the smallest (gap, index) below n; those that are out come last."""
    least, at = LARGEST, 0
    for tile in range(count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        lowest = smallest(bits[first:last], LARGEST)
        if lowest < least:
            least, at = lowest, first
    return at + _place_of(bits[at:], least)


@helper
def _place_of(bits, value):
    """Return where a value comes first; it must be there."""
    place = 0
    while bits[place] != value:
        place += 1
    return place


@helper
def list_candidates(state, index, bound, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, the nearest first, and distances.

    ``measured`` says whether ``gap`` holds the distances from z already.
    """
    longest = state.counters[0].longest
    if not measured:
        measure_from(state, z, z, longest, metric)
    t = nearest_of(state.bits, z)
    near, gaps = np.empty(16, np.int64), np.empty(16, state.gap.dtype)
    near[0], gaps[0] = t, state.gap[t]
    m = 1
    if gaps[0] == 0 and is_duplicate(state.rows, t, z, metric):
        return near, gaps, m
    state.gap[t] = OUT
    row, height = bound.table[bound.landmark[t]], bound.height[t]
    state.gap[z] = longest
    limit = state.bits[z]
    for first in range(0, z, BLOCK):
        last = min(first + BLOCK, z)
        if _count_up_to(state.bits[first:last], limit) == 0:
            continue
        gap, own, other = (
            state.gap[first:last],
            bound.height[first:last],
            bound.landmark[first:last],
        )
        if _count_within(gap, own, other, row, height, longest) == 0:
            continue
        for j in range(last - first):
            if 0 <= gap[j] <= min(longest, max(height, own[j], row[other[j]])):
                near, gaps = append(near, m, first + j), append(gaps, m, gap[j])
                m += 1
    return near, gaps, m


@helper
def _count_up_to(bits, limit):
    """Count the gaps up to a limit, by their bits: those that are out have larger ones."""
    count = 0
    for j in range(bits.shape[0]):
        count += bits[j] <= limit
    return count


@helper
def _count_within(gap, own, other, row, height, longest):
    """Count the gaps that the bound does not exclude."""
    count = 0
    for j in range(gap.shape[0]):
        most = max(height, own[j], row[other[j]])
        count += (gap[j] <= most) & (gap[j] >= 0) & (gap[j] <= longest)
    return count


# An edge from u to another piece closes a circle through z, so it is no shorter than any edge on
# the way from u to z, which is what ``gap`` holds.
@helper
def scan_for_way_out(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""
    n = state.counters[0].size
    rows, gap, vertices = state.rows, state.gap, state.vertices
    distances = np.empty(TILE, gap.dtype)
    distances[0] = np.inf
    best = (np.int64(-1), np.int64(-1), distances[0])
    u = pieces.head[own]
    while u >= 0:
        if gap[u] <= best[2] and not has_elder_copy(rows, vertices, u, metric):
            for tile in range(count_tiles(n)):
                first, last = tile * TILE, min(tile * TILE + TILE, n)
                out = distances[: last - first]
                if measure(out, rows[u], u, rows, state.tiles[tile], first, best[2], metric) > 0:
                    best = _best_in_tile(
                        out, first, u, own, best, vertices, state.cost, pieces.stamp, pieces.rest,
                        pieces.group,
                    )  # fmt: skip
        u = np.int64(vertices[u].link)
    return best


@helper
def _best_in_tile(out, first, u, own, best, vertices, cost, stamp, rest, group):
    for j in range(out.shape[0]):
        v = first + j
        if (
            out[j] <= best[2]
            and precedes(out[j], u, v, best[2], best[0], best[1])
            and cost[v] < np.inf
            and group_of(vertices, v, stamp, rest, group) != own
        ):
            best = (u, v, out[j])
    return best
