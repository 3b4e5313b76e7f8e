"""Compute the offers to a staged vertex before it is inserted."""

import numpy as np

from opforest.core.dynamic.candidates_scan import measure_from
from opforest.core.jit import borrow, kernel


@kernel
def measure_staged(arrays, z, metric):
    """Measure the staged vertex z against all others, into ``distances``; return its conqueror."""
    arrays = borrow(arrays)
    measure_from(arrays, z, z, np.inf, metric)
    distances, cost = arrays.distances, arrays.cost
    winner = -1
    best = np.inf
    for v in range(z):
        offer = max(cost[v], distances[v])
        if offer < best or (offer == best and winner >= 0 and cost[v] < cost[winner]):
            best, winner = offer, v
    return winner


@kernel
def offer_to_staged(arrays, z, offer):
    """Write each class's cheapest offer to the staged vertex z, which has been measured."""
    vertices, cost, distances = arrays.vertices, arrays.cost, arrays.distances
    for v in range(z):
        label = vertices[v].label
        value = max(cost[v], distances[v])
        if label >= 0 and value < offer[label]:
            offer[label] = value
