"""Find the nearest neighbors of queries, in a k-d tree or by a scan."""

import numpy as np

from opforest.core.jit import borrow, kernel
from opforest.core.kdtree.all_knn import keep
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.static import STACK
from opforest.core.metrics.distances import TILE, count_tiles, distance, measure


@kernel
def search_for_queries(queries, tree, near, gaps, metric):
    """Find the neighbors of queries in a k-d tree.

    Parameters
    ----------
    near, gaps : arrays of shape (n_queries, k)
        Take the places of the k nearest points, by (distance, vertex), and their distances.
    """
    nodes, box, vertex, points = borrow(tree)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, gaps.dtype)
    for i in range(queries.shape[0]):
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i, slot] = np.inf
        limit = gaps[i, 0]
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = stack[m]
            if bound[m] > limit:
                continue
            below = nodes[node].child
            if below < 0:
                for j in range(nodes[node].begin, nodes[node].end):
                    gap = distance(points[j], queries[i], metric)
                    if gap <= limit:
                        limit = keep(near, gaps, i, i, vertex, j, gap)
                continue
            gap = distance_to_box(queries[i], box, below, metric)
            other = distance_to_box(queries[i], box, below + 1, metric)
            nearer = below + (other < gap)
            stack[m], bound[m] = 2 * below + 1 - nearer, max(gap, other)
            stack[m + 1], bound[m + 1] = nearer, min(gap, other)
            m += 2


@kernel
def scan_for_queries(queries, rows, tiles, names, near, gaps, metric):
    """Find the neighbors of queries by looking at all points.

    ``names`` are 0, 1, 2 and so on; ``near`` and ``gaps`` are as in ``search_for_queries``.
    """
    out = np.empty(TILE, gaps.dtype)
    n = names.shape[0]
    for i in range(queries.shape[0]):
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i, slot] = np.inf
        limit = gaps[i, 0]
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            found = out[: last - first]
            if measure(found, queries[i], n, rows, tiles[tile], first, limit, metric):
                for j in range(last - first):
                    if found[j] <= limit:
                        limit = keep(near, gaps, i, i, names, first + j, found[j])
