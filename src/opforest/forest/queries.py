"""Queries to a forest: which examples conquer a query, and at what cost."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from opforest._utils import tuning
from opforest._utils.chunks import map_chunks, split_chunks
from opforest.core.conquest.kdtree import ANY
from opforest.core.conquest.scan import (
    Ranking,
    find_conquerors,
    rank,
    rank_by_index,
    scan_for_classes,
)
from opforest.core.dynamic.bottleneck_bound import Bound, find_bound_error
from opforest.core.dynamic.staged import (
    insert_offers_to_staged,
    measure_staged,
    offer_to_staged,
)
from opforest.core.jit import specialize
from opforest.core.kdtree.dynamic import (
    DynamicKDTree,
    build_index,
    find_node_error,
    find_slot_error,
)
from opforest.core.kdtree.static import build_kdtree
from opforest.core.metrics.types import Array
from opforest.core.records import DELETED, ForestArrays, NoIndex, copy_array
from opforest.core.select.mst import SEARCH_FRACTION
from opforest.core.select.search import KDTreeSearch, Searcher, find_in_parts, search_ranking
from opforest.forest.storage import ForestStorage

#: Up to this many classes are searched separately for their offers.
FEW_CLASSES = 32

#: From this many queries on, it is worthwhile to rank the examples by cost first.
WORTH_RANKING = 256

Method = TypeVar("Method", bound=Callable[..., Any])


def read_locked(method: Method) -> Method:
    """Keep ``self.storage`` from changing while a method runs."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.storage.lock.read():
            return method(self, *args, **kwargs)

    return read  # type: ignore[return-value]


class SearchCache(NamedTuple):
    """A ranking or index to search where the storage has none, and the version it belongs to."""

    arrays: ForestArrays
    version: int
    finder: Ranking | DynamicKDTree


