"""Conquerors of queries: a scan by rising cost that stops as soon as nobody can offer less.

A query s is conquered by the vertex t that offers it the smallest max(cost(t), d(s, t)). Ties go
to the vertex with the smaller cost, then to the one with the smaller index: to the first in the
order of the scan.
"""

from typing import NamedTuple

import numpy as np

from opforest._jit import kernel, specialise
from opforest.kernels.distances import TILE, make_tiles, measure

#: How many queries look at a tile before the next one is fetched from memory.
GROUP = 16


class Ranking(NamedTuple):
    """Vertices by rising (cost, index), ready to be scanned."""

    vertex: np.ndarray
    cost: np.ndarray
    tiles: np.ndarray


def rank(rows, vertex, cost, metric) -> Ranking:
    """Rank the vertices named in rising order by ``vertex``; ``cost`` is that of all vertices."""
    vertex = vertex[np.argsort(cost[vertex], kind="stable")]
    return Ranking(vertex, cost[vertex], make_tiles(rows, vertex, metric))


def find_conquerors(queries, rows, ranking, metric):
    """Return the conqueror of each query and its offer; the offer is −1 if it is undefined."""
    winner = np.empty(len(queries), np.int64)
    offer = np.empty(len(queries), rows.dtype)
    specialise(_scan, metric)(queries, rows, ranking, winner, offer, metric)
    return winner, offer


@kernel
def _scan(queries, rows, ranking, winner, offer, metric):
    vertex, cost, tiles = ranking
    n = vertex.shape[0]
    distance = np.empty(TILE, rows.dtype)
    for begin in range(0, queries.shape[0], GROUP):
        end = min(begin + GROUP, queries.shape[0])
        for i in range(begin, end):
            winner[i] = -1
            offer[i] = np.inf
        for tile in range((n + TILE - 1) // TILE):
            first = tile * TILE
            last = min(first + TILE, n)
            waiting = 0
            for i in range(begin, end):
                best = offer[i]
                if cost[first] >= best:  # costs only grow from here on:
                    continue  # no later vertex can offer less
                waiting += 1
                out = distance[: last - first]
                within = measure(
                    out, queries[i], rows.shape[0], rows, tiles[tile], vertex[first:last],
                    best, metric,
                )  # fmt: skip
                if within == 0:
                    continue
                for j in range(last - first):
                    if cost[first + j] >= best:
                        break
                    if out[j] < best:
                        best = max(cost[first + j], out[j])
                        winner[i] = vertex[first + j]
                        if out[j] < 0:  # it might have won, had its distance been defined
                            best = out[j]
                offer[i] = best
            if waiting == 0:
                break
