"""Votes among the best offers: their weights, probabilities, and leave-one-out likelihoods.

A voter whose offer is r times the best one has the weight r ** −exponent.
"""

import math

import numpy as np

from opforest.core.jit import helper, kernel

#: The grid of exponents and of smoothing terms that likelihoods are computed for.
EXPONENTS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
SMOOTHING = (0.02, 0.1, 0.3, 1.0)

#: Products of probabilities are replaced by their logarithms below this number.
SMALL = 1e-200


@kernel
def find_labels(vertices, voter):
    """Return the classes of voters; −1 where there is none."""
    label = np.empty(voter.shape, np.int64)
    for i in range(voter.shape[0]):
        for j in range(voter.shape[1]):
            label[i, j] = vertices[voter[i, j]].label if voter[i, j] >= 0 else -1
    return label


@kernel
def count_votes(offer, label, exponent, floor, weight, votes, winner):
    """Write the weight of each voter, the votes for each class, and the winner of each row.

    Offers are in order, by column; ``label`` holds the classes of the voters, −1 where there is
    none. Offers below the floor are raised to it. If classes tie, the one with the better voter
    wins. Weights and votes are 0 before.
    """
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
                weight[i, j] = powers[place] if place >= 0 else ratio**exponent
                votes[i, label[i, j]] += weight[i, j]
        winner[i] = label[i, 0]
        for j in range(1, offer.shape[1]):
            if label[i, j] >= 0 and votes[i, label[i, j]] > votes[i, winner[i]]:
                winner[i] = label[i, j]


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
    share = smoothing / is_known.sum()
    for i in range(votes.shape[0]):
        total = votes[i].sum() + smoothing
        largest, tied = (votes[i, winner[i]] + share) / total, 0
        for k in range(votes.shape[1]):
            if is_known[k]:
                out[i, k] = min((votes[i, k] + share) / total, largest)
                tied += out[i, k] == largest
        if tied > 1:
            out[i, winner[i]] = np.nextafter(largest, 2.0)
    return out


@kernel
def vote_likelihoods(offer, label, own, n_classes, floor, sizes):
    """Return the log-likelihoods of the classes ``own`` by number of voters, exponent, smoothing.

    ``sizes`` are the numbers of voters, in ascending order; ``offer`` and ``label``, as above, have
    as many columns as the largest. Probabilities are multiplied, and only small products turned
    into logarithms, which take far longer.
    """
    shape = sizes.shape[0], len(EXPONENTS), len(SMOOTHING)
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
            if j + 1 == sizes[size]:
                _multiply(product[size], result[size], mine, total, n_classes)
                size += 1
    for s, e, a in np.ndindex(shape):
        result[s, e, a] += math.log(product[s, e, a])
    return result


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
def _multiply(product, result, mine, total, n_classes):
    """Multiply the products by the probabilities of one example's own class."""
    for e in range(len(EXPONENTS)):
        for a in range(len(SMOOTHING)):
            smoothing = SMOOTHING[a]
            product[e, a] *= (mine[e] + smoothing / n_classes) / (total[e] + smoothing)
            if product[e, a] < SMALL:
                result[e, a] += math.log(product[e, a])
                product[e, a] = 1.0
