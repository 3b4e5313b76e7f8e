"""Find the conquerors of queries by a scan in order of cost that stops as early as possible.

A query s is conquered by the vertex t with the smallest offer max(cost(t), d(s, t)). Ties go to the
vertex with the smaller cost, then to the one with the smaller index, which is the first in the
order of the scan. The scan stops when the next cost exceeds the best offer.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, helper, kernel, specialize
from opforest.core.metrics.distances import TILE, count_tiles, make_tiles, measure

#: Queries that are measured against a tile before the next one is fetched from memory.
GROUP = 16


class Ranking(NamedTuple):
    """Vertices in the order in which they are scanned."""

    vertex: np.ndarray
    cost: np.ndarray
    tiles: np.ndarray
    is_sorted: bool  #: by rising (cost, index); otherwise by index alone


def rank(rows, vertex, cost, metric) -> Ranking:
    """Rank some vertices, given in rising order, by cost; ``cost`` is that of all vertices."""
    vertex = vertex[np.argsort(cost[vertex], kind="stable")]
    return Ranking(vertex, cost[vertex], make_tiles(rows, vertex, metric), True)


def rank_by_index(arrays, n) -> Ranking:
    """Return the first n vertices in their order, for queries too few to justify sorting."""
    return Ranking(np.arange(n), arrays.cost[:n], arrays.tiles, False)


def find_conquerors(queries, rows, ranking, metric):
    """Return the conqueror of each query and its offer; the offer is −1 if it is undefined."""
    winner = np.empty(len(queries), np.int64)
    offer = np.empty(len(queries), rows.dtype)
    specialize(_scan, metric)(queries, rows, ranking, winner, offer, metric)
    return winner, offer


@kernel
def _scan(queries, rows, ranking, winner, offer, metric):
    vertex, cost, tiles, is_sorted = ranking
    n = vertex.shape[0]
    distances = np.empty(TILE, rows.dtype)
    won_at = np.empty(GROUP, np.int64)
    for begin in range(0, queries.shape[0], GROUP):
        end = min(begin + GROUP, queries.shape[0])
        for i in range(begin, end):
            won_at[i - begin] = -1
            offer[i] = np.inf
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            out, chosen = distances[: last - first], vertex[first:last]
            n_waiting = 0
            for i in range(begin, end):
                if is_sorted and cost[first] >= offer[i]:  # no later vertex can offer less
                    continue
                n_waiting += 1
                x, limit = queries[i], offer[i]
                if measure(out, x, rows.shape[0], rows, tiles[tile], chosen, limit, metric) > 0:
                    offer[i], won_at[i - begin] = _best_offer(
                        out, cost, is_sorted, offer[i], won_at[i - begin], first
                    )
            if n_waiting == 0:
                break
        for i in range(begin, end):
            winner[i] = vertex[won_at[i - begin]]


@helper
def _best_offer(distances, all_costs, is_sorted, best, won_at, first):
    """Return the best offer so far, and its position, after one more tile."""
    cost = all_costs[first : first + distances.shape[0]]
    for j in range(distances.shape[0]):
        if is_sorted and cost[j] >= best:
            break
        if distances[j] > best or cost[j] > best:
            continue
        offer = max(cost[j], distances[j])
        if offer < best or (offer == best and won_at >= 0 and cost[j] < all_costs[won_at]):
            best, won_at = offer, first + j
            if distances[j] < 0:  # undefined, and it might have won
                return distances[j], won_at
    return best, won_at


@kernel
def scan_for_classes(queries, rows, ranking, label, offer, winner, metric):
    """Write the cheapest offer of each class to each query, and the vertex that makes it.

    ``label`` holds the classes of the vertices in the order of the ranking. If an offer is
    undefined, that of its class is −1.
    """
    vertex, cost, tiles, _ = borrow(ranking)
    n = vertex.shape[0]
    distances = np.empty(TILE, rows.dtype)
    for begin in range(0, queries.shape[0], GROUP):
        end = min(begin + GROUP, queries.shape[0])
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            out, chosen = distances[: last - first], vertex[first:last]
            for i in range(begin, end):
                x = queries[i]
                measure(out, x, rows.shape[0], rows, tiles[tile], chosen, np.inf, metric)
                for j in range(last - first):
                    k, at = label[first + j], first + j
                    value = max(cost[at], out[j]) if out[j] >= 0 else out[j]
                    best, other = offer[i, k], winner[i, k]
                    is_tie = value == best and other >= 0 and cost[at] < cost[other]
                    if value < best or is_tie:
                        offer[i, k], winner[i, k] = value, at
    for i in range(queries.shape[0]):
        for k in range(winner.shape[1]):
            if winner[i, k] >= 0:
                winner[i, k] = vertex[winner[i, k]]
