"""Conquerors of queries by an index: the same as by the scan, in far fewer steps.

Nobody in a node can offer less than the larger of its smallest cost and the distance to its box.
"""

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.boxes import distance_to_box
from opforest.kernels.distances import distance
from opforest.kernels.index import BUCKET, class_bit
from opforest.kernels.kdtree import STACK

#: Stands for all classes.
ANY = -1


def find_conquerors_in_tree(queries, state, index, wanted, metric):
    """Return the conqueror of each query among those of class ``wanted``, and its offer.

    Where there is none, the conqueror is −1 and the offer infinite.
    """
    winner = np.empty(len(queries), np.int64)
    offer = np.empty(len(queries), queries.dtype)
    _search(queries, state.cost, state.label, index, wanted, winner, offer, metric)
    return winner, offer


@kernel
def _search(queries, cost, label, index, wanted, winner, offer, metric):
    index = borrow(index)
    stack = np.empty(STACK, np.int64)
    bound = np.empty(STACK, queries.dtype)
    for i in range(queries.shape[0]):
        winner[i], offer[i] = _best(queries[i], cost, label, index, wanted, stack, bound, metric)


@helper
def _least_offer(x, cost, index, node, zero, metric):
    box = distance_to_box(x, index.low[node], index.high[node], zero, metric)
    return max(box, cost[index.first[node]]), box


@helper
def _best(x, cost, label, index, wanted, stack, bound, metric):
    bit = class_bit(wanted) if wanted != ANY else ~np.uint64(0)
    zero = x[0] - x[0]
    best, winner = zero + np.inf, np.int64(-1)
    stack[0], bound[0] = 0, zero
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > best or index.classes[node] & bit == 0:
            continue
        if bound[m] == best and not _is_before(cost, index.first[node], winner):
            continue
        below = np.int64(index.child[node])
        if below < 0:
            begin = (-1 - below) * BUCKET
            for place in range(begin, begin + index.count[node]):
                v = index.vertex[place]
                c = cost[v]
                if c > best or (wanted != ANY and label[v] != wanted):
                    continue
                value = max(c, distance(x, index.points[place], metric))
                if value < best or (value == best and _is_before(cost, v, winner)):
                    best, winner = value, np.int64(v)
            continue
        left, box_left = _least_offer(x, cost, index, below, zero, metric)
        right, box_right = _least_offer(x, cost, index, below + 1, zero, metric)
        # The better child is looked at first, so it goes on top of the stack.
        nearer = below + (right < left or (right == left and box_right < box_left))
        stack[m], bound[m] = 2 * below + 1 - nearer, right if nearer == below else left
        stack[m + 1], bound[m + 1] = nearer, left if nearer == below else right
        m += 2
    return winner, best


@helper
def _is_before(cost, u, v):
    """Tell whether u comes before v, which may be nobody, by (cost, index)."""
    return v >= 0 and (cost[u] < cost[v] or (cost[u] == cost[v] and u < v))
