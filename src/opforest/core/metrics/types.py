"""Types of metrics, for which kernels are specialized.

Terms of 0 / 0 count as 0. Features that could cause any other division by 0 are rejected.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy.typing as npt

Array = npt.NDArray[Any]

# Running totals over the features, which never decrease.
SquaredEuclidean = namedtuple("SquaredEuclidean", ())  # Σ (a − b)²
Manhattan = namedtuple("Manhattan", ())  # Σ |a − b|
Chebyshev = namedtuple("Chebyshev", ())  # max |a − b|
Canberra = namedtuple("Canberra", ())  # Σ |a − b| / (|a| + |b|)
Hamming = namedtuple("Hamming", ())  # the number of features that differ
ChiSquared = namedtuple("ChiSquared", ())  # Σ (a − b)² / (a + b)
Topsoe = namedtuple("Topsoe", ())  # Σ a ln(2a / (a + b)) + b ln(2b / (a + b))
Clark = namedtuple("Clark", ())  # Σ ((a − b) / (a + b))²
Lorentzian = namedtuple("Lorentzian", ())  # Σ ln(1 + |a − b|)
Hassanat = namedtuple("Hassanat", ())  # Σ 1 − (1 + min − s) / (1 + max − s), s = min(a, b, 0)
AdditiveSymmetric = namedtuple("AdditiveSymmetric", ())  # Σ (a − b)² (a + b) / (a b)
Jeffreys = namedtuple("Jeffreys", ())  # Σ (a − b) ln(a / b)
VicisSymmetric1 = namedtuple("VicisSymmetric1", ())  # Σ (a − b)² / min(a, b)²
VicisSymmetric2 = namedtuple("VicisSymmetric2", ())  # Σ (a − b)² / min(a, b)
VicisSymmetric3 = namedtuple("VicisSymmetric3", ())  # Σ (a − b)² / max(a, b)
VicisWaveHedges = namedtuple("VicisWaveHedges", ())  # Σ |a − b| / min(a, b)

#: Metrics that can be measured for many points side by side.
SEPARABLE = (
    SquaredEuclidean, Manhattan, Chebyshev, Canberra, Hamming, ChiSquared, Topsoe, Clark,
    Lorentzian, Hassanat, AdditiveSymmetric, Jeffreys, VicisSymmetric1, VicisSymmetric2,
    VicisSymmetric3, VicisWaveHedges,
)  # fmt: skip

# Functions of several sums over the features. Those of two zero vectors are 0.
BrayCurtis = namedtuple("BrayCurtis", ())  # Σ |a − b| / Σ |a + b|
Jaccard = namedtuple("Jaccard", ())  # Σ (a − b)² / (Σ a² + Σ b² − Σ a b)
MaxSymmetric = namedtuple("MaxSymmetric", ())  # the larger of Σ (a − b)² / a and Σ (a − b)² / b
MinSymmetric = namedtuple("MinSymmetric", ())  # the smaller one
#: Σ (a − b)² divided by the number of features that are not 0 in both.
MeanCensoredEuclidean = namedtuple("MeanCensoredEuclidean", ())

#: Distances measured beforehand: rows of a table replace coordinates.
Table = namedtuple("Table", ())


class Minkowski(NamedTuple):
    """Σ |a − b|ᵖ, summed in double precision."""

    p: float


_ASYMMETRIC = "it is not symmetric: the distance from a to b is not that from b to a"

#: OPFython's names of functions that are not dissimilarities, and why.
UNSUPPORTED = {
    "kullback_leibler": f"{_ASYMMETRIC}. Choose 'jeffreys' or 'topsoe', which are",
    "k_divergence": f"{_ASYMMETRIC}. Choose 'topsoe', which is",
    "neyman": f"{_ASYMMETRIC}. Choose 'max_symmetric' or 'squared_chi_squared', which are",
    "pearson": f"{_ASYMMETRIC}. Choose 'max_symmetric' or 'squared_chi_squared', which are",
    "statistic": f"{_ASYMMETRIC}, and it may be negative. Choose 'squared_chi_squared'",
}

#: The result of a kernel where a metric is undefined, or a user's function is NaN or negative. It
#: is smaller than any distance, so every tree and every search that it could change will find it.
UNDEFINED = -1.0


def is_separable(kernel: Any) -> bool:
    """Return whether ``kernel``, a value or its Numba type, is in ``SEPARABLE``."""
    return getattr(kernel, "instance_class", type(kernel)) in SEPARABLE
