"""Select the algorithm for the minimum spanning tree; all of them find the same tree."""

from typing import NamedTuple

import numpy as np

from opforest.core.kdtree.static import StaticKDTree, build_kdtree, count_looks
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array, SquaredEuclidean
from opforest.core.mst.bipartite import span_bipartite
from opforest.core.mst.boruvka import span_sparse
from opforest.core.mst.matmul import span_by_products
from opforest.core.mst.prim import span
from opforest.core.records import Tree

#: Below this number of examples, choosing an algorithm would take longer than any of them.
FEW = 2000

#: Below this number of examples, Prim's algorithm and insertions without an index take
#: milliseconds and microseconds, and compiling the others would take many seconds.
FEW_TO_SPAN, FEW_TO_GROW = 8000, 10_000

#: The number of searches that predict the cost of all others.
PROBES = 16

#: Scans and Prim's algorithm look at many points at once, a search in a tree at one after another.
#: So a tree is worthwhile if a search looks at less than this share of the points. Prim's algorithm
#: is faster where all points fit into this many bytes of cache.
SHARE_FOR_SEARCH, SHARE_FOR_SPANNING = 1 / 32, 1 / 100
CACHED_BYTES, SHARE_FOR_SPANNING_CACHED = 4_000_000, 1 / 150

#: Prim's algorithm compares one point with all others, again and again. Matrix products are
#: worthwhile above this many features, and this many bytes: more than the fast caches hold.
FEATURES_TO_SPAN, BYTES_TO_SPAN = 128, 12_000_000


class Probe(NamedTuple):
    """How well searches in a k-d tree of all points work."""

    share: (
        float  #: of the points that a search looks at; 1 to use no tree, 0 to use one in any case
    )
    tree: StaticKDTree | None = None  #: if one was built


def probe(rows: Array, metric: Metric, algorithm: str) -> Probe:
    """Find out whether a k-d tree is worthwhile."""
    n = len(rows)
    if algorithm == "brute" or not metric.is_indexable or (algorithm == "auto" and n < FEW):
        return Probe(1.0)
    tree = build_kdtree(rows, np.arange(n)) if n else None
    if algorithm == "kd_tree":
        return Probe(0.0, tree)
    sample = np.linspace(0, n - 1, PROBES).astype(np.int64)
    return Probe(count_looks(tree, sample, metric.kernel) / n, tree)


def span_best(rows: Array, metric: Metric, probed: Probe, n_jobs: int) -> Tree:
    """Return the minimum spanning tree, by the fastest algorithm."""
    tree = None
    if _spans_by_tree(rows, probed):
        tree = span_sparse(rows, probed.tree, metric.kernel, n_jobs)
    elif (
        have_estimates(rows, metric)
        and rows.shape[1] >= FEATURES_TO_SPAN
        and rows.nbytes >= BYTES_TO_SPAN
    ):
        tree = span_by_products(rows, metric.kernel, n_jobs)
    return span(rows, metric.kernel) if tree is None else tree


def span_between(rows: Array, split: int, metric: Metric, probed: Probe) -> Tree:
    """Return a spanning tree with every edge between two blocks that a larger tree may need.

    The blocks are the first ``split`` rows and the others. The tree is the minimum one of the edges
    between them or, where a k-d tree makes that cheaper, of all edges.
    """
    tree = None
    if _spans_by_tree(rows, probed):
        tree = span_sparse(rows, probed.tree, metric.kernel)
    return span_bipartite(rows, split, metric.kernel) if tree is None else tree


def _spans_by_tree(rows: Array, probed: Probe) -> bool:
    """Tell whether to use a k-d tree for spanning."""
    few = probed.share > 0 and len(rows) < FEW_TO_SPAN
    cached = rows.nbytes < CACHED_BYTES
    return probed.share < (SHARE_FOR_SPANNING_CACHED if cached else SHARE_FOR_SPANNING) and not few


def have_estimates(rows: Array, metric: Metric) -> bool:
    """Tell whether matrix products can estimate distances within known error bounds."""
    few = rows.shape[1] <= 0.25 / float(np.finfo(rows.dtype).eps)
    return isinstance(metric.kernel, SquaredEuclidean) and few
