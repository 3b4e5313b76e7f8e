"""The nearest neighbours of all points: for all points of a leaf together, or by a scan."""

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.distances import TILE, count_tiles, distance, measure
from opforest.kernels.kdtree.boxes import HIGH, LOW, distance_to_box
from opforest.kernels.kdtree.fixed import LEAF, STACK


@kernel
def find_nearest(tree, leaves, near, reach, metric):
    """Find the neighbours of all points in some leaves.

    Parameters
    ----------
    near : array of shape (n_places, k)
        Takes the places of the k nearest others, by (distance, vertex); −1 where there are none.
    reach : array of shape (n_places,)
        Takes the distance of the last of them; infinity where there are less than k.
    """
    tree = borrow(tree)
    gaps = np.empty((LEAF, near.shape[1]), reach.dtype)
    corner = np.empty(tree.points.shape[1], reach.dtype)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, reach.dtype)
    lists = borrow((near, reach, gaps))
    lent = borrow((corner, stack, bound))
    for leaf in leaves:
        _search_from_leaf(leaf, tree, lists, lent[0], lent[1], lent[2], metric)
    gaps[0, 0] = corner[0] = stack[0] = bound[0] = 0  # their last use, and not before they are free


@helper
def _search_from_leaf(leaf, tree, lists, corner, stack, bound, metric):
    nodes, box, _, _ = tree
    near, reach, gaps = lists
    first = nodes[leaf].begin
    for i in range(first, nodes[leaf].end):
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i - first, slot] = np.inf
        reach[i] = np.inf
    farthest = _look_into(leaf, leaf, tree, lists, metric)
    stack[0], bound[0] = 0, 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > farthest or node == leaf:
            continue
        below = nodes[node].child
        if below < 0:
            farthest = _look_into(leaf, node, tree, lists, metric)
            continue
        gap = _gap_between(leaf, below, box, corner, metric)
        other = _gap_between(leaf, below + 1, box, corner, metric)
        nearer = below + (other < gap)
        stack[m], bound[m] = 2 * below + 1 - nearer, max(gap, other)
        stack[m + 1], bound[m + 1] = nearer, min(gap, other)
        m += 2


@helper
def _gap_between(a, b, box, corner, metric):
    """Return a distance than which no points of two nodes are nearer to each other."""
    for k in range(box.shape[2]):
        corner[k] = max(box[a, LOW, k], min(box[b, LOW, k], box[a, HIGH, k]))
    return distance_to_box(corner, box, b, metric)


@helper
def _look_into(leaf, node, tree, lists, metric):
    """Measure the points of a leaf against those of a node; return the largest reach."""
    nodes, box, vertex, points = tree
    near, reach, gaps = lists
    first, last = nodes[leaf].begin, nodes[leaf].end
    farthest = 0.0
    for i in range(first, last):
        x, limit = points[i], reach[i]
        if distance_to_box(x, box, node, metric) <= limit:
            for j in range(nodes[node].begin, nodes[node].end):
                gap = distance(x, points[j], metric)
                if gap <= limit and i != j:
                    limit = keep(near, gaps, i, i - first, vertex, j, gap)
            reach[i] = limit
        farthest = max(farthest, limit)
    return farthest


@kernel
def scan_for_nearest(rows, tiles, names, part, near, gaps, metric):
    """Find the neighbours of some points by looking at all of them.

    Parameters
    ----------
    names : array
        0, 1, 2 and so on.
    part : array
        The points whose neighbours are wanted.
    near, gaps : arrays of shape (n, k)
        Take the k nearest others, by (distance, index), and their distances.
    """
    out = np.empty(TILE, gaps.dtype)
    n = names.shape[0]
    for i in part:
        for slot in range(near.shape[1]):
            near[i, slot] = -1
            gaps[i, slot] = np.inf
        for tile in range(count_tiles(n)):
            first, last = tile * TILE, min(tile * TILE + TILE, n)
            limit = gaps[i, near.shape[1] - 1]
            found = out[: last - first]
            if measure(found, rows[i], i, rows, tiles[tile], first, limit, metric):
                for j in range(last - first):
                    if found[j] <= limit and first + j != i:
                        limit = keep(near, gaps, i, i, names, first + j, found[j])


@helper
def keep(near, gaps, i, row, vertex, j, gap):
    """Put j into the list of i by (distance, vertex); return the distance of its new last.

    Distances in the list stand in another row of ``gaps``; j should not be farther than the last.
    """
    slot = near.shape[1] - 1
    if gap == gaps[row, slot] and near[i, slot] >= 0 and vertex[j] > vertex[near[i, slot]]:
        return gap
    while slot > 0 and (
        gap < gaps[row, slot - 1]
        or (
            gap == gaps[row, slot - 1]
            and (near[i, slot - 1] < 0 or vertex[j] < vertex[near[i, slot - 1]])
        )
    ):
        near[i, slot], gaps[row, slot] = near[i, slot - 1], gaps[row, slot - 1]
        slot -= 1
    near[i, slot], gaps[row, slot] = j, gap
    return gaps[row, near.shape[1] - 1]
