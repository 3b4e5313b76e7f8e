"""Select the algorithm for the minimum spanning tree; all of them find the same tree."""

from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest.core.kdtree.static import StaticKDTree, build_kdtree, count_visited
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array, SquaredEuclidean
from opforest.core.mst.bipartite import span_bipartite
from opforest.core.mst.boruvka import span_sparse
from opforest.core.mst.prim import span
from opforest.core.mst.sieve import span_by_sieve
from opforest.core.parts.memory import span_by_cells
from opforest.core.records import Tree

#: Below this number of examples, choosing an algorithm would take longer than any of them.
FEW = 2000

#: The number of searches that predict the cost of all others.
PROBES = 16

#: Scans and Prim's algorithm measure many points at once, a search in a k-d tree one after another.
#: So it is worthwhile if a search visits less than this fraction of the points. Prim's algorithm
#: is faster if all points fit into this many bytes of cache, and the sieve is faster anyway.
SEARCH_FRACTION, SPANNING_FRACTION = 1 / 32, 1 / 100
CACHED_BYTES, CACHED_SPANNING_FRACTION = 4_000_000, 1 / 150
SIEVE_FRACTION = 1 / 200

#: Cells need less memory, and share more work among threads, but the more features there are, the
#: more points are near other cells. They pay up to these numbers, on one thread and on several.
FEATURES_FOR_CELLS, SHARED_FEATURES_FOR_CELLS = 3, 6

#: The sieve finds all edges of two blocks, and from this number of features takes less time than
#: Prim's algorithm takes for those between them: 0.9 times as much with 16, 0.6 with 64 features.
FEATURES_TO_SIFT_PAIRS = 16


class Probe(NamedTuple):
    """How well searches in a k-d tree of all points work."""

    visited_fraction: float  #: of the points; 1 to use no k-d tree, 0 to use one in any case
    kdtree: StaticKDTree | None = None  #: if one was built

    def without_points(self) -> "Probe":
        """Return the same without its copy of the points, which an index does not need."""
        if self.kdtree is None:
            return self
        return self._replace(kdtree=self.kdtree._replace(points=self.kdtree.points[:0].copy()))


def probe(rows: Array, metric: Metric, algorithm: str, n_jobs: int = 1) -> Probe:
    """Find out whether a k-d tree is worthwhile."""
    n = len(rows)
    if algorithm == "brute" or not metric.is_indexable or (algorithm == "auto" and n < FEW):
        return Probe(1.0)
    kdtree = build_kdtree(rows, np.arange(n), n_jobs) if n else None
    if algorithm == "kd_tree":
        return Probe(0.0, kdtree)
    sample = np.linspace(0, n - 1, PROBES).astype(np.int64)
    return Probe(count_visited(kdtree, sample, metric.kernel) / n, kdtree)


def span_best(rows: Array, metric: Metric, probed: Probe, n_jobs: int) -> Tree:
    """Return the minimum spanning tree, by the fastest algorithm."""
    tree = None
    can_sift = _can_sift(rows, metric)
    if _use_kdtree(rows, probed, can_sift):
        if _use_cells(rows, n_jobs):
            size = min(tuning.values.points_per_cell, 1 + len(rows) // (2 * n_jobs))
            tree = span_by_cells(rows, probed.kdtree, metric.kernel, n_jobs, size)
        else:
            tree = span_sparse(rows, probed.kdtree, metric.kernel, n_jobs)
    elif can_sift:
        tree = span_by_sieve(rows, probed.kdtree, metric.kernel, n_jobs)
    return span(rows, metric.kernel) if tree is None else tree


def span_between(rows: Array, split: int, metric: Metric, probed: Probe) -> Tree:
    """Return a spanning tree with every edge between two blocks that a larger tree may need.

    The blocks are the first ``split`` rows and the others. The tree is the minimum one of the edges
    between them or, where a k-d tree or the sieve makes that cheaper, of all edges.
    """
    tree = None
    if _use_kdtree(rows, probed):
        tree = span_sparse(rows, probed.kdtree, metric.kernel)
    elif rows.shape[1] >= FEATURES_TO_SIFT_PAIRS and _can_sift(rows, metric):
        tree = span_by_sieve(rows, probed.kdtree, metric.kernel)
    return span_bipartite(rows, split, metric.kernel) if tree is None else tree


def _use_kdtree(rows: Array, probed: Probe, can_sift: bool = False) -> bool:
    if probed.visited_fraction > 0 and len(rows) < tuning.values.few_to_span:
        return False
    is_cached = rows.nbytes < CACHED_BYTES
    limit = CACHED_SPANNING_FRACTION if is_cached else SPANNING_FRACTION
    limit = SIEVE_FRACTION if can_sift else limit
    return probed.visited_fraction < limit


def is_kdtree_worthwhile(sample: Array, metric: Metric, algorithm: str) -> bool:
    """Return whether k-d trees should span many examples, of which this is a sample."""
    limit = SIEVE_FRACTION if have_estimates(sample, metric) else SPANNING_FRACTION
    return probe(sample, metric, algorithm).visited_fraction < limit


def _use_cells(rows: Array, n_jobs: int) -> bool:
    limit = FEATURES_FOR_CELLS if n_jobs == 1 else SHARED_FEATURES_FOR_CELLS
    return len(rows) >= tuning.values.many_for_cells and rows.shape[1] <= limit


def _can_sift(rows: Array, metric: Metric) -> bool:
    is_large = rows.nbytes >= tuning.values.sieve_bytes and len(rows) >= tuning.values.few_to_span
    return is_large and have_estimates(rows, metric)


def have_estimates(rows: Array, metric: Metric) -> bool:
    """Return whether matrix products can estimate distances within known error bounds."""
    few = rows.shape[1] <= 0.25 / float(np.finfo(np.float32).eps)
    return isinstance(metric.kernel, SquaredEuclidean) and few
