"""State of a forest: its compact parts, and the same arrays with room to grow."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from opforest.core.dynamic.bottleneck_bound import Bound
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.kdtree.static import StaticKDTree
from opforest.core.metrics.distances import TILE, count_tiles, fill_tiles
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.records import (
    DELETED,
    ForestArrays,
    NoIndex,
    PrototypeTrees,
    counters_type,
    resized,
    vertex_type,
)
from opforest.core.rooted_tree import link_children


def read_only(array: Array) -> Array:
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


def label_only(label: Array, dtype: Any) -> TreeModel:
    """Return a model that holds only classes."""
    none, nothing = np.empty(0, np.int64), np.empty(0, dtype)
    return TreeModel(label, none, nothing, none, nothing)


class ForestState(NamedTuple):
    """The parts of a forest, without holes and room to grow."""

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
    visited_fraction: float = 1.0  #: of the points that a search in a k-d tree looks at
    calibration: Any = None  #: a ``CostCalibration`` that has been found
    seed_parent: Array | None = None  #: the next example on the path to its seed
    kdtree: StaticKDTree | None = None  #: the k-d tree of the rows, where it is known


def taken(parts: ForestState, chosen: Array, label: Array) -> ForestState:
    """Return the parts of chosen examples; their model holds only labels."""
    rows = parts.rows[np.ix_(chosen, chosen)] if parts.metric.is_table else parts.rows[chosen]
    return parts._replace(
        rows=np.ascontiguousarray(rows),
        model=label_only(label[chosen], parts.rows.dtype),
        arrival=parts.arrival[chosen],
        removed=parts.removed + len(parts.arrival) - len(chosen),
        vectors=None if parts.vectors is None else parts.vectors[chosen],
        grown_by="",
        calibration=None,
        seed_parent=None,
    )


@dataclass(frozen=True)
class StorageFields:
    """The examples as kernels use them; all arrays have room to grow."""

    state: ForestArrays
    index: DynamicKDTree | NoIndex
    arrival: Array  #: by vertex
    removed: int  #: the next arrival number minus the next vertex
    vectors: Array | None
    prototype_trees: PrototypeTrees | None
    bound: Bound | None  #: on the largest edges between vertices, once it has been needed
    bound_of: int  #: the version for which it was computed
    visited_fraction: float
    probed: int  #: the number of examples when the share was measured

    @cached_property
    def size(self) -> Array:
        """The number of vertices, including holes, as an array that stays up to date."""
        return self.state.counters["size"]

    @cached_property
    def n_deleted(self) -> Array:
        """The number of holes, as an array that stays up to date."""
        return self.state.counters["n_deleted"]

    @cached_property
    def version(self) -> Array:
        """The number of changes so far, as an array that stays up to date."""
        return self.state.counters["version"]


def make_state(
    rows: Array,
    model: TreeModel,
    metric: Metric,
    tiles: Array | None = None,
    seed_parent: Array | None = None,
) -> ForestArrays:
    """Return the state of a model; tiles are computed unless they are given."""
    n, dtype = len(model.label), rows.dtype
    parent, columns = model.parent, rows.shape[1] if metric.is_separable else 0
    vertices = np.zeros(n, vertex_type(dtype))
    for name in ("label", "parent", "weight", "cuts"):
        vertices[name] = getattr(model, name)
    vertices["home"] = -1
    counters = np.zeros(1, counters_type(dtype))
    counters["size"] = n
    counters["n_cut_edges"] = ((model.label != model.label[parent]) & (parent >= 0)).sum()
    counters["prototypes"] = (model.cuts > 0).sum()
    counters["longest"] = model.weight.max(initial=0)
    gap = np.zeros(n, dtype)
    state = ForestArrays(
        rows=rows,
        tiles=np.zeros((count_tiles(n), columns, TILE), dtype) if tiles is None else tiles,
        vertices=vertices,
        cost=np.array(model.cost),
        gap=gap,
        bits=gap.view(f"u{dtype.itemsize}"),
        counters=counters,
        way=np.array(() if seed_parent is None else seed_parent, np.int32),
    )
    link_children(vertices, n)
    if tiles is None:
        fill_tiles(rows, np.arange(n), state.tiles, 0)
    return state


def enlarge(state: ForestArrays, capacity: int, width: int) -> ForestArrays:
    """Return the state with room for ``capacity`` examples in rows of ``width`` columns."""
    gap = resized(state.gap, capacity)
    return ForestArrays(
        rows=resized(state.rows, capacity, width),
        tiles=resized(state.tiles, count_tiles(capacity), *state.tiles.shape[1:]),
        vertices=resized(state.vertices, capacity),
        cost=resized(state.cost, capacity),
        gap=gap,
        bits=gap.view(state.bits.dtype),
        counters=state.counters.copy(),
        way=resized(state.way, capacity if len(state.way) else 0),
    )


def costs_as_bound(body: StorageFields) -> Bound:
    """Return the bound of an approximate forest, whose heights are costs."""
    n = 0 if isinstance(body.index, NoIndex) else len(body.state.cost)
    return Bound(np.zeros(n, np.int32), body.state.cost, np.zeros((1, 1), body.state.cost.dtype))


def alive(state: ForestArrays) -> Array | None:
    """Return the vertices that are not holes, in order; None if there are no holes."""
    counters = state.counters[0]
    if counters["n_deleted"] == 0:
        return None
    return np.flatnonzero(state.vertices["label"][: counters["size"]] != DELETED)


def place_among(chosen: Array | None, vertex: Array) -> Array:
    """Return the positions of vertices among those that are not holes; −1 stays −1."""
    if chosen is None:
        return vertex
    return np.where(vertex < 0, -1, np.searchsorted(chosen, vertex))
