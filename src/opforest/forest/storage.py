"""Storage of the examples of a forest: growable arrays, an index and ids.

The ``StorageFields`` change in one of two ways: a kernel learns or forgets whole examples in one
call, after which everything is consistent; or new fields replace the old ones by one assignment.
So an interrupt always leaves a valid forest behind. Readers hold a lock that keeps kernels from
changing what they read.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from opforest._utils import tuning
from opforest._utils.rwlock import ReadWriteLock
from opforest.core.dynamic.bottleneck_bound import Bound, make_bound
from opforest.core.jit import specialize
from opforest.core.kdtree.dynamic import (
    DynamicKDTree,
    enlarge_index,
    is_full,
    resize_index_features,
)
from opforest.core.kdtree.dynamic_updates import update_node_bounds
from opforest.core.kdtree.static import StaticKDTree
from opforest.core.metrics.distances import TILE, fill_tiles, find_undefined
from opforest.core.metrics.metric import Metric, name_pair
from opforest.core.metrics.types import Array
from opforest.core.probability.votes import list_classes
from opforest.core.records import (
    DELETED,
    ForestArrays,
    NoIndex,
    PrototypeTrees,
    copy_array,
    resize_array,
)
from opforest.core.select.mst import probe
from opforest.forest.state import (
    ForestState,
    StorageFields,
    TreeModel,
    add_index,
    empty_tiles,
    enlarge_arrays,
    fill_all_tiles,
    freeze,
    make_arrays,
)

#: Roughly the number of passes over all examples that an insertion takes.
PASSES_PER_INSERTION = 3

#: Insertions with an index in one call of a kernel: few enough for Ctrl-C to be noticed.
INSERTIONS_PER_CALL = 2000

#: A bound is recomputed after changes to one in ``SLACK`` examples, and ``FEW_TO_BOUND`` more.
SLACK, FEW_TO_BOUND = 4, 256


class ForestStorage:
    """The examples of a forest, with room to grow."""

    def __init__(
        self, metric: Metric, algorithm: str, n_jobs: int | None, fields: StorageFields
    ) -> None:
        self.metric = metric
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.fields = fields  # everything that changes
        self.lock = ReadWriteLock()

    @classmethod
    def from_state(cls, state: ForestState) -> "ForestStorage":
        """Return the storage of a state, which is not checked."""
        storage = cls.without_index(state)
        storage.add_index(state.visited_fraction, state.kdtree)
        storage.fill_tiles()
        return storage

    @classmethod
    def without_index(cls, state: ForestState) -> "ForestStorage":
        """Return the storage of a state, which is not checked.

        ``add_index`` and ``fill_tiles`` complete it: tiles take the memory of the static tree.
        """
        rows, *model = (np.require(a, requirements=("C", "W")) for a in (state.rows, *state.model))
        tiles = empty_tiles(rows, state.metric)
        arrays = make_arrays(rows, TreeModel(*model), state.metric, tiles, state.seed_parent)
        has_spanning_tree = state.prototype_trees is None
        fields = StorageFields(
            arrays, state.arrival, state.removed, state.vectors, has_spanning_tree
        )
        return cls(state.metric, state.algorithm, state.n_jobs, fields)

    def add_index(self, visited_fraction: float, kdtree: StaticKDTree | None) -> None:
        """Add an index if its searches visit few points; no vertices are deleted."""
        n_jobs = effective_n_jobs(self.n_jobs)
        self.fields = add_index(self.fields, visited_fraction, kdtree, n_jobs)

    def fill_tiles(self) -> None:
        """Copy the coordinates of all examples to tiles."""
        fill_all_tiles(self.arrays.rows, self.arrays.tiles)

    def relink(self, parent: Array, weight: Array, trees: PrototypeTrees) -> "ForestStorage":
        """Return the same examples in the trees of predecessors.

        Points are shared, not copied, if no vertices are deleted.
        """
        state, fields = self.state(), self.fields
        model = state.model._replace(parent=parent, weight=weight)
        if fields.n_deleted[0]:
            return self.from_state(state._replace(model=model, prototype_trees=trees))
        rows = np.require(state.rows, requirements=("C", "W"))
        arrays = make_arrays(rows, model, self.metric, fields.arrays.tiles)
        same = replace(fields, arrays=arrays, index=NoIndex(), bound=None, arrival=state.arrival)
        same = replace(same, has_spanning_tree=False)
        is_small = self.algorithm == "auto" and len(rows) < tuning.values.few_to_grow
        if isinstance(fields.index, DynamicKDTree) and not is_small:
            arrays.vertices["slot"] = self.field("slot")
            same = replace(same, index=DynamicKDTree(*map(copy_array, fields.index)))
            update_node_bounds(same.index, same.index_bound())
        return ForestStorage(self.metric, self.algorithm, self.n_jobs, same)

    def state(self) -> ForestState:
        """Return copies of all arrays, except the points, which never change."""
        return self.state_of(self.alive(), self.model())._replace(
            visited_fraction=float(self.fields.visited_fraction), seed_parent=self.seed_parents()
        )

    def state_of(self, vertex: Any, model: TreeModel) -> ForestState:
        """Return the state of some vertices, which may be staged ones, and a model of them."""
        fields, rows = self.fields, self.arrays.rows[vertex]
        arrival, end = fields.arrival[vertex].copy(), self.end
        if not isinstance(vertex, slice):
            end = int(vertex.max(initial=end - 1)) + 1
        return ForestState(
            metric=self.metric,
            rows=rows[:, vertex] if self.metric.is_table else rows,
            model=model,
            arrival=arrival,
            removed=fields.removed + end - len(arrival),
            vectors=None if fields.vectors is None else fields.vectors[vertex],
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
        )

    # Reading.

    def __len__(self) -> int:
        """Return the number of examples."""
        return int(self.fields.size[0] - self.fields.n_deleted[0])

    @property
    def end(self) -> int:
        """The number of vertices, including deleted ones; the next vertex gets this number."""
        return int(self.fields.size[0])

    @property
    def arrays(self) -> ForestArrays:
        """The arrays that kernels read and change."""
        return self.fields.arrays

    @property
    def points(self) -> Array:
        """The examples as the metric embeds them; for precomputed distances, those."""
        vectors = self.fields.vectors
        return freeze(self.rows() if vectors is None else vectors[self.alive()])

    @property
    def ids(self) -> Array:
        """The ids of the examples, which are their arrival numbers."""
        ids = self.fields.arrival[self.alive()]
        return freeze(ids.copy())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which examples are kept and queries are measured."""
        fields = self.fields
        return (fields.arrays.rows if fields.vectors is None else fields.vectors).dtype

    @property
    def n_features(self) -> int:
        """The number of features of the examples, or of distances in a row of a table."""
        if self.fields.vectors is not None:
            return int(self.fields.vectors.shape[1])
        is_table = self.metric.is_table
        return self.metric.count_features(len(self) if is_table else self.arrays.rows.shape[1])

    @property
    def n_bytes(self) -> int:
        """The memory of all arrays in bytes, including room to grow."""
        fields = self.fields
        kept = [*fields.arrays, *fields.index, *(fields.bound or ()), fields.arrival]
        shared = fields.arrays.distance_bits.nbytes  # the same memory as ``distances``
        vectors = 0 if fields.vectors is None else fields.vectors.nbytes
        return int(sum(array.nbytes for array in kept) + vectors - shared)

    def alive(self) -> Any:
        """Return a slice or an index array that selects the vertices that are not deleted."""
        end = self.end
        if not self.fields.n_deleted[0]:
            return slice(end)
        return np.flatnonzero(self.arrays.vertices["label"][:end] != DELETED)

    def vertices(self) -> Array:
        """Return the vertices that are not deleted."""
        alive = self.alive()
        return np.arange(self.end) if isinstance(alive, slice) else alive

    def indices_of(self, vertex: Array) -> Array:
        """Return the indices of vertices among those that are not deleted; −1 stays −1."""
        if not self.fields.n_deleted[0]:
            return vertex
        return np.where(vertex < 0, -1, np.searchsorted(self.alive(), vertex))

    def labels_of(self, vertex: Any) -> Array:
        """Return the labels of vertices."""
        labels: Array = self.arrays.vertices["label"][vertex]
        return labels

    def classes(self) -> Array:
        """Return the labels that examples have, in ascending order."""
        classes: Array = list_classes(self.arrays.vertices, self.end)
        return classes

    def field(self, name: str) -> Array:
        """Return a copy of one field of the records of all examples."""
        array: Array = self.arrays.vertices[name][self.alive()]
        return array.copy()

    def costs(self) -> Array:
        """Return a copy of the costs, in reduced units."""
        cost: Array = self.arrays.cost[self.alive()]
        return cost.copy()

    def model(self) -> TreeModel:
        """Return labels, tree and costs, the latter two in reduced units."""
        alive, vertices = self.alive(), self.arrays.vertices  # NumPy copies whole records slowly
        return TreeModel(
            label=vertices["label"][alive].astype(np.int64),
            parent=self.indices_of(vertices["parent"][alive].astype(np.int64)),
            weight=vertices["weight"][alive].copy(),
            cuts=vertices["cuts"][alive].astype(np.int64),
            cost=self.arrays.cost[alive].copy(),
        )

    def seed_parents(self) -> Array | None:
        """Return the next example on the path to its seed, −1 for seeds; None without seeds."""
        if not self.has_seeds:
            return None
        return self.indices_of(self.arrays.seed_parent[self.alive()].astype(np.int64))

    @property
    def has_seeds(self) -> bool:
        """Whether labels have spread from seeds."""
        return len(self.arrays.seed_parent) > 0

    @property
    def n_prototypes(self) -> int:
        """The number of prototypes, or of seeds."""
        return int(self.arrays.counters[0]["prototypes"])

    @property
    def version(self) -> int:
        """The number of changes by kernels to these arrays."""
        return int(self.arrays.counters[0]["version"])

    def rows(self) -> Array:
        """Return the rows of the examples; a view if no vertices are deleted."""
        alive = self.alive()
        rows: Array = self.arrays.rows[alive]
        return rows[:, alive] if self.metric.is_table else rows

    def reference_points(self) -> Array:
        """Return the points that new examples are measured against when a table is filled."""
        return self.points if self.metric.is_table else self.arrays.rows

    def id_at(self, index: int) -> int:
        """Return the id of the example at an index."""
        return int(self.ids[index])

    # Learning. A staged example becomes part of the forest when a kernel counts it.

    def stage(self, X: Array, label: Array) -> int:
        """Write new examples behind the counted ones, and return where they end.

        If it fails, nothing has changed.
        """
        vectors, rows = self.metric.new_rows(X, self.reference_points(), self.id_at)
        self.make_room(len(X))
        fields, begin, end = self.fields, self.end, self.end + len(X)
        arrays, new = fields.arrays, np.arange(begin, end)
        if self.metric.is_table:
            columns = np.concatenate((self.vertices(), new))
            arrays.rows[np.ix_(new, columns)] = rows
            arrays.rows[np.ix_(columns, new)] = rows.T
        else:
            arrays.rows[begin:end] = rows
        if fields.vectors is not None:
            fields.vectors[begin:end] = vectors
        arrays.vertices["label"][begin:end] = label
        fields.arrival[begin:end] = new + fields.removed
        fill_tiles(arrays.rows, new, arrays.tiles, begin)
        self._check_distances(begin, end)
        return end

    def stage_one(self, x: Array) -> None:
        """Stage one example like ``stage``, but faster, for streams; ``label_staged`` follows.

        ``ForestQueries.measure_staged`` checks whether its distances are defined.
        """
        if self.metric.is_table:
            self.stage(x[None], np.zeros(1, np.int64))
            return
        (point,) = self.metric.embed(x[None])
        self.make_room(1)
        arrays, end = self.arrays, self.end
        arrays.rows[end] = point
        if self.metric.is_separable:
            arrays.tiles[end // TILE, :, end % TILE] = point
        self.fields.arrival[end] = end + self.fields.removed

    def label_staged(self, label: int) -> None:
        """Set the class of the one staged example."""
        self.arrays.vertices["label"][self.end] = label

    def _check_distances(self, begin: int, end: int) -> None:
        if self.metric.may_be_undefined:
            search = specialize(find_undefined, self.metric.kernel)
            u, v = search(self.arrays.rows, begin, end, self.metric.kernel)
            bad = np.array([np.nan if v >= 0 else 0.0])
            self.metric.check_defined(
                bad, lambda _: name_pair(u, v - begin, begin, self.fields.arrival.item)
            )

    def stops(self, end: int) -> Iterator[int]:
        """Yield where to pause while learning staged examples, so that Ctrl-C is noticed."""
        begin, n_features = self.end, self.arrays.rows.shape[1]
        part = max(1, tuning.values.work_per_call // (PASSES_PER_INSERTION * end * n_features))
        if isinstance(self.fields.index, DynamicKDTree):
            part = INSERTIONS_PER_CALL
        for stop in range(begin + part, end + part, part):
            yield min(stop, end)

    def update_bound(self) -> None:
        """Compute the bound on the largest edges if there is none or it has become loose."""
        fields, version = self.fields, self.version
        slack = len(self) + FEW_TO_BOUND
        if fields.bound is not None and SLACK * (version - fields.bound_of) < slack:
            return
        vertex, model = self.vertices(), self.model()
        landmark, height, table = make_bound(model.parent, model.weight)
        bound = Bound(
            np.zeros(len(self.arrays.vertices), np.int32), np.zeros_like(self.arrays.cost), table
        )
        bound.landmark[vertex], bound.height[vertex] = landmark, height
        index = fields.index
        if isinstance(index, DynamicKDTree):
            index = index._replace(nodes=copy_array(index.nodes))
            update_node_bounds(index, bound)
        self._replace(bound=bound, bound_of=version, index=index)

    # Room. Each of these replaces the fields by one assignment, or does not change them.

    def _set_fields(self, fields: StorageFields) -> None:
        """Replace all fields while there are no readers."""
        with self.lock.write():
            self.fields = fields

    def _replace(self, **changes: Any) -> None:
        self._set_fields(replace(self.fields, **changes))

    def make_room(self, extra: int) -> None:
        """Make room for more examples: compact or double, so that growth copies only O(n).

        From time to time it also checks whether an index is worthwhile.
        """
        if self.algorithm == "auto":
            if self.end < tuning.values.few_to_grow:
                if not isinstance(self.fields.index, NoIndex):
                    self._replace(index=NoIndex(), probed=0)
            elif self.end >= max(tuning.values.few_to_grow, 2 * self.fields.probed):
                self._probe()
        if self.end + extra <= len(self.arrays.vertices):
            return
        if 4 * self.fields.n_deleted[0] >= self.end:
            self.compact()
        fields, capacity = self.fields, max(self.end + extra, 2 * len(self))
        vectors, bound = fields.vectors, fields.bound
        if bound is not None:
            landmark, height, table = bound
            bound = Bound(resize_array(landmark, capacity), resize_array(height, capacity), table)
        if vectors is not None:
            vectors = resize_array(vectors, capacity, vectors.shape[1])
        width = capacity if self.metric.is_table else fields.arrays.rows.shape[1]
        self._replace(
            arrays=enlarge_arrays(fields.arrays, capacity, width),
            arrival=resize_array(fields.arrival, capacity),
            vectors=vectors,
            bound=bound,
        )

    def make_room_in_index(self) -> None:
        """Make room for nodes if the index is full."""
        index = self.fields.index
        if isinstance(index, DynamicKDTree) and is_full(index):
            self._replace(index=enlarge_index(index))

    def _probe(self) -> None:
        """Measure what an index would save, and build or drop it."""
        self.compact()
        arrays = self.arrays
        found = probe(arrays.rows[: self.end], self.metric, self.algorithm)
        # Records point into the index, so readers of the old index need the old records.
        arrays = arrays._replace(vertices=copy_array(arrays.vertices))
        fields = replace(self.fields, arrays=arrays)
        self._set_fields(add_index(fields, found.visited_fraction, found.kdtree))

    def compact(self) -> None:
        """Remove deleted vertices from the arrays."""
        fields, chosen = self.fields, self.alive()
        if isinstance(chosen, slice):
            return
        bound = fields.bound
        if bound is not None:
            bound = Bound(bound.landmark[chosen], bound.height[chosen], bound.table)
        rows = np.ascontiguousarray(self.rows())
        compacted = replace(
            fields,
            bound=bound,
            bound_of=fields.bound_of - self.version,  # versions start from 0 again
            arrays=make_arrays(rows, self.model(), self.metric, seed_parent=self.seed_parents()),
            vectors=None if fields.vectors is None else fields.vectors[chosen],
            arrival=fields.arrival[chosen],
            removed=fields.removed + self.end - len(chosen),
        )
        self._set_fields(add_index(compacted, fields.visited_fraction))

    def set_width(self, n_features: int) -> None:
        """Add features that are 0 in all examples, or remove such features.

        This must not change any distance, which is true of all named metrics but
        ``"correlation"``.
        """
        fields = self.fields
        if fields.vectors is not None:
            self._replace(vectors=resize_array(fields.vectors, len(fields.vectors), n_features))
            return
        arrays, index = fields.arrays, fields.index
        rows, tiles = arrays.rows, arrays.tiles
        arrays = arrays._replace(rows=resize_array(rows, len(rows), n_features))
        if self.metric.is_separable:
            arrays = arrays._replace(tiles=resize_array(tiles, len(tiles), n_features, TILE))
        if isinstance(index, DynamicKDTree):
            index = resize_index_features(index, n_features)
        self._replace(arrays=arrays, index=index)

    # Ids, which are arrival numbers.

    def vertices_of(self, ids: Array) -> Array:
        """Return the vertices with these ids, −1 for unknown ones."""
        arrival = self.fields.arrival[: self.end]
        if len(arrival) == 0:
            return np.full(len(ids), -1)
        vertex = np.minimum(np.searchsorted(arrival, ids), len(arrival) - 1)
        is_known = (arrival[vertex] == ids) & (self.labels_of(vertex) != DELETED)
        return np.where(is_known, vertex, -1)

    @property
    def next_id(self) -> int:
        """The id that the next example gets."""
        return self.end + self.fields.removed

    def renumber(self, next_id: int, ids: Array | None = None) -> None:
        """Give the next example this id and, if given, all known examples these ids.

        Ids must ascend, and ``next_id`` must not be less than before: it also counts changes.
        """
        if ids is not None:
            self.compact()
            arrival = self.fields.arrival.copy()
            arrival[: self.end] = ids
            self._replace(arrival=arrival, removed=next_id - self.end)
        elif next_id != self.next_id:
            self._replace(removed=next_id - self.end)

    def oldest(self, count: int) -> Array:
        """Return the ids of the oldest examples."""
        begin, count = int(self.arrays.counters[0]["oldest"]), min(count, len(self))
        first = slice(begin, begin + count)
        if (self.labels_of(first) != DELETED).all():
            return self.fields.arrival[first]
        ids: Array = self.fields.arrival[self.alive()][:count]
        return ids
