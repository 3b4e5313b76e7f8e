"""Layer 2: who conquers a query, found by a scan, a k-d tree or matrix products: the same bits."""

from dataclasses import dataclass
from typing import Protocol

from opforest._blas import one_blas_thread
from opforest._threads import concatenated, parts_of, share
from opforest.kernels.conquering.kdtree import ANY, find_conquerors_in_tree
from opforest.kernels.conquering.products import find_conquerors_by_products
from opforest.kernels.conquering.scan import GROUP, Ranking, find_conquerors
from opforest.kernels.kdtree.index import Index
from opforest.kernels.spanning import prim
from opforest.kernels.vertices import State
from opforest.metrics import Array, Metric
from opforest.spanning import have_estimates

#: Matrix products pay from so many features on, and so many features of all queries together.
FEATURES_FOR_PRODUCTS, WORTH_PRODUCTS = 24, 2**14

#: At most so many queries are given to one call of a kernel, if it is fast.
QUERIES_PER_CALL = 8192


class Searcher(Protocol):
    """Finds conquerors."""

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query, a vertex, and its offer in reduced units."""

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to ask about at once, so that Ctrl-C is heard."""


@dataclass(frozen=True)
class Scan:
    """Looks at vertices one after another, by rising cost if they are ranked."""

    state: State
    ranking: Ranking
    metric: Metric

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query and its offer; it is −1 if it is undefined."""
        rows, kernel = self.state.rows, self.metric.kernel
        winner, offer = find_conquerors(queries, rows, self.ranking, kernel)
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to ask about at once."""
        work = len(self.ranking.vertex) * self.state.rows.shape[1]
        return int(max(GROUP, prim.WORK_PER_CALL // max(1, work)))


@dataclass(frozen=True)
class Products:
    """Estimates many distances at once, and measures where that is not enough."""

    state: State
    ranking: Ranking
    metric: Metric

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query and its offer."""
        rows, kernel = self.state.rows, self.metric.kernel
        with one_blas_thread():
            winner, offer = find_conquerors_by_products(queries, rows, self.ranking, kernel)
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to ask about at once."""
        return even_parts(n_queries)


@dataclass(frozen=True)
class TreeSearch:
    """Searches a k-d tree, among all vertices or among those of one class."""

    state: State
    index: Index
    metric: Metric
    wanted: int = ANY

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query and its offer; −1 and infinity if there is none."""
        winner, offer = find_conquerors_in_tree(
            queries, self.state, self.index, self.wanted, self.metric.kernel
        )
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to ask about at once."""
        return even_parts(n_queries)


def even_parts(n_queries: int) -> int:
    """Return the size of parts as even as can be."""
    calls = max(1, -(-n_queries // QUERIES_PER_CALL))
    return -(-n_queries // calls)


def search_ranking(n_queries: int, state: State, ranking: Ranking, metric: Metric) -> Searcher:
    """Return what finds conquerors of so many queries fastest among ranked vertices."""
    n_features = state.rows.shape[1]
    products_pay = (
        ranking.is_sorted
        and have_estimates(state.rows, metric)
        and n_features >= FEATURES_FOR_PRODUCTS
        and n_features * n_queries >= WORTH_PRODUCTS
    )
    return (Products if products_pay else Scan)(state, ranking, metric)


def find_in_parts(searcher: Searcher, queries: Array, jobs: int) -> tuple[Array, Array]:
    """Find conquerors part by part, so that threads share the work and Ctrl-C is heard."""
    part = searcher.queries_per_call(len(queries))
    part = max(GROUP, min(part, -(-len(queries) // jobs)))
    winner, offer = concatenated(share(searcher.find, parts_of(queries, part), jobs))
    return winner, offer
