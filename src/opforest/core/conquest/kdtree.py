"""Find the conquerors of queries in a k-d tree, with the same results as the scan.

No vertex in a node can offer less than the maximum of the node's smallest cost and the distance to
its bounding box.
"""

import numpy as np

from opforest.core.conquest.best_offers import find_next, is_before, sort_all_offers
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.dynamic import BUCKET, class_bit
from opforest.core.kdtree.static import STACK, push_pair
from opforest.core.metrics.distances import distance

#: Stands for all classes.
ANY = -1


def find_conquerors_in_kdtree(queries, arrays, index, wanted, metric, k=1):
    """Return the vertices of class ``wanted`` that make the k best offers, and their offers.

    Both have k columns, the first of which is the conqueror. If there are fewer than k, −1 and
    infinity follow.
    """
    winner = np.empty((len(queries), k), np.int64)
    offer = np.empty((len(queries), k), queries.dtype)
    bits = offer.view(f"i{offer.itemsize}") if k > 1 else None
    tree, found = (index.nodes, index.box, index.vertex, index.points), (winner, offer)
    _search(queries, arrays.vertices, arrays.cost, tree, wanted, found, bits, metric)
    if k > 1:
        sort_all_offers(bits, winner, arrays.cost)
    return winner, offer


@kernel
def _search(queries, vertices, cost, tree, wanted, found, bits, metric):
    """Write the best offers into vertices and offers, unsorted.

    ``bits`` are those of the offers, the same memory, or None if only one is wanted: the kernel is
    then compiled without what only several need.
    """
    nodes, box, vertex, points = borrow(tree)
    winner, offer = borrow(found)
    k = winner.shape[1]
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, queries.dtype)
    bit = class_bit(wanted) if wanted != ANY else ~np.uint64(0)
    for i in range(queries.shape[0]):
        x, offers, champions = queries[i], offer[i], winner[i]
        for j in range(k):
            offers[j], champions[j] = np.inf, -1
        limit, last = np.inf, np.int64(-1)
        at = 0
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = nodes[stack[m]]
            if bound[m] > limit or node.classes & bit == 0:
                continue
            if bound[m] == limit and not is_before(cost, np.int64(node.first), last):
                continue
            below = np.int64(node.child)
            if below >= 0:
                m = _push_children(below, nodes, box, cost, x, stack, bound, m, metric)
                continue
            begin = (-1 - below) * BUCKET
            for slot in range(begin, begin + node.count):
                v = np.int64(vertex[slot])
                c = cost[v]
                if c > limit or (wanted != ANY and vertices[v].label != wanted):
                    continue
                value = max(c, distance(x, points[slot], metric))
                if value < limit or (value == limit and is_before(cost, v, last)):
                    offers[at], champions[at] = value, v
                    if bits is None:
                        limit, last = value, v
                    else:
                        at = find_next(bits[i], champions, at, cost)
                        limit, last = offers[at], champions[at]


@helper
def _push_children(below, nodes, box, cost, x, stack, bound, m, metric):
    """Push two children, the better one on top; return the new size of the stack."""
    box_left = distance_to_box(x, box, below, metric)
    box_right = distance_to_box(x, box, below + 1, metric)
    left = max(box_left, cost[nodes[below].first])
    right = max(box_right, cost[nodes[below + 1].first])
    is_right_first = right < left or (right == left and box_right < box_left)
    return push_pair(below, left, right, is_right_first, stack, bound, m)
