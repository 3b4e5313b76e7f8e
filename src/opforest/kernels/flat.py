"""What an update must find near a vertex that is gone, by looking at all others."""

import numpy as np

from opforest._jit import helper
from opforest.kernels.distances import TILE, count_tiles, measure
from opforest.kernels.pieces import group_by_mark
from opforest.kernels.rooted_tree import precedes
from opforest.kernels.state import SIZE


# An edge from u to another piece closes a circle through z, so it is no shorter than any edge on
# the way from u to z, which is what ``gap`` holds.
@helper
def scan_for_way_out(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""
    n = state.count[SIZE]
    rows, gap, link = state.rows, state.gap, state.link
    distances = np.empty(TILE, gap.dtype)
    nowhere = np.full(1, np.inf, gap.dtype)
    best = (np.int64(-1), np.int64(-1), nowhere[0])
    u = pieces.head[own]
    while u >= 0:
        if gap[u] <= best[2]:
            for tile in range(count_tiles(n)):
                first, last = tile * TILE, min(tile * TILE + TILE, n)
                out = distances[: last - first]
                tiles, limit = state.tiles[tile], best[2]
                if measure(out, rows[u], u, rows, tiles, first, limit, metric) > 0:
                    best = _best_in_tile(
                        out, first, u, own, best, state.mark, state.label, pieces.stamp,
                        pieces.rest, pieces.group,
                    )  # fmt: skip
        u = link[u]
    return best


@helper
def _best_in_tile(out, first, u, own, best, mark, label, stamp, rest, group):
    for j in range(out.shape[0]):
        v = first + j
        if (
            out[j] <= best[2]
            and precedes(out[j], u, v, best[2], best[0], best[1])
            and label[v] >= 0
            and group_by_mark(mark, v, stamp, rest, group) != own
        ):
            best = (u, v, out[j])
    return best
