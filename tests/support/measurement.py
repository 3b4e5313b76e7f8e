"""Metrics by name, and the oracle that each of them agrees with."""

import numba
import numpy as np

from tests.oracles import forest as oracle

#: Oracles of distances in reduced units.
REDUCED = {
    "sqeuclidean": oracle.squared_euclidean,
    "manhattan": oracle.manhattan,
    "chebyshev": oracle.chebyshev,
    "canberra": oracle.canberra,
    "hamming": oracle.hamming,
    "squared_chi_squared": oracle.chi_squared,
    "braycurtis": oracle.bray_curtis,
    "minkowski": oracle.minkowski_3,
}

#: Metrics that SciPy or other OPF libraries have, too. OPFython alone has many more, which take
#: long to compile.
COMMON = (
    "braycurtis", "canberra", "chebyshev", "chi_squared", "correlation", "cosine", "euclidean",
    "gaussian", "hamming", "log_squared_euclidean", "manhattan", "minkowski", "sqeuclidean",
    "squared_chi_squared", "squared_chord",
)  # fmt: skip

#: Parameters of the metrics that need some.
PARAMS = {
    "minkowski": {"p": 3},
    "seuclidean": {"V": [1.0, 2.0, 0.5]},
    "mahalanobis": {"V": [[2.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 0.5]]},
}


# Kernels with a jitted metric are compiled again in each process, so that all tests use this one.
@numba.njit
def jitted_manhattan(x, y):
    return np.abs(x - y).sum()
