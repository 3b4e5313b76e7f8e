"""Types of metrics, for which kernels are specialized.

Terms of 0 / 0 count as 0. Features that could cause any other division by 0 are rejected.
"""

from typing import Any, NamedTuple

import numpy.typing as npt


class Topsoe(NamedTuple):
    """Σ a ln(2a / (a + b)) + b ln(2b / (a + b))."""


class Clark(NamedTuple):
    """Σ ((a − b) / (a + b))²."""


class Lorentzian(NamedTuple):
    """Σ ln(1 + |a − b|)."""


class Hassanat(NamedTuple):
    """Σ 1 − (1 + min − s) / (1 + max − s), with s = min(a, b, 0)."""


class AdditiveSymmetric(NamedTuple):
    """Σ (a − b)² (a + b) / (a b)."""


class Jeffreys(NamedTuple):
    """Σ (a − b) ln(a / b)."""


class VicisSymmetric1(NamedTuple):
    """Σ (a − b)² / min(a, b)²."""


class VicisSymmetric2(NamedTuple):
    """Σ (a − b)² / min(a, b)."""


class VicisSymmetric3(NamedTuple):
    """Σ (a − b)² / max(a, b)."""


class VicisWaveHedges(NamedTuple):
    """Σ |a − b| / min(a, b)."""


class Jaccard(NamedTuple):
    """Σ (a − b)² / (Σ a² + Σ b² − Σ a b), 0 for two zero vectors."""


class MaxSymmetric(NamedTuple):
    """The larger of Σ (a − b)² / a and Σ (a − b)² / b."""


class MinSymmetric(NamedTuple):
    """The smaller of Σ (a − b)² / a and Σ (a − b)² / b."""


class MeanCensoredEuclidean(NamedTuple):
    """Σ (a − b)² divided by the number of features that are not 0 in both."""


#: Running totals over the features, which never decrease.
SUMS = (
    Topsoe, Clark, Lorentzian, Hassanat, AdditiveSymmetric, Jeffreys, VicisSymmetric1,
    VicisSymmetric2, VicisSymmetric3, VicisWaveHedges,
)  # fmt: skip

#: Functions of several sums over the features.
QUOTIENTS = (Jaccard, MaxSymmetric, MinSymmetric, MeanCensoredEuclidean)

_ASYMMETRIC = "it is not symmetric: the distance from a to b is not that from b to a"

#: OPFython's names of functions that are not dissimilarities, and why.
REFUSED = {
    "kullback_leibler": f"{_ASYMMETRIC}. Choose 'jeffreys' or 'topsoe', which are",
    "k_divergence": f"{_ASYMMETRIC}. Choose 'topsoe', which is",
    "neyman": f"{_ASYMMETRIC}. Choose 'max_symmetric' or 'squared_chi_squared', which are",
    "pearson": f"{_ASYMMETRIC}. Choose 'max_symmetric' or 'squared_chi_squared', which are",
    "statistic": f"{_ASYMMETRIC}, and it may be negative. Choose 'squared_chi_squared'",
}


Array = npt.NDArray[Any]


#: What a kernel returns where a metric is undefined, or a user's function is NaN or negative. It is
#: smaller than any distance, so every tree and every search that it could change will find it.
UNDEFINED = -1.0


class SquaredEuclidean(NamedTuple):
    """Σ (a − b)²."""


class Manhattan(NamedTuple):
    """Σ |a − b|."""


class Chebyshev(NamedTuple):
    """max |a − b|."""


class Canberra(NamedTuple):
    """Σ |a − b| / (|a| + |b|), where 0 / 0 counts as 0."""


class Hamming(NamedTuple):
    """The number of features that differ."""


class ChiSquared(NamedTuple):
    """Σ (a − b)² / (a + b), where 0 / 0 counts as 0."""


class Minkowski(NamedTuple):
    """Σ |a − b|ᵖ."""

    p: float


class BrayCurtis(NamedTuple):
    """Σ |a − b| / Σ |a + b|, 0 for two zero vectors."""


class Table(NamedTuple):
    """Distances measured beforehand: rows of a table replace coordinates."""


#: Metrics that add one feature after another to a running total that never falls.
SEPARABLE = (SquaredEuclidean, Manhattan, Chebyshev, Canberra, Hamming, ChiSquared, *SUMS)


def is_separable(kernel: Any) -> bool:
    """Tell whether ``kernel``, a value or its Numba type, is in ``SEPARABLE``."""
    return getattr(kernel, "instance_class", type(kernel)) in SEPARABLE
