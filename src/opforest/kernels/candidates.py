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

#: Not a distance: marks a vertex that is out.
OUT = -1

#: No bit pattern is larger.
LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)

#: Up to this many vertices of a tile are measured one by one.
FEW = TILE // 16


@helper
def measure_from(state, z, n, limit, metric):
    """Write the distances from z to the vertices below n into ``gap``, as far as they matter.

    A tile all of whose distances exceed ``limit`` and that of the nearest may be left out.
    """
    nearest = np.inf
    for tile in range(count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        out = state.gap[first:last]
        bound = out.dtype.type(max(limit, nearest))
        if measure(out, state.rows[z], z, state.rows, state.tiles[tile], first, bound, metric):
            for j in range(last - first):
                nearest = min(nearest, out[j])
        else:
            for j in range(last - first):
                out[j] = OUT


@helper
def lowest_gaps(state, n):
    """Return the bits of the smallest gap of each tile."""
    lowest = np.empty(count_tiles(n), np.uint64)
    for tile in range(lowest.shape[0]):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        lowest[tile] = smallest(state.gap_bits[first:last], LARGEST)
    return lowest


@helper
def take_nearest(state, lowest, n):
    """Return the vertex with the smallest (gap, index), and its gap; −1 if all are out."""
    tile = 0
    for other in range(1, lowest.shape[0]):
        if lowest[other] < lowest[tile]:
            tile = other
    first, last = tile * TILE, min(tile * TILE + TILE, n)
    for v in range(first, last):
        if state.gap_bits[v] == lowest[tile]:
            gap = state.gap[v]
            if gap < 0:
                return -1, gap
            state.gap[v] = OUT
            lowest[tile] = smallest(state.gap_bits[first:last], LARGEST)
            return v, gap
    return -1, state.gap[0]


@helper
def _count_of_interest(gap, limit):
    count = 0
    for j in range(gap.shape[0]):
        count += (gap[j] >= 0) & (gap[j] <= limit)
    return count


@helper
def drop_shadowed(state, lowest, p, n, limit, distance, metric):
    """Take out all vertices that are no farther from p than from z."""
    for tile in range(lowest.shape[0]):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        gap = state.gap[first:last]
        of_interest = _count_of_interest(gap, limit)
        if of_interest == 0:
            continue
        if of_interest <= FEW:
            for j in range(last - first):
                if 0 <= gap[j] <= limit and between(p, first + j, state.rows, metric) <= gap[j]:
                    gap[j] = OUT
        else:
            out = distance[: last - first]
            tiles = state.tiles[tile]
            if measure(out, state.rows[p], p, state.rows, tiles, first, gap, metric):
                for j in range(last - first):
                    gap[j] = OUT if out[j] <= gap[j] else gap[j]
        lowest[tile] = smallest(state.gap_bits[first:last], LARGEST)
