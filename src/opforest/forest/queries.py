"""Storage of the examples of a forest for reading: searches and distances.

All state is in one ``StorageFields``. Readers share a lock, which keeps kernels from changing
what they read.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from opforest._utils.chunks import map_chunks, split_chunks
from opforest._utils.rwlock import ReadWriteLock
from opforest.core.conquest.kdtree import ANY
from opforest.core.conquest.scan import Ranking, find_conquerors, rank, scan_for_classes, unranked
from opforest.core.dynamic.bottleneck_bound import Bound, find_slip
from opforest.core.jit import specialize
from opforest.core.kdtree.dynamic import DynamicKDTree, build_index, find_fault, find_lost
from opforest.core.kdtree.static import build_kdtree
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst import prim
from opforest.core.records import DELETED, ForestArrays, copied
from opforest.core.select.mst import SHARE_FOR_SEARCH
from opforest.core.select.search import Searcher, TreeSearch, find_in_parts, search_ranking
from opforest.forest.state import (
    StorageFields,
    TreeModel,
    alive,
    costs_as_bound,
    place_among,
    read_only,
)

#: Up to this many classes are searched separately for their offers.
FEW_CLASSES = 32

#: From this many queries on, it is worthwhile to rank the examples by cost first.
WORTH_RANKING = 256

Method = TypeVar("Method", bound=Callable[..., Any])


def read_locked(method: Method) -> Method:
    """Keep ``self.examples`` from changing while a method runs."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.examples.lock.read():
            return method(self, *args, **kwargs)

    return read  # type: ignore[return-value]


class SearchCache(NamedTuple):
    """What readers search where there is no index, and the version it belongs to."""

    state: ForestArrays
    version: int
    finder: Ranking | DynamicKDTree


