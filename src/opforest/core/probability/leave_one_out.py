"""Compute the offers that prototypes receive from the other examples of their classes."""

import numpy as np

from opforest.core.jit import kernel
from opforest.core.metrics.distances import between
from opforest.core.rooted_tree import edge_weight, first_neighbor, next_neighbor


@kernel
def find_nearest_offers(vertices, chosen, offer):
    """Write the cheapest offer of its class to each chosen prototype, if the tree determines it.

    The shortest edge of a prototype leads to its nearest neighbor, so no offer is smaller. If the
    neighbor is of the same class, it costs no more than the edge, which is its offer. Otherwise the
    offer is unknown: infinity.
    """
    for i in range(chosen.shape[0]):
        v = chosen[i]
        nearest = within = np.inf
        u = first_neighbor(vertices, v)
        while u >= 0:
            weight = np.float64(edge_weight(vertices, v, u))
            nearest = min(nearest, weight)
            if vertices[u].label == vertices[v].label:
                within = min(within, weight)
            u = next_neighbor(vertices, v, u)
        offer[i] = within if within == nearest else np.inf


@kernel
def offer_to_each_other(vertex, rows, offer, metric):
    """Lower the offers to prototypes of one class to those that they make each other."""
    for i in range(vertex.shape[0]):
        for j in range(i):
            value = between(vertex[j], vertex[i], rows, metric)
            offer[i], offer[j] = min(offer[i], value), min(offer[j], value)
