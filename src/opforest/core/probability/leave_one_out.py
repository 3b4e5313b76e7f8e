"""Compute the offers that prototypes receive from the other examples of their classes."""

import numpy as np

from opforest.core.jit import kernel
from opforest.core.metrics.distances import between


@kernel
def offer_of_nearest(vertices, chosen, offer):
    """Write what the others of its class offer a chosen prototype, where the tree tells.

    Its shortest edge leads to its nearest neighbor, so nobody offers less than that. If the
    neighbor is of the same class, it costs no more than the edge, and offers just that.
    Else the offer is infinite: it is not known.
    """
    for i in range(chosen.shape[0]):
        v = chosen[i]
        nearest = within = np.inf
        if vertices[v].parent >= 0:
            nearest = np.float64(vertices[v].weight)
            if vertices[vertices[v].parent].label == vertices[v].label:
                within = nearest
        u = vertices[v].child
        while u >= 0:
            weight = np.float64(vertices[u].weight)
            nearest = min(nearest, weight)
            if vertices[u].label == vertices[v].label:
                within = min(within, weight)
            u = vertices[u].after
        offer[i] = within if within == nearest else np.inf


@kernel
def offer_to_each_other(vertex, rows, offer, metric):
    """Lower the offers to prototypes of one class to what they offer each other."""
    for i in range(vertex.shape[0]):
        for j in range(i):
            value = between(vertex[j], vertex[i], rows, metric)
            offer[i], offer[j] = min(offer[i], value), min(offer[j], value)
