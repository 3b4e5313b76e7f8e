"""Find the conquerors of queries in a k-d tree, with the same results as the scan.

No vertex in a node can offer less than the maximum of the node's smallest cost and the distance to
its bounding box.
"""

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.dynamic import BUCKET, class_bit
from opforest.core.kdtree.static import STACK
from opforest.core.metrics.distances import distance

#: Stands for all classes.
ANY = -1


def find_conquerors_in_tree(queries, state, index, wanted, metric):
    """Return the conqueror of each query among those of class ``wanted``, and its offer.

    Where there is none, the conqueror is −1 and the offer infinite.
    """
    winner = np.empty(len(queries), np.int64)
    offer = np.empty(len(queries), queries.dtype)
    _search(queries, state.vertices, state.cost, index, wanted, winner, offer, metric)
    return winner, offer


@kernel
def _search(queries, vertices, cost, index, wanted, winner, offer, metric):
    nodes, _, box, vertex, points, _, _, _ = borrow(index)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, queries.dtype)
    bit = class_bit(wanted) if wanted != ANY else ~np.uint64(0)
    for i in range(queries.shape[0]):
        x = queries[i]
        best, champion = np.inf, np.int64(-1)
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = nodes[stack[m]]
            if bound[m] > best or node.classes & bit == 0:
                continue
            if bound[m] == best and not _is_before(cost, node.first, champion):
                continue
            below = np.int64(node.child)
            if below >= 0:
                m = _push_children(below, nodes, box, cost, x, stack, bound, m, metric)
                continue
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + node.count):
                v = np.int64(vertex[place])
                c = cost[v]
                if c > best or (wanted != ANY and vertices[v].label != wanted):
                    continue
                value = max(c, distance(x, points[place], metric))
                if value < best or (value == best and _is_before(cost, v, champion)):
                    best, champion = value, v
        winner[i], offer[i] = champion, best


@helper
def _push_children(below, nodes, box, cost, x, stack, bound, m, metric):
    """Put two children on the stack, the better one on top; return its height."""
    box_left = distance_to_box(x, box, below, metric)
    box_right = distance_to_box(x, box, below + 1, metric)
    left = max(box_left, cost[nodes[below].first])
    right = max(box_right, cost[nodes[below + 1].first])
    nearer = below + (right < left or (right == left and box_right < box_left))
    stack[m], bound[m] = 2 * below + 1 - nearer, max(left, right)
    stack[m + 1], bound[m + 1] = nearer, min(left, right)
    return m + 2


@helper
def _is_before(cost, u, v):
    """Tell whether u comes before v, which may be nobody, by (cost, index)."""
    return v >= 0 and (cost[u] < cost[v] or (cost[u] == cost[v] and u < v))
