"""Votes by sorting all offers, and their calibration by trying a whole grid."""

import math

import numpy as np

VOTERS = (2, 3, 5, 7, 10, 15, 22, 33, 50)
EXPONENTS = (0, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24)
SMOOTHING = (0.02, 0.1, 0.3, 1)


def best_offers(cost, distances, k):
    """Return the k cheapest offers to one query, as (offer, cost, index) in order."""
    offers = [(max(c, d), c, i) for i, (c, d) in enumerate(zip(cost, distances, strict=True))]
    return sorted(offers)[:k]


def count(offers, labels, exponent, floor, class_weights=()):
    """Return the weight of each voter and the votes for each class, in order of appearance."""
    raised = [max(offer, floor) for offer in offers]
    weights = [1.0 if o == raised[0] else (raised[0] / o) ** exponent for o in raised]
    factors = dict(enumerate(class_weights))
    weights = [w * factors.get(label, 1.0) for w, label in zip(weights, labels, strict=True)]
    votes = {}
    for label, weight in zip(labels, weights, strict=True):
        votes[label] = votes.get(label, 0.0) + weight
    return weights, votes


def winner(votes):
    """Return the first class with the most votes."""
    return max(votes, key=votes.get)


def probabilities(votes, smoothing, known):
    """Return the probability of each known class."""
    total = sum(votes.values()) + smoothing
    return {k: (votes.get(k, 0.0) + smoothing / len(known)) / total for k in known}


def log_likelihoods(judged, n_classes, floor, sizes=VOTERS):
    """Return the log-likelihood of each (voters, exponent, smoothing).

    ``judged`` lists, for each example, the offers of all others in order, their labels, and its
    own label.
    """
    found = {}
    for k in sizes:
        for e in EXPONENTS:
            for a in SMOOTHING:
                total = 0.0
                for offers, labels, own in judged:
                    _, votes = count(offers[:k], labels[:k], e, floor)
                    p = (votes.get(own, 0.0) + a / n_classes) / (sum(votes.values()) + a)
                    total += math.log(p)
                found[k, float(e), a] = total
    return found


def weighted_log_likelihood(judged, n_classes, floor, parameters, class_weights):
    """Return the log-likelihood by voters of weighted classes.

    ``parameters`` are the number of voters, the exponent and the smoothing.
    """
    k, exponent, smoothing = parameters
    total = 0.0
    for offers, labels, own in judged:
        _, votes = count(offers[:k], labels[:k], exponent, floor, class_weights)
        mine = votes.get(own, 0.0) + smoothing / n_classes
        total += math.log(mine / (sum(votes.values()) + smoothing))
    return total


def others(i, cost, distances, k):
    """Return the k cheapest offers to example i from the others, as (offer, cost, index)."""
    rest = [j for j in range(len(cost)) if j != i]
    best = best_offers(np.asarray(cost)[rest].tolist(), np.asarray(distances)[rest].tolist(), k)
    return [(offer, c, rest[j]) for offer, c, j in best]
