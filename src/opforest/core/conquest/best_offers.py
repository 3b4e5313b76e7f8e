"""Keep the best offers to a query, in order: by offer, then by cost, then by place.

A place is an index of the array of costs: a vertex, or a position in a ranking.
"""

from opforest.core.jit import helper


@helper
def is_before(cost, u, v):
    """Return whether u precedes v by (cost, place); not if v is −1."""
    return v >= 0 and (cost[u] < cost[v] or (cost[u] == cost[v] and u < v))


@helper
def insert_offer(offers, places, offer, place, cost):
    """Insert an offer that precedes the last one of a query, which is dropped."""
    j = offers.shape[0] - 1
    while j > 0 and offer <= offers[j - 1]:
        if offer == offers[j - 1] and not is_before(cost, place, places[j - 1]):
            break
        offers[j], places[j] = offers[j - 1], places[j - 1]
        j -= 1
    offers[j], places[j] = offer, place
