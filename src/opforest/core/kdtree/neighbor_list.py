"""Sorted lists of the nearest neighbors found so far."""

import numpy as np

from opforest.core.jit import helper


@helper
def clear_list(near, distances, i, row):
    """Clear the list of i, whose distances are in another row; return the limit, infinity."""
    for slot in range(near.shape[1]):
        near[i, slot] = -1
        distances[row, slot] = np.inf
    return distances[row, 0]


@helper
def insert_neighbor(near, distances, i, row, vertex, j, distance):
    """Insert j into the list of i by (distance, vertex); return the distance of the last one.

    The distances of the list are in another row; j must not be farther than the last one.
    """
    slot = near.shape[1] - 1
    last = near[i, slot]
    if distance == distances[row, slot] and last >= 0 and vertex[j] > vertex[last]:
        return distance
    while slot > 0:
        to_before = distances[row, slot - 1]
        if distance > to_before:
            break
        before = near[i, slot - 1]
        if distance == to_before and before >= 0 and vertex[j] > vertex[before]:
            break
        near[i, slot], distances[row, slot] = before, to_before
        slot -= 1
    near[i, slot], distances[row, slot] = j, distance
    return distances[row, near.shape[1] - 1]