class ForestQueries:
    """The examples that a forest knows, and the index or ranking that finds them.

    Parameters
    ----------
    metric : Metric
        The metric.
    algorithm : {"auto", "kd_tree", "brute"}
        How to search.
    n_jobs : int or None
        The number of threads that share the work of training.
    body : Body
        Everything that changes.
    """

    def __init__(
        self, metric: Metric, algorithm: str, n_jobs: int | None, body: StorageFields
    ) -> None:
        self.metric = metric
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.body = body
        self.lock = ReadWriteLock()
        self._kept: SearchCache | None = None  # any reader may replace it

    def __len__(self) -> int:
        """Return the number of examples."""
        return int(self.body.size[0] - self.body.n_deleted[0])

    @property
    def state(self) -> ForestArrays:
        """The arrays that kernels read and change."""
        return self.body.state

    @property
    def end(self) -> int:
        """The number of vertices, including holes; the next one gets this number."""
        return int(self.body.size[0])

    @property
    def points(self) -> Array:
        """The examples as the metric embeds them; for precomputed distances, those."""
        vectors = self.body.vectors
        return read_only(self._rows() if vectors is None else self._chosen(vectors))

    @property
    def ids(self) -> Array:
        """The ids of the examples, which are their arrival numbers."""
        return read_only(self._chosen(self.body.arrival).copy())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which examples are kept and queries are measured."""
        return (self.state.rows if self.body.vectors is None else self.body.vectors).dtype

    @property
    def n_features(self) -> int:
        """The number of features of the examples, or of distances in a row of a table."""
        if self.body.vectors is not None:
            return int(self.body.vectors.shape[1])
        return self._width(len(self))

    @property
    def n_bytes(self) -> int:
        """The memory of everything in bytes, including room to grow."""
        finder = () if self._kept is None else self._kept.finder
        more = (*(self.body.lines or ()), *(self.body.bound or ()))
        kept = [*self.state, *self.body.index, *finder, *more]
        kept += [self.body.arrival, self.body.vectors]
        shared = self.state.bits.nbytes  # the same memory as ``gap``
        return sum(getattr(array, "nbytes", 0) for array in kept) - shared

    def field(self, name: str) -> Array:
        """Return a copy of one field of the records of all examples."""
        return self._chosen(self.state.vertices[name]).copy()

    def costs(self) -> Array:
        """Return a copy of the costs, in reduced units."""
        return self._chosen(self.state.cost).copy()

    def model(self) -> TreeModel:
        """Return labels, tree and costs, the latter two in reduced units."""
        parent = place_among(alive(self.state), self.field("parent").astype(np.int64))
        label, cuts = (self.field(name).astype(np.int64) for name in ("label", "cuts"))
        return TreeModel(label, parent, self.field("weight"), cuts, self.costs())

    def _ways(self) -> Array | None:
        """Return the next example on the path to its seed, −1 for seeds; None without seeds."""
        if len(self.state.way) == 0:
            return None
        return place_among(alive(self.state), self._chosen(self.state.way).astype(np.int64))

    def _chosen(self, array: Array) -> Array:
        """Return the entries of an array for the examples; a view if there are no holes."""
        chosen = alive(self.state)
        return array[: self.end] if chosen is None else array[chosen]

    def _rows(self) -> Array:
        """Return the rows of the examples; a view if there are no holes."""
        rows, chosen = self._chosen(self.state.rows), alive(self.state)
        if not self.metric.is_table:
            return rows
        return rows[:, : self.end] if chosen is None else rows[:, chosen]

    def _width(self, n: int) -> int:
        """Return how many columns the rows of n examples have."""
        return n if self.metric.is_table else self.state.rows.shape[1]

    def _measured_against(self) -> Array:
        """Return the points that new examples are measured against when a table is filled."""
        return self.points if self.metric.is_table else self.state.rows

    def _id_at(self, index: int) -> int:
        """Return the id of the example at an index, for messages."""
        return int(self.ids[index])

    # Searching.

    def queries(self, X: Array) -> Array:
        """Return the rows of X as kernels measure them."""
        if len(self) == 0:
            raise ValueError(
                "there is nothing left to predict with: all examples have been forgotten. Learn "
                "some first."
            )
        if X.shape[1] != self.n_features:
            raise ValueError(f"queries must have {self.n_features} columns, got {X.shape[1]}.")
        known, chosen = self._measured_against(), alive(self.state)
        rows = self.metric.query_rows(X, known, self._id_at)
        if chosen is None or not self.metric.is_table:
            return rows
        by_vertex = np.zeros((len(X), self.end), rows.dtype)
        by_vertex[:, chosen] = rows
        return by_vertex

    def find(
        self, queries: Array, wanted: int = ANY, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return the vertices that conquer queries, and their offers in reduced units.

        ``wanted`` restricts the search to one class.
        """
        searcher = self._searcher(len(queries), wanted)
        winner, offer = find_in_parts(searcher, queries, effective_n_jobs(n_jobs))
        self.metric.check_defined(offer, lambda i: f"query {i} and a training example")
        return winner, offer

    def find_by_class(
        self, queries: Array, n_classes: int, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return, for each query and class, the vertex with the cheapest offer, and the offer.

        A class without examples offers infinity.
        """
        shape, dtype = (len(queries), n_classes), self.state.rows.dtype
        winner, offer = np.zeros(shape, np.int64), np.full(shape, np.inf, dtype)
        label = self.state.vertices["label"][: self.end]
        classes = np.unique(label[label != DELETED])
        if len(classes) <= FEW_CLASSES:
            for code in classes.tolist():
                winner[:, code], offer[:, code] = self.find(queries, code, n_jobs)
            return winner, offer
        ranking = self._rank(self._vertices())
        names, kernel = label[ranking.vertex].astype(np.int64), self.metric.kernel
        scan = specialize(scan_for_classes, kernel)

        def look(part: Array) -> None:
            begin, end = part[0], part[-1] + 1
            scan(
                queries[begin:end], self.state.rows, ranking, names, offer[begin:end],
                winner[begin:end], kernel,
            )  # fmt: skip

        work = max(1, len(names) * self.state.rows.shape[1])
        jobs = effective_n_jobs(n_jobs)
        size = max(1, min(prim.WORK_PER_CALL // work, -(-len(queries) // jobs)))
        winner[:] = -1
        map_chunks(look, split_chunks(np.arange(len(queries)), size), jobs)
        known = offer[:, classes]
        self.metric.check_defined(
            known.ravel(), lambda i: f"query {i // len(classes)} and a training example"
        )
        return np.maximum(winner, 0), offer

    def find_rival(self, queries: Array, code: int) -> Array | None:
        """Return the vertices of other classes that make the cheapest offers; None without any."""
        state, label = self.state, self.state.vertices["label"][: self.end]
        if np.isin(label, (code, DELETED)).all():
            return None
        others = unranked(state, self.end)
        others = others._replace(cost=np.where(label == code, np.inf, others.cost))
        winner: Array
        search = specialize(find_conquerors, self.metric.kernel)
        winner, offer = search(queries, state.rows, others, self.metric.kernel)
        self.metric.check_defined(offer, lambda i: f"query {i} and a training example")
        return winner

    def distances_to(self, vertex: int, queries: Array) -> Array:
        """Return the reduced distances from queries to one vertex."""
        rows = self.state.rows
        alone = rank(rows, np.array([vertex]), np.zeros_like(self.state.cost), self.metric.kernel)
        return search_ranking(1, self.state, alone, self.metric).find(queries)[1]

    def _searcher(self, n_queries: int, wanted: int) -> Searcher:
        state, finder = self.state, self._finder(n_queries)
        if isinstance(finder, DynamicKDTree):
            return TreeSearch(state, finder, self.metric, wanted)
        if wanted != ANY:
            finder = self._rank(np.flatnonzero(state.vertices["label"][: self.end] == wanted))
        return search_ranking(n_queries, state, finder, self.metric)

    def _finder(self, n_queries: int) -> Ranking | DynamicKDTree:
        """Return the index or ranking to search: the current one, or one built for the queries."""
        state, kept = self.state, self._kept
        if isinstance(self.body.index, DynamicKDTree):
            return self.body.index
        if kept and kept.state is state and kept.version == state.counters[0]["version"]:
            return kept.finder
        if n_queries < WORTH_RANKING:
            return unranked(state, self.end)
        if self.body.share >= SHARE_FOR_SEARCH:
            return self._keep_ranking()
        own = state._replace(vertices=copied(state.vertices))  # an index writes into them
        return self._keep(build_index(own, build_kdtree(state.rows, self._vertices())))

    def _vertices(self) -> Array:
        chosen = alive(self.state)
        return np.arange(self.end) if chosen is None else chosen

    def _rank(self, vertex: Array) -> Ranking:
        return rank(self.state.rows, vertex, self.state.cost, self.metric.kernel)

    def _keep_ranking(self) -> Ranking | DynamicKDTree:
        return self._keep(self._rank(self._vertices()))

    def _keep(self, finder: Ranking | DynamicKDTree) -> Ranking | DynamicKDTree:
        """Keep an index or ranking until the next change."""
        self._kept = SearchCache(self.state, int(self.state.counters[0]["version"]), finder)
        return finder

    def find_fault(self) -> str:
        """Return what is wrong with the bound, the index or the ranking; nothing if all is well."""
        state, index, kept = self.state, self.body.index, self._kept
        if self.body.bound is not None:
            landmark, height, table = self.body.bound
            vertex, model = self._vertices(), self.model()
            chosen = Bound(landmark[vertex], height[vertex], table)
            slip = find_slip(chosen, model.parent, model.weight)
            if slip:
                return slip
        if isinstance(index, DynamicKDTree):
            bound = self.body.bound if self.body.lines is None else costs_as_bound(self.body)
            return find_lost(index, state) or find_fault(index, state, bound)
        if not kept or kept.state is not state or kept.version != state.counters[0]["version"]:
            return ""
        if isinstance(kept.finder, DynamicKDTree):
            return find_fault(kept.finder, state)
        vertex = self._vertices()
        vertex = vertex[np.argsort(state.cost[vertex], kind="stable")]
        is_right = np.array_equal(kept.finder.vertex, vertex) and np.array_equal(
            kept.finder.cost, state.cost[vertex]
        )
        return "" if is_right else "the ranking is not that of the costs"
