"""Keep the best offers to a query, in order: by offer, then by cost, then by place.

A place is an index of the array of costs: a vertex, or a position in a ranking. At first all offers
are infinite, and their places −1.

Insertion keeps a list sorted. It is faster to replace the last offer, wherever it is in the list,
and to sort the list at the end: as integers, the bits of offers, which are not negative, sort like
the offers, and the compiler compares several at once.
"""

import numpy as np

from opforest.core.jit import helper, kernel


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


@helper
def find_next(bits, places, at, cost):
    """Return where the last offer is now that the one at ``at`` has been replaced.

    ``bits`` are those of the offers, the same memory. The first call has ``at`` = 0.
    """
    if at + 1 < places.shape[0] and places[at + 1] < 0:
        return at + 1
    return find_last_offer(bits, places, cost)


@helper
def find_last_offer(bits, places, cost):
    """Return where the last one is among offers in no order, given by their bits."""
    if bits.shape[0] == 1:
        return 0
    most = bits[0]
    for j in range(bits.shape[0]):
        most = bits[j] if bits[j] > most else most
    last, n_equal = 0, 0
    for j in range(bits.shape[0]):
        last += j if bits[j] == most else 0
        n_equal += bits[j] == most
    if n_equal > 1:
        last = -1
        for j in range(bits.shape[0]):
            if bits[j] == most and (last < 0 or is_before(cost, places[last], places[j])):
                last = j
    return last


@kernel
def sort_all_offers(bits, places, cost):
    """Sort the offers to each query, given by their bits; infinite ones come last already."""
    own_bits, own_places = np.empty(bits.shape[1], bits.dtype), np.empty(bits.shape[1], np.int64)
    for i in range(bits.shape[0]):
        _sort_offers(bits[i], places[i], cost, own_bits, own_places)


@helper
def _sort_offers(bits, places, cost, own_bits, own_places):
    """Sort offers, given by their bits, by counting those before each; the last two are scratch."""
    n, total = bits.shape[0], 0
    for i in range(n):
        own_bits[i], own_places[i] = bits[i], places[i]
    for i in range(n):
        rank = 0
        for j in range(n):
            rank += own_bits[j] < own_bits[i]
        bits[rank], places[rank] = own_bits[i], own_places[i]
        total += rank
    if 2 * total < n * (n - 1):  # some are equal
        for i in range(n):
            offer, place, rank = own_bits[i], own_places[i], 0
            for j in range(n):
                is_tie = own_bits[j] == offer
                rank += own_bits[j] < offer or (is_tie and is_before(cost, own_places[j], place))
            bits[rank], places[rank] = offer, place
