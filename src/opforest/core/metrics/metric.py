"""Metric objects: built-in, precomputed, and callable."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from opforest._utils.warn import warn
from opforest.core.jit import is_jitted
from opforest.core.metrics import types
from opforest.core.metrics.types import Array
from opforest.core.metrics.units import CONVERSIONS

#: Returns the id of the example at an index, for messages.
IdAt = Callable[[int], int]


@cache
def _largest_feature(dtype: np.dtype[Any], n_features: int, power: float) -> float:
    """Return the largest features for which no distance overflows."""
    return float((np.finfo(dtype).max / (4 * n_features)) ** (1 / power) / 2)


@dataclass(frozen=True)
class Metric:
    """A dissimilarity.

    Attributes
    ----------
    name : str
        Its name.
    kernel : namedtuple or jitted function
        Selects how kernels measure, in reduced units.
    embedding : callable
        Maps examples to the points that kernels measure; may raise a ``ValueError``.
    conversion : str
        The entry of ``CONVERSIONS`` that maps reduced distances to the metric's own units.
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
    conversion: str = "same"
    power: float = 1.0
    non_negative: bool = False
    positive: bool = False
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def is_separable(self) -> bool:
        """Whether many points can be measured side by side."""
        return types.is_separable(self.kernel)

    @property
    def is_indexable(self) -> bool:
        """Whether a k-d tree can search by the metric."""
        if isinstance(self.kernel, types.Minkowski):
            return self.kernel.p >= 1  # below, it is not convex
        return isinstance(self.kernel, types.SquaredEuclidean | types.Manhattan | types.Chebyshev)

    @property
    def is_table(self) -> bool:
        """Whether kernels look up distances instead of measuring."""
        return isinstance(self.kernel, types.Table)

    @property
    def keeps_points(self) -> bool:
        """Whether examples are kept unchanged, and can be drawn."""
        return self.embedding is np.asarray and not self.is_precomputed

    @property
    def is_precomputed(self) -> bool:
        """Whether the caller passes distances instead of examples."""
        return isinstance(self, PrecomputedMetric)

    @property
    def may_be_undefined(self) -> bool:
        """Whether the distance of two valid points may be undefined."""
        return is_jitted(self.kernel) or isinstance(self.kernel, types.BrayCurtis)

    def embed(self, X: Array) -> Array:
        """Return the points that represent the examples ``X``; never a view of them."""
        self.check_features(X)
        points = self.embedding(X)
        if points is not X:  # an embedding with parameters may enlarge features
            self._check_size(points, X.dtype)
        return np.array(points, dtype=X.dtype, order="C", copy=True)

    def restore(self, points: Array) -> Array | None:
        """Return the examples that points represent, up to rounding; None where they are lost."""
        if self.is_precomputed:
            return None
        if self.embedding is np.sqrt:
            return points * points
        invert = getattr(self.embedding, "invert", None)
        return points if self.keeps_points else None if invert is None else invert(points)

    def count_features(self, n_coordinates: int) -> int:
        """Return the number of features of an example whose point has this many coordinates."""
        return getattr(self.embedding, "n_features", n_coordinates)

    def training_rows(self, points: Array) -> Array:
        """Return the rows that kernels read to measure training points."""
        self.check_function(points)
        self._warn_of_underflow(points)
        return points

    def query_rows(self, X: Array, points: Array, id_at: IdAt = int) -> Array:
        """Return the rows that kernels read to measure the queries ``X`` against training points.

        ``id_at`` returns the ids of training points, for errors.
        """
        return self.embed(X)

    def new_rows(self, X: Array, points: Array, id_at: IdAt = int) -> tuple[Array, Array]:
        """Return the points of new examples, and the rows that kernels read to measure them.

        For a table, the rows are the distances to ``points`` and to the new examples.
        """
        embedded = self.embed(X)
        return embedded, embedded

    def to_units(self, reduced: Array, n_features: int) -> Array:
        """Convert reduced distances to the metric's own units.

        Infinity, the offer of a class without examples, is not a distance and stays infinite: a
        metric whose largest value is 1 would make it 1.
        """
        convert, params = CONVERSIONS[self.conversion], dict(self.params)
        if reduced.size and reduced.max() < np.inf:  # the usual case, in a single pass
            converted = np.asarray(convert(reduced, n_features, params))
            return converted.copy() if converted is reduced else converted
        is_infinite = np.isinf(reduced)
        converted = np.asarray(convert(np.where(is_infinite, 0, reduced), n_features, params))
        return np.where(is_infinite, np.asarray(np.inf, converted.dtype), converted)

    def check_defined(self, reduced: Array, describe: Callable[[int], str]) -> None:
        """Raise a ``ValueError`` unless all these reduced distances are finite and not negative."""
        if reduced.size == 0 or (reduced.min() >= 0 and reduced.max() < np.inf):
            return
        bad = ~((reduced >= 0) & np.isfinite(reduced))
        if bad.any():
            raise ValueError(
                f"metric {self.name!r} must give a finite, non-negative distance for each pair, "
                f"but it is undefined (NaN, negative, infinite) for {describe(int(bad.argmax()))}."
            )

    def check_function(self, points: Array) -> None:
        """Call a user's jitted function once, so that its errors do not surface in kernels."""
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
        precision = np.finfo(points.dtype)
        limit = float(precision.tiny / precision.eps) ** (1 / self.power)
        if any(np.ptp(column) >= limit for column in points.T):  # the first one, as a rule
            return
        extent = float((points.max(axis=0) - points.min(axis=0)).max())
        if extent > 0:
            warn(
                f"features differ so little, by at most {extent:.3g}, that distances by metric "
                f"{self.name!r} are lost to rounding in {points.dtype}. Rescale the features."
            )

    def check_features(self, X: Array) -> None:
        """Raise a ``ValueError`` if the metric is undefined for features or would overflow."""
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
        self._check_size(X, X.dtype)

    def _check_size(self, X: Array, dtype: np.dtype[Any]) -> None:
        """Raise a ``ValueError`` if distances of rows would overflow in a precision."""
        largest, limit = max(X.max(), -X.min()), _largest_feature(dtype, X.shape[1], self.power)
        if not largest <= limit:
            raise ValueError(
                f"Features are too large: metric {self.name!r} on {dtype} data needs values of "
                f"magnitude at most {limit:.3g}, got {largest:.3g}; distances would overflow. "
                "Rescale the features first."
            )


