"""Probabilities in plain Python, slow and obvious. Nothing here is shared with the library."""

import math


def offers_without(i, cost, label, distance, n_classes):
    """What each class offers example i if i itself does not count; all in one unit."""
    offers = [math.inf] * n_classes
    for t in range(len(cost)):
        if t != i:
            offers[label[t]] = min(offers[label[t]], max(cost[t], distance[i][t]))
    return offers


def chosen(n, at_most=1000):
    count = min(n, at_most)
    return [j * n // count for j in range(count)]


def judged(offers, own):
    """The offers to examples whose class has others, and their classes."""
    told = [(row, k) for row, k in zip(offers, own, strict=True) if row[k] < math.inf]
    return [row for row, _ in told], [k for _, k in told]


def floor_of(offers):
    """Half of the offer that one in a hundred undercuts, each example's smallest above 0."""
    smallest = sorted(
        min(c for c in row if 0 < c < math.inf)
        for row in offers
        if any(0 < c < math.inf for c in row)
    )
    return smallest[len(smallest) // 100] / 2 if smallest else 0.0


def probabilities(offers, exponent, floor):
    """Of one example's classes: proportional to max(offer, floor) ** −exponent."""
    offers = [max(c, floor) for c in offers]
    if min(offers) == 0:
        return [(c == 0) / offers.count(0) for c in offers]
    weight = [(min(offers) / c) ** exponent for c in offers]
    return [w / math.fsum(weight) for w in weight]


def log_likelihood(exponent, offers, own, floor):
    """Of all examples, and of one more, of even odds, that is spread over them."""
    total = []
    for row, k in zip(offers, own, strict=True):
        raised = [max(c, floor) for c in row]
        apart = [math.log(c / min(raised)) if c < math.inf else math.inf for c in raised]
        logs = math.log(math.fsum(math.exp(-exponent * a) for a in apart))
        dearer = min([a for a in apart if 0 < a < math.inf], default=0.0)
        total += [-exponent * apart[k] - logs, (-exponent * dearer / 2 - logs) / len(offers)]
    return math.fsum(total)


def find_exponent(offers, own, floor, least=0.01, most=2.0**60):
    """The exponent that makes the likelihood largest, by ternary search of its logarithm."""
    low, high = math.log(least), math.log(most)
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_likelihood(math.exp(left), offers, own, floor) < log_likelihood(
            math.exp(right), offers, own, floor
        ):
            low = left
        else:
            high = right
    return math.exp(low)
