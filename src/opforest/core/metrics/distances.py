"""Compute distances between two points, and from one point to many.

Points are stored in tiles. A tile holds ``TILE`` points feature by feature, so that one instruction
processes several points while the sum of each point still runs through its features in order. This
is fast, and bit for bit equal to measuring each pair alone. Metrics that need whole vectors read
row-major points instead, and precomputed distances are looked up in their table.
"""

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

from opforest.core.jit import anywhere, helper, kernel, overload
from opforest.core.metrics.formulas import FEATURE_UPDATES, VECTOR_DISTANCES
from opforest.core.metrics.types import UNDEFINED, Minkowski, Table, is_separable

#: Points in a tile.
TILE = 512

#: Features measured between two checks whether the rest of a tile can be skipped.
STRIDE = 16

#: Bytes of points that fit into the cache. Within it, adding four features at once is up to 20 %
#: faster; beyond it, reading one feature at a time is about 1.5 times as fast.
CACHED = 12 << 20


def accumulate(total, a, b, metric):
    """Add one feature to a running total (compiled code only)."""


@overload(accumulate)
def _accumulate(total, a, b, metric):
    return FEATURE_UPDATES.get(metric.instance_class)


def zero_total(dtype, metric):
    """Return the running total of no features; powers are summed in double precision."""
    return np.float64(0) if metric.instance_class is Minkowski else dtype(0)


def distance(x, y, metric):
    """Measure one pair of vectors in the metric's reduced units (compiled code only)."""


@overload(distance)
def _distance(x, y, metric):
    dtype = as_dtype(x.dtype).type
    if isinstance(metric, types.Dispatcher):
        undefined = dtype(UNDEFINED)

        def call_user(x, y, metric):
            value = dtype(metric(x, y))
            return abs(value) if 0 <= value < np.inf else undefined

        return call_user
    if metric.instance_class in VECTOR_DISTANCES:
        return VECTOR_DISTANCES[metric.instance_class]
    zero = zero_total(dtype, metric)

    def add_features(x, y, metric):
        total = zero
        for k in range(x.shape[0]):
            total = accumulate(total, x[k], y[k], metric)
        return dtype(total)

    return add_features if metric.instance_class in FEATURE_UPDATES else None


@anywhere
def count_tiles(n):
    """Return the number of tiles of n points."""
    return (n + TILE - 1) // TILE


def make_tiles(rows, chosen, metric):
    """Return the chosen rows in tiles; without coordinates for a metric that reads rows."""
    d = rows.shape[1] if is_separable(metric) else 0
    tiles = np.zeros((count_tiles(len(chosen)), d, TILE), rows.dtype)
    fill_tiles(rows, chosen, tiles, 0)
    return tiles


