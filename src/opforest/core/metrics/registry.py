"""Look up metrics by name.

Kernels compute *reduced* distances: those of the cheapest metric that orders pairs in the same way.
Only the order of distances shapes a forest, so ``"euclidean"``, ``"log_squared_euclidean"``, and
``"gaussian"`` share the kernel of the squared Euclidean distance, and so do, after an embedding of
the examples, ``"cosine"``, ``"correlation"``, and ``"squared_chord"``. Values are converted to the
metric's own units when they are returned.
"""

import difflib
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from opforest._utils.warn import warn
from opforest.core.jit import is_jitted
from opforest.core.metrics import types
from opforest.core.metrics.embeddings import (
    normalize_centered_rows,
    normalize_rows,
    root_distributions,
)
from opforest.core.metrics.metric import CallableMetric, Metric, PrecomputedMetric

_SQUARED = types.SquaredEuclidean()
_NAMED = {
    metric.name: metric
    for metric in (
        Metric("euclidean", _SQUARED, conversion="root", power=2),
        Metric("sqeuclidean", _SQUARED, power=2),
        Metric("log_squared_euclidean", _SQUARED, conversion="log", power=2),
        Metric("log_euclidean", _SQUARED, conversion="log_of_root", power=2),
        Metric("average_euclidean", _SQUARED, conversion="root_mean", power=2),
        Metric("manhattan", types.Manhattan()),
        Metric("gower", types.Manhattan(), conversion="mean"),
        Metric("non_intersection", types.Manhattan(), conversion="half"),
        Metric("chebyshev", types.Chebyshev()),
        Metric("canberra", types.Canberra()),
        Metric("lorentzian", types.Lorentzian()),
        Metric("hassanat", types.Hassanat()),
        Metric("braycurtis", types.BrayCurtis()),
        Metric("soergel", types.BrayCurtis(), conversion="soergel", non_negative=True),
        Metric("kulczynski", types.BrayCurtis(), conversion="kulczynski", non_negative=True),
        Metric("hamming", types.Hamming(), conversion="mean"),
        Metric("cosine", _SQUARED, normalize_rows, "half"),
        Metric("chord", _SQUARED, normalize_rows, "root"),
        Metric("correlation", _SQUARED, normalize_centered_rows, "half"),
        Metric("jaccard", types.Jaccard(), power=2),
        Metric("dice", types.Jaccard(), conversion="dice", power=2),
        Metric("mean_censored_euclidean", types.MeanCensoredEuclidean(),
               conversion="root", power=2),
        Metric("chi_squared", types.ChiSquared(), conversion="half", non_negative=True),
        Metric("squared_chi_squared", types.ChiSquared(), non_negative=True),
        Metric("sangvi", types.ChiSquared(), conversion="twice", non_negative=True),
        Metric("clark", types.Clark(), conversion="root", non_negative=True),
        Metric("divergence", types.Clark(), conversion="twice", non_negative=True),
        Metric("squared_chord", _SQUARED, np.sqrt, non_negative=True),
        Metric("matusita", _SQUARED, np.sqrt, "root", non_negative=True),
        Metric("hellinger", _SQUARED, np.sqrt, "root_of_twice", non_negative=True),
        Metric("bhattacharyya", _SQUARED, root_distributions, "bhattacharyya", non_negative=True),
        Metric("topsoe", types.Topsoe(), non_negative=True),
        Metric("jensen_shannon", types.Topsoe(), conversion="half", non_negative=True),
        Metric("jensen", types.Topsoe(), conversion="quarter", non_negative=True),
        Metric("vicis_symmetric3", types.VicisSymmetric3(), non_negative=True),
        Metric("additive_symmetric", types.AdditiveSymmetric(),
               conversion="twice", power=3, positive=True, non_negative=True),
        Metric("jeffreys", types.Jeffreys(), positive=True, non_negative=True),
        Metric("max_symmetric", types.MaxSymmetric(), power=2, positive=True, non_negative=True),
        Metric("min_symmetric", types.MinSymmetric(), power=2, positive=True, non_negative=True),
        Metric("vicis_symmetric1", types.VicisSymmetric1(), power=2, positive=True,
               non_negative=True),
        Metric("vicis_symmetric2", types.VicisSymmetric2(), power=2, positive=True,
               non_negative=True),
        Metric("vicis_wave_hedges", types.VicisWaveHedges(), positive=True, non_negative=True),
        PrecomputedMetric("precomputed", types.Table(), non_negative=True),
    )
}  # fmt: skip


