"""Dissimilarities: the types the compiler knows, and the names people use.

Kernels measure *reduced* distances: the cheapest of all metrics that order pairs in the same way.
Only the order of distances shapes a forest, so ``"euclidean"``, ``"log_squared_euclidean"`` and
``"gaussian"`` share the kernel of the squared Euclidean distance, and so do, after an embedding
of the examples, ``"cosine"``, ``"correlation"`` and ``"squared_chord"``. Values are converted to
the metric's own units when they are returned.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from opforest import dissimilarities as more
from opforest import units
from opforest._jit import is_jitted
from opforest._warning import warn
from opforest.dissimilarities import REFUSED, SUMS
from opforest.embeddings import centred_unit_rows, roots_of_shares, unit_rows

Array = npt.NDArray[Any]

#: Tells the id of the example at an index, for messages.
IdAt = Callable[[int], int]

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


def _same(reduced: Array, d: int) -> Array:
    return reduced


@cache
def _largest_feature(dtype: np.dtype[Any], n_features: int, power: float) -> float:
    """Return how large features may be, so that no distance overflows."""
    return float((np.finfo(dtype).max / (4 * n_features)) ** (1 / power) / 2)


@dataclass(frozen=True)
class Metric:
    """A dissimilarity as the rest of the library uses it.

    Attributes
    ----------
    name : str
        Its name.
    kernel : NamedTuple or jitted function
        What kernels use to measure, in reduced units.
    embedding : callable
        Maps examples to the points that kernels measure, or raises a ``ValueError``.
    conversion : callable
        Maps reduced distances and the number of features to the metric's own units.
    power : float
        The power to which the kernel raises differences; it limits how large features may be.
    non_negative : bool
        Whether features must not be negative.
    positive : bool
        Whether they must not even be 0.
    params : tuple of pairs
        Names and values of its parameters.
    """

    name: str
    kernel: Any
    embedding: Callable[[Array], Array] = np.asarray
    conversion: Callable[[Array, int], Array] = field(default=_same, compare=False)
    power: float = 1.0
    non_negative: bool = False
    positive: bool = False
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def is_separable(self) -> bool:
        """Whether many points can be measured side by side."""
        return is_separable(self.kernel)

    @property
    def is_indexable(self) -> bool:
        """Whether a k-d tree can search by the metric."""
        if isinstance(self.kernel, Minkowski):
            return self.kernel.p >= 1  # below, it is not convex
        return isinstance(self.kernel, SquaredEuclidean | Manhattan | Chebyshev)

    @property
    def is_table(self) -> bool:
        """Whether kernels look distances up instead of measuring."""
        return isinstance(self.kernel, Table)

    @property
    def keeps_points(self) -> bool:
        """Whether examples are kept as they came, and can be drawn."""
        return self.embedding is np.asarray and not self.is_precomputed

    @property
    def is_precomputed(self) -> bool:
        """Whether the caller gives distances instead of examples."""
        return isinstance(self, PrecomputedMetric)

    @property
    def may_be_undefined(self) -> bool:
        """Whether the distance of two valid points may be undefined."""
        return is_jitted(self.kernel) or isinstance(self.kernel, BrayCurtis)

    def embed(self, X: Array) -> Array:
        """Return the points that represent the examples ``X``; never a view of them."""
        self.check_features(X)
        return np.array(self.embedding(X), dtype=X.dtype, order="C", copy=True)

    def training_rows(self, points: Array) -> Array:
        """Return what kernels read to measure training points against each other."""
        self.check_function(points)
        self._warn_of_underflow(points)
        return points

    def query_rows(self, X: Array, points: Array, id_at: IdAt = int) -> Array:
        """Return what kernels read to measure the queries ``X`` against training points.

        ``id_at`` is what errors call a training point.
        """
        return self.embed(X)

    def new_rows(self, X: Array, points: Array, id_at: IdAt = int) -> tuple[Array, Array]:
        """Return the points of new examples, and what kernels read to measure them.

        For a table these are the distances to the ``points`` and to the new examples themselves.
        """
        embedded = self.embed(X)
        return embedded, embedded

    def to_units(self, reduced: Array, n_features: int) -> Array:
        """Convert reduced distances to the metric's own units.

        Infinity, the offer of a class without examples, is no distance and stays what it is: a
        metric whose largest value is 1 would make it 1.
        """
        nobody = np.isinf(reduced)
        if not nobody.any():
            return self.conversion(reduced, n_features)
        converted = self.conversion(np.where(nobody, 0, reduced), n_features)
        return np.where(nobody, np.asarray(np.inf, converted.dtype), converted)

    def check_defined(self, reduced: Array, describe: Callable[[int], str]) -> None:
        """Raise a ``ValueError`` unless all these reduced distances are finite and not negative."""
        bad = ~((reduced >= 0) & np.isfinite(reduced))
        if bad.any():
            raise ValueError(
                f"metric {self.name!r} must give a finite, non-negative distance for each pair, "
                f"but it is undefined (NaN, negative, infinite) for {describe(int(bad.argmax()))}."
            )

    def check_function(self, points: Array) -> None:
        """Call a user's jitted function once, so that its errors do not surface in our kernels."""
        if is_jitted(self.kernel):
            try:
                float(self.kernel(points[0], points[0]))
            except MemoryError:
                raise
            except Exception as error:
                raise ValueError(
                    f"metric {self.name!r} must take two 1-D arrays of {points.dtype} and return a "
                    f"number, but a trial call failed: {str(error).splitlines()[0]}"
                ) from error

    def _warn_of_underflow(self, points: Array) -> None:
        spread = float((points.max(axis=0) - points.min(axis=0)).max())
        precision = np.finfo(points.dtype)
        if 0 < spread < float(precision.tiny / precision.eps) ** (1 / self.power):
            warn(
                f"features differ so little, by at most {spread:.3g}, that distances by metric "
                f"{self.name!r} are lost to rounding in {points.dtype}. Rescale the features."
            )

    def check_features(self, X: Array) -> None:
        """Raise a ``ValueError`` if the metric is undefined for features, or would overflow."""
        if self.non_negative and X.min() < 0:
            row, column = np.argwhere(X < 0)[0]
            raise ValueError(
                f"Negative values in data: metric {self.name!r} is defined for non-negative "
                f"features only, got {X[row, column]!r} in row {row}, column {column}. "
                "Shift or rescale the features, or choose a metric such as 'euclidean'."
            )
        if self.positive and not X.min() > 0:
            row, column = np.argwhere(X <= 0)[0]
            raise ValueError(
                f"metric {self.name!r} divides by each feature and is defined for positive ones "
                f"only, got {X[row, column]!r} in row {row}, column {column}. Shift the features, "
                "or choose a metric such as 'squared_chi_squared'."
            )
        largest, limit = max(X.max(), -X.min()), _largest_feature(X.dtype, X.shape[1], self.power)
        if largest > limit:
            raise ValueError(
                f"Features are too large: metric {self.name!r} on {X.dtype} data needs values of "
                f"magnitude at most {limit:.3g}, got {largest:.3g}; distances would overflow. "
                "Rescale the features first."
            )


