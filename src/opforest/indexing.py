"""Layer 2: when to use a k-d tree or matrix products. The answers are the same bits either way."""

from typing import NamedTuple

import numpy as np

from opforest._blas import one_blas_thread
from opforest.kernels.boruvka import span_sparse
from opforest.kernels.boruvka_by_products import span_by_products
from opforest.kernels.index import Index
from opforest.kernels.kdsearch import find_conquerors_in_tree
from opforest.kernels.kdtree import KDTree, build_kdtree, count_looks
from opforest.kernels.products import find_conquerors_by_products
from opforest.kernels.search import GROUP, Ranking, find_conquerors
from opforest.kernels.spanning_tree import WORK_PER_CALL, Tree, span
from opforest.kernels.state import State
from opforest.metrics import Array, Metric, SquaredEuclidean

ALGORITHMS = ("auto", "brute", "kd_tree")

#: Below this number of examples, looking for a better way takes longer than any.
FEW = 2000

#: Below this number of examples, Prim's algorithm and insertions without an index take
#: milliseconds and microseconds, and compiling the others would take many seconds.
FEW_TO_SPAN, FEW_TO_GROW = 8000, 10_000

#: A probe of this many searches tells what others will cost.
PROBES = 16

#: Scans and Prim's algorithm look at many points at once, a search in a tree at one after another.
#: So a tree pays if a search looks at less than this share of the points.
SHARE_FOR_SEARCH, SHARE_FOR_SPANNING = 1 / 16, 1 / 100

#: Matrix products pay from so many features on, and so many features of all queries together.
FEATURES_FOR_PRODUCTS, WORTH_PRODUCTS = 24, 2**14

#: Prim's algorithm goes through all points again and again, one against all. Products pay where
#: there are so many features, and more bytes of points than the fast caches hold.
FEATURES_TO_SPAN, BYTES_TO_SPAN = 128, 12_000_000

#: At most so many queries are given to one call of a kernel, if it is fast.
QUERIES_PER_CALL = 8192


def check_algorithm(algorithm: object, metric: Metric) -> None:
    """Raise a ``ValueError`` if there is no such algorithm, or not for this metric."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {list(ALGORITHMS)}, got {algorithm!r}.")
    if algorithm == "kd_tree" and not metric.is_indexable:
        raise ValueError(
            f"algorithm='kd_tree' has no bounds for metric {metric.name!r}. Use 'auto' or 'brute', "
            "or a metric of the Euclidean family, 'cosine', 'correlation', 'squared_chord', "
            "'manhattan', 'chebyshev', or 'minkowski' with p from 1 on."
        )


class Probe(NamedTuple):
    """What is known of searches in a k-d tree of all points."""

    share: float  #: of the points that a search looks at; 1 if no tree is to be used, 0 if one must
    tree: KDTree | None = None  #: if one was built


def probe(rows: Array, metric: Metric, algorithm: str) -> Probe:
    """Find out whether a k-d tree pays."""
    n = len(rows)
    if algorithm == "brute" or not metric.is_indexable or (algorithm == "auto" and n < FEW):
        return Probe(1.0)
    tree = build_kdtree(rows, np.arange(n)) if n else None
    if algorithm == "kd_tree":
        return Probe(0.0, tree)
    sample = np.linspace(0, n - 1, PROBES).astype(np.int64)
    return Probe(count_looks(tree, sample, metric.kernel) / n, tree)


def span_best(rows: Array, metric: Metric, probed: Probe, n_jobs: int) -> Tree:
    """Return the minimum spanning tree by the algorithm that fits."""
    few = probed.share > 0 and len(rows) < FEW_TO_SPAN
    sparse = probed.share < SHARE_FOR_SPANNING and not few
    tree = None
    if sparse:
        tree = span_sparse(rows, probed.tree, metric.kernel, n_jobs)
    elif (
        _have_estimates(rows, metric)
        and rows.shape[1] >= FEATURES_TO_SPAN
        and rows.nbytes >= BYTES_TO_SPAN
    ):
        tree = span_by_products(rows, metric.kernel, n_jobs)
    return span(rows, metric.kernel) if tree is None else tree


def _have_estimates(rows: Array, metric: Metric) -> bool:
    """Tell whether matrix products estimate distances, with errors that have a bound."""
    few = rows.shape[1] <= 0.25 / float(np.finfo(rows.dtype).eps)
    return isinstance(metric.kernel, SquaredEuclidean) and few


def products_pay(n_queries: int, ranking: Ranking | Index, rows: Array, metric: Metric) -> bool:
    """Tell whether matrix products find conquerors faster than the scan."""
    n_features = rows.shape[1]
    return (
        isinstance(ranking, Ranking)
        and ranking.is_sorted
        and _have_estimates(rows, metric)
        and n_features >= FEATURES_FOR_PRODUCTS
        and n_features * n_queries >= WORTH_PRODUCTS
    )


def queries_per_call(n_queries: int, ranking: Ranking | Index, rows: Array, metric: Metric) -> int:
    """Return how many queries to give to ``find_best`` at once, so that Ctrl-C is heard."""
    if isinstance(ranking, Index) or products_pay(n_queries, ranking, rows, metric):
        calls = -(-n_queries // QUERIES_PER_CALL)
        return -(-n_queries // calls)
    return int(max(GROUP, WORK_PER_CALL // max(1, len(ranking.vertex) * rows.shape[1])))


def find_best(
    queries: Array, state: State, ranking: Ranking | Index, wanted: int, metric: Metric
) -> tuple[Array, Array]:
    """Return the conqueror of each query, and its offer.

    With an index, only vertices of class ``wanted`` count, unless it is −1; a ranking should hold
    no others.
    """
    if isinstance(ranking, Index):
        winner, offer = find_conquerors_in_tree(queries, state, ranking, wanted, metric.kernel)
    elif products_pay(len(queries), ranking, state.rows, metric):
        with one_blas_thread():
            winner, offer = find_conquerors_by_products(queries, state.rows, ranking, metric.kernel)
    else:
        winner, offer = find_conquerors(queries, state.rows, ranking, metric.kernel)
    return winner, offer
