"""Compute the minimum spanning tree of the edges between two blocks of examples by dense Prim.

A vertex that joins the tree is measured only against the vertices of the other block, so each pair
is measured once. Edges are compared as in ``prim``.
"""

import numpy as np

from opforest._utils import tuning
from opforest._utils.progress import advance
from opforest.core.jit import borrow, kernel, specialize
from opforest.core.mst import prim
from opforest.core.records import Tree


def span_bipartite(rows, split, metric) -> Tree:
    """Return the minimum spanning tree of all edges between the first ``split`` rows and the rest.

    There must be rows on both sides.
    """
    n = rows.shape[0]
    tree = prim.make_root(rows)
    n_ahead = prim.count_ahead(rows, max(split, n - split), metric)
    left = prim.make_frontier(rows, np.arange(1, split), n_ahead, metric)
    right = prim.make_frontier(rows, np.arange(split, n), n_ahead, metric)
    outside = np.array([split - 1, n - split])
    grow = specialize(_grow, metric)
    steps = max(1, tuning.values.work_per_call // rows.size)
    for begin in range(0, n - 1, steps):
        advance(begin / n)
        grow(rows, tree, left, right, outside, begin, min(begin + steps, n - 1), metric)
    return tree


@kernel
def _grow(rows, tree, left, right, outside, begin, end, metric):
    """Add the vertices number ``begin`` + 1 to ``end`` to the tree.

    The frontiers hold the vertices of each block outside the tree; ``outside`` counts them.
    """
    tree, left, right = borrow(tree), borrow(left), borrow(right)
    split = left.vertex.shape[0] + 1
    for step in range(begin, end):
        u = tree.order[step]
        side = 0 if u < split else 1
        own, other = (left, right) if side == 0 else (right, left)
        prim.offer_edges(rows, u, other, other.owner, outside[1 - side], own, outside[side], metric)
        a, b = prim.least_bits(left, outside[0]), prim.least_bits(right, outside[1])
        i = prim.smallest_edge(left, outside[0], a) if a <= b else -1
        j = prim.smallest_edge(right, outside[1], b) if b <= a else -1
        side = 0 if j < 0 or (i >= 0 and prim.is_before(left, i, right, j)) else 1
        outside[side] -= 1
        own, slot = (left, i) if side == 0 else (right, j)
        prim.join(tree, step + 1, own, slot, outside[side])
