"""Votes among the best offers: their weights, probabilities, and leave-one-out likelihoods.

A voter whose offer is r times the best one has the weight r ** −exponent, times that of its class.
"""

import math

import numpy as np

from opforest.core.jit import helper, kernel

#: The grid of exponents and of smoothing terms that likelihoods are computed for.
EXPONENTS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
SMOOTHING = (0.02, 0.1, 0.3, 1.0)

#: Weights of classes are fitted in at most this many steps of at most 1, until all are small.
MAX_STEPS, SMALL_STEP = 20, 0.01

#: Products of probabilities are replaced by their logarithms below this number, which is tested
#: for after this many rows: the smallest probability is about 1e-10 with a million classes.
SMALL, ROWS_BETWEEN_LOGARITHMS = 1e-150, 8


@kernel
def list_classes(vertices, end):
    """Return the classes of the first vertices, those of deleted ones left out, in order."""
    largest = -1
    for v in range(end):
        largest = max(largest, vertices[v].label)
    is_known = np.zeros(largest + 1, np.bool_)
    for v in range(end):
        if vertices[v].label >= 0:
            is_known[vertices[v].label] = True
    return np.flatnonzero(is_known)


@kernel
def find_labels(vertices, voter):
    """Return the classes of voters; −1 where there is none."""
    label = np.empty(voter.shape, np.int64)
    for i in range(voter.shape[0]):
        for j in range(voter.shape[1]):
            label[i, j] = vertices[voter[i, j]].label if voter[i, j] >= 0 else -1
    return label


@kernel
def remove_itself(voter, offer, chosen):
    """Move the vertex of each row behind its voters, as −1 and infinity."""
    for i in range(voter.shape[0]):
        n_others = 0
        for j in range(voter.shape[1]):
            if voter[i, j] != chosen[i]:
                voter[i, n_others], offer[i, n_others] = voter[i, j], offer[i, j]
                n_others += 1
        voter[i, n_others:], offer[i, n_others:] = -1, np.inf


@kernel
def weigh_voters(offer, label, exponent, floor, class_weight):
    """Return the weight of each voter: a power of its offer, times the weight of its class.

    Offers are in order, by column; ``label`` holds the classes of the voters, −1 where there is
    none, whose weight is 0. Offers below the floor are raised to it.
    """
    weight = np.zeros(offer.shape)
    powers, place = np.empty(len(EXPONENTS)), -1
    for e in range(len(EXPONENTS)):
        place = e if EXPONENTS[e] == exponent else place
    for i in range(offer.shape[0]):
        least = max(np.float64(offer[i, 0]), floor)
        for j in range(offer.shape[1]):
            if label[i, j] >= 0:
                ratio = _ratio(least, offer[i, j])
                if place >= 0:
                    _raise_to_exponents(ratio, powers)
                power = powers[place] if place >= 0 else ratio**exponent
                weight[i, j] = power * class_weight[label[i, j]]
    return weight


@kernel
def count_votes(offer, label, exponent, floor, class_weights, weight, votes, winner):
    """Write the weight of each voter, the votes for each class, 0 before, and the winner, by row.

    Offers and classes are as for ``weigh_voters``. ``class_weights`` lists those of the first
    classes; others are 1. If classes tie, the one with the better voter wins.
    """
    n_classes = votes.shape[1]
    class_weight, n_listed = np.ones(n_classes), min(n_classes, class_weights.shape[0])
    class_weight[:n_listed] = class_weights[:n_listed]
    weight[:] = weigh_voters(offer, label, exponent, floor, class_weight)
    for i in range(weight.shape[0]):
        _add_votes(weight[i], label[i], votes[i])
        winner[i] = label[i, 0]
        for j in range(1, weight.shape[1]):
            if label[i, j] >= 0 and votes[i, label[i, j]] > votes[i, winner[i]]:
                winner[i] = label[i, j]


@helper
def _add_votes(weight, label, votes):
    """Add the weights of voters to the votes for their classes, and return their sum."""
    total = 0.0
    for j in range(weight.shape[0]):
        if label[j] >= 0:
            votes[label[j]] += weight[j]
            total += weight[j]
    return total


@helper
def _ratio(least, offer):
    """Return by how much the best offer is smaller; equal offers may be 0 or infinite."""
    return least / np.float64(offer) if offer > least else 1.0


@kernel
def smooth_votes(votes, winner, is_known, smoothing):
    """Return probabilities: ``smoothing`` more votes are divided among the known classes.

    If another class ties with the winner, the winner gets the next larger number. Classes without
    examples get 0.
    """
    out = np.zeros(votes.shape)
    pseudocount = smoothing / is_known.sum()
    for i in range(votes.shape[0]):
        total = votes[i].sum() + smoothing
        largest, tied = (votes[i, winner[i]] + pseudocount) / total, 0
        for k in range(votes.shape[1]):
            if is_known[k]:
                out[i, k] = min((votes[i, k] + pseudocount) / total, largest)
                tied += out[i, k] == largest
        if tied > 1:
            out[i, winner[i]] = np.nextafter(largest, 2.0)
    return out


