"""Select how to find conquerors: by a scan, a k-d tree, or matrix products."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np

from opforest._utils import tuning
from opforest._utils.blas import one_blas_thread
from opforest._utils.chunks import concatenate_results, map_chunks, split_chunks
from opforest.core.conquest.all_pairs import find_offers_of_others
from opforest.core.conquest.kdtree import ANY, find_conquerors_in_kdtree
from opforest.core.conquest.matmul import find_conquerors_by_matmul
from opforest.core.conquest.scan import GROUP, Ranking, find_conquerors
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.records import ForestArrays
from opforest.core.select.mst import have_estimates


@dataclass(frozen=True)
class Searcher(ABC):
    """Finds conquerors."""

    arrays: ForestArrays
    metric: Metric

    @abstractmethod
    def find_best(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Return the vertices that make the k best offers, and their offers in reduced units.

        Both have k columns. Offers are −1 if a distance is undefined. If fewer than k vertices are
        searched, −1 and infinity follow.
        """

    def find(self, queries: Array) -> tuple[Array, Array]:
        """Return the conqueror of each query, a vertex, and its offer in reduced units."""
        winner, offer = self.find_best(queries, 1)
        return winner[:, 0], offer[:, 0]

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to search in one call: few enough for Ctrl-C to be noticed."""
        calls = max(1, -(-n_queries // tuning.values.queries_per_call))
        return -(-n_queries // calls)


@dataclass(frozen=True)
class ScanSearch(Searcher):
    """Scans the vertices, by rising cost if they are ranked."""

    ranking: Ranking

    def find_best(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Return the k best vertices and offers."""
        rows, kernel = self.arrays.rows, self.metric.kernel
        winner, offer = find_conquerors(queries, rows, self.ranking, kernel, k)
        return winner, offer

    def queries_per_call(self, n_queries: int) -> int:
        """Return how many queries to search in one call."""
        work = len(self.ranking.vertex) * self.arrays.rows.shape[1]
        return int(max(GROUP, tuning.values.work_per_call // max(1, work)))

    @property
    def can_pair(self) -> bool:
        """Whether ``find_of_others`` is possible."""
        return self.ranking.is_sorted and self.metric.is_separable

    def find_of_others(self, k: int) -> tuple[Array, Array]:
        """Return the k best others and their offers for each vertex, in ascending order."""
        rows, kernel = self.arrays.rows, self.metric.kernel
        winner, offer = find_offers_of_others(rows, self.ranking, kernel, k)
        order = np.argsort(self.ranking.vertex)
        return winner[order], offer[order]


@dataclass(frozen=True)
class MatmulSearch(Searcher):
    """Estimates many distances at once, and measures those whose estimates do not decide."""

    ranking: Ranking

    def find_best(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Return the k best vertices and offers."""
        rows, kernel = self.arrays.rows, self.metric.kernel
        with one_blas_thread():
            winner, offer = find_conquerors_by_matmul(queries, rows, self.ranking, kernel, k)
        return winner, offer


@dataclass(frozen=True)
class KDTreeSearch(Searcher):
    """Searches a k-d tree, among all vertices or among those of one class."""

    index: DynamicKDTree
    wanted: int = ANY

    def find_best(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Return the k best vertices and offers."""
        winner, offer = find_conquerors_in_kdtree(
            queries, self.arrays, self.index, self.wanted, self.metric.kernel, k
        )
        return winner, offer


def search_ranking(
    n_queries: int, arrays: ForestArrays, ranking: Ranking, metric: Metric
) -> Searcher:
    """Return the fastest searcher among ranked vertices for this many queries."""
    n_features = arrays.rows.shape[1]
    use_matmul = (
        ranking.is_sorted
        and have_estimates(arrays.rows, metric)
        and n_features >= tuning.values.search_matmul_features
        and n_features * n_queries >= tuning.values.search_matmul_work
    )
    return (MatmulSearch if use_matmul else ScanSearch)(arrays, metric, ranking)


def find_in_parts(searcher: Searcher, queries: Array, jobs: int, k: int) -> tuple[Array, Array]:
    """Find the k best vertices and offers in parts, by several threads."""
    part = searcher.queries_per_call(len(queries))
    part = max(GROUP, min(part, -(-len(queries) // jobs)))
    if len(queries) <= part:
        return searcher.find_best(queries, k)
    search = partial(searcher.find_best, k=k)
    winner, offer = concatenate_results(map_chunks(search, split_chunks(queries, part), jobs))
    return winner, offer
