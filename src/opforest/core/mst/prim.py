"""Compute the minimum spanning tree of all examples by dense Prim in O(n) extra memory.

Edges are compared by (weight, smaller index, larger index). This is a total order, so the tree is
unique, even with ties and duplicates, and every algorithm that respects the order finds the same
one.
"""

from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest._utils.progress import advance
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, helper, kernel, specialize
from opforest.core.metrics.distances import (
    TILE,
    count_tiles,
    count_within,
    make_tiles,
    measure,
    smallest,
)  # fmt: skip
from opforest.core.metrics.types import is_separable
from opforest.core.records import Tree

#: How many vertices may be measured ahead of their turn.
AHEAD = 16

#: No bit pattern of a weight is larger, and no index.
INFINITE = np.iinfo(np.int64).max


class Frontier(NamedTuple):
    """The vertices outside the tree, by slot, and the best edge known from each to the tree."""

    tiles: np.ndarray  #: coordinates
    vertex: np.ndarray
    parent: np.ndarray
    weight: np.ndarray
    bits: np.ndarray  #: the same memory as integers, which sort alike and find minima faster
    lowest: np.ndarray  #: by tile: the smallest of its ``bits``
    #: Vertices that have been measured ahead of their turn, −1 for none. None if this never
    #: happens: kernels are then compiled without it.
    owner: np.ndarray | None
    ahead: np.ndarray  #: by owner: the distances from it, by slot
    scratch: np.ndarray  #: two rows of TILE distances, those of the second one infinite


