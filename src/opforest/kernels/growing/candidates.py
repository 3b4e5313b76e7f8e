"""Which edges of a new vertex z may enter a minimum spanning tree.

Vertices are taken by rising (distance from z, index). A vertex v is out as soon as a vertex p
taken before it has d(p, v) ≤ d(z, v): then zv is the largest edge of the triangle z, p, v under
(weight, smaller index, larger index), for z is the youngest, and such an edge is in no minimum
spanning tree. A handful is left, ties and duplicates included. Beside the nearest, only
distances up to the longest tree edge need a look.
"""

import numpy as np

from opforest._jit import helper
from opforest.kernels.distances import TILE, between, count_tiles, measure, smallest
from opforest.kernels.heap import append

#: Not a distance: marks a vertex that is out.
OUT = -1

#: No bit pattern is larger.
LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)

#: About how many features can be looked at in the time of a climb in the tree.
FEATURES_PER_CLIMB = 1000

#: Up to this many vertices of a tile are measured one by one.
FEW = TILE // 16


@helper
def measure_from(state, z, n, limit, metric):
    """Write the distances from z to the vertices below n into ``gap``, as far as they matter.

    A tile all of whose distances exceed both ``limit`` and that of the nearest may be left out.
    """
    nearest = np.inf
    for tile in range(count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        gap = state.gap[first:last]
        bound = max(limit, nearest)
        if measure(gap, state.rows[z], z, state.rows, state.tiles[tile], first, bound, metric):
            if state.tally[0].holes > 0:
                cost = state.cost[first:last]
                for j in range(last - first):
                    gap[j] = gap[j] if cost[j] < np.inf else OUT
            if limit < np.inf:
                for j in range(last - first):
                    nearest = gap[j] if 0 <= gap[j] < nearest else nearest
        else:
            for j in range(last - first):
                gap[j] = OUT


@helper
def lowest_gaps(state, n, limit):
    """Take out all gaps above ``limit``, but for the smallest; return the bits of each tile's."""
    lowest, bits = np.empty(count_tiles(n), np.uint64), state.bits
    for tile in range(lowest.shape[0]):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        lowest[tile] = smallest(bits[first:last], LARGEST)
    bound = max(limit, state.gap[_nearest(state, lowest, n)])
    for tile in range(lowest.shape[0]):
        if not _is_out(lowest[tile], state.gap):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            gap = state.gap[first:last]
            for j in range(last - first):
                gap[j] = gap[j] if gap[j] <= bound else OUT
            lowest[tile] = smallest(bits[first:last], LARGEST)
    return lowest


@helper
def _is_out(bits, like):
    """Tell whether these are the bits of a negative number."""
    return bits >> np.uint64(8 * like.itemsize - 1) != 0


@helper
def _nearest(state, lowest, n):
    """Return the vertex with the smallest (gap, index), those that are out coming last."""
    tile = 0
    for other in range(1, lowest.shape[0]):
        if lowest[other] < lowest[tile]:
            tile = other
    bits = state.bits
    for v in range(tile * TILE, n):
        if bits[v] == lowest[tile]:
            return v
    return -1


@helper
def take_nearest(state, lowest, n):
    """Take out the vertex with the smallest (gap, index) and return it; −1 if all are out."""
    v = _nearest(state, lowest, n)
    gap = state.gap[v]
    if gap < 0:
        return -1, gap
    state.gap[v] = OUT
    first = v - v % TILE
    lowest[v // TILE] = smallest(state.bits[first : min(first + TILE, n)], LARGEST)
    return v, gap


@helper
def _count_left(gap):
    count = 0
    for j in range(gap.shape[0]):
        count += gap[j] >= 0
    return count


@helper
def drop_shadowed(state, lowest, p, n, distance, metric):
    """Take out all vertices that are no farther from p than from z.

    Returns
    -------
    bool
        Whether that was worth the while: a vertex left in costs a climb in the tree later.
    """
    dropped = left = 0
    for tile in range(lowest.shape[0]):
        if _is_out(lowest[tile], state.gap):
            continue
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        gap = state.gap[first:last]
        before = _count_left(gap)
        if before <= FEW:
            for j in range(last - first):
                if gap[j] >= 0 and between(p, first + j, state.rows, metric) <= gap[j]:
                    gap[j] = OUT
        else:
            out = distance[: last - first]
            tiles = state.tiles[tile]
            if measure(out, state.rows[p], p, state.rows, tiles, first, gap, metric):
                for j in range(last - first):
                    gap[j] = OUT if out[j] <= gap[j] else gap[j]
        after = _count_left(gap)
        dropped += before - after
        left += after
        lowest[tile] = smallest(state.bits[first:last], LARGEST)
    effort = left * state.rows.shape[1] + lowest.shape[0] * TILE // 16
    return dropped * FEATURES_PER_CLIMB >= effort


@helper
def list_candidates(state, index, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, in order, and their distances.

    ``measured`` says whether ``gap`` holds the distances from z already.
    """
    limit = state.tally[0].longest
    if not measured:
        measure_from(state, z, z, limit, metric)
    lowest = lowest_gaps(state, z, limit)
    distance = np.empty(TILE, state.gap.dtype)
    vertices, gaps = np.empty(16, np.int64), np.empty(16, state.gap.dtype)
    m = 0
    dropping = True
    p, gap = take_nearest(state, lowest, z)
    while p >= 0:
        vertices, gaps = append(vertices, m, p), append(gaps, m, gap)
        m += 1
        dropping = dropping and drop_shadowed(state, lowest, p, z, distance, metric)
        p, gap = take_nearest(state, lowest, z)
    return vertices, gaps, m
