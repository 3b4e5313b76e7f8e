"""Validate the arrays of a file before a forest is made from them.

Kernels validate nothing, so all content of a file is checked here: types, shapes and ranges before
a kernel sees them, then the invariants of a forest.
"""

from functools import partial

import numpy as np

from opforest._utils import tuning
from opforest._utils.chunks import run_parallel
from opforest.core.jit import is_jitted, specialize
from opforest.core.kdtree.static import build_kdtree
from opforest.core.metrics.distances import measure_edges
from opforest.core.metrics.metric import CallableMetric, Metric
from opforest.core.metrics.types import Array
from opforest.core.select.mst import SEARCH_FRACTION
from opforest.estimators.validation import check_algorithm
from opforest.forest.approximate import ApproximateForest
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.seeded import SeededForest
from opforest.forest.state import ForestState, freeze
from opforest.forest.updates import UPDATES
from opforest.persistence.container import require

#: Larger than any possible id.
MAX_ID = 2**62

#: Rounding errors of a distance on another machine, in units of its last place.
ROUNDING = 1024


def build_checked(parts: ForestState, n_classes: int) -> BaseForest:
    """Return the forest; raise a ``ValueError`` if its parts are invalid."""
    _check_arrays(parts)
    _check_facts(parts)
    n = len(parts.rows)

    def check() -> None:
        if n:
            _check_links(parts, n_classes)
            _check_weights(parts)

    if n > tuning.values.many_to_check and parts.visited_fraction < SEARCH_FRACTION:
        _, tree = run_parallel(check, partial(build_kdtree, parts.rows, np.arange(n)))
        parts = parts._replace(kdtree=tree)
    else:
        check()
    kinds = {"": Forest, SeededForest.grown_by: SeededForest}
    forest: BaseForest = kinds.get(parts.grown_by, ApproximateForest).from_state(parts)
    try:
        forest.check_model()
    except AssertionError as error:
        raise ValueError(f"its forest is invalid: {error}.") from None
    return forest


def _is_seeded(parts: ForestState) -> bool:
    return parts.grown_by == SeededForest.grown_by


def _check_facts(parts: ForestState) -> None:
    metric, fraction, n = parts.metric, parts.visited_fraction, len(parts.rows)
    check_algorithm(parts.algorithm, metric)
    kinds = {"", SeededForest.grown_by, *UPDATES} - {"exact"}
    require(parts.grown_by in kinds, f"unknown update {parts.grown_by[:50]!r}.")
    require(0 <= fraction <= 1, f"its visited fraction must be from 0 to 1, got {fraction}.")
    require(fraction == 1 or metric.is_indexable, f"metric {metric.name!r} has no k-d tree.")
    arrival, removed = parts.arrival, parts.removed
    require(0 <= removed < MAX_ID, f"its number of forgotten examples cannot be {removed}.")
    is_sorted = (arrival >= 0).all() and (np.diff(arrival) > 0).all()
    require(is_sorted, "its ids are not in ascending order.")
    require((arrival < n + removed).all(), "an id is larger than that of the next example.")
    require(n or not parts.grown_by or _is_seeded(parts), "it has no examples.")


def _check_arrays(parts: ForestState) -> None:
    rows, metric, n = parts.rows, parts.metric, len(parts.rows)
    integers = {"label", "parent", "cuts", "arrival", "root", "pair"}
    arrays = {**parts.model._asdict(), "arrival": parts.arrival}
    if parts.grown_by and not _is_seeded(parts):
        require(parts.prototype_trees is not None, "it has no roots or pairs.")
        arrays.update(parts.prototype_trees._asdict() if parts.prototype_trees else {})
    for name, array in arrays.items():
        require(array.shape == (n,), f"array {name!r} must be of length {n}, not {array.shape}.")
        expected = np.dtype(np.int64) if name in integers else rows.dtype
        require(array.dtype == expected, f"array {name!r} must be {expected}, not {array.dtype}.")
    check_numbers(metric, rows, parts.vectors)
    if metric.is_table and rows.size:
        require(np.array_equal(rows, rows.T), "its table of distances is not symmetric.")
        require(not rows.diagonal().any(), "the distance of an example to itself is not 0.")


