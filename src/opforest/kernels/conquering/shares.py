"""Probabilities: the share of each class in the inverse costs."""

import numpy as np

from opforest._jit import kernel


@kernel
def share_inverse_costs(cost, winner):
    """Return the share of each class in the inverse costs, row by row.

    An offer of 0 takes all; where several classes offer the least, they share. If another class
    ties with the winner, the winner is given the next larger number.
    """
    share = np.empty(cost.shape)
    for i in range(cost.shape[0]):
        least = np.float64(cost[i, winner[i]])
        total = 0.0
        for k in range(cost.shape[1]):
            share[i, k] = least / cost[i, k] if cost[i, k] > least else 1.0
            total += share[i, k]
        largest = 1.0 / total
        tied = 0
        for k in range(cost.shape[1]):
            share[i, k] /= total
            tied += share[i, k] == largest
        if tied > 1:
            share[i, winner[i]] = np.nextafter(largest, 2.0)
    return share
