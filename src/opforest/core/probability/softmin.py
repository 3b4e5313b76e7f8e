"""Convert the costs of classes to probabilities by a power law, and fit its exponent."""

import math

import numpy as np

from opforest.core.jit import helper, kernel

#: Shares of exp(−40) are lost to rounding beside one of 1.
NOTHING = 40.0


@kernel
def softmin(cost, winner, known, exponent, floor):
    """Return the share of each class in max(cost, floor) ** −exponent, row by row.

    Where several classes have the least, they share; if all of them have nothing to lose, at a
    cost of 0 without a floor, they take all. If another class ties with the winner, the winner is
    given the next larger number. A class that is not ``known``, because it has no examples, gets
    nothing, even where a known one is infinitely far away.
    """
    share = np.empty(cost.shape)
    for i in range(cost.shape[0]):
        least = max(np.float64(cost[i, winner[i]]), floor)
        total = 0.0
        for k in range(cost.shape[1]):
            share[i, k] = (least / cost[i, k]) ** exponent if cost[i, k] > least else 1.0
            if not known[i, k]:
                share[i, k] = 0.0
            total += share[i, k]
        largest = 1.0 / total
        tied = 0
        for k in range(cost.shape[1]):
            share[i, k] /= total
            tied += share[i, k] == largest
        if tied > 1:
            share[i, winner[i]] = np.nextafter(largest, 2.0)
    return share


@kernel
def log_softmin(cost, winner, known, exponent, floor):
    """Return the logarithms of what ``softmin`` returns, also of shares too small for it."""
    share = np.empty(cost.shape)
    for i in range(cost.shape[0]):
        least = max(np.float64(cost[i, winner[i]]), floor)
        total = 0.0
        for k in range(cost.shape[1]):
            share[i, k] = exponent * log_ratio(least, cost[i, k]) if cost[i, k] > least else 0.0
            if not known[i, k]:
                share[i, k] = -np.inf
            total += math.exp(share[i, k])
        largest = -math.log(total)
        tied = 0
        for k in range(cost.shape[1]):
            share[i, k] += largest
            tied += share[i, k] == largest
        if tied > 1:
            share[i, winner[i]] = np.nextafter(largest, 1.0)
    return share


@helper
def log_ratio(a, b):
    """Return log(a / b), also where the ratio is too small for a number."""
    ratio = a / b
    if ratio > 1e-300 or a == 0.0 or b == np.inf:
        return math.log(ratio)
    return math.log(a) - math.log(b)


@kernel
def find_exponent(apart, own, least, most):
    """Return the exponent under which examples are likeliest to be of their own classes.

    ``apart[i, k]`` is the logarithm of the cost of class k to example i in units of its cheapest
    one, so the probability of class k is proportional to exp(−exponent · apart[i, k]). The
    logarithm of the likelihood is concave, and its slope falls: it is how far apart from their
    cheapest class we expect examples to be, less how far they are. The slope is 0 where the
    logarithms of both are equal. These are nearly straight lines, so that few of Newton's steps
    lead there, from 1 on; where one leads astray, the bracket is halved.

    One made-up example is added, of even odds: spread over all examples, it is of their cheapest
    class and of the next dearer one to equal parts. Without it there would be no answer where all
    is easy. Some of ``apart`` must be more than 0, and finite.
    """
    n = apart.shape[0]
    found = 0.0
    for i in range(n):
        found += apart[i, own[i]] + 0.5 * _next_dearer(apart[i]) / n
    low, high, guess = 0.0, np.inf, 1.0
    for _ in range(200):
        expected, bend = _expect(guess, apart)
        if expected > found:
            low = guess
        else:
            high = guess
        if low == most or high == least:
            break
        better = least
        if bend < 0:
            better = guess - math.log(expected / found) * expected / bend
            better = min(max(better, least), most)
        if not low < better < high:
            better = math.sqrt(max(low, least) * min(high, most))
        if abs(better - guess) <= 1e-13 * guess:
            break
        guess = better
    return guess


@helper
def _next_dearer(apart):
    """Return the smallest of the finite numbers above 0; 0 if there is none."""
    least = np.inf
    for value in apart:
        if 0 < value < least:
            least = value
    return least if least < np.inf else 0.0


@helper
def _expect(exponent, apart):
    """Return how far apart from their cheapest class examples are expected to be, all together.

    And how fast that changes with the exponent.
    """
    n = apart.shape[0]
    expected = bend = 0.0
    for i in range(n):
        total = mean = square = 0.0
        for k in range(apart.shape[1]):
            value = apart[i, k]
            if exponent * value < NOTHING:
                weight = math.exp(-exponent * value)
                total += weight
                mean += weight * value
                square += weight * value * value
        mean /= total
        expected += mean
        bend -= square / total - mean * mean
    return (1 + 1 / n) * expected, (1 + 1 / n) * bend