@dataclass(frozen=True)
class PrecomputedMetric(Metric):
    """Distances given by the caller: (n, n) for training, (m, n) for queries."""

    def embed(self, X: Array) -> Array:
        """Check a square table of training distances and return a copy of it."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "metric='precomputed' needs a square matrix of distances between the training "
                f"examples, got shape {X.shape}."
            )
        table = _check_table(X)
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
        return _check_table(X)

    def new_rows(self, X: Array, points: Array, id_at: IdAt = int) -> tuple[Array, Array]:
        """Check distances from new examples to the old ones and to each other."""
        known = len(points)
        table = _check_table(X)
        if X.shape[1] == known:
            table = np.hstack((table, _distances_of_duplicates(table, points)))
        elif X.shape[1] != known + len(X):
            raise ValueError(
                f"X has {X.shape[1]} features, but OPFClassifier is expecting {known} features as "
                f"input, the distances to the {known} known examples, and {len(X)} more, the "
                "distances to the new examples themselves."
            )
        table[:, known:] = self.embed(table[:, known:])
        return table, table


def _is_close(a: Array, b: Array) -> bool:
    """Return whether distances are equal up to rounding."""
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-8 * a.max()))


def _distances_of_duplicates(table: Array, points: Array) -> Array:
    """Return the distances between new examples, all but one of which duplicate known ones."""
    original = np.full(len(table), -1)
    for i, row in enumerate(table):
        same = [k for k in np.flatnonzero(row == 0) if _is_close(row, points[k])]
        original[i] = same[0] if same else -1
    if (original < 0).sum() > 1:
        raise ValueError(
            f"metric='precomputed' needs {len(table)} more columns: the distances between the "
            f"{len(table)} new examples, after those to the {len(points)} known ones."
        )
    between = np.where(original >= 0, table[:, original], table[:, original].T)
    np.fill_diagonal(between, 0)
    return between


@dataclass(frozen=True)
class CallableMetric(Metric):
    """A Python function of two vectors, called for every pair beforehand."""

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
    """Return a name of a pair for errors: u counts known examples, then rows of X; v rows of X."""
    if u < first:
        return f"example {id_at(u)} and row {v} of X"
    return f"rows {u - first} and {v} of X"


def _check_table(X: Array) -> Array:
    if X.min() < 0:
        row, column = np.argwhere(X < 0)[0]
        raise ValueError(
            "Negative values in data: metric='precomputed' needs non-negative distances, got "
            f"{X[row, column]:.6g} at ({row}, {column})."
        )
    return np.ascontiguousarray(X + 0.0)  # a copy, with no negative zeros in it
