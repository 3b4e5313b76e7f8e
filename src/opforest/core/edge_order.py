"""The total order on edges: weight, smaller index, larger index."""

from opforest.core.jit import helper


@helper
def precedes(weight, u, v, other_weight, other_u, other_v):
    """Compare two edges by (weight, smaller index, larger index)."""
    if weight != other_weight:
        return weight < other_weight
    low, other_low = min(u, v), min(other_u, other_v)
    if low != other_low:
        return low < other_low
    return max(u, v) < max(other_u, other_v)