@kernel
def vote_likelihoods(offer, label, own, n_classes, floor, sizes):
    """Return the log-likelihoods of the classes ``own`` by number of voters, exponent, smoothing.

    ``sizes`` are the numbers of voters, in ascending order; if ``offer`` and ``label``, as above,
    have fewer columns than some of them, all of these vote. Probabilities are multiplied, and
    only small products turned into logarithms, which take far longer.
    """
    shape = sizes.shape[0], len(SMOOTHING), len(EXPONENTS)
    result, product = np.zeros(shape), np.ones(shape)
    powers = np.empty(len(EXPONENTS))
    total, mine = np.empty(len(EXPONENTS)), np.empty(len(EXPONENTS))
    for i in range(offer.shape[0]):
        least = max(np.float64(offer[i, 0]), floor)
        total[:], mine[:] = 0.0, 0.0
        size = 0
        for j in range(offer.shape[1]):
            if label[i, j] >= 0:
                _raise_to_exponents(_ratio(least, offer[i, j]), powers)
                is_own = label[i, j] == own[i]
                for e in range(len(EXPONENTS)):
                    total[e] += powers[e]
                    mine[e] += powers[e] if is_own else 0.0
            if size < sizes.shape[0] and j + 1 == sizes[size]:
                _multiply(product[size], mine, total, n_classes)
                size += 1
        for s in range(size, sizes.shape[0]):
            _multiply(product[s], mine, total, n_classes)
        if i % ROWS_BETWEEN_LOGARITHMS == 0 or i == offer.shape[0] - 1:
            for place in np.ndindex(shape):
                if product[place] < SMALL or i == offer.shape[0] - 1:
                    result[place] += math.log(product[place])
                    product[place] = 1.0
    return result.transpose(0, 2, 1).copy()


@helper
def _raise_to_exponents(ratio, powers):
    """Write the powers of a number by multiplication, which is faster than by ``pow``."""
    second = ratio * ratio
    third, fourth = second * ratio, second * second
    sixth, eighth = third * third, fourth * fourth
    twelfth = sixth * sixth
    powers[0] = 1.0
    powers[1], powers[2], powers[3] = math.sqrt(ratio), ratio, second
    powers[4], powers[5], powers[6] = third, fourth, sixth
    powers[7], powers[8], powers[9] = eighth, twelfth, eighth * eighth
    powers[10] = twelfth * twelfth


@helper
def _multiply(product, mine, total, n_classes):
    """Multiply the products by the probabilities of one example's own class."""
    for a in range(len(SMOOTHING)):
        smoothing = SMOOTHING[a]
        for e in range(len(EXPONENTS)):
            product[a, e] *= (mine[e] + smoothing / n_classes) / (total[e] + smoothing)


@kernel
def fit_class_weights(weight, label, own, class_weight, n_classes, smoothing):
    """Multiply the weights of voters by those of their classes; return the log-likelihood.

    ``class_weight``, 1 before, is what maximizes the likelihood of the classes ``own`` less half
    the sum of squared logarithms. A step divides the slope for each logarithm by twice its own
    curvature: that bounds the influence of all classes together.
    """
    votes, logarithm = np.zeros(len(class_weight)), np.zeros(len(class_weight))
    pseudocount, result = smoothing / n_classes, 0.0
    for step in range(MAX_STEPS + 1):
        slope, curvature = -logarithm, np.ones(len(logarithm))
        result = 0.0
        for i in range(weight.shape[0]):
            total = _add_votes(weight[i], label[i], votes) + smoothing
            result += math.log((votes[own[i]] + pseudocount) / total)
            slope[own[i]] += votes[own[i]] / (votes[own[i]] + pseudocount)
            for j in range(weight.shape[1]):
                if label[i, j] >= 0:  # each class once: its votes are set to 0 for the next row
                    probability = votes[label[i, j]] / total
                    slope[label[i, j]] -= probability
                    curvature[label[i, j]] += 2.0 * probability * (1.0 - probability)
                    votes[label[i, j]] = 0.0
        change = np.minimum(np.maximum(slope / curvature, -1.0), 1.0)
        if step == MAX_STEPS or np.abs(change).max() < SMALL_STEP:
            break
        logarithm += change
        class_weight[:] = np.exp(logarithm)
        _multiply_by_class(weight, label, np.exp(change))
    return result


@helper
def _multiply_by_class(weight, label, factor):
    for i in range(weight.shape[0]):
        for j in range(weight.shape[1]):
            if label[i, j] >= 0:
                weight[i, j] *= factor[label[i, j]]
