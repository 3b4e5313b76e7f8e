"""Find the conquerors of queries by a scan in order of cost that stops as early as possible.

A query s is conquered by the vertex t with the smallest offer max(cost(t), d(s, t)). Ties go to the
vertex with the smaller cost, then to the one with the smaller index, which is the first in the
order of the scan. The scan stops when the next cost exceeds the best offer.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, helper, kernel, specialize
from opforest.core.metrics.distances import TILE, count_tiles, make_tiles, measure

#: How many queries look at a tile before the next one is fetched from memory.
GROUP = 16


class Ranking(NamedTuple):
    """Vertices ready to be scanned."""

    vertex: np.ndarray
    cost: np.ndarray
    tiles: np.ndarray
    is_sorted: bool  #: by rising (cost, index); else by index alone


def rank(rows, vertex, cost, metric) -> Ranking:
    """Rank the vertices named in rising order by ``vertex``; ``cost`` is that of all vertices."""
    vertex = vertex[np.argsort(cost[vertex], kind="stable")]
    return Ranking(vertex, cost[vertex], make_tiles(rows, vertex, metric), True)


def unranked(state, n) -> Ranking:
    """Return the first n vertices as they are, for a few queries for which sorting is too dear."""
    return Ranking(np.arange(n), state.cost[:n], state.tiles, False)


def find_conquerors(queries, rows, ranking, metric):
    """Return the conqueror of each query and its offer; the offer is −1 if it is undefined."""
    winner = np.empty(len(queries), np.int64)
    offer = np.empty(len(queries), rows.dtype)
    specialize(_scan, metric)(queries, rows, ranking, winner, offer, metric)
    return winner, offer


@kernel
def _scan(queries, rows, ranking, winner, offer, metric):
    vertex, cost, tiles, is_sorted = ranking
    distance = np.empty(TILE, rows.dtype)
    won_at = np.empty(GROUP, np.int64)
    for begin in range(0, queries.shape[0], GROUP):
        end = min(begin + GROUP, queries.shape[0])
        for i in range(begin, end):
            won_at[i - begin] = -1
            offer[i] = np.inf
        for tile in range(count_tiles(vertex.shape[0])):
            first = tile * TILE
            last = min(first + TILE, vertex.shape[0])
            waiting = 0
            for i in range(begin, end):
                if is_sorted and cost[first] >= offer[i]:  # costs only grow from here on:
                    continue  # no later vertex can offer less
                waiting += 1
                out = distance[: last - first]
                within = measure(
                    out, queries[i], rows.shape[0], rows, tiles[tile], vertex[first:last],
                    offer[i], metric,
                )  # fmt: skip
                if within > 0:
                    offer[i], won_at[i - begin] = _best_offer(
                        out, cost[first:last], is_sorted, offer[i], won_at[i - begin], first, cost
                    )
            if waiting == 0:
                break
        for i in range(begin, end):
            winner[i] = vertex[won_at[i - begin]]


@helper
def _best_offer(distance, cost, is_sorted, best, won_at, first, all_costs):
    """Return the best offer so far, and its place, after a look at one more tile."""
    for j in range(distance.shape[0]):
        if is_sorted and cost[j] >= best:
            break
        if distance[j] > best or cost[j] > best:
            continue
        offer = max(cost[j], distance[j])
        if offer < best or (offer == best and won_at >= 0 and cost[j] < all_costs[won_at]):
            best, won_at = offer, first + j
            if distance[j] < 0:  # it might have won, had its distance been defined
                return distance[j], won_at
    return best, won_at


@kernel
def scan_for_classes(queries, rows, ranking, label, offer, winner, metric):
    """Write the cheapest offer of each class to each query, and who makes it.

    ``label`` are the classes of the vertices in the order of the ranking. Where somebody's offer is
    undefined, that of its class is −1.
    """
    vertex, cost, tiles, _ = borrow(ranking)
    distance = np.empty(TILE, rows.dtype)
    for begin in range(0, queries.shape[0], GROUP):
        end = min(begin + GROUP, queries.shape[0])
        for tile in range(count_tiles(vertex.shape[0])):
            first, last = tile * TILE, min(tile * TILE + TILE, vertex.shape[0])
            out = distance[: last - first]
            for i in range(begin, end):
                measure(
                    out, queries[i], rows.shape[0], rows, tiles[tile], vertex[first:last], np.inf,
                    metric,
                )  # fmt: skip
                for j in range(last - first):
                    k, place = label[first + j], first + j
                    value = max(cost[place], out[j]) if out[j] >= 0 else out[j]
                    best = offer[i, k]
                    if value < best or (value == best and _is_first(place, winner[i, k], cost)):
                        offer[i, k], winner[i, k] = value, place
    for i in range(queries.shape[0]):
        for k in range(winner.shape[1]):
            if winner[i, k] >= 0:
                winner[i, k] = vertex[winner[i, k]]


@helper
def _is_first(place, other, cost):
    """Tell whether one place comes before another, which may be none, by (cost, place)."""
    return other >= 0 and cost[place] < cost[other]
