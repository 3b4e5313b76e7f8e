"""Compute the offers that seeds would receive if their own labels were unknown."""

import numpy as np

from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import borrow, kernel
from opforest.core.metrics.distances import between


@kernel
def free_seeds(state, seeds, tree, label, cost):
    """Write which label each seed would get from another one, and at which cost.

    A seed without its label would be joined, with its whole tree, to another tree by the shortest
    edge out of its own. That edge was refused when both of its ends had seeds already, so no step
    from there to the other seed is longer. Where there is no other seed, nothing is written.

    Parameters
    ----------
    state : State
        That of the forest, which is not changed.
    seeds : array of int
        Some of its seeds.
    tree : array of int32
        By vertex, for the place in ``seeds`` of the one that it has its label from.
    label, cost : arrays
        By seed; costs are infinite before.
    """
    state = borrow(state)
    vertices, way = state.vertices, state.way
    member = np.empty(16, np.int64)
    for i in range(seeds.shape[0]):
        member[0] = seeds[i]
        m, seen = 1, 0
        inner, outer = np.int64(-1), np.int64(-1)
        while seen < m:
            v = member[seen]
            seen += 1
            tree[v] = i
            u, length = np.int64(vertices[v].parent), vertices[v].weight
            next_one = np.int64(vertices[v].child)
            while True:
                if u >= 0 and way[u] == v:
                    member = append(member, m, u)
                    m += 1
                elif u >= 0 and way[v] != u and precedes(length, v, u, cost[i], inner, outer):
                    inner, outer, cost[i] = v, u, length
                    label[i] = vertices[u].label
                if next_one < 0:
                    break
                u, length = next_one, vertices[next_one].weight
                next_one = np.int64(vertices[next_one].after)


@kernel
def offer_of_other_trees(state, seeds, place, tree, offer, metric):
    """Write what other trees of its class offer each seed; infinity if there are none.

    ``place`` is what the vertices of its own tree have in ``tree``.
    """
    state = borrow(state)
    vertices, cost = state.vertices, state.cost
    for i in range(seeds.shape[0]):
        least, label = np.inf, vertices[seeds[i]].label
        for v in range(state.counters[0].size):
            if vertices[v].label == label and tree[v] != place[i] and cost[v] < least:
                least = min(least, max(cost[v], between(v, seeds[i], state.rows, metric)))
        offer[i] = least
