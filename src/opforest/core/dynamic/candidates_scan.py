"""Find candidate edges of the minimum spanning tree by a scan of all vertices.

Insertion of a vertex z: the candidates are the edge to the nearest vertex t (the one with the
smallest index among equals) and the edges to all v with d(z, v) ≤ m(t, v), where m is the largest
edge on the tree path and ``bound`` gives an upper bound of it. There are few of them, and no other
edge is examined again. If z is a duplicate of t, the edge to t is the only candidate: of two edges
of equal length, the one from t comes first.

Removal of a vertex: the candidate is the smallest edge from one component to another. An edge from
u to another component closes a cycle through the removed vertex z, so it is no shorter than any
edge on the path from u to z, the longest of which is in ``distances``.
"""

import numpy as np

from opforest.core.dynamic.components import group_of
from opforest.core.dynamic.duplicates import has_older_duplicate, is_duplicate
from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import helper
from opforest.core.metrics.distances import TILE, count_tiles, count_within, measure, smallest

#: Not a distance: marks a vertex that is excluded.
EXCLUDED = -1

#: Vertices that are checked together, to see whether any of them is a candidate.
BLOCK = 64

#: No bit pattern is larger.
LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)


@helper
def measure_from(arrays, z, n, limit, metric):
    """Write the distances from z to the vertices below n into ``distances``, if they matter.

    A tile all of whose distances exceed both ``limit`` and the smallest one may be excluded.
    """
    least, bound = LARGEST, np.inf
    for tile in range(count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        out, bits = arrays.distances[first:last], arrays.distance_bits[first:last]
        if measure(out, arrays.rows[z], z, arrays.rows, arrays.tiles[tile], first, bound, metric):
            if arrays.counters[0].n_deleted > 0:
                cost = arrays.cost[first:last]
                for j in range(last - first):
                    out[j] = out[j] if cost[j] < np.inf else EXCLUDED
            if limit < np.inf:
                lowest = smallest(bits, least)
                if lowest < least:
                    nearest = out[_position(bits, lowest)]
                    if nearest >= 0:
                        least, bound = lowest, max(limit, nearest)
        else:
            for j in range(last - first):
                out[j] = EXCLUDED


@helper
def nearest_of(bits, n):
    """Return the vertex below n with the smallest (distance, index); excluded ones come last."""
    least, at = LARGEST, 0
    for tile in range(count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        lowest = smallest(bits[first:last], LARGEST)
        if lowest < least:
            least, at = lowest, first
    return at + _position(bits[at:], least)


@helper
def _position(bits, value):
    """Return the first position of a value, which must be there."""
    position = 0
    while bits[position] != value:
        position += 1
    return position


@helper
def list_candidates(arrays, index, bound, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, nearest first, and distances.

    ``measured`` tells whether ``distances`` already holds the distances from z.
    """
    longest = arrays.counters[0].longest
    if not measured:
        measure_from(arrays, z, z, longest, metric)
    t = nearest_of(arrays.distance_bits, z)
    near, distances = np.empty(16, np.int64), np.empty(16, arrays.distances.dtype)
    near[0], distances[0] = t, arrays.distances[t]
    m = 1
    if distances[0] == 0 and is_duplicate(arrays.rows, t, z, metric):
        return near, distances, m
    arrays.distances[t] = EXCLUDED
    row, height = bound.table[bound.landmark[t]], bound.height[t]
    arrays.distances[z] = longest
    limit = arrays.distance_bits[z]  # excluded vertices have larger bits
    for first in range(0, z, BLOCK):
        last = min(first + BLOCK, z)
        if count_within(arrays.distance_bits[first:last], limit) == 0:
            continue
        found, own, other = (
            arrays.distances[first:last],
            bound.height[first:last],
            bound.landmark[first:last],
        )
        if _count_bounded(found, own, other, row, height, longest) == 0:
            continue
        for j in range(last - first):
            if 0 <= found[j] <= min(longest, max(height, own[j], row[other[j]])):
                near, distances = append(near, m, first + j), append(distances, m, found[j])
                m += 1
    return near, distances, m


@helper
def _count_bounded(distances, own, other, row, height, longest):
    """Count the distances that the bound does not exclude."""
    count = 0
    for j in range(distances.shape[0]):
        most = max(height, own[j], row[other[j]])
        count += (distances[j] <= most) & (distances[j] >= 0) & (distances[j] <= longest)
    return count


@helper
def scan_for_outgoing_edge(arrays, index, own, components, metric):
    """Return the smallest edge from a group of components to another: its ends and its weight."""
    n = arrays.counters[0].size
    rows, vertices = arrays.rows, arrays.vertices
    distances = np.empty(TILE, arrays.distances.dtype)
    distances[0] = np.inf
    best = (np.int64(-1), np.int64(-1), distances[0])
    u = components.head[own]
    while u >= 0:
        may_win = arrays.distances[u] <= best[2]
        if may_win and not has_older_duplicate(rows, vertices, u, metric):
            for tile in range(count_tiles(n)):
                first, last = tile * TILE, min(tile * TILE + TILE, n)
                out = distances[: last - first]
                if measure(out, rows[u], u, rows, arrays.tiles[tile], first, best[2], metric) > 0:
                    best = _best_in_tile(out, first, u, own, best, arrays, components)
        u = np.int64(vertices[u].next_in_list)
    return best


@helper
def _best_in_tile(out, first, u, own, best, arrays, components):
    """Return the smaller one of an edge and the smallest from u to another group in a tile."""
    vertices, cost, group = arrays.vertices, arrays.cost, components.group
    stamp, rest = components.stamp, components.rest
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
