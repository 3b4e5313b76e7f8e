"""Which edges of a new vertex z may enter a minimum spanning tree, by a scan of all vertices.

Those are the edge to the nearest vertex t, the first of these by index, and the edges to all v with
d(z, v) ≤ m(t, v), for which ``bound`` has an upper bound: a handful. Nothing but these is looked at
again. A copy of t has no other edge: whatever is as far from z as from t is nearer to t by index.
"""

import numpy as np
from numba import types

from opforest.core.heap import append
from opforest.core.jit import helper, overload
from opforest.core.metrics.distances import TILE, count_tiles, measure, smallest
from opforest.core.metrics.types import Table

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
            if state.tally[0].holes > 0:
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


def is_copy(rows, t, z, metric):
    """Tell whether z has all distances that t has (compiled code only)."""


@overload(is_copy)
def _is_copy_by(rows, t, z, metric):
    # A user's function may not be quite symmetric, and rows of a table are no coordinates.
    if isinstance(metric, types.Dispatcher) or metric.instance_class is Table:
        return lambda rows, t, z, metric: False
    return lambda rows, t, z, metric: are_equal(rows, t, z)


@helper
def has_elder_copy(rows, vertices, u, metric):
    """Tell whether u hangs on an elder copy of it, whose edges all come before those of u."""
    t = np.int64(vertices[u].parent)
    return 0 <= t < u and vertices[u].weight == 0 and is_copy(rows, t, u, metric)


@helper
def are_equal(rows, u, v):
    """Tell whether two rows are equal."""
    for k in range(rows.shape[1]):
        if rows[u, k] != rows[v, k]:
            return False
    return True


@helper
def list_candidates(state, index, bound, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, the nearest first, and distances.

    ``measured`` says whether ``gap`` holds the distances from z already.
    """
    longest = state.tally[0].longest
    if not measured:
        measure_from(state, z, z, longest, metric)
    t = nearest_of(state.bits, z)
    near, gaps = np.empty(16, np.int64), np.empty(16, state.gap.dtype)
    near[0], gaps[0] = t, state.gap[t]
    m = 1
    if gaps[0] == 0 and is_copy(state.rows, t, z, metric):
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
