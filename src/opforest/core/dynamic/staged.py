"""Compute the offers to a staged vertex before it is inserted."""

import numpy as np

from opforest.core.conquest.best_offers import insert_offer
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


@kernel
def insert_offers_to_staged(arrays, z, voter, offer):
    """Write the best offers to the staged vertex z, whose distances were measured, in order.

    ``voter`` and ``offer`` have one row. If there are fewer offers, −1 and infinity follow.
    """
    arrays, (voter, offer) = borrow(arrays), borrow((voter, offer))
    distances, cost = arrays.distances, arrays.cost
    last_one = voter.shape[1] - 1
    voter[:], offer[:] = -1, np.inf
    limit, last = offer[0, last_one], voter[0, last_one]
    for v in range(z):
        value = max(cost[v], distances[v])  # infinite for a deleted vertex
        if value < limit or (value == limit and last >= 0 and cost[v] < cost[last]):
            insert_offer(offer[0], voter[0], value, v, cost)
            limit, last = offer[0, last_one], voter[0, last_one]
