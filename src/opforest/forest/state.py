"""Containers of a forest: its portable state, and the same arrays with room to grow."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from opforest.core.dynamic.bottleneck_bound import Bound
from opforest.core.kdtree.dynamic import DynamicKDTree, build_index
from opforest.core.kdtree.dynamic_updates import update_node_bounds
from opforest.core.kdtree.static import StaticKDTree, build_kdtree
from opforest.core.metrics.distances import TILE, count_tiles, fill_tiles
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.records import (
    ForestArrays,
    NoIndex,
    PrototypeTrees,
    counters_type,
    resize_array,
    vertex_type,
)
from opforest.core.rooted_tree import link_children
from opforest.core.select.mst import SEARCH_FRACTION

#: Rows that are copied to tiles at a time.
ROWS_PER_COPY = 1 << 20


def freeze(array: Array) -> Array:
    """Return the array after making it read-only."""
    array.flags.writeable = False
    return array


class TreeModel(NamedTuple):
    """The forest, by example; everything else in a ``ForestArrays`` follows from it."""

    label: Array
    parent: Array
    weight: Array
    cuts: Array
    cost: Array

    @classmethod
    def of_labels(cls, label: Array, dtype: Any) -> "TreeModel":
        """Return a model that holds only labels."""
        integers, floats = np.empty(0, np.int64), np.empty(0, dtype)
        return cls(label, integers, floats, integers, floats)

    def sort_edges(self) -> tuple[Array, Array]:
        """Return the edges (u, v), u < v, in ascending order, and the child of each."""
        child = np.flatnonzero(self.parent >= 0)
        ends = np.sort(np.column_stack((child, self.parent[child])), axis=1)
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        return ends[order], child[order]


class ForestState(NamedTuple):
    """The portable form of a forest, without deleted vertices and room to grow."""

    metric: Metric
    rows: Array  #: points, or a table of distances
    model: TreeModel
    arrival: Array
    removed: int  #: the next arrival number minus the number of examples
    vectors: Array | None = None  #: points beside a table that was measured from them
    prototype_trees: PrototypeTrees | None = None  #: of an approximate forest
    grown_by: str = ""  #: the approximate update that grew it
    algorithm: str = "auto"
    n_jobs: int | None = None
    visited_fraction: float = 1.0  #: of the points, by a search in a k-d tree
    calibration: Any = None  #: a ``CostCalibration``, if it is known
    seed_parent: Array | None = None  #: the next example on the path to its seed
    kdtree: StaticKDTree | None = None  #: of the rows, if it is known

    @property
    def points(self) -> Array:
        """The points that new examples are measured against; for precomputed distances, those."""
        return self.rows if self.vectors is None else self.vectors

    def select(self, chosen: Array, label: Array) -> "ForestState":
        """Return the state of chosen examples; its model holds only labels."""
        rows = self.rows[np.ix_(chosen, chosen)] if self.metric.is_table else self.rows[chosen]
        return self._replace(
            rows=rows,
            model=TreeModel.of_labels(label[chosen], rows.dtype),
            arrival=self.arrival[chosen],
            removed=self.removed + len(self.arrival) - len(chosen),
            vectors=None if self.vectors is None else self.vectors[chosen],
            grown_by="",
            calibration=None,
            seed_parent=None,
        )

    def copy_rows(self) -> "ForestState":
        """Return a state that shares no points with the forest, so that both can grow."""
        return self._replace(rows=self.rows.copy())


@dataclass(frozen=True)
class StorageFields:
    """All that changes in a ``ForestStorage``; arrays by vertex have room to grow."""

    arrays: ForestArrays
    arrival: Array  #: by vertex
    removed: int  #: the next arrival number minus the next vertex
    vectors: Array | None
    has_spanning_tree: bool  #: not in an approximate forest
    index: DynamicKDTree | NoIndex = field(default_factory=NoIndex)
    visited_fraction: float = 1.0
    probed: int = 0  #: the number of examples when the fraction was measured
    bound: Bound | None = None  #: on the largest edges between vertices, once it was needed
    bound_of: int = 0  #: the version for which it was computed

    @cached_property
    def size(self) -> Array:
        """The number of vertices, including deleted ones, as an array that stays up to date."""
        return self.arrays.counters["size"]

    @cached_property
    def n_deleted(self) -> Array:
        """The number of deleted vertices, as an array that stays up to date."""
        return self.arrays.counters["n_deleted"]

    def index_bound(self) -> Bound | None:
        """Return the bound that the index records; without a spanning tree, heights are costs."""
        if self.has_spanning_tree:
            return self.bound
        cost = self.arrays.cost
        n = 0 if isinstance(self.index, NoIndex) else len(cost)
        return Bound(np.zeros(n, np.int32), cost, np.zeros((1, 1), cost.dtype))


def make_arrays(
    rows: Array,
    model: TreeModel,
    metric: Metric,
    tiles: Array | None = None,
    seed_parent: Array | None = None,
) -> ForestArrays:
    """Return the arrays of a model; tiles are computed unless they are given."""
    n, dtype = len(model.label), rows.dtype
    parent = model.parent
    vertices = np.zeros(n, vertex_type(dtype))
    for name in ("label", "parent", "weight", "cuts"):
        vertices[name] = getattr(model, name)
    vertices["slot"] = -1
    counters = np.zeros(1, counters_type(dtype))
    counters["size"] = n
    counters["n_cut_edges"] = ((model.label != model.label[parent]) & (parent >= 0)).sum()
    counters["prototypes"] = (model.cuts > 0).sum()
    counters["longest"] = model.weight.max(initial=0)
    distances = np.zeros(n, dtype)
    arrays = ForestArrays(
        rows=rows,
        tiles=empty_tiles(rows, metric) if tiles is None else tiles,
        vertices=vertices,
        cost=np.array(model.cost),
        distances=distances,
        distance_bits=distances.view(f"u{dtype.itemsize}"),
        counters=counters,
        seed_parent=np.array(() if seed_parent is None else seed_parent, np.int32),
    )
    link_children(vertices, n)
    if tiles is None:
        fill_all_tiles(rows, arrays.tiles)
    return arrays


def empty_tiles(rows: Array, metric: Metric) -> Array:
    """Return tiles for all rows, to be filled; without features if the metric reads rows."""
    columns = rows.shape[1] if metric.is_separable else 0
    return np.zeros((count_tiles(len(rows)), columns, TILE), rows.dtype)


def fill_all_tiles(rows: Array, tiles: Array) -> None:
    """Copy all rows to tiles, piece by piece to save memory."""
    for begin in range(0, len(rows), ROWS_PER_COPY):
        chosen = np.arange(begin, min(begin + ROWS_PER_COPY, len(rows)))
        fill_tiles(rows, chosen, tiles, begin)


def enlarge_arrays(arrays: ForestArrays, capacity: int, width: int) -> ForestArrays:
    """Return copies with room for ``capacity`` examples in rows of ``width`` columns."""
    distances = resize_array(arrays.distances, capacity)
    return ForestArrays(
        rows=resize_array(arrays.rows, capacity, width),
        tiles=resize_array(arrays.tiles, count_tiles(capacity), *arrays.tiles.shape[1:]),
        vertices=resize_array(arrays.vertices, capacity),
        cost=resize_array(arrays.cost, capacity),
        distances=distances,
        distance_bits=distances.view(arrays.distance_bits.dtype),
        counters=arrays.counters.copy(),
        seed_parent=resize_array(arrays.seed_parent, capacity if len(arrays.seed_parent) else 0),
    )


def add_index(
    fields: StorageFields,
    visited_fraction: float,
    kdtree: StaticKDTree | None = None,
    n_jobs: int = 1,
) -> StorageFields:
    """Return fields without deleted vertices, with an index if its searches visit few points."""
    n = int(fields.size[0])
    index: DynamicKDTree | NoIndex = NoIndex()
    if visited_fraction < SEARCH_FRACTION and n:
        kdtree = kdtree or build_kdtree(fields.arrays.rows, np.arange(n), n_jobs)
        index = build_index(fields.arrays, kdtree, n_jobs)
    fields = replace(fields, index=index, visited_fraction=visited_fraction, probed=n)
    bound = fields.index_bound()
    if bound is not None and isinstance(index, DynamicKDTree):
        update_node_bounds(index, bound)
    return fields
