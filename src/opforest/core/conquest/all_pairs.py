"""Find the best offers that all vertices of a ranking make to each other.

Each pair is measured once and serves both, which takes half the time of a scan for each vertex. The
results are the same.
"""

import numpy as np

from opforest._utils import tuning
from opforest.core.conquest.best_offers import find_next, is_before, sort_all_offers
from opforest.core.jit import borrow, helper, kernel
from opforest.core.metrics.distances import TILE, count_tiles, measure

#: Distances of a tile that are compared with their limits together.
STRIDE = 64


def find_offers_of_others(rows, ranking, metric, k):
    """Return the vertices that make the k best offers to each one of the ranking, and the offers.

    Both have a row for each place of the ranking, which is sorted, and k columns. If there are
    fewer than k others, −1 and infinity follow. Pairs of vertices are measured in tiles, so the
    metric must be separable.
    """
    n = len(ranking.vertex)
    place = np.full((n, k), -1, np.int64)
    offer = np.full((n, k), np.inf, rows.dtype)
    limit, at = np.full(n, np.inf, rows.dtype), np.zeros(n, np.int64)
    found = place, offer, offer.view(f"i{offer.itemsize}"), limit, at
    step = max(1, tuning.values.work_per_call // max(1, n * rows.shape[1]))
    for begin in range(0, n, step):  # Ctrl-C is noticed in between
        _offer_to_later(begin, min(begin + step, n), rows, ranking, found, metric)
    sort_all_offers(found[2], place, ranking.cost)
    return np.where(place >= 0, ranking.vertex[place], -1), offer


@kernel
def _offer_to_later(begin, end, rows, ranking, found, metric):
    """Measure the places from ``begin`` to ``end`` against all later ones."""
    vertex, cost, tiles, _ = ranking
    vertex, cost, tiles = borrow((vertex, cost, tiles))
    _, _, _, limit, _ = borrow(found)
    n = vertex.shape[0]
    distances = np.empty(TILE, rows.dtype)
    for tile in range(begin // TILE, count_tiles(n)):
        first, last = tile * TILE, min(tile * TILE + TILE, n)
        out, chosen = distances[: last - first], vertex[first:last]
        for i in range(begin, min(end, last)):
            x = rows[vertex[i]]
            measure(out, x, rows.shape[0], rows, tiles[tile], chosen, np.inf, metric)
            later = max(0, i + 1 - first)
            for left in range(0, last - first, STRIDE):
                right = min(left + STRIDE, last - first)
                others = limit[first + left : first + right]
                if right > later and _count_promising(out[left:right], limit[i], others) > 0:
                    for j in range(max(left, later), right):
                        if out[j] <= limit[i]:
                            _insert(found, i, first + j, out[j], cost)
                        if out[j] <= limit[first + j]:
                            _insert(found, first + j, i, out[j], cost)


@helper
def _count_promising(distances, own, others):
    """Count the distances up to the limit of either vertex."""
    count = 0
    for j in range(distances.shape[0]):
        limit = own if own > others[j] else others[j]
        count += distances[j] <= limit
    return count


@helper
def _insert(found, u, v, distance, cost):
    """Insert the offer of v to u, if it is good enough."""
    place, offer, bits, limit, at = borrow(found)
    value, last = max(cost[v], distance), place[u, at[u]]
    if value < limit[u] or (value == limit[u] and is_before(cost, v, last)):
        offer[u, at[u]], place[u, at[u]] = value, v
        at[u] = find_next(bits[u], place[u], at[u], cost)
        limit[u] = offer[u, at[u]]
