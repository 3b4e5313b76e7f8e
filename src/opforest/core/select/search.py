"""Select how to find conquerors: by a scan, a k-d tree, or matrix products."""

from dataclasses import dataclass
from typing import Protocol

from opforest._utils.blas import one_blas_thread
from opforest._utils.chunks import concatenate_results, map_chunks, split_chunks
from opforest.core.conquest.kdtree import ANY, find_conquerors_in_tree
from opforest.core.conquest.matmul import find_conquerors_by_products
from opforest.core.conquest.scan import GROUP, Ranking, find_conquerors
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst import prim
from opforest.core.records import ForestArrays
from opforest.core.select.mst import have_estimates

#: Matrix products are worthwhile above this many features, and this many over all queries.
FEATURES_FOR_PRODUCTS, WORTH_PRODUCTS = 24, 2**14

#: The most queries in one call of a fast kernel.
QUERIES_PER_CALL = 8192


class Searcher(Protocol):
    """Finds conquerors."""

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query, a vertex, and its offer in reduced units."""

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to search in one call: few enough for Ctrl-C to be noticed."""


@dataclass(frozen=True)
class Scan:
    """Looks at vertices one after another, by rising cost if they are ranked."""

    state: ForestArrays
    ranking: Ranking
    metric: Metric

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query and its offer, which is −1 where undefined."""
        rows, kernel = self.state.rows, self.metric.kernel
        winner, offer = find_conquerors(queries, rows, self.ranking, kernel)
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to search in one call."""
        work = len(self.ranking.vertex) * self.state.rows.shape[1]
        return int(max(GROUP, prim.WORK_PER_CALL // max(1, work)))


@dataclass(frozen=True)
class Products:
    """Estimates many distances at once, and measures exactly where the estimate does not decide."""

    state: ForestArrays
    ranking: Ranking
    metric: Metric

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query and its offer."""
        rows, kernel = self.state.rows, self.metric.kernel
        with one_blas_thread():
            winner, offer = find_conquerors_by_products(queries, rows, self.ranking, kernel)
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to search in one call."""
        return even_parts(n_queries)


@dataclass(frozen=True)
class TreeSearch:
    """Searches a k-d tree, among all vertices or among those of one class."""

    state: ForestArrays
    index: DynamicKDTree
    metric: Metric
    wanted: int = ANY

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query and its offer; −1 and infinity if there is none."""
        winner, offer = find_conquerors_in_tree(
            queries, self.state, self.index, self.wanted, self.metric.kernel
        )
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to search in one call."""
        return even_parts(n_queries)


def even_parts(n_queries: int) -> int:
    """Return the size of parts that are nearly equal."""
    calls = max(1, -(-n_queries // QUERIES_PER_CALL))
    return -(-n_queries // calls)


def search_ranking(
    n_queries: int, state: ForestArrays, ranking: Ranking, metric: Metric
) -> Searcher:
    """Return the fastest searcher among ranked vertices for this many queries."""
    n_features = state.rows.shape[1]
    use_products = (
        ranking.is_sorted
        and have_estimates(state.rows, metric)
        and n_features >= FEATURES_FOR_PRODUCTS
        and n_features * n_queries >= WORTH_PRODUCTS
    )
    return (Products if use_products else Scan)(state, ranking, metric)


def find_in_parts(searcher: Searcher, queries: Array, jobs: int) -> tuple[Array, Array]:
    """Find conquerors in parts, so that threads share the work and Ctrl-C is noticed."""
    part = searcher.queries_per_call(len(queries))
    part = max(GROUP, min(part, -(-len(queries) // jobs)))
    winner, offer = concatenate_results(
        map_chunks(searcher.find, split_chunks(queries, part), jobs)
    )
    return winner, offer
