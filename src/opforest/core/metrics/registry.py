"""Look up metrics by name.

Kernels compute *reduced* distances: those of the cheapest metric that orders pairs in the same way.
Only the order of distances shapes a forest, so ``"euclidean"``, ``"log_squared_euclidean"``, and
``"gaussian"`` share the kernel of the squared Euclidean distance, and so do, after an embedding of
the examples, ``"cosine"``, ``"correlation"``, and ``"squared_chord"``. Values are converted to the
metric's own units when they are returned.
"""

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from opforest._utils.warn import warn
from opforest.core.jit import is_jitted
from opforest.core.metrics import types
from opforest.core.metrics.embeddings import (
    LinearEmbedding,
    SphereEmbedding,
    factorize,
    invert_triangle,
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
        Metric("haversine", _SQUARED, SphereEmbedding(), "arc"),
        PrecomputedMetric("precomputed", types.Table(), non_negative=True),
    )
}  # fmt: skip


def _minkowski(p: float = 2.0, w: Any = None) -> Metric:
    if not isinstance(p, Real) or not p > 0:
        raise ValueError(f"metric 'minkowski' needs a parameter p > 0, got {p!r}.")
    kernel: Any = {1: types.Manhattan(), 2: _SQUARED, np.inf: types.Chebyshev()}.get(
        p, types.Minkowski(float(p))
    )
    power = 1.0 if np.isinf(p) else max(1.0, float(p))
    plain = Metric("minkowski", kernel, np.asarray, "minkowski", power, params=(("p", float(p)),))
    if w is None:
        return plain
    weights = _read_numbers("minkowski", "w", w, "weights that are not negative", 1)
    if (weights < 0).any() or not weights.any():
        raise ValueError("metric 'minkowski' needs weights w that are not negative, and at least "
                         f"one that is not 0, got {w!r}.")  # fmt: skip
    # A feature of weight 0 is divided by infinity. The limit of w ** (1 / p) for large p is 1.
    scale = [math.inf if one == 0 else float(one) ** (-1 / float(p)) for one in weights]
    embedding = LinearEmbedding(np.array(scale), "w of metric 'minkowski'")
    return replace(plain, embedding=embedding, params=(*plain.params, ("w", (*weights.tolist(),))))


def _gaussian_metric(gamma: float = 1.0) -> Metric:
    if not isinstance(gamma, Real) or not 0 < gamma < np.inf:
        raise ValueError(f"metric 'gaussian' needs a finite parameter gamma > 0, got {gamma!r}.")
    params = (("gamma", float(gamma)),)
    return Metric("gaussian", _SQUARED, conversion="gaussian", power=2, params=params)


def _standardized(V: Any = None) -> Metric:
    what = "the variances of the features, such as X.var(axis=0)"
    variances = _read_numbers("seuclidean", "V", V, what, 1)
    if not (variances > 0).all():
        raise ValueError(
            "metric 'seuclidean' needs positive variances V, got "
            f"{variances.min():.6g} for feature {int(variances.argmin())}. For a feature that is "
            "always the same, give 1."
        )
    embedding = LinearEmbedding(np.sqrt(variances), "V of metric 'seuclidean'")
    params = (("V", (*variances.tolist(),)),)
    return Metric("seuclidean", _SQUARED, embedding, "root", power=2, params=params)


def _mahalanobis(V: Any = None, VI: Any = None) -> Metric:
    if (V is None) == (VI is None):
        raise ValueError(
            "metric 'mahalanobis' needs metric_params={'V': the covariance matrix of the features},"
            " such as np.cov(X.T), or {'VI': its inverse}, and not both."
        )
    name, given = ("V", V) if VI is None else ("VI", VI)
    matrix = _read_numbers("mahalanobis", name, given, "a matrix", 2)
    is_symmetric = matrix.shape[0] == matrix.shape[1] and np.allclose(matrix, matrix.T)
    lower = factorize(matrix) if is_symmetric else None
    if lower is None:
        raise ValueError(
            f"metric 'mahalanobis' needs a matrix {name} that is symmetric and positive definite, "
            f"which the one given, of shape {matrix.shape}, is not. Leave out features that follow "
            "from others, or add a small number to its diagonal."
        )
    triangle = lower if name == "VI" else invert_triangle(lower).T.copy()
    embedding = LinearEmbedding(triangle, f"{name} of metric 'mahalanobis'")
    params = ((name, tuple(map(tuple, matrix.tolist()))),)
    return Metric("mahalanobis", _SQUARED, embedding, "root", power=2, params=params)


def _read_numbers(metric: str, name: str, value: Any, what: str, n_dim: int) -> np.ndarray:
    """Return a parameter as an array of finite numbers; ``what`` tells in an error what it is."""
    try:
        array = np.array(value, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != n_dim or array.size == 0 or not np.isfinite(array).all():
        given = "" if value is None else f", got {str(value)[:100]}"
        raise ValueError(f"metric {metric!r} needs metric_params={{{name!r}: {what}}}: finite "
                         f"numbers{given}.")  # fmt: skip
    return array


_PARAMETRIC: dict[str, tuple[tuple[str, ...], Callable[..., Metric]]] = {
    "minkowski": (("p", "w"), _minkowski),
    "gaussian": (("gamma",), _gaussian_metric),
    "seuclidean": (("V",), _standardized),
    "mahalanobis": (("V", "VI"), _mahalanobis),
}

#: The names of the parameters of each parametric metric.
PARAMETERS = {name: parameters for name, (parameters, _) in _PARAMETRIC.items()}

#: Metrics whose parameters have one entry for each feature and no default.
NEEDS_PARAMETERS = ("mahalanobis", "seuclidean")

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
        "minkowski": "p pnorm wminkowski mi m",
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
        ``{"p": …, "w": weights}`` for ``"minkowski"``, ``{"gamma": …}`` for ``"gaussian"``,
        ``{"V": variances}`` for ``"seuclidean"``, ``{"V": covariances}`` or ``{"VI": …}``, their
        inverse, for ``"mahalanobis"``, keyword arguments for a Python callable.

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


def are_params_equal(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Return whether two ``params`` of ``resolve`` are equal; arrays equal lists and tuples."""
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(
        np.array_equal(value, other[name])
        if isinstance(value, np.ndarray | list | tuple)
        else bool(np.all(value == other[name]))
        for name, value in one.items()
    )


def _resolve_name(name: str, params: dict[str, Any]) -> Metric:
    name = ALIASES.get(name, name)
    if name in types.UNSUPPORTED:
        raise ValueError(
            f"metric {name!r} of OPFython is not a dissimilarity: {types.UNSUPPORTED[name]}."
        )
    if name not in METRIC_NAMES:
        known = (*METRIC_NAMES, *ALIASES)
        close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise ValueError(
            f"there is no metric {name!r}. {hint}metric must be one of {list(METRIC_NAMES)} or a "
            "callable."
        )
    if name not in _PARAMETRIC:
        if params:
            raise ValueError(
                f"metric {name!r} takes no parameters in metric_params, got {sorted(params)}."
            )
        return _NAMED[name]
    parameters, build = _PARAMETRIC[name]
    if set(params) - set(parameters):
        listed = " and ".join(map(repr, parameters))
        raise ValueError(
            f"metric {name!r} takes only {listed} in metric_params, got {sorted(params)}."
        )
    return build(**params)
