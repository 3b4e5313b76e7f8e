"""Find the nearest neighbors of queries in a k-d tree, and of queries or points by a scan."""

import numpy as np

from opforest.core.jit import borrow, kernel
from opforest.core.kdtree.neighbor_list import clear_list, insert_neighbor
from opforest.core.kdtree.static import STACK, push_children
from opforest.core.metrics.distances import TILE, count_tiles, distance, measure


@kernel
def search_for_queries(queries, kdtree, near, distances, metric):
    """Find the neighbors of queries in a k-d tree.

    ``near`` takes the k nearest points of the tree, by (distance, vertex), and ``distances`` their
    distances.
    """
    nodes, box, vertex, points = borrow(kdtree)
    queries, near, distances = borrow((queries, near, distances))
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, distances.dtype)
    for i in range(queries.shape[0]):
        x = queries[i]
        limit = clear_list(near, distances, i, i)
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = nodes[stack[m]]
            if bound[m] > limit:
                continue
            if node.child >= 0:
                m = push_children(node.child, box, x, stack, bound, m, metric)
                continue
            for j in range(node.begin, node.end):
                found = distance(points[j], x, metric)
                if found <= limit:
                    limit = insert_neighbor(near, distances, i, i, vertex, j, found)


@kernel
def scan_for_nearest(queries, first_index, rows, tiles, near, distances, metric):
    """Find the neighbors of queries by a scan of all points.

    ``first_index`` is the index of the first query, if the queries are some of the points, or the
    number of points. A point is not its own neighbor. ``near`` and ``distances`` are those of
    ``search_for_queries``.
    """
    n = rows.shape[0]
    near, distances = borrow((near, distances))
    vertex, out = np.arange(n), np.empty(TILE, distances.dtype)
    for i in range(queries.shape[0]):
        u = min(first_index + i, n)
        limit = clear_list(near, distances, i, i)
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            found = out[: last - first]
            if measure(found, queries[i], u, rows, tiles[tile], first, limit, metric):
                for j in range(last - first):
                    if found[j] <= limit and first + j != u:
                        limit = insert_neighbor(near, distances, i, i, vertex, first + j, found[j])
