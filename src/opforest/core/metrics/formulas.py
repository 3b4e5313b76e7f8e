"""Formulas of the metrics in ``opforest.core.metrics.types``, for compiled code.

``FEATURE_UPDATES`` add one feature to a running total, ``VECTOR_DISTANCES`` compare two vectors.
Use ``zero(x)`` and ``one(x)`` instead of literals, which would promote float32 to float64;
comparisons may use literals.
"""

import math

from numba.np.numpy_support import as_dtype

from opforest.core.jit import helper, overload
from opforest.core.metrics import types


def constant(value):
    """Return a function for compiled code: this number in the precision of its argument."""

    def convert(x):
        """Return the number (compiled code only)."""

    @overload(convert)
    def _convert(x):
        number = as_dtype(getattr(x, "dtype", x)).type(value)
        return lambda x: number

    return convert


zero, one, undefined = constant(0), constant(1), constant(types.UNDEFINED)


@helper
def _square(x):
    return x * x


@helper
def _divide(x, size):
    """Return x / size, or x, which is 0 then, if the size is 0."""
    return x / size if size > 0 else x


@helper
def _entropy(a, size):
    return a * math.log((a + a) / size) if a > 0 else a


def _add_topsoe(total, a, b, metric):
    term = _entropy(a, a + b) + _entropy(b, a + b)
    return total + term if term > 0 else total  # rounding may make it negative


def _add_hassanat(total, a, b, metric):
    low, high = min(a, b), max(a, b)
    shift = min(low, zero(a))
    return total + (one(a) - (one(a) + (low - shift)) / (one(a) + (high - shift)))


def _add_additive_symmetric(total, a, b, metric):
    return total + (a - b) * ((a - b) / a) * ((a + b) / b)


def _add_jeffreys(total, a, b, metric):
    low, high = min(a, b), max(a, b)
    return total + (high - low) * math.log(high / low)


#: By type of metric; totals never fall.
FEATURE_UPDATES = {
    types.SquaredEuclidean: lambda total, a, b, metric: total + (a - b) * (a - b),
    types.Manhattan: lambda total, a, b, metric: total + abs(a - b),
    types.Chebyshev: lambda total, a, b, metric: abs(a - b) if abs(a - b) > total else total,
    types.Minkowski: lambda total, a, b, metric: total + math.pow(abs(a - b), metric.p),
    types.Canberra: lambda total, a, b, metric: total + _divide(abs(a - b), abs(a) + abs(b)),
    types.Hamming: lambda total, a, b, metric: total + one(total) if a != b else total,
    types.ChiSquared: lambda total, a, b, metric: total + (a - b) * _divide(a - b, a + b),
    types.Topsoe: _add_topsoe,
    types.Clark: lambda total, a, b, metric: total + _square(_divide(a - b, a + b)),
    types.Lorentzian: lambda total, a, b, metric: total + math.log1p(abs(a - b)),
    types.Hassanat: _add_hassanat,
    types.AdditiveSymmetric: _add_additive_symmetric,
    types.Jeffreys: _add_jeffreys,
    types.VicisSymmetric1: lambda total, a, b, metric: total + _square((a - b) / min(a, b)),
    types.VicisSymmetric2: lambda total, a, b, metric: total + (a - b) * ((a - b) / min(a, b)),
    types.VicisSymmetric3: lambda total, a, b, metric: total + (a - b) * _divide(a - b, max(a, b)),
    types.VicisWaveHedges: lambda total, a, b, metric: total + abs(a - b) / min(a, b),
}


def _measure_bray_curtis(x, y, metric):
    apart = size = zero(x)
    for k in range(x.shape[0]):
        apart += abs(x[k] - y[k])
        size += abs(x[k] + y[k])
    if apart == 0:
        return apart
    return apart / size if size > 0 else undefined(x)


def _measure_jaccard(x, y, metric):
    apart = size = zero(x)
    for k in range(x.shape[0]):
        apart += (x[k] - y[k]) * (x[k] - y[k])
        size += x[k] * x[k] + y[k] * y[k] - x[k] * y[k]
    return apart / size if apart > 0 else apart


@helper
def _relative_squares(x, y):
    """Return Σ (a − b)² / a and Σ (a − b)² / b."""
    first = second = zero(x)
    for k in range(x.shape[0]):
        first += (x[k] - y[k]) * ((x[k] - y[k]) / x[k])
        second += (x[k] - y[k]) * ((x[k] - y[k]) / y[k])
    return first, second


def _measure_mean_censored(x, y, metric):
    apart = count = zero(x)
    for k in range(x.shape[0]):
        apart += (x[k] - y[k]) * (x[k] - y[k])
        count += one(x) if x[k] != 0 or y[k] != 0 else zero(x)
    return apart / count if apart > 0 else apart


#: By type of metric.
VECTOR_DISTANCES = {
    types.BrayCurtis: _measure_bray_curtis,
    types.Jaccard: _measure_jaccard,
    types.MaxSymmetric: lambda x, y, metric: max(*_relative_squares(x, y)),
    types.MinSymmetric: lambda x, y, metric: min(*_relative_squares(x, y)),
    types.MeanCensoredEuclidean: _measure_mean_censored,
}
