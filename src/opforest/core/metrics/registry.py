"""Look up metrics by name.

Kernels compute *reduced* distances: those of the cheapest metric that orders pairs in the same way.
Only the order of distances shapes a forest, so ``"euclidean"``, ``"log_squared_euclidean"``, and
``"gaussian"`` share the kernel of the squared Euclidean distance, and so do, after an embedding of
the examples, ``"cosine"``, ``"correlation"``, and ``"squared_chord"``. Values are converted to the
metric's own units when they are returned.
"""

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from opforest._utils.warn import warn
from opforest.core.jit import is_jitted
from opforest.core.metrics import types as more
from opforest.core.metrics import units
from opforest.core.metrics.embeddings import centered_unit_rows, roots_of_shares, unit_rows
from opforest.core.metrics.metric import CallableMetric, Metric, PrecomputedMetric, _same
from opforest.core.metrics.types import (
    REFUSED,
    BrayCurtis,
    Canberra,
    Chebyshev,
    ChiSquared,
    Hamming,
    Manhattan,
    Minkowski,
    SquaredEuclidean,
    Table,
)

_SQUARED = SquaredEuclidean()
_TWICE, _QUARTER = partial(units.times, factor=2), partial(units.times, factor=0.25)
_NAMED = {
    metric.name: metric
    for metric in (
        Metric("euclidean", _SQUARED, conversion=units.sqrt, power=2),
        Metric("sqeuclidean", _SQUARED, power=2),
        Metric("log_squared_euclidean", _SQUARED, conversion=units.log, power=2),
        Metric("log_euclidean", _SQUARED, conversion=units.log_of_root, power=2),
        Metric("average_euclidean", _SQUARED, conversion=units.root_of_share, power=2),
        Metric("manhattan", Manhattan()),
        Metric("gower", Manhattan(), conversion=units.share),
        Metric("non_intersection", Manhattan(), conversion=units.half),
        Metric("chebyshev", Chebyshev()),
        Metric("canberra", Canberra()),
        Metric("lorentzian", more.Lorentzian()),
        Metric("hassanat", more.Hassanat()),
        Metric("braycurtis", BrayCurtis()),
        Metric("soergel", BrayCurtis(), conversion=units.soergel, non_negative=True),
        Metric("kulczynski", BrayCurtis(), conversion=units.kulczynski, non_negative=True),
        Metric("hamming", Hamming(), conversion=units.share),
        Metric("cosine", _SQUARED, unit_rows, units.half),
        Metric("chord", _SQUARED, unit_rows, units.sqrt),
        Metric("correlation", _SQUARED, centered_unit_rows, units.half),
        Metric("jaccard", more.Jaccard(), power=2),
        Metric("dice", more.Jaccard(), conversion=units.dice, power=2),
        Metric("mean_censored_euclidean", more.MeanCensoredEuclidean(),
               conversion=units.sqrt, power=2),
        Metric("chi_squared", ChiSquared(), conversion=units.half, non_negative=True),
        Metric("squared_chi_squared", ChiSquared(), non_negative=True),
        Metric("sangvi", ChiSquared(), conversion=_TWICE, non_negative=True),
        Metric("clark", more.Clark(), conversion=units.sqrt, non_negative=True),
        Metric("divergence", more.Clark(), conversion=_TWICE, non_negative=True),
        Metric("squared_chord", _SQUARED, np.sqrt, non_negative=True),
        Metric("matusita", _SQUARED, np.sqrt, units.sqrt, non_negative=True),
        Metric("hellinger", _SQUARED, np.sqrt, units.root_of_twice, non_negative=True),
        Metric("bhattacharyya", _SQUARED, roots_of_shares, units.bhattacharyya, non_negative=True),
        Metric("topsoe", more.Topsoe(), non_negative=True),
        Metric("jensen_shannon", more.Topsoe(), conversion=units.half, non_negative=True),
        Metric("jensen", more.Topsoe(), conversion=_QUARTER, non_negative=True),
        Metric("vicis_symmetric3", more.VicisSymmetric3(), non_negative=True),
        Metric("additive_symmetric", more.AdditiveSymmetric(),
               conversion=_TWICE, power=3, positive=True, non_negative=True),
        Metric("jeffreys", more.Jeffreys(), positive=True, non_negative=True),
        Metric("max_symmetric", more.MaxSymmetric(), power=2, positive=True, non_negative=True),
        Metric("min_symmetric", more.MinSymmetric(), power=2, positive=True, non_negative=True),
        Metric("vicis_symmetric1", more.VicisSymmetric1(), power=2, positive=True,
               non_negative=True),
        Metric("vicis_symmetric2", more.VicisSymmetric2(), power=2, positive=True,
               non_negative=True),
        Metric("vicis_wave_hedges", more.VicisWaveHedges(), positive=True, non_negative=True),
        PrecomputedMetric("precomputed", Table(), non_negative=True),
    )
}  # fmt: skip


def _minkowski(p: float = 2.0) -> Metric:
    if not isinstance(p, Real) or not p > 0:
        raise ValueError(f"metric 'minkowski' needs a parameter p > 0, got {p!r}.")
    kernel: Any = {1: Manhattan(), 2: _SQUARED, np.inf: Chebyshev()}.get(p, Minkowski(float(p)))
    power = 1.0 if np.isinf(p) else max(1.0, float(p))
    conversion = _same if np.isinf(p) else partial(units.root, p=float(p))
    params = (("p", float(p)),)
    return Metric("minkowski", kernel, conversion=conversion, power=power, params=params)


def _gaussian_metric(gamma: float = 1.0) -> Metric:
    if not isinstance(gamma, Real) or not 0 < gamma < np.inf:
        raise ValueError(f"metric 'gaussian' needs a finite parameter gamma > 0, got {gamma!r}.")
    conversion, params = partial(units.gaussian, gamma=float(gamma)), (("gamma", float(gamma)),)
    return Metric("gaussian", _SQUARED, conversion=conversion, power=2, params=params)


_PARAMETRIC: dict[str, tuple[str, Callable[..., Metric]]] = {
    "minkowski": ("p", _minkowski),
    "gaussian": ("gamma", _gaussian_metric),
}

#: The names of their parameters.
PARAMETERS = {name: parameter for name, (parameter, _) in _PARAMETRIC.items()}

#: The names that ``resolve`` knows.
METRIC_NAMES = tuple(sorted((*_NAMED, *_PARAMETRIC)))

#: Those that are defined for non-negative features only.
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
        return CallableMetric(name, Table(), function=metric, params=tuple(params.items()))
    raise ValueError(f"metric must be one of {list(METRIC_NAMES)} or a callable, got {metric!r}.")


def _resolve_name(name: str, params: dict[str, Any]) -> Metric:
    name = ALIASES.get(name, name)
    if name in REFUSED:
        raise ValueError(f"metric {name!r} of OPFython is not a dissimilarity: {REFUSED[name]}.")
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
