"""Find the conquerors of queries by a scan in order of cost that stops as early as possible.

A query s is conquered by the vertex t with the smallest offer max(cost(t), d(s, t)). Ties go to the
vertex with the smaller cost, then to the one with the smaller index, which is the first in the
order of the scan. The scan stops when the next cost exceeds the best offer.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.conquest.best_offers import find_next, sort_all_offers
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


def find_conquerors(queries, rows, ranking, metric, k=1):
    """Return the vertices that make the k best offers to each query, and their offers.

    Both have k columns, the first of which is the conqueror. If there are fewer than k, −1 and
    infinity follow. All offers to a query are −1 if one is undefined that might be among them.
    """
    place = np.full((len(queries), k), -1, np.int64)
    offer = np.full((len(queries), k), np.inf, rows.dtype)
    bits = offer.view(f"i{offer.itemsize}") if k > 1 else None
    specialize(_scan, metric)(queries, rows, ranking, (place, offer), bits, metric)
    if k == 1:
        return ranking.vertex[place], offer  # even a conqueror at infinity is a vertex
    sort_all_offers(bits, place, ranking.cost)
    winner = ranking.vertex[place]
    winner[:, 1:][place[:, 1:] < 0] = -1
    return winner, offer


@kernel
def _scan(queries, rows, ranking, found, bits, metric):
    """Write the best offers into places in the ranking and offers, unsorted.

    ``bits`` are those of the offers, the same memory, or None if only one is wanted: the kernel is
    then compiled without what only several need.
    """
    vertex, cost, tiles, is_sorted = ranking
    place, offer = borrow(found)
    n = vertex.shape[0]
    distances, at = np.empty(TILE, rows.dtype), np.empty(GROUP, np.int64)
    for begin in range(0, queries.shape[0], GROUP):
        end = min(begin + GROUP, queries.shape[0])
        at[:] = 0
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            out, chosen = distances[: last - first], vertex[first:last]
            n_waiting = 0
            for i in range(begin, end):
                x, limit = queries[i], offer[i, at[i - begin]]
                if is_sorted and cost[first] >= limit:  # no later vertex can offer less
                    continue
                n_waiting += 1
                if measure(out, x, rows.shape[0], rows, tiles[tile], chosen, limit, metric) > 0:
                    at[i - begin] = _insert_tile(
                        out, cost, is_sorted, offer[i], place[i], bits, i, at[i - begin], first
                    )
            if n_waiting == 0:
                break


@helper
def _insert_tile(distances, all_costs, is_sorted, offers, places, bits, i, at, first):
    """Insert the offers of one more tile into those of query i; return where the last one is."""
    cost = all_costs[first : first + distances.shape[0]]
    limit, last = offers[at], places[at]
    for j in range(distances.shape[0]):
        if is_sorted and cost[j] >= limit:
            break
        if distances[j] > limit or cost[j] > limit:
            continue
        offer = max(cost[j], distances[j])
        if offer < limit or (offer == limit and last >= 0 and cost[j] < all_costs[last]):
            if distances[j] < 0:  # undefined, and it might have won
                for k in range(offers.shape[0]):
                    offers[k], places[k] = distances[j], first + j
                break
            offers[at], places[at] = offer, first + j
            if bits is not None:
                at = find_next(bits[i], places, at, all_costs)
            limit, last = offers[at], places[at]
    return at


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
