"""Compiled implementations of the less common metrics in ``opforest.core.metrics.types``.

Each function returns the implementation of ``accumulate`` or ``distance`` for one metric type. It
receives 0 and 1 in the precision of the data, because a literal would turn float32 into float64.
"""

import math

from opforest.core.metrics.types import (
    AdditiveSymmetric,
    Clark,
    Hassanat,
    Jaccard,
    Jeffreys,
    Lorentzian,
    MaxSymmetric,
    MeanCensoredEuclidean,
    MinSymmetric,
    Topsoe,
    VicisSymmetric1,
    VicisSymmetric2,
    VicisSymmetric3,
    VicisWaveHedges,
)


def _topsoe(zero, one):
    def add(total, a, b, metric):
        size = a + b
        term = zero
        if a > zero:
            term += a * math.log((a + a) / size)
        if b > zero:
            term += b * math.log((b + b) / size)
        return total + (term if term > zero else zero)  # rounding may make it negative

    return add


def _clark(zero, one):
    def add(total, a, b, metric):
        size = a + b
        share = (a - b) / size if size > zero else zero
        return total + share * share

    return add


def _lorentzian(zero, one):
    return lambda total, a, b, metric: total + math.log1p(abs(a - b))


def _hassanat(zero, one):
    def add(total, a, b, metric):
        low, high = min(a, b), max(a, b)
        shift = min(low, zero)
        return total + (one - (one + (low - shift)) / (one + (high - shift)))

    return add


def _additive_symmetric(zero, one):
    return lambda total, a, b, metric: total + (a - b) * ((a - b) / a) * ((a + b) / b)


def _jeffreys(zero, one):
    def add(total, a, b, metric):
        low, high = min(a, b), max(a, b)
        return total + (high - low) * math.log(high / low)

    return add


def _vicis_symmetric_1(zero, one):
    def add(total, a, b, metric):
        share = (a - b) / min(a, b)
        return total + share * share

    return add


def _vicis_symmetric_2(zero, one):
    return lambda total, a, b, metric: total + (a - b) * ((a - b) / min(a, b))


def _vicis_symmetric_3(zero, one):
    def add(total, a, b, metric):
        size = max(a, b)
        return total + ((a - b) * ((a - b) / size) if size > zero else zero)

    return add


def _vicis_wave_hedges(zero, one):
    return lambda total, a, b, metric: total + abs(a - b) / min(a, b)


def _jaccard(zero, one):
    def measure(x, y, metric):
        apart = size = zero
        for k in range(x.shape[0]):
            apart += (x[k] - y[k]) * (x[k] - y[k])
            size += x[k] * x[k] + y[k] * y[k] - x[k] * y[k]
        return apart / size if apart > zero else zero

    return measure


def _max_symmetric(zero, one):
    def measure(x, y, metric):
        first = second = zero
        for k in range(x.shape[0]):
            first += (x[k] - y[k]) * ((x[k] - y[k]) / x[k])
            second += (x[k] - y[k]) * ((x[k] - y[k]) / y[k])
        return max(first, second)

    return measure


def _min_symmetric(zero, one):
    def measure(x, y, metric):
        first = second = zero
        for k in range(x.shape[0]):
            first += (x[k] - y[k]) * ((x[k] - y[k]) / x[k])
            second += (x[k] - y[k]) * ((x[k] - y[k]) / y[k])
        return min(first, second)

    return measure


def _mean_censored(zero, one):
    def measure(x, y, metric):
        apart = count = zero
        for k in range(x.shape[0]):
            apart += (x[k] - y[k]) * (x[k] - y[k])
            count += one if x[k] != zero or y[k] != zero else zero
        return apart / count if apart > zero else zero

    return measure


#: What adds a feature to a total, by type of metric.
ADDING = {
    Topsoe: _topsoe,
    Clark: _clark,
    Lorentzian: _lorentzian,
    Hassanat: _hassanat,
    AdditiveSymmetric: _additive_symmetric,
    Jeffreys: _jeffreys,
    VicisSymmetric1: _vicis_symmetric_1,
    VicisSymmetric2: _vicis_symmetric_2,
    VicisSymmetric3: _vicis_symmetric_3,
    VicisWaveHedges: _vicis_wave_hedges,
}

#: What measures two vectors.
MEASURING = {
    Jaccard: _jaccard,
    MaxSymmetric: _max_symmetric,
    MinSymmetric: _min_symmetric,
    MeanCensoredEuclidean: _mean_censored,
}
