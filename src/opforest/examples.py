"""Layer 2: the examples of a forest: storing, searching, adding and removing them.

All state is in one ``Body``. It changes in one of two ways: a kernel learns or forgets whole
examples in one call, after which everything is consistent; or a new body replaces the old one, by
one assignment. So an interrupt always leaves a valid forest behind. Readers share a lock, which
keeps kernels from changing what they read.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs

from opforest._jit import specialise
from opforest._sharing import SharedLock
from opforest._threads import parts_of, share
from opforest.kernels.conquering.kdtree import ANY
from opforest.kernels.conquering.scan import (
    Ranking,
    find_conquerors,
    measure_staged,
    offer_to_staged,
    rank,
    scan_for_classes,
    unranked,
)
from opforest.kernels.distances import TILE, fill_tiles, find_undefined
from opforest.kernels.growing.bound import Bound, find_slip, make_bound
from opforest.kernels.growing.opfi import Lines
from opforest.kernels.kdtree.fixed import KDTree, build_kdtree
from opforest.kernels.kdtree.index import (
    PAUSE,
    Flat,
    Index,
    build_index,
    find_fault,
    find_lost,
    is_full,
    note_bound,
    with_room,
    with_width,
)
from opforest.kernels.spanning import prim
from opforest.kernels.vertices import (
    FORGOTTEN,
    State,
    copied,
    resized,
)
from opforest.metrics import Array, Metric
from opforest.parts import (
    Body,
    Model,
    Parts,
    costs_as_bound,
    enlarge,
    living,
    make_state,
    place_among,
    read_only,
)
from opforest.searching import Searcher, TreeSearch, find_in_parts, search_ranking
from opforest.spanning import FEW_TO_GROW, SHARE_FOR_SEARCH, Probe, probe

#: Roughly the number of passes over all examples that an insertion takes.
PASSES_PER_INSERTION = 3

#: Insertions with an index in one call of a kernel: few enough for Ctrl-C to be noticed.
INSERTIONS_PER_CALL = 2000

#: A bound is recomputed after changes to one in ``SLACK`` examples, and ``FEW_TO_BOUND`` more.
SLACK, FEW_TO_BOUND = 4, 256

#: Up to this many classes are searched separately for their offers.
FEW_CLASSES = 32

#: From this many queries on, it is worthwhile to rank the examples by cost first.
WORTH_RANKING = 256

Method = TypeVar("Method", bound=Callable[..., Any])


def consistent(method: Method) -> Method:
    """Keep ``self.examples`` from changing while a method runs."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.examples.lock.reading():
            return method(self, *args, **kwargs)

    return read  # type: ignore[return-value]


class Kept(NamedTuple):
    """What readers search where there is no index, and the version it belongs to."""

    state: State
    version: int
    finder: Ranking | Index


