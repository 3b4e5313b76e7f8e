"""Disjoint sets (union-find) in an array."""

from opforest.core.jit import helper


@helper
def find_group(group, i):
    """Return the representative of the set of i, and halve the path to it."""
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i
