"""What an update must find near a removed vertex, by a scan of all others."""

import numpy as np

from opforest.core.dynamic.candidates import has_elder_copy
from opforest.core.dynamic.components import group_of
from opforest.core.edge_order import precedes
from opforest.core.jit import helper
from opforest.core.metrics.distances import TILE, count_tiles, measure


# An edge from u to another piece closes a circle through z, so it is no shorter than any edge on
# the way from u to z, which is what ``gap`` holds.
@helper
def scan_for_way_out(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""
    n = state.tally[0].size
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
