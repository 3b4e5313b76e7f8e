"""Storage of the examples of a forest for writing: adding and removing examples.

The ``StorageFields`` of the examples changes in one of two ways: a kernel learns or forgets
whole examples in one call, after which everything is consistent; or a new one replaces the old one
by one assignment. An interrupt therefore always leaves a valid forest behind.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import numpy as np

from opforest.core.dynamic.bottleneck_bound import Bound, make_bound
from opforest.core.dynamic.staged import measure_staged, offer_to_staged
from opforest.core.jit import specialize
from opforest.core.kdtree.dynamic import (
    PAUSE,
    DynamicKDTree,
    build_index,
    is_full,
    with_room,
    with_width,
)
from opforest.core.kdtree.dynamic_updates import note_bound
from opforest.core.kdtree.static import StaticKDTree, build_kdtree
from opforest.core.metrics.distances import TILE, fill_tiles, find_undefined
from opforest.core.metrics.metric import name_pair
from opforest.core.metrics.types import Array
from opforest.core.mst import prim
from opforest.core.records import DELETED, NoIndex, PrototypeTrees, copied, resized
from opforest.core.select.mst import FEW_TO_GROW, SHARE_FOR_SEARCH, Probe, probe
from opforest.forest.queries import ForestQueries
from opforest.forest.state import (
    ForestState,
    StorageFields,
    TreeModel,
    alive,
    costs_as_bound,
    enlarge,
    make_state,
)

#: Roughly the number of passes over all examples that an insertion takes.
PASSES_PER_INSERTION = 3

#: Insertions with an index in one call of a kernel: few enough for Ctrl-C to be noticed.
INSERTIONS_PER_CALL = 2000

#: A bound is recomputed after changes to one in ``SLACK`` examples, and ``FEW_TO_BOUND`` more.
SLACK, FEW_TO_BOUND = 4, 256


class ForestStorage(ForestQueries):
    """The examples of a forest: those it knows, and how they become more and fewer."""

    @classmethod
    def from_state(cls, parts: ForestState, tree: StaticKDTree | None = None) -> Self:
        """Return the examples of these parts, which are not checked.

        ``tree`` is their k-d tree, if it is already known.
        """
        rows, *arrays = (np.require(a, requirements=("C", "W")) for a in (parts.rows, *parts.model))
        state = make_state(rows, TreeModel(*arrays), parts.metric, seed_parent=parts.seed_parent)
        lines = parts.prototype_trees
        if lines is not None:
            lines = PrototypeTrees(*(np.require(array, requirements=("C", "W")) for array in lines))
        index: DynamicKDTree | NoIndex = NoIndex()
        if parts.visited_fraction < SHARE_FOR_SEARCH and len(rows):
            tree = tree or parts.kdtree or build_kdtree(rows, np.arange(len(rows)))
            index = build_index(state, tree)
        body = StorageFields(
            state,
            index,
            parts.arrival,
            parts.removed,
            parts.vectors,
            lines,
            None,
            0,
            parts.visited_fraction,
            len(rows),
        )
        if lines is not None and isinstance(index, DynamicKDTree):
            note_bound(index, costs_as_bound(body))
        examples = cls(parts.metric, parts.algorithm, parts.n_jobs, body)
        if len(rows) and isinstance(index, NoIndex):
            examples._keep_ranking()
        return examples

    def relinked(self, parent: Array, weight: Array, lines: PrototypeTrees) -> "ForestStorage":
        """Return the same examples in the trees of predecessors.

        Points are shared, not copied, if there are no holes.
        """
        parts, body = self.state(), self.fields
        model = parts.model._replace(parent=parent, weight=weight)
        if body.n_deleted[0]:
            return self.from_state(parts._replace(model=model, prototype_trees=lines))
        rows = np.require(parts.rows, requirements=("C", "W"))
        state = make_state(rows, model, self.metric, body.state.tiles)
        same = replace(
            body,
            state=state,
            index=NoIndex(),
            prototype_trees=lines,
            bound=None,
            arrival=parts.arrival,
        )
        few = self.algorithm == "auto" and len(rows) < FEW_TO_GROW
        if isinstance(body.index, DynamicKDTree) and not few:
            state.vertices["home"] = self.field("home")
            same = replace(same, index=DynamicKDTree(*(copied(array) for array in body.index)))
            note_bound(same.index, costs_as_bound(same))
        return ForestStorage(self.metric, self.algorithm, self.n_jobs, same)

    def state(self) -> ForestState:
        """Return copies of all parts, except the points, which never change."""
        body, lines = self.fields, self.fields.prototype_trees
        if lines is not None:
            lines = PrototypeTrees(*(array[: self.end].copy() for array in lines))
        return ForestState(
            metric=self.metric,
            rows=self._rows(),
            model=self.model(),
            arrival=self._chosen(body.arrival).copy(),
            removed=body.removed + self.end - len(self),
            vectors=None if body.vectors is None else self._chosen(body.vectors),
            prototype_trees=lines,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
            visited_fraction=float(body.visited_fraction),
            seed_parent=self._ways(),
        )

    # Learning. A staged example becomes part of the forest when a kernel counts it.

    def stage(self, X: Array, label: Array) -> int:
        """Write new examples behind the counted ones, and return where they end.

        If it fails, nothing has changed.
        """
        vectors, rows = self.metric.new_rows(X, self._measured_against(), self._id_at)
        self.make_room(len(X))
        body, begin, end = self.fields, self.end, self.end + len(X)
        state = body.state
        if self.metric.is_table:
            new, chosen = np.arange(begin, end), alive(state)
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
        state, end = self.fields.state, self.end
        state.rows[end] = point
        if self.metric.is_separable:
            state.tiles[end // TILE, :, end % TILE] = point
        self.fields.arrival[end] = end + self.fields.removed

    def label_staged(self, label: int) -> None:
        """Give the one staged example its class."""
        self.arrays.vertices["label"][self.end] = label

    def _check_new(self, begin: int, end: int) -> None:
        if self.metric.may_be_undefined:
            search = specialize(find_undefined, self.metric.kernel)
            u, v = search(self.arrays.rows, begin, end, self.metric.kernel)
            bad = np.array([np.nan if v >= 0 else 0.0])
            self.metric.check_defined(
                bad, lambda _: name_pair(u, v - begin, begin, self.fields.arrival.item)
            )

    def measure_staged(self) -> int:
        """Return the vertex that conquers the one staged example.

        Where no index is searched, distances are kept in scratch space for an update to use. So
        only one thread at a time may call this, unlike other queries.
        """
        if isinstance(self.fields.index, DynamicKDTree) and self.fields.index.room[PAUSE] == 0:
            return int(self.find_staged(self.end + 1)[0])
        measure = specialize(measure_staged, self.metric.kernel)
        conqueror = measure(self.arrays, self.end, self.metric.kernel)
        if self.metric.may_be_undefined:
            gap = self._chosen(self.arrays.gap)
            self.metric.check_defined(gap, lambda v: f"example {self._id_at(v)} and the new one")
        return int(conqueror)

    def offers_to_staged(self, n_classes: int) -> Array:
        """Return the offer of each class to the staged example, which has been measured."""
        state, end = self.arrays, self.end
        offer = np.full(n_classes, np.inf, state.rows.dtype)
        if isinstance(self.fields.index, NoIndex):
            offer_to_staged(state, end, offer)
        else:
            query = state.rows[end : end + 1]
            for code in range(n_classes):
                _, offer[code : code + 1] = self._searcher(1, code).find(query)
        return offer

    def find_staged(self, end: int) -> Array:
        """Return the vertices that conquer the staged examples up to ``end``."""
        return self.find(self.arrays.rows[self.end : end])[0]

    def stops(self, end: int) -> Iterator[int]:
        """Yield where to pause while learning staged examples, so that Ctrl-C is noticed."""
        begin, n_features = self.end, self.arrays.rows.shape[1]
        part = max(1, prim.WORK_PER_CALL // (PASSES_PER_INSERTION * end * n_features))
        if isinstance(self.fields.index, DynamicKDTree):
            part = INSERTIONS_PER_CALL
        for stop in range(begin + part, end + part, part):
            yield min(stop, end)

    def need_bound(self) -> None:
        """Compute a bound on the largest edges, if there is none or it has become loose."""
        body, version = self.fields, int(self.fields.version[0])
        if body.bound is not None and SLACK * (version - body.bound_of) < len(self) + FEW_TO_BOUND:
            return
        vertex, model = self._vertices(), self.model()
        landmark, height, table = make_bound(model.parent, model.weight)
        bound = Bound(
            np.zeros(len(self.arrays.vertices), np.int32), np.zeros_like(self.arrays.cost), table
        )
        bound.landmark[vertex], bound.height[vertex] = landmark, height
        index = body.index
        if isinstance(index, DynamicKDTree):
            index = index._replace(nodes=copied(index.nodes))
            note_bound(index, bound)
        self._become(replace(body, bound=bound, bound_of=version, index=index))

    # Room. Each of these replaces the body by one assignment, or does not change it.

    def _become(self, body: StorageFields) -> None:
        """Replace the body while there are no readers."""
        with self.lock.write():
            self.fields = body

    def make_room(self, extra: int) -> None:
        """Make room for more examples: close holes or double, so that growth copies only O(n).

        From time to time it also checks whether an index is worthwhile.
        """
        if self.algorithm == "auto":
            if self.end < FEW_TO_GROW:
                if not isinstance(self.fields.index, NoIndex):
                    self._become(replace(self.fields, index=NoIndex(), probed=0))
            elif self.end >= max(FEW_TO_GROW, 2 * self.fields.probed):
                self._probe()
        if self.end + extra <= len(self.arrays.vertices):
            return
        if 4 * self.arrays.counters[0]["n_deleted"] >= self.end:
            self.compact()
        body, capacity = self.fields, max(self.end + extra, 2 * len(self))
        vectors, lines, bound = body.vectors, body.prototype_trees, body.bound
        if bound is not None:
            landmark, height, table = bound
            bound = Bound(resized(landmark, capacity), resized(height, capacity), table)
        if vectors is not None:
            vectors = resized(vectors, capacity, vectors.shape[1])
        if lines is not None:
            lines = PrototypeTrees(*(resized(array, capacity) for array in lines))
        enlarged = replace(
            body,
            state=enlarge(body.state, capacity, self._width(capacity)),
            arrival=resized(body.arrival, capacity),
            vectors=vectors,
            prototype_trees=lines,
            bound=bound,
        )
        self._become(enlarged)

    def make_room_in_index(self) -> None:
        """Make room for nodes if the index is full."""
        index = self.fields.index
        if isinstance(index, DynamicKDTree) and is_full(index):
            self._become(replace(self.fields, index=with_room(index)))

    def _probe(self) -> None:
        self.compact()
        rows = self.arrays.rows[: self.end]
        self._become(self._indexed(self.fields, probe(rows, self.metric, self.algorithm)))

    def _indexed(self, body: StorageFields, probed: Probe) -> StorageFields:
        """Return a body without holes, with an index if a probe says that it is worthwhile."""
        n = int(body.state.counters[0]["size"])
        index: DynamicKDTree | NoIndex = NoIndex()
        if probed.share < SHARE_FOR_SEARCH and n:
            # Records point into the index, so readers of the old index need the old records.
            body = replace(body, state=body.state._replace(vertices=copied(body.state.vertices)))
            tree = probed.tree or build_kdtree(body.state.rows, np.arange(n))
            index = build_index(body.state, tree)
            bound = (
                body.bound
                if body.prototype_trees is None
                else costs_as_bound(replace(body, index=index))
            )
            if bound is not None:
                note_bound(index, bound)
        return replace(body, index=index, visited_fraction=probed.share, probed=n)

    def compact(self) -> None:
        """Close the holes."""
        chosen, body = alive(self.arrays), self.fields
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
            - int(body.state.counters[0]["version"]),  # versions start from 0 again
            state=make_state(rows, self.model(), self.metric, seed_parent=self._ways()),
            vectors=None if body.vectors is None else body.vectors[chosen],
            arrival=body.arrival[chosen],
            removed=body.removed + self.end - len(chosen),
        )
        probed = Probe(body.visited_fraction)
        self._become(self._indexed(tidied, probed))

    def set_width(self, n_features: int) -> None:
        """Add features that are 0 in all examples, or remove such features.

        That must not change any distance, which is true of all named metrics but
        ``"correlation"``.
        """
        body, state = self.fields, self.fields.state
        if body.vectors is not None:
            vectors = resized(body.vectors, len(body.vectors), n_features)
            self._become(replace(body, vectors=vectors))
            return
        rows, tiles, index = state.rows, state.tiles, body.index
        state = state._replace(rows=resized(rows, len(rows), n_features))
        if self.metric.is_separable:
            state = state._replace(tiles=resized(tiles, len(tiles), n_features, TILE))
        if isinstance(index, DynamicKDTree):
            index = with_width(index, n_features)
        self._become(replace(body, state=state, index=index))

    # Ids, which are arrival numbers.

    def vertices_of(self, ids: Array) -> Array:
        """Return the vertices with these ids, −1 for unknown ones."""
        arrival, label = self.fields.arrival[: self.end], self.arrays.vertices["label"][: self.end]
        if len(arrival) == 0:
            return np.full(len(ids), -1)
        vertex = np.minimum(np.searchsorted(arrival, ids), len(arrival) - 1)
        return np.where((arrival[vertex] == ids) & (label[vertex] != DELETED), vertex, -1)

    @property
    def next_id(self) -> int:
        """The id that the next example gets."""
        return self.end + self.fields.removed

    def count_from(self, next_id: int, ids: Array | None = None) -> None:
        """Give the next example this id, and all known ones these, if given.

        Ids must ascend, and the next one must not fall: it also counts changes.
        """
        if ids is not None:
            self.compact()
            arrival = self.fields.arrival.copy()
            arrival[: self.end] = ids
            self._become(replace(self.fields, arrival=arrival, removed=next_id - self.end))
        elif next_id != self.next_id:
            self._become(replace(self.fields, removed=next_id - self.end))

    def oldest(self, count: int) -> Array:
        """Return the ids of the oldest examples."""
        begin, count = int(self.arrays.counters[0]["oldest"]), min(count, len(self))
        if (self.arrays.vertices["label"][begin : begin + count] != DELETED).all():
            return self.fields.arrival[begin : begin + count]
        return self._chosen(self.fields.arrival)[:count]
