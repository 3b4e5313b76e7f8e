"""Compute the offers to a staged vertex before it is inserted."""

import numpy as np

from opforest.core.dynamic.candidates_scan import measure_from
from opforest.core.jit import borrow, helper, kernel


@kernel
def measure_staged(state, z, metric):
    """Measure the staged vertex z against all others and return its conqueror.

    The distances stay in ``gap``.
    """
    state = borrow(state)
    measure_from(state, z, z, np.inf, metric)
    return _cheapest(state.gap[:z], state.cost[:z])


@helper
def _cheapest(gap, cost):
    winner = -1
    best = np.inf
    for v in range(gap.shape[0]):
        value = max(cost[v], gap[v])
        if value < best or (value == best and winner >= 0 and cost[v] < cost[winner]):
            best, winner = value, v
    return winner


@kernel
def offer_to_staged(state, z, offer):
    """Write each class's cheapest offer to the staged vertex z, which has been measured."""
    vertices, cost, gap = state.vertices, state.cost, state.gap
    for v in range(z):
        label = vertices[v].label
        value = max(cost[v], gap[v])
        if label >= 0 and value < offer[label]:
            offer[label] = value
