"""Convert the costs of classes to probabilities by a power law, and fit its exponent."""

import math

import numpy as np

from opforest.core.jit import helper, kernel

#: Terms of exp(−40) are lost to rounding beside 1.
NEGLIGIBLE = 40.0


@kernel
def softmin(cost, winner, known, exponent, floor):
    """Return probabilities proportional to max(cost, floor) ** −exponent, row by row.

    Classes tied for the smallest cost get equal probability; at cost 0 without a floor, they get
    all of it. If another class ties with the winner, the winner gets the next larger number. A
    class that is not ``known``, because it has no examples, gets 0, even if a known one is
    infinitely far away.
    """
    out = np.empty(cost.shape)
    for i in range(cost.shape[0]):
        least = max(np.float64(cost[i, winner[i]]), floor)
        total = 0.0
        for k in range(cost.shape[1]):
            out[i, k] = (least / cost[i, k]) ** exponent if cost[i, k] > least else 1.0
            if not known[i, k]:
                out[i, k] = 0.0
            total += out[i, k]
        largest = 1.0 / total
        tied = 0
        for k in range(cost.shape[1]):
            out[i, k] /= total
            tied += out[i, k] == largest
        if tied > 1:
            out[i, winner[i]] = np.nextafter(largest, 2.0)
    return out


@kernel
def log_softmin(cost, winner, known, exponent, floor):
    """Return the logarithms of the probabilities of ``softmin``, even of those that underflow."""
    out = np.empty(cost.shape)
    for i in range(cost.shape[0]):
        least = max(np.float64(cost[i, winner[i]]), floor)
        total = 0.0
        for k in range(cost.shape[1]):
            out[i, k] = exponent * _log_ratio(least, cost[i, k]) if cost[i, k] > least else 0.0
            if not known[i, k]:
                out[i, k] = -np.inf
            total += math.exp(out[i, k])
        largest = -math.log(total)
        tied = 0
        for k in range(cost.shape[1]):
            out[i, k] += largest
            tied += out[i, k] == largest
        if tied > 1:
            out[i, winner[i]] = np.nextafter(largest, 1.0)
    return out


@helper
def _log_ratio(a, b):
    """Return log(a / b), even if the ratio underflows."""
    ratio = a / b
    if ratio > 1e-300 or a == 0.0 or b == np.inf:
        return math.log(ratio)
    return math.log(a) - math.log(b)


@kernel
def find_exponent(excess, own, least, most):
    """Return the exponent of maximum likelihood, between ``least`` and ``most``.

    ``excess[i, k]`` is the logarithm of the cost of class k to example i relative to its cheapest
    class, so the probability of class k is proportional to exp(−exponent · excess[i, k]). The log-
    likelihood is concave; its slope is the expected excess of the examples minus that of their
    own classes. The slope is 0 where the logarithms of both are equal. These are nearly linear, so
    Newton's method, started at 1, takes few steps; if a step leaves the bracket, it is bisected.

    One artificial example regularizes the result: distributed over all examples, it belongs to
    their cheapest class and to the next one with equal probability. Otherwise there would be no
    maximum if all examples were classified correctly. Some of ``excess`` must be positive and
    finite.
    """
    n = excess.shape[0]
    found = 0.0
    for i in range(n):
        found += excess[i, own[i]] + 0.5 * _next_cheapest(excess[i]) / n
    low, high, guess = 0.0, np.inf, 1.0
    for _ in range(200):
        expected, curvature = _expect(guess, excess)
        if expected > found:
            low = guess
        else:
            high = guess
        if low == most or high == least:
            break
        better = least
        if curvature < 0:
            better = guess - math.log(expected / found) * expected / curvature
            better = min(max(better, least), most)
        if not low < better < high:
            better = math.sqrt(max(low, least) * min(high, most))
        if abs(better - guess) <= 1e-13 * guess:
            break
        guess = better
    return guess


@helper
def _next_cheapest(excess):
    """Return the smallest of the finite numbers above 0; 0 if there is none."""
    least = np.inf
    for value in excess:
        if 0 < value < least:
            least = value
    return least if least < np.inf else 0.0


@helper
def _expect(exponent, excess):
    """Return the expected excess of all examples, and its derivative by the exponent."""
    n = excess.shape[0]
    expected = curvature = 0.0
    for i in range(n):
        total = mean = square = 0.0
        for k in range(excess.shape[1]):
            value = excess[i, k]
            if exponent * value < NEGLIGIBLE:
                weight = math.exp(-exponent * value)
                total += weight
                mean += weight * value
                square += weight * value * value
        mean /= total
        expected += mean
        curvature -= square / total - mean * mean
    return (1 + 1 / n) * expected, (1 + 1 / n) * curvature
