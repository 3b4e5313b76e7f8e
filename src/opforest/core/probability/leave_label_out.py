"""Compute the offers that seeds would receive if their own labels were unknown."""

import numpy as np

from opforest.core.conquest.best_offers import insert_offer
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, kernel
from opforest.core.metrics.distances import between
from opforest.core.rooted_tree import edge_weight, first_neighbor, next_neighbor
from opforest.core.vertex_list import add, new_list


@kernel
def relabel_seeds(arrays, seeds, seed_of, label, cost):
    """Write which label each seed would get from another one, and at which cost.

    A seed without its label would be joined, with its whole tree, to another tree by the shortest
    edge out of its own. That edge was rejected when both of its ends had seeds, so no edge from
    there to the other seed is longer. If there is no other seed, nothing is written; costs are
    infinite before. ``seed_of`` takes, for each vertex of their trees, the position of its seed in
    ``seeds``.
    """
    arrays = borrow(arrays)
    vertices, seed_parent = arrays.vertices, arrays.seed_parent
    for i in range(seeds.shape[0]):
        found, n_visited = add(new_list(), seeds[i]), 0
        inner, outer = np.int64(-1), np.int64(-1)
        while n_visited < found[0]:
            n_visited += 1
            v = found[n_visited]
            seed_of[v] = i
            u = first_neighbor(vertices, v)
            while u >= 0:
                weight = edge_weight(vertices, v, u)
                if seed_parent[u] == v:
                    found = add(found, u)
                elif seed_parent[v] != u and precedes(weight, v, u, cost[i], inner, outer):
                    inner, outer, cost[i] = v, u, weight
                    label[i] = vertices[u].label
                u = next_neighbor(vertices, v, u)


@kernel
def find_offers_of_other_trees(arrays, seeds, position, seed_of, offer, metric):
    """Write the cheapest offer of other trees of its class to each seed; infinity if none.

    ``position`` is the entry in ``seed_of`` of the vertices of its own tree.
    """
    arrays = borrow(arrays)
    vertices, cost = arrays.vertices, arrays.cost
    for i in range(seeds.shape[0]):
        least, label = np.inf, vertices[seeds[i]].label
        for v in range(arrays.counters[0].size):
            if vertices[v].label == label and seed_of[v] != position[i] and cost[v] < least:
                least = min(least, max(cost[v], between(v, seeds[i], arrays.rows, metric)))
        offer[i] = least


@kernel
def find_voters_of_other_trees(arrays, seeds, position, seed_of, voter, offer, metric):
    """Write the best offers of the vertices in other trees to each seed, in order.

    ``voter`` and ``offer`` have a column for each and hold −1 and infinity before. ``position`` is
    the entry in ``seed_of`` of the vertices of its own tree.
    """
    arrays, (voter, offer) = borrow(arrays), borrow((voter, offer))
    vertices, cost, last_one = arrays.vertices, arrays.cost, voter.shape[1] - 1
    for i in range(seeds.shape[0]):
        for v in range(arrays.counters[0].size):
            limit, last = offer[i, last_one], voter[i, last_one]
            if vertices[v].label < 0 or seed_of[v] == position[i] or cost[v] > limit:
                continue
            value = max(cost[v], between(v, seeds[i], arrays.rows, metric))
            if value < limit or (value == limit and last >= 0 and cost[v] < cost[last]):
                insert_offer(offer[i], voter[i], value, v, cost)