class Examples:
    """The examples of a forest, and the index or ranking that finds them.

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

    def __init__(self, metric: Metric, algorithm: str, n_jobs: int | None, body: Body) -> None:
        self.metric = metric
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.body = body
        self.lock = SharedLock()
        self._kept: Kept | None = None  # any reader may replace it

    @classmethod
    def from_parts(cls, parts: Parts, tree: KDTree | None = None) -> Self:
        """Return the examples of these parts, which are not checked.

        ``tree`` is their k-d tree, if it is already known.
        """
        rows, *arrays = (np.require(a, requirements=("C", "W")) for a in (parts.rows, *parts.model))
        state = make_state(rows, Model(*arrays), parts.metric, way=parts.way)
        lines = parts.lines
        if lines is not None:
            lines = Lines(*(np.require(array, requirements=("C", "W")) for array in lines))
        index: Index | Flat = Flat()
        if parts.share < SHARE_FOR_SEARCH and len(rows):
            tree = tree or parts.tree or build_kdtree(rows, np.arange(len(rows)))
            index = build_index(state, tree)
        body = Body(
            state,
            index,
            parts.arrival,
            parts.removed,
            parts.vectors,
            lines,
            None,
            0,
            parts.share,
            len(rows),
        )
        if lines is not None and isinstance(index, Index):
            note_bound(index, costs_as_bound(body))
        examples = cls(parts.metric, parts.algorithm, parts.n_jobs, body)
        if len(rows) and isinstance(index, Flat):
            examples._keep_ranking()
        return examples

    def relinked(self, parent: Array, weight: Array, lines: Lines) -> "Examples":
        """Return the same examples in the trees of predecessors.

        Points are shared, not copied, if there are no holes.
        """
        parts, body = self.parts(), self.body
        model = parts.model._replace(parent=parent, weight=weight)
        if body.holes[0]:
            return self.from_parts(parts._replace(model=model, lines=lines))
        rows = np.require(parts.rows, requirements=("C", "W"))
        state = make_state(rows, model, self.metric, body.state.tiles)
        same = replace(
            body, state=state, index=Flat(), lines=lines, bound=None, arrival=parts.arrival
        )
        few = self.algorithm == "auto" and len(rows) < FEW_TO_GROW
        if isinstance(body.index, Index) and not few:
            state.vertices["home"] = self.field("home")
            same = replace(same, index=Index(*(copied(array) for array in body.index)))
            note_bound(same.index, costs_as_bound(same))
        return Examples(self.metric, self.algorithm, self.n_jobs, same)

    def parts(self) -> Parts:
        """Return copies of all parts, except the points, which never change."""
        body, lines = self.body, self.body.lines
        if lines is not None:
            lines = Lines(*(array[: self.end].copy() for array in lines))
        return Parts(
            metric=self.metric,
            rows=self._rows(),
            model=self.model(),
            arrival=self._chosen(body.arrival).copy(),
            removed=body.removed + self.end - len(self),
            vectors=None if body.vectors is None else self._chosen(body.vectors),
            lines=lines,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
            share=float(body.share),
            way=self._ways(),
        )

    def __len__(self) -> int:
        """Return the number of examples."""
        return int(self.body.size[0] - self.body.holes[0])

    @property
    def state(self) -> State:
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
        """Arrival numbers of the examples."""
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

    def model(self) -> Model:
        """Return labels, tree and costs, the latter two in reduced units."""
        parent = place_among(living(self.state), self.field("parent").astype(np.int64))
        label, cuts = (self.field(name).astype(np.int64) for name in ("label", "cuts"))
        return Model(label, parent, self.field("weight"), cuts, self.costs())

    def _ways(self) -> Array | None:
        """Return the next example on the path to its seed, −1 for seeds; None without seeds."""
        if len(self.state.way) == 0:
            return None
        return place_among(living(self.state), self._chosen(self.state.way).astype(np.int64))

    def _chosen(self, array: Array) -> Array:
        """Return the entries of an array for the examples; a view if there are no holes."""
        chosen = living(self.state)
        return array[: self.end] if chosen is None else array[chosen]

    def _rows(self) -> Array:
        """Return the rows of the examples; a view if there are no holes."""
        rows, chosen = self._chosen(self.state.rows), living(self.state)
        if not self.metric.is_table:
            return rows
        return rows[:, : self.end] if chosen is None else rows[:, chosen]

    def _width(self, n: int) -> int:
        """Return how many columns the rows of n examples have."""
        return n if self.metric.is_table else self.state.rows.shape[1]

    def _measured_against(self) -> Array:
        """Return the points that new examples are measured against when a table is filled."""
        return self.points if self.metric.is_table else self.state.rows

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
        rows, chosen = self.metric.query_rows(X, self._measured_against()), living(self.state)
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
        classes = np.unique(label[label != FORGOTTEN])
        if len(classes) <= FEW_CLASSES:
            for code in classes.tolist():
                winner[:, code], offer[:, code] = self.find(queries, code, n_jobs)
            return winner, offer
        ranking = self._rank(self._vertices())
        names, kernel = label[ranking.vertex].astype(np.int64), self.metric.kernel
        scan = specialise(scan_for_classes, kernel)

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
        share(look, parts_of(np.arange(len(queries)), size), jobs)
        known = offer[:, classes]
        self.metric.check_defined(
            known.ravel(), lambda i: f"query {i // len(classes)} and a training example"
        )
        return np.maximum(winner, 0), offer

    def find_rival(self, queries: Array, code: int) -> Array | None:
        """Return the vertices of other classes that make the cheapest offers; None without any."""
        state, label = self.state, self.state.vertices["label"][: self.end]
        if np.isin(label, (code, FORGOTTEN)).all():
            return None
        others = unranked(state, self.end)
        others = others._replace(cost=np.where(label == code, np.inf, others.cost))
        winner: Array
        winner, offer = find_conquerors(queries, state.rows, others, self.metric.kernel)
        self.metric.check_defined(offer, lambda i: f"query {i} and a training example")
        return winner

    def distances_to(self, vertex: int, queries: Array) -> Array:
        """Return the reduced distances from queries to one vertex."""
        rows = self.state.rows
        alone = rank(rows, np.array([vertex]), np.zeros_like(self.state.cost), self.metric.kernel)
        return search_ranking(1, self.state, alone, self.metric).find(queries)[1]

    def _searcher(self, n_queries: int, wanted: int) -> Searcher:
        state, finder = self.state, self._finder(n_queries)
        if isinstance(finder, Index):
            return TreeSearch(state, finder, self.metric, wanted)
        if wanted != ANY:
            finder = self._rank(np.flatnonzero(state.vertices["label"][: self.end] == wanted))
        return search_ranking(n_queries, state, finder, self.metric)

    def _finder(self, n_queries: int) -> Ranking | Index:
        """Return the index or ranking to search: the current one, or one built for the queries."""
        state, kept = self.state, self._kept
        if isinstance(self.body.index, Index):
            return self.body.index
        if kept and kept.state is state and kept.version == state.tally[0]["version"]:
            return kept.finder
        if n_queries < WORTH_RANKING:
            return unranked(state, self.end)
        if self.body.share >= SHARE_FOR_SEARCH:
            return self._keep_ranking()
        own = state._replace(vertices=copied(state.vertices))  # an index writes into them
        return self._keep(build_index(own, build_kdtree(state.rows, self._vertices())))

    def _vertices(self) -> Array:
        chosen = living(self.state)
        return np.arange(self.end) if chosen is None else chosen

    def _rank(self, vertex: Array) -> Ranking:
        return rank(self.state.rows, vertex, self.state.cost, self.metric.kernel)

    def _keep_ranking(self) -> Ranking | Index:
        return self._keep(self._rank(self._vertices()))

    def _keep(self, finder: Ranking | Index) -> Ranking | Index:
        """Keep an index or ranking until the next change."""
        self._kept = Kept(self.state, int(self.state.tally[0]["version"]), finder)
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
        if isinstance(index, Index):
            bound = self.body.bound if self.body.lines is None else costs_as_bound(self.body)
            return find_lost(index, state) or find_fault(index, state, bound)
        if not kept or kept.state is not state or kept.version != state.tally[0]["version"]:
            return ""
        if isinstance(kept.finder, Index):
            return find_fault(kept.finder, state)
        vertex = self._vertices()
        vertex = vertex[np.argsort(state.cost[vertex], kind="stable")]
        is_right = np.array_equal(kept.finder.vertex, vertex) and np.array_equal(
            kept.finder.cost, state.cost[vertex]
        )
        return "" if is_right else "the ranking is not that of the costs"

    # Learning. A staged example becomes part of the forest when a kernel counts it.

    def stage(self, X: Array, label: Array) -> int:
        """Write new examples behind the counted ones, and return where they end.

        If it fails, nothing has changed.
        """
        vectors, rows = self.metric.new_rows(X, self._measured_against())
        self.make_room(len(X))
        body, begin, end = self.body, self.end, self.end + len(X)
        state = body.state
        if self.metric.is_table:
            new, chosen = np.arange(begin, end), living(state)
            known = np.arange(begin) if chosen is None else chosen
            columns = np.concatenate((known, new))
            state.rows[np.ix_(new, columns)] = rows
            state.rows[np.ix_(columns, new)] = rows.T
        else:
            state.rows[begin:end] = rows
        if body.vectors is not None:
            body.vectors[begin:end] = vectors
        state.vertices["label"][begin:end] = label
        body.arrival[begin:end] = np.arange(begin, end) + body.removed
        fill_tiles(state.rows, np.arange(begin, end), state.tiles, begin)
        self._check_new(begin, end)
        return end

    def stage_one(self, x: Array) -> None:
        """Stage one example like ``stage``, but faster, for streams; ``label_staged`` follows.

        ``measure_staged`` checks whether its distances are defined.
        """
        if self.metric.is_table:
            self.stage(x[None], np.zeros(1, np.int64))
            return
        (point,) = self.metric.embed(x[None])
        self.make_room(1)
        state, end = self.body.state, self.end
        state.rows[end] = point
        if self.metric.is_separable:
            state.tiles[end // TILE, :, end % TILE] = point
        self.body.arrival[end] = end + self.body.removed

    def label_staged(self, label: int) -> None:
        """Give the one staged example its class."""
        self.state.vertices["label"][self.end] = label

    def _check_new(self, begin: int, end: int) -> None:
        if self.metric.may_be_undefined:
            search = specialise(find_undefined, self.metric.kernel)
            u, v = search(self.state.rows, begin, end, self.metric.kernel)
            bad = np.array([np.nan if v >= 0 else 0.0])
            self.metric.check_defined(bad, lambda _: f"the training examples {u} and {v}")

    def measure_staged(self) -> int:
        """Return the vertex that conquers the one staged example.

        Where no index is searched, distances are kept in scratch space for an update to use. So
        only one thread at a time may call this, unlike other queries.
        """
        if isinstance(self.body.index, Index) and self.body.index.room[PAUSE] == 0:
            return int(self.find_staged(self.end + 1)[0])
        measure = specialise(measure_staged, self.metric.kernel)
        conqueror = measure(self.state, self.end, self.metric.kernel)
        if self.metric.may_be_undefined:
            gap = self._chosen(self.state.gap)
            self.metric.check_defined(gap, lambda v: f"training example {v} and the new one")
        return int(conqueror)

    def offers_to_staged(self, n_classes: int) -> Array:
        """Return the offer of each class to the staged example, which has been measured."""
        state, end = self.state, self.end
        offer = np.full(n_classes, np.inf, state.rows.dtype)
        if isinstance(self.body.index, Flat):
            offer_to_staged(state, end, offer)
        else:
            query = state.rows[end : end + 1]
            for code in range(n_classes):
                _, offer[code : code + 1] = self._searcher(1, code).find(query)
        return offer

    def find_staged(self, end: int) -> Array:
        """Return the vertices that conquer the staged examples up to ``end``."""
        return self.find(self.state.rows[self.end : end])[0]

    def stops(self, end: int) -> Iterator[int]:
        """Yield where to pause while learning staged examples, so that Ctrl-C is noticed."""
        begin, n_features = self.end, self.state.rows.shape[1]
        part = max(1, prim.WORK_PER_CALL // (PASSES_PER_INSERTION * end * n_features))
        if isinstance(self.body.index, Index):
            part = INSERTIONS_PER_CALL
        for stop in range(begin + part, end + part, part):
            yield min(stop, end)

    def need_bound(self) -> None:
        """Compute a bound on the largest edges, if there is none or it has become loose."""
        body, version = self.body, int(self.body.version[0])
        if body.bound is not None and SLACK * (version - body.bound_of) < len(self) + FEW_TO_BOUND:
            return
        vertex, model = self._vertices(), self.model()
        landmark, height, table = make_bound(model.parent, model.weight)
        bound = Bound(
            np.zeros(len(self.state.vertices), np.int32), np.zeros_like(self.state.cost), table
        )
        bound.landmark[vertex], bound.height[vertex] = landmark, height
        index = body.index
        if isinstance(index, Index):
            index = index._replace(nodes=copied(index.nodes))
            note_bound(index, bound)
        self._become(replace(body, bound=bound, bound_of=version, index=index))

    # Room. Each of these replaces the body by one assignment, or does not change it.

    def _become(self, body: Body) -> None:
        """Replace the body while there are no readers."""
        with self.lock.changing():
            self.body = body

    def make_room(self, extra: int) -> None:
        """Make room for more examples: close holes or double, so that growth copies only O(n).

        From time to time it also checks whether an index is worthwhile.
        """
        if self.algorithm == "auto":
            if self.end < FEW_TO_GROW:
                if not isinstance(self.body.index, Flat):
                    self._become(replace(self.body, index=Flat(), probed=0))
            elif self.end >= max(FEW_TO_GROW, 2 * self.body.probed):
                self._probe()
        if self.end + extra <= len(self.state.vertices):
            return
        if 4 * self.state.tally[0]["holes"] >= self.end:
            self.tidy()
        body, capacity = self.body, max(self.end + extra, 2 * len(self))
        vectors, lines, bound = body.vectors, body.lines, body.bound
        if bound is not None:
            landmark, height, table = bound
            bound = Bound(resized(landmark, capacity), resized(height, capacity), table)
        if vectors is not None:
            vectors = resized(vectors, capacity, vectors.shape[1])
        if lines is not None:
            lines = Lines(*(resized(array, capacity) for array in lines))
        enlarged = replace(
            body,
            state=enlarge(body.state, capacity, self._width(capacity)),
            arrival=resized(body.arrival, capacity),
            vectors=vectors,
            lines=lines,
            bound=bound,
        )
        self._become(enlarged)

    def make_room_in_index(self) -> None:
        """Make room for nodes if the index is full."""
        index = self.body.index
        if isinstance(index, Index) and is_full(index):
            self._become(replace(self.body, index=with_room(index)))

    def _probe(self) -> None:
        self.tidy()
        rows = self.state.rows[: self.end]
        self._become(self._indexed(self.body, probe(rows, self.metric, self.algorithm)))

    def _indexed(self, body: Body, probed: Probe) -> Body:
        """Return a body without holes, with an index if a probe says that it is worthwhile."""
        n = int(body.state.tally[0]["size"])
        index: Index | Flat = Flat()
        if probed.share < SHARE_FOR_SEARCH and n:
            # Records point into the index, so readers of the old index need the old records.
            body = replace(body, state=body.state._replace(vertices=copied(body.state.vertices)))
            tree = probed.tree or build_kdtree(body.state.rows, np.arange(n))
            index = build_index(body.state, tree)
            bound = body.bound if body.lines is None else costs_as_bound(replace(body, index=index))
            if bound is not None:
                note_bound(index, bound)
        return replace(body, index=index, share=probed.share, probed=n)

    def tidy(self) -> None:
        """Close the holes."""
        chosen, body = living(self.state), self.body
        if chosen is None:
            return
        rows = np.ascontiguousarray(self._rows())
        bound = body.bound
        if bound is not None:
            bound = Bound(bound.landmark[chosen], bound.height[chosen], bound.table)
        tidied = replace(
            body,
            bound=bound,
            bound_of=body.bound_of
            - int(body.state.tally[0]["version"]),  # versions start from 0 again
            state=make_state(rows, self.model(), self.metric, way=self._ways()),
            vectors=None if body.vectors is None else body.vectors[chosen],
            arrival=body.arrival[chosen],
            removed=body.removed + self.end - len(chosen),
        )
        probed = Probe(body.share)
        self._become(self._indexed(tidied, probed))

    def set_width(self, n_features: int) -> None:
        """Add features that are 0 in all examples, or remove such features.

        That must not change any distance, which is true of all named metrics but
        ``"correlation"``.
        """
        body, state = self.body, self.body.state
        if body.vectors is not None:
            vectors = resized(body.vectors, len(body.vectors), n_features)
            self._become(replace(body, vectors=vectors))
            return
        rows, tiles, index = state.rows, state.tiles, body.index
        state = state._replace(rows=resized(rows, len(rows), n_features))
        if self.metric.is_separable:
            state = state._replace(tiles=resized(tiles, len(tiles), n_features, TILE))
        if isinstance(index, Index):
            index = with_width(index, n_features)
        self._become(replace(body, state=state, index=index))

    # Arrival numbers.

    def vertices_of(self, ids: Array) -> Array:
        """Return the vertices with these arrival numbers, −1 for unknown ones."""
        arrival, label = self.body.arrival[: self.end], self.state.vertices["label"][: self.end]
        if len(arrival) == 0:
            return np.full(len(ids), -1)
        vertex = np.minimum(np.searchsorted(arrival, ids), len(arrival) - 1)
        return np.where((arrival[vertex] == ids) & (label[vertex] != FORGOTTEN), vertex, -1)

    def oldest(self, count: int) -> Array:
        """Return the arrival numbers of the oldest examples."""
        begin, count = int(self.state.tally[0]["eldest"]), min(count, len(self))
        if (self.state.vertices["label"][begin : begin + count] != FORGOTTEN).all():
            return self.body.arrival[begin : begin + count]
        return self._chosen(self.body.arrival)[:count]