def _minkowski(p: float = 2.0) -> Metric:
    if not isinstance(p, Real) or not p > 0:
        raise ValueError(f"metric 'minkowski' needs a parameter p > 0, got {p!r}.")
    kernel: Any = {1: types.Manhattan(), 2: _SQUARED, np.inf: types.Chebyshev()}.get(
        p, types.Minkowski(float(p))
    )
    power = 1.0 if np.isinf(p) else max(1.0, float(p))
    params = (("p", float(p)),)
    return Metric("minkowski", kernel, conversion="minkowski", power=power, params=params)


def _gaussian_metric(gamma: float = 1.0) -> Metric:
    if not isinstance(gamma, Real) or not 0 < gamma < np.inf:
        raise ValueError(f"metric 'gaussian' needs a finite parameter gamma > 0, got {gamma!r}.")
    params = (("gamma", float(gamma)),)
    return Metric("gaussian", _SQUARED, conversion="gaussian", power=2, params=params)


_PARAMETRIC: dict[str, tuple[str, Callable[..., Metric]]] = {
    "minkowski": ("p", _minkowski),
    "gaussian": ("gamma", _gaussian_metric),
}

#: The parameter name of each parametric metric.
PARAMETERS = {name: parameter for name, (parameter, _) in _PARAMETRIC.items()}

#: The names that ``resolve`` knows.
METRIC_NAMES = tuple(sorted((*_NAMED, *_PARAMETRIC)))

#: Metrics defined only for non-negative features.
NON_NEGATIVE = tuple(name for name in METRIC_NAMES if name in _NAMED and _NAMED[name].non_negative)

#: Other names of the same metrics in scikit-learn, SciPy and OPFython.
ALIASES = {
    alias: name
    for name, aliases in {
        "euclidean": "l2 euclid eu e",
        "sqeuclidean": "squared_euclidean sqe sqeuclid",
        "log_squared_euclidean": "log_euclidean_squared",
        "manhattan": "l1 cityblock cblock cb c",
        "chebyshev": "linf infinity chebychev cheby cheb ch",
        "minkowski": "p pnorm mi m",
        "hamming": "hamm ha h",
        "cosine": "cos",
        "correlation": "co",
        "braycurtis": "bray_curtis",
        "chi_squared": "chi2",
        "squared_chi_squared": "squared",
        "jensen_shannon": "jensenshannon",
        "gaussian": "rbf",
    }.items()
    for alias in aliases.split()
}


def resolve(metric: object, params: Mapping[str, Any] | None = None) -> Metric:
    """Return the ``Metric`` for a name or a function of two vectors.

    Parameters
    ----------
    metric : str or callable
        One of ``METRIC_NAMES`` or ``ALIASES``, a ``@numba.njit`` function or a Python callable.
    params : mapping, optional
        ``{"p": …}`` for ``"minkowski"``, ``{"gamma": …}`` for ``"gaussian"``, keyword arguments
        for a Python callable.

    Examples
    --------
    >>> from opforest.metrics import resolve
    >>> resolve("minkowski", {"p": 1}).kernel
    Manhattan()
    """
    params = dict(params or {})
    if isinstance(metric, str):
        return _resolve_name(metric, params)
    if is_jitted(metric):
        if params:
            raise ValueError("metric_params are not passed to a @numba.njit metric; got "
                             f"{sorted(params)}. Put them into the function.")  # fmt: skip
        return Metric(getattr(metric, "__name__", "user metric"), metric)
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        warn(
            f"metric {name!r} is a Python function and is called for every pair of examples; "
            "decorate it with @numba.njit to have it compiled into the kernels."
        )
        return CallableMetric(name, types.Table(), function=metric, params=tuple(params.items()))
    raise ValueError(f"metric must be one of {list(METRIC_NAMES)} or a callable, got {metric!r}.")


def _resolve_name(name: str, params: dict[str, Any]) -> Metric:
    name = ALIASES.get(name, name)
    if name in types.UNSUPPORTED:
        raise ValueError(
            f"metric {name!r} of OPFython is not a dissimilarity: {types.UNSUPPORTED[name]}."
        )
    if name not in METRIC_NAMES:
        close = difflib.get_close_matches(name, METRIC_NAMES, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"metric must be one of {list(METRIC_NAMES)} or a callable, got {name!r}.{hint}"
        )
    if name not in _PARAMETRIC:
        if params:
            raise ValueError(
                f"metric {name!r} takes no parameters in metric_params, got {sorted(params)}."
            )
        return _NAMED[name]
    known, build = _PARAMETRIC[name]
    if set(params) - {known}:
        raise ValueError(
            f"metric {name!r} takes only {known!r} in metric_params, got {sorted(params)}."
        )
    return build(**params)
