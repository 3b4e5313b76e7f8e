"""Layer 2: when to use a k-d tree. The answers are the same bits either way."""

import numpy as np

from opforest.kernels.boruvka import span_sparse
from opforest.kernels.kdsearch import RankedTree, find_conquerors_in_tree, rank_in_tree
from opforest.kernels.kdtree import build_kdtree, count_looks
from opforest.kernels.search import Ranking, find_conquerors, rank
from opforest.kernels.spanning_tree import Tree, span
from opforest.metrics import Array, Metric

ALGORITHMS = ("auto", "brute", "kd_tree")

#: Below this number of examples, looking for a better way takes longer than any.
FEW = 2000

#: A probe of this many searches tells what others will cost.
PROBES = 16

#: Scans and Prim's algorithm look at many points at once, a search in a tree at one after another.
#: So a tree pays if a search looks at less than this share of the points.
SHARE_FOR_SEARCH, SHARE_FOR_SPANNING = 1 / 16, 1 / 100


def check_algorithm(algorithm: object, metric: Metric) -> None:
    """Raise a ``ValueError`` if there is no such algorithm, or not for this metric."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {list(ALGORITHMS)}, got {algorithm!r}.")
    if algorithm == "kd_tree" and not metric.is_indexable:
        raise ValueError(
            f"algorithm='kd_tree' has no bounds for metric {metric.name!r}. Use 'auto' or 'brute', "
            "or a metric of the Euclidean family, 'manhattan' or 'chebyshev'."
        )


def share_of_looks(rows: Array, metric: Metric, algorithm: str) -> float:
    """Return which share of the points a search in a k-d tree looks at; 1 if none is to be used."""
    n = len(rows)
    if algorithm == "brute" or not metric.is_indexable or (algorithm == "auto" and n < FEW):
        return 1.0
    if algorithm == "kd_tree":
        return 0.0
    sample = np.linspace(0, n - 1, PROBES).astype(np.int64)
    looks: float = count_looks(build_kdtree(rows, np.arange(n)), sample, metric.kernel)
    return looks / n


def span_best(rows: Array, metric: Metric, share: float, n_jobs: int) -> Tree:
    """Return the minimum spanning tree by the algorithm that fits."""
    tree = span_sparse(rows, metric.kernel, n_jobs) if share < SHARE_FOR_SPANNING else None
    return span(rows, metric.kernel) if tree is None else tree


def rank_best(
    rows: Array, vertex: Array, cost: Array, metric: Metric, share: float
) -> Ranking | RankedTree:
    """Rank vertices for the search that fits."""
    if share < SHARE_FOR_SEARCH:
        return rank_in_tree(rows, vertex, cost)
    return rank(rows, vertex, cost, metric.kernel)


def find_best(
    queries: Array, rows: Array, ranking: Ranking | RankedTree, metric: Metric
) -> tuple[Array, Array]:
    """Return the conqueror of each query and its offer."""
    if isinstance(ranking, RankedTree):
        winner, offer = find_conquerors_in_tree(queries, ranking, metric.kernel)
    else:
        winner, offer = find_conquerors(queries, rows, ranking, metric.kernel)
    return winner, offer
