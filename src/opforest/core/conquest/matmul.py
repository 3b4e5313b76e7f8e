"""Find the conquerors of many queries by matrix products, with the same results as the scan.

This is faster than the scan if there are many features. A matrix product estimates squared
distances, ‖a − b‖² = ‖a‖² + ‖b‖² − 2 a·b, in blocks of queries times vertices, by increasing cost.
Estimates are lowered enough that rounding cannot make them exceed the measured distance, and every
vertex that might win according to its estimate is measured.

Why no estimate is too high: let u be the unit roundoff, γ(k) = k u / (1 − k u), a = s − m and
b = t − m the centered query and vertex as rounded, p = ‖a‖² and q = ‖b‖². All of this holds for any
center m, any order of summation, with and without fused operations.

- The measured distance is at least (1 − γ(d + 2)) ‖s − t‖². The estimate is lowered by this factor.
- Centering rounds a coordinate by at most u of itself, so that a − b is off by no more than
  u' (‖a‖ + ‖b‖), u' = u / (1 − u), and ‖s − t‖² ≥ ‖a − b‖² − 4 u' (p + q).
- The product errs by at most γ(d + 2) (p + q), for 2 Σ|a b| ≤ p + q; the 2 covers the factor.
- The norms err by γ(d) of themselves, and by 3 u in being lowered.
- The last two sums err by 3 u (p + q).

Together that is (2 d + 12) u (p + q) and terms of higher order, less than (1.25 d + 8) ε (p + q)
with ε = 2 u as long as d ε ≤ 1/4; norms are lowered by this much. Likewise γ(d + 2) < (d + 4) ε.
Where numbers underflow, and even if they are flushed to 0, the total error is less than 16 d times
the smallest normal number, and each norm is lowered by half of that. Where numbers might overflow,
the estimate is −∞.
"""

from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest.core.conquest.best_offers import insert_offer
from opforest.core.conquest.scan import find_conquerors
from opforest.core.jit import borrow, helper, kernel
from opforest.core.metrics.distances import distance, smallest
from opforest.core.metrics.matmul import center_points, shrink_factor

#: A center is the mean of about this many vertices.
SAMPLE = 1024

#: A query that has been measured against ``search_patience`` vertices, and this fraction of all, is
#: left to the scan, which measures many at once: its estimates are too rough.
PATIENCE_FRACTION = 1 / 32


class Queries(NamedTuple):
    """Queries, ready to be multiplied."""

    rows: np.ndarray
    points: np.ndarray  #: centered
    norm: np.ndarray  #: lower bounds on their squared norms


class SearchResult(NamedTuple):
    """The best offers to each query so far, in k columns."""

    place: np.ndarray  #: in the ranking
    offer: np.ndarray
    bits: np.ndarray  #: of the offers: the same memory as integers, which sort alike
    cost: np.ndarray  #: by place
    measured: np.ndarray  #: how many vertices have been measured


class Block(NamedTuple):
    """A few vertices by rising cost."""

    first: int  #: place of the first one in the ranking
    cost: np.ndarray
    rows: np.ndarray  #: a copy, which stays in the cache
    points: np.ndarray  #: centered
    norm: np.ndarray


def find_conquerors_by_matmul(queries, rows, ranking, metric, k=1):
    """Return the k best vertices and offers, as the scan does, in squared Euclidean distance."""
    vertex, cost = ranking.vertex, ranking.cost
    n, m, block_size = len(vertex), len(queries), tuning.values.search_block
    offer, place = np.full((m, k), np.inf, rows.dtype), np.full((m, k), -1, np.int64)
    measured = np.zeros(m, np.int64)
    result = SearchResult(place, offer, offer.view(f"i{rows.itemsize}"), cost, measured)
    patience = tuning.values.search_patience + int(PATIENCE_FRACTION * n)
    waiting = np.arange(m)
    with np.errstate(all="ignore"):
        center = rows[vertex[:: 1 + n // SAMPLE]].mean(axis=0)
        points, norm = center_points(queries, center)
        points *= -2 * shrink_factor(points)
        batch = Queries(queries, points, norm)
        for first in range(0, n, block_size):
            waiting = waiting[(cost[first] < offer[waiting, -1]) & (measured[waiting] < patience)]
            if not len(waiting):
                break
            part = slice(first, first + block_size)
            near = rows[vertex[part]]
            block = Block(first, cost[part], near, *center_points(near, center))
            product = np.empty((block_size, len(near)), rows.dtype)
            bits = product.view(result.bits.dtype)
            for begin in range(0, len(waiting), block_size):
                chosen = waiting[begin : begin + block_size]
                np.matmul(batch.points[chosen], block.points.T, out=product[: len(chosen)])
                _measure_promising(product, bits, block, chosen, batch, result, metric)
    place[:, 0] = np.maximum(place[:, 0], 0)  # even a conqueror at infinity is a vertex
    winner = np.where(place >= 0, vertex[place], -1)
    rough = np.flatnonzero(measured >= patience)
    if len(rough):
        winner[rough], offer[rough] = find_conquerors(queries[rough], rows, ranking, metric, k)
    return winner, offer


@kernel
def _measure_promising(product, bits, block, chosen, batch, result, metric):
    """Measure all pairs of a chosen query and a vertex of the block that might win."""
    block, batch, result = borrow(block), borrow(batch), borrow(result)
    last_one = result.offer.shape[1] - 1
    for k in range(chosen.shape[0]):
        i = chosen[k]
        least = product[k]  # a lower bound on each vertex's offer
        _add_norms(least, batch.norm[i], block.norm, block.cost)
        while True:  # the most promising one first: after it, most others need not be measured
            limit = result.bits[i, last_one]
            lowest = smallest(bits[k], limit + 1)
            if lowest > limit:
                break
            promising = 0
            while bits[k, promising] != lowest:
                promising += 1
            _measure(i, promising, block, batch.rows, result, metric)
            least[promising] = np.nan  # its bits exceed those of all numbers


@helper
def _add_norms(product, own_norm, norm, cost):
    for j in range(product.shape[0]):
        estimate = product[j] + (own_norm + norm[j])
        product[j] = estimate if estimate > cost[j] else cost[j]  # the cost also if it is NaN


@helper
def _measure(i, j, block, queries, result, metric):
    """Measure query i and vertex j of the block, and keep the offer if it is good enough."""
    offers, places = result.offer[i], result.place[i]
    last_one = offers.shape[0] - 1
    offer = max(block.cost[j], distance(queries[i], block.rows[j], metric))
    place, limit = block.first + j, offers[last_one]
    if offer < limit or (offer == limit and place < places[last_one]):
        insert_offer(offers, places, offer, place, result.cost)
    result.measured[i] += 1
