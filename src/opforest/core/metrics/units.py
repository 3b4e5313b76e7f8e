"""Convert reduced distances between examples of d features to the units of the metrics."""

from collections.abc import Callable
from typing import Any

import numpy as np

#: LibOPF's logarithms of distances are multiples of this.
LOG_SCALE = 1e5


def _to_kulczynski(r: Any, d: int, params: Any) -> Any:
    """Convert Bray and Curtis's distance to Kulczynski's: infinite if no feature is shared."""
    with np.errstate(divide="ignore"):
        return 2 * r / (1 - r)


def _to_bhattacharyya(r: Any, d: int, params: Any) -> Any:
    """Convert a squared chord to Bhattacharyya's distance: infinite if no feature is shared."""
    with np.errstate(divide="ignore"):
        return -np.log1p(-np.minimum(r / 2, 1))


#: Functions of reduced distances r, the number d of features, and the metric's parameters.
CONVERSIONS: dict[str, Callable[..., Any]] = {
    "same": lambda r, d, _: r,
    "half": lambda r, d, _: r / 2,
    "quarter": lambda r, d, _: r * r.dtype.type(0.25),
    "twice": lambda r, d, _: r * r.dtype.type(2),
    "mean": lambda r, d, _: r / d,
    "root": lambda r, d, _: np.sqrt(r),
    "root_mean": lambda r, d, _: np.sqrt(r / d),
    "root_of_twice": lambda r, d, _: np.sqrt(2 * r),
    "log": lambda r, d, _: LOG_SCALE * np.log1p(r),
    "log_of_root": lambda r, d, _: LOG_SCALE * np.log1p(np.sqrt(r)),
    "dice": lambda r, d, _: r / (2 - r),  # from Jaccard's distance
    "soergel": lambda r, d, _: 2 * r / (1 + r),  # from Bray and Curtis's
    "kulczynski": _to_kulczynski,
    "bhattacharyya": _to_bhattacharyya,
    "minkowski": lambda r, d, params: r ** (1 / params["p"]) if params["p"] < np.inf else r,
    "arc": lambda r, d, _: 2 * np.arcsin(np.minimum(np.sqrt(r) / 2, 1)),  # from the squared chord
    "gaussian": lambda r, d, params: -np.expm1(-params["gamma"] * r),
}
