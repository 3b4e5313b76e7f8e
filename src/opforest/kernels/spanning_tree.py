"""The minimum spanning tree of all examples: dense Prim in O(n) extra memory.

Edges are compared by (weight, smaller index, larger index). That is a total order, so the tree is
unique, ties and duplicates included, and every algorithm that respects it finds the same one.
"""

from typing import NamedTuple

import numpy as np

from opforest._jit import helper, kernel, specialise
from opforest.kernels.distances import TILE, make_tiles, measure, smallest

#: About how many features one call of a kernel looks at, so that Ctrl-C is heard in between.
WORK_PER_CALL = 200_000_000


#: No bit pattern of a weight is larger.
INFINITE = np.iinfo(np.int64).max


class Tree(NamedTuple):
    """A spanning tree, rooted at ``order[0]``."""

    parent: np.ndarray  #: by vertex; −1 for the root
    weight: np.ndarray  #: by vertex: of the edge to the parent
    order: np.ndarray  #: vertices, parents before children


class Frontier(NamedTuple):
    """The vertices outside the tree, by slot, and the best edge known from each to the tree."""

    tiles: np.ndarray  #: coordinates
    vertex: np.ndarray
    parent: np.ndarray
    weight: np.ndarray
    bits: np.ndarray  #: the same memory as integers, which sort alike and find minima faster
    lowest: np.ndarray  #: by tile: the smallest of its ``bits``


def span(rows, metric) -> Tree:
    """Return the minimum spanning tree of the complete graph on ``rows``."""
    n = rows.shape[0]
    tree = Tree(np.full(n, -1), np.zeros(n, rows.dtype), np.zeros(n, np.int64))
    outside = np.arange(1, n)
    weight = np.full(n - 1, np.inf, rows.dtype)
    bits = weight.view(f"i{rows.itemsize}")
    frontier = Frontier(
        tiles=make_tiles(rows, outside, metric),
        vertex=outside,
        parent=np.full(n - 1, n),
        weight=weight,
        bits=bits,
        lowest=bits[: -(-(n - 1) // TILE)].copy(),
    )
    grow = specialise(_grow, metric)
    steps = max(1, WORK_PER_CALL // rows.size)
    for begin in range(0, n - 1, steps):
        grow(rows, tree, frontier, begin, min(begin + steps, n - 1), metric)
    return tree


@helper
def _relax(weight, parent, distance, u):
    """Give ``u`` to all for whom it is the better end."""
    for j in range(weight.shape[0]):
        # Among edges of one vertex and equal weight, the one with the smaller other end comes
        # first in the order of edges.
        shorter = distance[j] < weight[j]
        takes = shorter | ((distance[j] == weight[j]) & (u < parent[j]))
        weight[j] = distance[j] if takes else weight[j]
        parent[j] = u if takes else parent[j]


@helper
def _smallest_edge(frontier, m):
    """Return the slot of the smallest edge, by weight, then smaller, then larger index."""
    least = smallest(frontier.lowest[: (m + TILE - 1) // TILE], INFINITE)
    best = -1
    best_low = best_high = frontier.vertex.shape[0] + 1
    for tile in range((m + TILE - 1) // TILE):
        if frontier.lowest[tile] != least:
            continue
        for slot in range(tile * TILE, min(tile * TILE + TILE, m)):
            if frontier.bits[slot] == least:
                low = min(frontier.vertex[slot], frontier.parent[slot])
                high = max(frontier.vertex[slot], frontier.parent[slot])
                if low < best_low or (low == best_low and high < best_high):
                    best, best_low, best_high = slot, low, high
    return best


@helper
def _close_gap(frontier, slot, last):
    """Move the last vertex into a slot whose vertex has joined the tree."""
    tiles, vertex, parent, weight, bits, lowest = frontier
    vertex[slot] = vertex[last]
    parent[slot] = parent[last]
    weight[slot] = weight[last]
    for k in range(tiles.shape[1]):
        tiles[slot // TILE, k, slot % TILE] = tiles[last // TILE, k, last % TILE]
    for tile in (slot // TILE, last // TILE):
        lowest[tile] = smallest(bits[tile * TILE : min(tile * TILE + TILE, last)], INFINITE)


@kernel
def _grow(rows, tree, frontier, begin, end, metric):
    """Add the vertices number ``begin`` + 1 to ``end`` to the tree."""
    tiles, vertex, parent, weight, bits, lowest = frontier
    distance = np.empty(TILE, rows.dtype)
    for step in range(begin, end):
        u = tree.order[step]
        m = vertex.shape[0] - step
        for tile in range((m + TILE - 1) // TILE):
            first = tile * TILE
            last = min(first + TILE, m)
            out = distance[: last - first]
            limit = weight[first:last]
            if measure(out, rows[u], u, rows, tiles[tile], vertex[first:last], limit, metric):
                _relax(limit, parent[first:last], out, u)
                lowest[tile] = smallest(bits[first:last], INFINITE)
        slot = _smallest_edge(frontier, m)
        v = vertex[slot]
        tree.order[step + 1] = v
        tree.parent[v] = parent[slot]
        tree.weight[v] = weight[slot]
        _close_gap(frontier, slot, m - 1)