@dataclass(frozen=True)
class PrecomputedMetric(Metric):
    """Distances given by the caller: (n, n) to learn from, (m, n) for queries."""

    def embed(self, X: Array) -> Array:
        """Check a square table of training distances and return a copy of it."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "metric='precomputed' needs a square matrix of distances between the training "
                f"examples, got shape {X.shape}."
            )
        table = _checked_table(X)
        if not _is_close(X, X.T):
            u, v = np.unravel_index(np.abs(X - X.T).argmax(), X.shape)
            raise ValueError(
                "metric='precomputed' needs a symmetric matrix of distances, but entry "
                f"({u}, {v}) is {X[u, v]:.6g} and entry ({v}, {u}) is {X[v, u]:.6g}."
            )
        lower = np.tril(table, -1)  # the row of the later example, as in partial_fit
        return np.asarray(lower + lower.T)  # exactly symmetric

    def query_rows(self, X: Array, points: Array, id_at: IdAt = int) -> Array:
        """Check distances from queries to training examples."""
        return _checked_table(X)

    def new_rows(self, X: Array, points: Array, id_at: IdAt = int) -> tuple[Array, Array]:
        """Check distances from new examples to the old ones and to each other."""
        known = len(points)
        table = _checked_table(X)
        if X.shape[1] == known:
            table = np.hstack((table, _distances_of_copies(table, points)))
        elif X.shape[1] != known + len(X):
            raise ValueError(
                f"X has {X.shape[1]} features, but OPFClassifier is expecting {known} features as "
                f"input, the distances to the {known} known examples, and {len(X)} more, the "
                "distances to the new examples themselves."
            )
        table[:, known:] = self.embed(table[:, known:])
        return table, table


def _is_close(a: Array, b: Array) -> bool:
    """Tell whether distances are equal up to rounding."""
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-8 * a.max()))


def _distances_of_copies(table: Array, points: Array) -> Array:
    """Return the distances between new examples, all but one of which are copies of known ones."""
    copied = np.full(len(table), -1)
    for i, row in enumerate(table):
        same = [k for k in np.flatnonzero(row == 0) if _is_close(row, points[k])]
        copied[i] = same[0] if same else -1
    if (copied < 0).sum() > 1:
        raise ValueError(
            f"metric='precomputed' needs {len(table)} more columns: the distances between the "
            f"{len(table)} new examples, after those to the {len(points)} known ones."
        )
    between = np.where(copied >= 0, table[:, copied], table[:, copied].T)
    np.fill_diagonal(between, 0)
    return between


@dataclass(frozen=True)
class CallableMetric(Metric):
    """A Python function of two vectors; its distances are measured beforehand, pair by pair."""

    function: Callable[..., float] = max

    def embed(self, X: Array) -> Array:
        """Return a copy of the examples."""
        return np.array(X, order="C", copy=True)

    def training_rows(self, points: Array) -> Array:
        """Measure all pairs of training points."""
        return self._measure(points, points, 0)

    def query_rows(self, X: Array, points: Array, id_at: IdAt = int) -> Array:
        """Measure each query against each training point."""
        return self._measure(points, X, len(points), id_at).T.copy()

    def new_rows(self, X: Array, points: Array, id_at: IdAt = int) -> tuple[Array, Array]:
        """Measure each new example against the old ones and the other new ones."""
        table = self._measure(np.concatenate((points, X)), X, len(points), id_at)
        return X, table.T.copy()

    def _measure(self, X: Array, Y: Array, first: int, id_at: IdAt = int) -> Array:
        """Measure X against Y, whose indices begin at ``first``; the smaller index comes first."""
        function = partial(self.function, **dict(self.params))
        X, Y = X.view(), Y.view()
        X.flags.writeable = Y.flags.writeable = False
        table = np.zeros((len(X), len(Y)))
        for u, x in enumerate(X):
            for v in range(max(0, u + 1 - first), len(Y)):
                table[u, v] = function(x, Y[v])
        self.check_defined(
            table.ravel(), lambda i: name_pair(*divmod(i, len(Y)), first=first, id_at=id_at)
        )
        corner = table[first:]
        corner += np.triu(corner, 1).T if len(corner) else 0
        return table


def name_pair(u: int, v: int, first: int, id_at: IdAt = int) -> str:
    """Return what to call a pair: u counts known examples and then rows of X, v rows of X."""
    if u < first:
        return f"example {id_at(u)} and row {v} of X"
    return f"rows {u - first} and {v} of X"


def _checked_table(X: Array) -> Array:
    if X.min() < 0:
        row, column = np.argwhere(X < 0)[0]
        raise ValueError(
            "Negative values in data: metric='precomputed' needs non-negative distances, got "
            f"{X[row, column]:.6g} at ({row}, {column})."
        )
    return np.ascontiguousarray(X + 0.0)  # a copy, with no negative zeros in it


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
        Metric("correlation", _SQUARED, centred_unit_rows, units.half),
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