@kernel
def fill_tiles(rows, chosen, tiles, slot):
    """Write the chosen rows, in that order, into tiles from this slot on."""
    for i in range(chosen.shape[0]):
        for k in range(tiles.shape[1]):
            tiles[(slot + i) // TILE, k, (slot + i) % TILE] = rows[chosen[i], k]


@helper
def are_rows_equal(rows, u, v):
    """Return whether two rows are equal."""
    for k in range(rows.shape[1]):
        if rows[u, k] != rows[v, k]:
            return False
    return True


@helper
def smallest(bits, ceiling):
    """Return the smallest of ``bits`` and ``ceiling``.

    As integers, the bits of non-negative floats sort like the floats, and the compiler finds
    their minimum several times faster.
    """
    least = ceiling
    for j in range(bits.shape[0]):
        least = bits[j] if bits[j] < least else least
    return least


@helper
def _start(out, zero, a, column, metric):
    for j in range(out.shape[0]):
        out[j] = accumulate(zero, a, column[j], metric)


@helper
def _add(out, a, column, metric):
    for j in range(out.shape[0]):
        out[j] = accumulate(out[j], a, column[j], metric)


@helper
def _add_four(out, a, b, c, d, column_a, column_b, column_c, column_d, metric):
    for j in range(out.shape[0]):
        total = accumulate(out[j], a, column_a[j], metric)
        total = accumulate(total, b, column_b[j], metric)
        total = accumulate(total, c, column_c[j], metric)
        out[j] = accumulate(total, d, column_d[j], metric)


@helper
def _add_features(out, x, tile, begin, end, far, metric):
    """Add the features ``begin`` to ``end`` to the running totals ``out``."""
    fours = 0 if far else (end - begin) // 4
    for four in range(fours):
        k = begin + 4 * four
        _add_four(
            out, x[k], x[k + 1], x[k + 2], x[k + 3],
            tile[k], tile[k + 1], tile[k + 2], tile[k + 3], metric,
        )  # fmt: skip
    for k in range(begin + 4 * fours, end):
        _add(out, x[k], tile[k], metric)


def _limit_of(limit, j):
    """Return the limit of entry j (compiled code only)."""


@overload(_limit_of)
def _choose_limit(limit, j):
    return (lambda limit, j: limit[j]) if isinstance(limit, types.Array) else lambda limit, j: limit


@helper
def count_within(out, limit):
    """Count the entries of ``out`` up to ``limit``, a number or one for each entry."""
    count = 0
    for j in range(out.shape[0]):
        count += out[j] <= _limit_of(limit, j)
    return count


@helper
def _measure_tile(out, x, tile, far, limit, metric):
    d = x.shape[0]
    _start(out, x[0] - x[0], x[0], tile[0], metric)
    for k in range(1, d, STRIDE):
        _add_features(out, x, tile, k, min(k + STRIDE, d), far, metric)
        # Totals never fall: once all exceed their limits, the rest can be skipped.
        if k + STRIDE < d and count_within(out, limit) == 0:
            return 0
    return count_within(out, limit)


def _index_of(vertex, j):
    """Return the index of point j of a tile (compiled code only)."""


@overload(_index_of)
def _choose_index(vertex, j):
    if isinstance(vertex, types.Array):
        return lambda vertex, j: vertex[j]
    return lambda vertex, j: vertex + j


def measure(out, x, u, rows, tile, vertex, limit, metric):
    """Write the distances from one point to a tile of points, unless all exceed ``limit``.

    For compiled code only.

    Parameters
    ----------
    out : array of length m
        Takes the distances; complete only if the returned count is not 0.
    x : array
        The point: its coordinates, or its row of the table.
    u : int
        Its index, or one larger than any in ``vertex`` if it is not a training point.
    rows : array
        Coordinates, or the table, by vertex.
    tile : array of shape (d, TILE)
        Coordinates of the m points (separable metrics only).
    vertex : array of length m, or int
        Their indices; an integer is the first of m successive ones.
    limit : float or array of length m
        The largest distances of interest.

    Returns
    -------
    int
        How many distances are within the limit.
    """


@overload(measure)
def _measure(out, x, u, rows, tile, vertex, limit, metric):
    # The point with the smaller index always comes first, so that even a user's function that is
    # slightly asymmetric has one value for a pair.
    if is_separable(metric):
        if isinstance(vertex, types.Array):  # Prim's algorithm, whose points become fewer
            return lambda out, x, u, rows, tile, vertex, limit, metric: _measure_tile(
                out, x, tile, False, limit, metric
            )
        return lambda out, x, u, rows, tile, vertex, limit, metric: _measure_tile(
            out, x, tile, rows.size * rows.itemsize > CACHED, limit, metric
        )
    if getattr(metric, "instance_class", None) is Table:

        def look_up(out, x, u, rows, tile, vertex, limit, metric):
            for j in range(out.shape[0]):
                out[j] = x[_index_of(vertex, j)]
            return count_within(out, limit)

        return look_up

    def measure_pairs(out, x, u, rows, tile, vertex, limit, metric):
        for j in range(out.shape[0]):
            v = _index_of(vertex, j)
            if u < v:
                out[j] = distance(x, rows[v], metric)
            else:
                out[j] = distance(rows[v], x, metric)
        return count_within(out, limit)

    return measure_pairs


def between(u, v, rows, metric):
    """Measure the training points u and v (compiled code only)."""


@overload(between)
def _between(u, v, rows, metric):
    if getattr(metric, "instance_class", None) is Table:
        return lambda u, v, rows, metric: rows[u, v]
    return lambda u, v, rows, metric: distance(rows[min(u, v)], rows[max(u, v)], metric)


@kernel
def measure_edges(rows, parent, metric):
    """Return the distance from each vertex to its parent, 0 for a root."""
    out = np.zeros(parent.shape[0], rows.dtype)
    for v in range(parent.shape[0]):
        if parent[v] >= 0:
            out[v] = between(v, parent[v], rows, metric)
    return out


@kernel
def measure_pairs(rows, other, out, metric):
    """Write the distance from each point to the points in its row of ``other``."""
    for u in range(other.shape[0]):
        for slot in range(other.shape[1]):
            out[u, slot] = between(u, other[u, slot], rows, metric)


@kernel
def find_undefined(rows, begin, end, metric):
    """Return the first undefined pair with a row from ``begin`` on, or (−1, −1)."""
    for v in range(begin, end):
        for u in range(v):
            value = between(u, v, rows, metric)
            if not 0 <= value < np.inf:
                return u, v
    return -1, -1


@kernel
def measure_block(rows, begin, end, metric):
    """Return the distances from the points ``begin`` to ``end`` to all points."""
    out = np.empty((end - begin, len(rows)), rows.dtype)
    for u in range(begin, end):
        for v in range(len(rows)):
            out[u - begin, v] = between(u, v, rows, metric)
    return out