class ForestQueries:
    """Searches for the examples that conquer queries.

    Callers hold a read lock of the storage, or are the only thread that changes it.
    """

    def __init__(self, storage: ForestStorage) -> None:
        self.storage = storage
        self._cache: SearchCache | None = None  # any reader may replace it

    @property
    def n_bytes(self) -> int:
        """The memory of the cached ranking or index in bytes."""
        finder = () if self._cache is None else self._cache.finder
        return sum(getattr(array, "nbytes", 0) for array in finder)

    def to_units(self, reduced: Array) -> Array:
        """Convert distances as kernels measure them to the metric's own units."""
        return self.storage.metric.to_units(reduced, self.storage.n_features)

    def prepare(self, X: Array) -> Array:
        """Return the rows of X as kernels measure them."""
        storage, metric = self.storage, self.storage.metric
        if len(storage) == 0:
            raise ValueError(
                "there is nothing left to predict with: all examples have been forgotten. Learn "
                "some first."
            )
        if X.shape[1] != storage.n_features:
            raise ValueError(f"queries must have {storage.n_features} columns, got {X.shape[1]}.")
        rows = metric.query_rows(X, storage.reference_points(), storage.id_at)
        if not metric.is_table or not storage.fields.n_deleted[0]:
            return rows
        by_vertex = np.zeros((len(X), storage.end), rows.dtype)
        by_vertex[:, storage.alive()] = rows
        return by_vertex

    def find(
        self, queries: Array, wanted: int = ANY, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return the vertices that conquer queries, and their offers in reduced units.

        ``wanted`` restricts the search to one class.
        """
        winner, offer = self._find_best(queries, 1, wanted, n_jobs)
        return winner[:, 0], offer[:, 0]

    def find_best(self, queries: Array, k: int, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the vertices that make the k best offers to queries, and the offers, by column.

        If the forest has fewer than k examples, there are only as many columns.
        """
        return self._find_best(queries, min(k, len(self.storage)), ANY, n_jobs)

    def _find_best(
        self, queries: Array, k: int, wanted: int, n_jobs: int | None
    ) -> tuple[Array, Array]:
        searcher = self.choose_searcher(len(queries), wanted)
        winner, offer = find_in_parts(searcher, queries, effective_n_jobs(n_jobs), k)
        known = offer
        if k > 1:  # a conqueror at infinity is an error, a missing voter is not
            known = offer.copy()
            known[:, 1:][winner[:, 1:] < 0] = 0
        self._check_offers(known)
        return winner, offer

    @read_locked
    def find_nearest(self, X: Array, k: int, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the distances to the k nearest examples, in the metric's units, and their ids.

        Ties go to the smaller id. If there are fewer than k examples, infinity and −1 follow.
        """
        queries = self.prepare(X)
        vertex, distance = find_in_parts(
            self._choose_distance_searcher(len(queries)), queries, effective_n_jobs(n_jobs), k
        )
        self._check_offers(np.where(vertex < 0, 0, distance))
        ids = self.storage.fields.arrival[vertex]
        return self.to_units(distance), np.where(vertex < 0, -1, ids)

    def _choose_distance_searcher(self, n_queries: int) -> Searcher:
        """Return a searcher of a forest whose costs are all 0, so that distances are its offers."""
        storage, metric = self.storage, self.storage.metric
        is_deleted = np.isinf(storage.arrays.cost)
        arrays = storage.arrays._replace(
            cost=np.where(is_deleted, storage.arrays.cost, storage.arrays.cost.dtype.type(0))
        )
        if n_queries < WORTH_RANKING:
            ranking = rank_by_index(arrays, storage.end)
        elif metric.is_indexable and storage.fields.visited_fraction < SEARCH_FRACTION:
            own = arrays._replace(vertices=copy_array(arrays.vertices))  # an index writes into them
            tree = build_kdtree(arrays.rows, storage.vertices())
            return KDTreeSearch(own, metric, build_index(own, tree))
        else:
            ranking = rank(arrays.rows, storage.vertices(), arrays.cost, metric.kernel)
        return search_ranking(n_queries, arrays, ranking, metric)

    def find_by_class(
        self, queries: Array, n_classes: int, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return, for each query and class, the vertex with the cheapest offer, and the offer.

        A class without examples offers infinity.
        """
        storage, rows = self.storage, self.storage.arrays.rows
        shape = len(queries), n_classes
        winner, offer = np.zeros(shape, np.int64), np.full(shape, np.inf, rows.dtype)
        classes = storage.classes()
        if len(classes) <= FEW_CLASSES:
            for code in classes.tolist():
                winner[:, code], offer[:, code] = self.find(queries, code, n_jobs)
            return winner, offer
        ranking, kernel = self._rank(storage.vertices()), storage.metric.kernel
        label = storage.labels_of(ranking.vertex).astype(np.int64)
        scan = specialize(scan_for_classes, kernel)

        def search(part: Array) -> None:
            some = slice(part[0], part[-1] + 1)
            scan(queries[some], rows, ranking, label, offer[some], winner[some], kernel)

        jobs, work = effective_n_jobs(n_jobs), max(1, len(label) * rows.shape[1])
        size = max(1, min(tuning.values.work_per_call // work, -(-len(queries) // jobs)))
        winner[:] = -1
        map_chunks(search, split_chunks(np.arange(len(queries)), size), jobs)
        self._check_offers(offer[:, classes])
        return np.maximum(winner, 0), offer

    def find_rival(self, queries: Array, code: int) -> Array | None:
        """Return the vertices of other classes that make the cheapest offers; None without any."""
        arrays, end = self.storage.arrays, self.storage.end
        label = arrays.vertices["label"][:end]
        is_own = label == code
        if (is_own | (label == DELETED)).all():
            return None
        others = rank_by_index(arrays, end)
        others = others._replace(cost=np.where(is_own, np.inf, others.cost))
        kernel = self.storage.metric.kernel
        winner: Array
        winner, offer = find_conquerors(queries, arrays.rows, others, kernel)
        self._check_offers(offer)
        return winner[:, 0]

    def distances_to(self, vertex: int, queries: Array) -> Array:
        """Return the reduced distances from queries to one vertex."""
        arrays, metric = self.storage.arrays, self.storage.metric
        alone = rank(arrays.rows, np.array([vertex]), np.zeros_like(arrays.cost), metric.kernel)
        return search_ranking(1, arrays, alone, metric).find(queries)[1]

    def _check_offers(self, offer: Array) -> None:
        """Raise a ``ValueError`` if an offer, by query or by query and class, is undefined."""
        per_query = offer[:1].size or 1
        self.storage.metric.check_defined(
            offer.ravel(), lambda i: f"query {i // per_query} and a training example"
        )

    # Staged examples.

    def find_staged(self, end: int) -> Array:
        """Return the vertices that conquer the staged examples up to ``end``."""
        return self.find(self.storage.arrays.rows[self.storage.end : end])[0]

    def measure_staged(self) -> int:
        """Return the vertex that conquers the one staged example.

        Where no index is searched, distances are kept in scratch space for an update to use. So
        only one thread at a time may call this, unlike other queries.
        """
        storage, metric, index = self.storage, self.storage.metric, self.storage.fields.index
        if isinstance(index, DynamicKDTree) and index.status["pause"][0] == 0:
            return int(self.find_staged(storage.end + 1)[0])
        measure = specialize(measure_staged, metric.kernel)
        conqueror = measure(storage.arrays, storage.end, metric.kernel)
        if metric.may_be_undefined:
            distances = storage.arrays.distances[storage.alive()]
            metric.check_defined(distances, lambda v: f"example {storage.id_at(v)} and the new one")
        return int(conqueror)

    def find_best_staged(self, k: int) -> tuple[Array, Array]:
        """Return the k best vertices and offers for the staged example, which was measured."""
        arrays, end = self.storage.arrays, self.storage.end
        if isinstance(self.storage.fields.index, DynamicKDTree):
            return self.find_best(arrays.rows[end : end + 1], k)
        k = min(k, len(self.storage))
        voter, offer = np.empty((1, k), np.int64), np.empty((1, k), arrays.rows.dtype)
        insert_offers_to_staged(arrays, end, voter, offer)
        return voter, offer

    def offers_to_staged(self, n_classes: int) -> Array:
        """Return the offer of each class to the staged example, which has been measured."""
        arrays, end = self.storage.arrays, self.storage.end
        offer = np.full(n_classes, np.inf, arrays.rows.dtype)
        if isinstance(self.storage.fields.index, NoIndex):
            offer_to_staged(arrays, end, offer)
        else:
            query = arrays.rows[end : end + 1]
            for code in range(n_classes):
                _, offer[code : code + 1] = self.choose_searcher(1, code).find(query)
        return offer

    # Rankings and indexes.

    def choose_searcher(self, n_queries: int, wanted: int) -> Searcher:
        """Return the searcher for this many queries, among all examples or those of a class."""
        arrays, metric = self.storage.arrays, self.storage.metric
        finder = self._choose_finder(n_queries)
        if isinstance(finder, DynamicKDTree):
            return KDTreeSearch(arrays, metric, finder, wanted)
        if wanted != ANY:
            label = arrays.vertices["label"][: self.storage.end]
            finder = self._rank(np.flatnonzero(label == wanted))
        return search_ranking(n_queries, arrays, finder, metric)

    def _choose_finder(self, n_queries: int) -> Ranking | DynamicKDTree:
        """Return the index or ranking to search: the current one, or one built for the queries."""
        storage, arrays = self.storage, self.storage.arrays
        if isinstance(storage.fields.index, DynamicKDTree):
            return storage.fields.index
        current = self._current_cache()
        if current is not None:
            return current.finder
        if n_queries < WORTH_RANKING:
            return rank_by_index(arrays, storage.end)
        if storage.fields.visited_fraction >= SEARCH_FRACTION:
            return self._store(self._rank(storage.vertices()))
        own = arrays._replace(vertices=copy_array(arrays.vertices))  # an index writes into them
        return self._store(build_index(own, build_kdtree(arrays.rows, storage.vertices())))

    def _current_cache(self) -> SearchCache | None:
        """Return the cache if the forest has not changed since."""
        cache, storage = self._cache, self.storage
        if cache and cache.arrays is storage.arrays and cache.version == storage.version:
            return cache
        return None

    def _rank(self, vertex: Array) -> Ranking:
        arrays = self.storage.arrays
        return rank(arrays.rows, vertex, arrays.cost, self.storage.metric.kernel)

    def warm_up(self) -> None:
        """Rank the examples for the next queries, unless an index finds them."""
        if len(self.storage) and isinstance(self.storage.fields.index, NoIndex):
            self._store(self._rank(self.storage.vertices()))

    def _store(self, finder: Ranking | DynamicKDTree) -> Ranking | DynamicKDTree:
        """Keep an index or ranking until the next change."""
        self._cache = SearchCache(self.storage.arrays, self.storage.version, finder)
        return finder

    def find_search_error(self) -> str:
        """Return what is wrong with the bound, the index or the ranking, or "" if all is well."""
        storage, fields, arrays = self.storage, self.storage.fields, self.storage.arrays
        vertex, cache = storage.vertices(), self._current_cache()
        if fields.bound is not None:
            landmark, height, table = fields.bound
            model = storage.model()
            bound = Bound(landmark[vertex], height[vertex], table)
            slip = find_bound_error(bound, model.parent, model.weight)
            if slip:
                return slip
        if isinstance(fields.index, DynamicKDTree):
            return find_slot_error(fields.index, arrays) or find_node_error(
                fields.index, arrays, fields.index_bound()
            )
        if cache is None:
            return ""
        if isinstance(cache.finder, DynamicKDTree):
            return find_node_error(cache.finder, arrays)
        vertex = vertex[np.argsort(arrays.cost[vertex], kind="stable")]
        is_right = np.array_equal(cache.finder.vertex, vertex) and np.array_equal(
            cache.finder.cost, arrays.cost[vertex]
        )
        return "" if is_right else "the ranking is not that of the costs"