def span(rows, metric) -> Tree:
    """Return the minimum spanning tree of the complete graph on ``rows``."""
    n = rows.shape[0]
    tree = make_root(rows)
    frontier = make_frontier(rows, np.arange(1, n), count_ahead(rows, n - 1, metric), metric)
    grow = specialize(_grow, metric)
    steps = max(1, tuning.values.work_per_call // rows.size)
    for begin in range(0, n - 1, steps):
        advance(1 - (1 - begin / n) ** 2)  # the fraction of distances that are done
        grow(rows, tree, frontier, begin, min(begin + steps, n - 1), metric)
    return tree


def make_root(rows) -> Tree:
    """Return a tree of vertex 0 alone, with room for all rows."""
    n = rows.shape[0]
    return Tree(np.full(n, -1), np.zeros(n, rows.dtype), np.zeros(n, np.int64))


def make_frontier(rows, outside, n_ahead, metric) -> Frontier:
    """Return a frontier of these vertices, without any known edge to the tree.

    Up to ``n_ahead`` vertices are measured ahead of their turn.
    """
    m = len(outside)
    weight = np.full(m, np.inf, rows.dtype)
    bits = weight.view(f"i{rows.itemsize}")
    return Frontier(
        tiles=make_tiles(rows, outside, metric),
        vertex=outside,
        parent=np.full(m, rows.shape[0]),
        weight=weight,
        bits=bits,
        lowest=bits[: count_tiles(m)].copy(),
        owner=np.full(n_ahead, -1) if n_ahead else None,
        ahead=np.empty((n_ahead, m), rows.dtype),
        scratch=np.full((2, TILE), np.inf, rows.dtype),
    )


def count_ahead(rows, m, metric):
    """Return how many vertices may be measured ahead of their turn against m others.

    If coordinates do not fit into the fast caches, fetching them takes longer than measuring. So a
    vertex is measured together with another one that will join the tree soon.
    """
    d = rows.shape[1]
    is_slow = is_separable(metric) and m * d * rows.itemsize > tuning.values.fast_cache and d >= 8
    return AHEAD if is_slow else 0


@helper
def _relax(weight, parent, distance, u):
    """Replace the known edges by those to ``u`` that precede them."""
    for j in range(weight.shape[0]):
        # Edges of one vertex and equal weight are ordered by their other ends.
        shorter = distance[j] < weight[j]
        takes = shorter | ((distance[j] == weight[j]) & (u < parent[j]))
        weight[j] = distance[j] if takes else weight[j]
        parent[j] = u if takes else parent[j]


@helper
def least_bits(frontier, m):
    """Return the bits of the smallest weight; INFINITE for m = 0."""
    return smallest(frontier.lowest[: count_tiles(m)], INFINITE)


@helper
def is_before(a, i, b, j):
    """Compare the edges in slot i of one frontier and in slot j of another."""
    return precedes(a.weight[i], a.vertex[i], a.parent[i], b.weight[j], b.vertex[j], b.parent[j])


@helper
def smallest_edge(frontier, m, least):
    """Return the slot of the first edge of those whose weights have the ``least`` bits."""
    bits, vertex, parent = frontier.bits, frontier.vertex, frontier.parent
    best = -1
    best_low = best_high = INFINITE
    for tile in range(count_tiles(m)):
        if frontier.lowest[tile] != least:
            continue
        for slot in range(tile * TILE, min(tile * TILE + TILE, m)):
            if bits[slot] == least:  # ``precedes`` for equal weights, which is faster here
                low, high = min(vertex[slot], parent[slot]), max(vertex[slot], parent[slot])
                if low < best_low or (low == best_low and high < best_high):
                    best, best_low, best_high = slot, low, high
    return best


@helper
def _fill_slot(frontier, slot, last):
    """Move the last vertex into a slot whose vertex has joined the tree."""
    tiles, vertex, parent, weight, bits, lowest, _, ahead, _ = frontier
    vertex[slot] = vertex[last]
    parent[slot] = parent[last]
    weight[slot] = weight[last]
    for k in range(tiles.shape[1]):
        tiles[slot // TILE, k, slot % TILE] = tiles[last // TILE, k, last % TILE]
    for i in range(ahead.shape[0]):
        ahead[i, slot] = ahead[i, last]
    for tile in (slot // TILE, last // TILE):
        lowest[tile] = smallest(bits[tile * TILE : min(tile * TILE + TILE, last)], INFINITE)


@helper
def _index_of(items, item):
    for i in range(items.shape[0]):
        if items[i] == item:
            return i
    return -1


@helper
def _soon_to_join(frontier, m):
    """Return the vertex with the smallest weight; −1 if there is none."""
    lowest = frontier.lowest[: count_tiles(m)]
    if m == 0:
        return -1
    tile = 0
    for other in range(1, lowest.shape[0]):
        if lowest[other] < lowest[tile]:
            tile = other
    slot = tile * TILE
    while frontier.bits[slot] != lowest[tile]:
        slot += 1
    return frontier.vertex[slot]


@helper
def offer_edges(rows, u, frontier, owner, m, peers, n_peers, metric):
    """Offer edges to ``u`` to the first m vertices of a frontier, whose field ``owner`` is given.

    If vertices may be measured ahead, one of the first ``n_peers`` vertices of the frontier
    ``peers``, whose turn will come soon, is measured on the way.
    """
    tiles, vertex, parent, weight, bits, lowest, _, ahead, scratch = frontier
    mine = free = w = -1
    if owner is not None:
        mine = _index_of(owner, u)  # if it has been measured ahead
        free = _index_of(owner, -1) if mine < 0 else -1
        w = _soon_to_join(peers, n_peers) if free >= 0 else -1
        if w >= 0 and _index_of(owner, w) >= 0:
            w = -1
    for tile in range(count_tiles(m)):
        first = tile * TILE
        last = min(first + TILE, m)
        out, limit, names = scratch[0, : last - first], weight[first:last], vertex[first:last]
        if owner is None or mine < 0:
            within = measure(out, rows[u], u, rows, tiles[tile], names, limit, metric)
        else:
            out = ahead[mine, first:last]
            within = count_within(out, limit)
        if owner is not None and w >= 0:
            later, no_limit = ahead[free, first:last], scratch[1, : last - first]
            measure(later, rows[w], w, rows, tiles[tile], names, no_limit, metric)
        if within:
            _relax(limit, parent[first:last], out, u)
            lowest[tile] = smallest(bits[first:last], INFINITE)
    if owner is not None and mine >= 0:
        owner[mine] = -1
    if owner is not None and w >= 0:
        owner[free] = w


@helper
def join(tree, step, frontier, slot, last):
    """Join the vertex in a slot to the tree as number ``step``, by its best edge."""
    v = frontier.vertex[slot]
    tree.order[step] = v
    tree.parent[v] = frontier.parent[slot]
    tree.weight[v] = frontier.weight[slot]
    _fill_slot(frontier, slot, last)


@kernel
def _grow(rows, tree, frontier, begin, end, metric):
    """Add the vertices number ``begin`` + 1 to ``end`` to the tree."""
    tree, frontier = borrow(tree), borrow(frontier)
    for step in range(begin, end):
        m = frontier.vertex.shape[0] - step
        offer_edges(rows, tree.order[step], frontier, frontier.owner, m, frontier, m, metric)
        slot = smallest_edge(frontier, m, least_bits(frontier, m))
        join(tree, step + 1, frontier, slot, m - 1)
