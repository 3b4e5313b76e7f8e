"""Disjoint sets (union-find) in an array."""

from opforest.core.jit import helper


@helper
def find_group(group, i):
    """Return the thing that stands for the set of i; ``group`` leads there."""
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i