def check_numbers(metric: Metric, rows: Array, vectors: Array | None) -> None:
    """Raise an error unless a metric can measure these points, or the vectors of a table."""
    floats, n = (np.float32, np.float64), len(rows)
    require(rows.ndim == 2 and rows.dtype in floats, "its rows are not a matrix of floats.")
    is_valid = rows.shape[1] == n if metric.is_table else rows.shape[1] > 0
    require(is_valid, "its rows have the wrong number of columns.")
    has_vectors = isinstance(metric, CallableMetric)
    require((vectors is not None) == has_vectors, "only a metric that is a function has vectors.")
    if vectors is not None:
        is_valid = vectors.ndim == 2 and vectors.dtype in floats and len(vectors) == n
        require(is_valid and vectors.shape[1] > 0, "its vectors have the wrong shape or dtype.")
        require(np.isfinite(vectors).all(), "a feature is not finite.")
    if rows.size == 0:
        return
    require(np.isfinite(rows).all(), "a feature or a distance is not finite.")
    if metric.is_table:
        require((rows >= 0).all(), "a distance is negative.")
    else:
        metric.check_features(rows)


def _check_links(parts: ForestState, n_classes: int) -> None:
    """Check that labels, parents, roots and pairs are in range, and that parents form trees."""
    label, parent, _, cuts, _ = parts.model
    n = len(label)
    least = 1 if _is_seeded(parts) and not cuts.any() else 0  # without seeds, labels are 0
    is_known = (label >= 0) & (label < max(n_classes, least))
    require(is_known.all(), "the class of an example is unknown.")
    require(((parent >= -1) & (parent < n)).all(), "a parent is not an example.")
    require(((cuts >= 0) & (cuts <= n)).all(), "an example has too many cut edges.")
    top = find_roots(parent)
    if parts.prototype_trees is not None:
        root, pair = parts.prototype_trees
        require(np.array_equal(root, top), "a root is not the last ancestor.")
        require(((pair >= -1) & (pair < n)).all(), "a pair is not an example.")


def find_roots(parent: Array) -> Array:
    """Return the last ancestor of each vertex; raise a ``ValueError`` if there is a cycle."""
    n = len(parent)
    top = np.where(parent < 0, np.arange(n), parent)
    for _ in range(n.bit_length()):  # k rounds make 2^k steps
        top = top[top]
    require((parent[top] < 0).all(), "its parents form a cycle.")
    return top


def _check_weights(parts: ForestState) -> None:
    """Check the weights of edges against the metric."""
    metric, (_, parent, weight, *_) = parts.metric, parts.model
    is_valid = np.isfinite(weight).all() and (weight >= 0).all()
    require(is_valid, "the weight of an edge is negative or not finite.")
    require(not weight[parent < 0].any(), "a root has the weight of an edge.")
    if is_jitted(metric.kernel):
        metric.check_function(parts.rows)
    measured = specialize(measure_edges, metric.kernel)(parts.rows, parent, metric.kernel)
    _compare(weight, measured, parts)
    if isinstance(metric, CallableMetric) and parts.vectors is not None:
        _compare(weight, _call_along_edges(metric, parts.vectors, parent), parts)


def _call_along_edges(metric: CallableMetric, points: Array, parent: Array) -> Array:
    """Return the distances as training measures them: smaller index first, 0 for a root."""
    function = partial(metric.function, **dict(metric.params))
    points = freeze(points.view())
    pairs = ((min(u, v), max(u, v)) for v, u in enumerate(parent.tolist()))
    try:
        return np.array([function(points[u], points[v]) if u >= 0 else 0.0 for u, v in pairs])
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"metric {metric.name!r} fails on its examples: {error!r}") from error


def _compare(weight: Array, measured: Array, parts: ForestState) -> None:
    tolerance = ROUNDING * float(np.finfo(weight.dtype).eps)
    wrong = ~(np.abs(weight - measured) <= tolerance * weight)
    if wrong.any():
        v = int(wrong.argmax())
        one, other = parts.arrival[[v, parts.model.parent[v]]]
        raise ValueError(
            f"metric {parts.metric.name!r} is not the one it was learned with: the reduced "
            f"distance of the examples {one} and {other} is {weight[v]:.6g} in the file, but "
            f"{measured[v]:.6g} by the metric."
        )
