"""State of a forest: its compact parts, and the same arrays with room to grow."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from opforest.core.dynamic.bottleneck_bound import Bound
from opforest.core.kdtree.dynamic import Index
from opforest.core.kdtree.static import KDTree
from opforest.core.metrics.distances import TILE, count_tiles, fill_tiles
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.records import FORGOTTEN, Flat, Lines, State, resized, tally_type, vertex_type
from opforest.core.rooted_tree import link_children


def read_only(array: Array) -> Array:
    """Return the array after making it read-only."""
    array.flags.writeable = False
    return array


class Model(NamedTuple):
    """The forest, by example; everything else in a ``State`` follows from it."""

    label: Array
    parent: Array
    weight: Array
    cuts: Array
    cost: Array


def label_only(label: Array, dtype: Any) -> Model:
    """Return a model that holds only classes."""
    none, nothing = np.empty(0, np.int64), np.empty(0, dtype)
    return Model(label, none, nothing, none, nothing)


class Parts(NamedTuple):
    """The parts of a forest, without holes and room to grow."""

    metric: Metric
    rows: Array  #: points, or a table of distances
    model: Model
    arrival: Array
    removed: int  #: the next arrival number minus the number of examples
    vectors: Array | None = None  #: points beside a table that was measured from them
    lines: Lines | None = None  #: of an approximate forest
    grown_by: str = ""  #: the approximate update that grew it
    algorithm: str = "auto"
    n_jobs: int | None = None
    share: float = 1.0  #: of the points that a search in a k-d tree looks at
    sharpness: Any = None  #: a ``Sharpness`` that has been found
    way: Array | None = None  #: of a semi-supervised forest: the next one on the path to its seed
    tree: KDTree | None = None  #: the k-d tree of the rows, where it is known


def taken(parts: Parts, chosen: Array, label: Array) -> Parts:
    """Return the parts of chosen examples; their model holds only labels."""
    rows = parts.rows[np.ix_(chosen, chosen)] if parts.metric.is_table else parts.rows[chosen]
    return parts._replace(
        rows=np.ascontiguousarray(rows),
        model=label_only(label[chosen], parts.rows.dtype),
        arrival=parts.arrival[chosen],
        removed=parts.removed + len(parts.arrival) - len(chosen),
        vectors=None if parts.vectors is None else parts.vectors[chosen],
        grown_by="",
        sharpness=None,
        way=None,
    )


@dataclass(frozen=True)
class Body:
    """The examples as kernels use them; all arrays have room to grow."""

    state: State
    index: Index | Flat
    arrival: Array  #: by vertex
    removed: int  #: the next arrival number minus the next vertex
    vectors: Array | None
    lines: Lines | None
    bound: Bound | None  #: on the largest edges between vertices, once it has been needed
    bound_of: int  #: the version for which it was computed
    share: float
    probed: int  #: the number of examples when the share was measured

    @cached_property
    def size(self) -> Array:
        """The number of vertices, including holes, as an array that stays up to date."""
        return self.state.tally["size"]

    @cached_property
    def holes(self) -> Array:
        """The number of holes, as an array that stays up to date."""
        return self.state.tally["holes"]

    @cached_property
    def version(self) -> Array:
        """The number of changes so far, as an array that stays up to date."""
        return self.state.tally["version"]


def make_state(
    rows: Array,
    model: Model,
    metric: Metric,
    tiles: Array | None = None,
    way: Array | None = None,
) -> State:
    """Return the state of a model; tiles are computed unless they are given."""
    n, dtype = len(model.label), rows.dtype
    parent, columns = model.parent, rows.shape[1] if metric.is_separable else 0
    vertices = np.zeros(n, vertex_type(dtype))
    for name in ("label", "parent", "weight", "cuts"):
        vertices[name] = getattr(model, name)
    vertices["home"] = -1
    tally = np.zeros(1, tally_type(dtype))
    tally["size"] = n
    tally["crossing"] = ((model.label != model.label[parent]) & (parent >= 0)).sum()
    tally["prototypes"] = (model.cuts > 0).sum()
    tally["longest"] = model.weight.max(initial=0)
    gap = np.zeros(n, dtype)
    state = State(
        rows=rows,
        tiles=np.zeros((count_tiles(n), columns, TILE), dtype) if tiles is None else tiles,
        vertices=vertices,
        cost=np.array(model.cost),
        gap=gap,
        bits=gap.view(f"u{dtype.itemsize}"),
        tally=tally,
        way=np.array(() if way is None else way, np.int32),
    )
    link_children(vertices, n)
    if tiles is None:
        fill_tiles(rows, np.arange(n), state.tiles, 0)
    return state


def enlarge(state: State, capacity: int, width: int) -> State:
    """Return the state with room for ``capacity`` examples in rows of ``width`` columns."""
    gap = resized(state.gap, capacity)
    return State(
        rows=resized(state.rows, capacity, width),
        tiles=resized(state.tiles, count_tiles(capacity), *state.tiles.shape[1:]),
        vertices=resized(state.vertices, capacity),
        cost=resized(state.cost, capacity),
        gap=gap,
        bits=gap.view(state.bits.dtype),
        tally=state.tally.copy(),
        way=resized(state.way, capacity if len(state.way) else 0),
    )


def costs_as_bound(body: Body) -> Bound:
    """Return the bound of an approximate forest, whose heights are costs."""
    n = 0 if isinstance(body.index, Flat) else len(body.state.cost)
    return Bound(np.zeros(n, np.int32), body.state.cost, np.zeros((1, 1), body.state.cost.dtype))


def living(state: State) -> Array | None:
    """Return the vertices that are not holes, in order; None if there are no holes."""
    tally = state.tally[0]
    if tally["holes"] == 0:
        return None
    return np.flatnonzero(state.vertices["label"][: tally["size"]] != FORGOTTEN)


def place_among(chosen: Array | None, vertex: Array) -> Array:
    """Return the positions of vertices among those that are not holes; −1 stays −1."""
    if chosen is None:
        return vertex
    return np.where(vertex < 0, -1, np.searchsorted(chosen, vertex))
