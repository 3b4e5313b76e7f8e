"""Conquerors of queries by a k-d tree: the same as by the scan, in far fewer steps.

Every node knows the smallest rank, by (cost, index), of the vertices in it. Nobody in it can offer
less than the larger of that vertex's cost and the distance to the box.
"""

from typing import NamedTuple

import numpy as np

from opforest._jit import helper, kernel
from opforest.kernels.distances import distance
from opforest.kernels.kdtree import STACK, KDTree, box_distance, build_kdtree


class RankedTree(NamedTuple):
    """A k-d tree of vertices with their ranks."""

    tree: KDTree
    rank: np.ndarray  #: by place
    cost: np.ndarray  #: by rank
    vertex: np.ndarray  #: by rank
    first: np.ndarray  #: by node: the smallest rank in it


def rank_in_tree(rows, vertex, cost) -> RankedTree:
    """Rank the vertices named in rising order by ``vertex``; ``cost`` is that of all vertices."""
    tree = build_kdtree(rows, vertex)
    ranked = vertex[np.argsort(cost[vertex], kind="stable")]
    rank_of = np.empty(len(cost), np.int64)
    rank_of[ranked] = np.arange(len(ranked))
    rank = rank_of[tree.vertex]
    return RankedTree(tree, rank, cost[ranked], ranked, _first_ranks(tree, rank))


@kernel
def _first_ranks(tree, rank):
    first = np.empty(tree.begin.shape[0], np.int64)
    for node in range(first.shape[0] - 1, -1, -1):
        below = tree.child[node]
        if below >= 0:
            first[node] = min(first[below], first[below + 1])
        else:
            first[node] = rank[tree.begin[node]]
            for place in range(tree.begin[node] + 1, tree.end[node]):
                first[node] = min(first[node], rank[place])
    return first


def find_conquerors_in_tree(queries, ranked, metric):
    """Return the conqueror of each query and its offer."""
    winner = np.empty(len(queries), np.int64)
    offer = np.empty(len(queries), queries.dtype)
    _search(queries, ranked, winner, offer, metric)
    return winner, offer


@kernel
def _search(queries, ranked, winner, offer, metric):
    stack = np.empty(STACK, np.int64)
    bound = np.empty(STACK, queries.dtype)
    for i in range(queries.shape[0]):
        rank, offer[i] = _best_rank(queries[i], ranked, stack, bound, metric)
        winner[i] = ranked.vertex[rank]


@helper
def _least_offer(x, ranked, node, zero, metric):
    box = box_distance(x, ranked.tree.low[node], ranked.tree.high[node], zero, metric)
    return max(box, ranked.cost[ranked.first[node]]), box


@helper
def _best_rank(x, ranked, stack, bound, metric):
    tree, rank, cost, _, first = ranked
    zero = x[0] - x[0]
    best, best_rank = zero + np.inf, rank.shape[0]
    stack[0], bound[0] = 0, zero
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > best or (bound[m] == best and first[node] >= best_rank):
            continue
        below = tree.child[node]
        if below < 0:
            for place in range(tree.begin[node], tree.end[node]):
                c = cost[rank[place]]
                if c > best:
                    continue
                value = max(c, distance(x, tree.points[place], metric))
                if value < best or (value == best and rank[place] < best_rank):
                    best, best_rank = value, rank[place]
            continue
        left, box_left = _least_offer(x, ranked, below, zero, metric)
        right, box_right = _least_offer(x, ranked, below + 1, zero, metric)
        # The better child is looked at first, so it goes on top of the stack.
        nearer = below + (right < left or (right == left and box_right < box_left))
        stack[m], bound[m] = 2 * below + 1 - nearer, right if nearer == below else left
        stack[m + 1], bound[m + 1] = nearer, left if nearer == below else right
        m += 2
    return best_rank, best
