"""Arrays and records of a forest, as kernels receive them.

Fields that a tree traversal reads together are in one record per vertex, so that each step costs
one memory access. Fields that are read in a pass over all vertices are separate arrays.

All arrays are longer than the number of vertices, which is ``tally.size``. A vertex exists once it
is counted, so an interrupted batch leaves a valid forest behind. A removed vertex keeps its place,
with no label, an infinite cost, and no edges.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: The label of a hole.
DELETED = -1


class ForestArrays(NamedTuple):
    """Points, tree, costs and scratch space."""

    rows: np.ndarray  #: coordinates, or a table of distances
    tiles: np.ndarray  #: the coordinates in tiles
    vertices: np.ndarray  #: records of ``vertex_type``
    cost: np.ndarray  #: in reduced units; infinite for holes
    gap: np.ndarray  #: scratch: distances from the vertex being inserted; −1 where of no interest
    bits: np.ndarray  #: the same memory as unsigned integers: no interest sorts last
    counters: np.ndarray  #: one record of ``counters_type``
    way: np.ndarray  #: the next vertex on the way to its seed, −1 for seeds; empty without seeds


@cache
def vertex_type(dtype: Any) -> np.dtype[Any]:
    """Return the record of a vertex, with weights of this type."""
    links = ("parent", "child", "after", "before")  # child: the first one; before, after: siblings
    fields = [(name, np.int32) for name in links]
    fields += [
        ("label", np.int32),
        ("cuts", np.int32),  # how many tree edges lead to another class: 0 for no prototype
        ("home", np.int32),  # its place in an index
        ("link", np.int32),  # scratch: the next vertex in a list, or −1
        ("mark", np.int64),  # scratch: stamped where a walk has passed
        ("weight", dtype),  # the length of the edge to the parent
    ]
    return np.dtype(fields, align=True)


@cache
def counters_type(dtype: Any) -> np.dtype[Any]:
    """Return the record of what is true of a whole forest, with weights of this type."""
    fields = [
        ("size", np.int64),  # the number of vertices, holes included
        ("n_deleted", np.int64),
        ("oldest", np.int64),  # the first vertex that is no hole
        ("n_cut_edges", np.int64),  # edges between classes
        ("prototypes", np.int64),
        ("stamp", np.int64),  # the last one used as a mark
        ("version", np.int64),  # counts changes
        ("longest", dtype),  # no smaller than the longest tree edge
    ]
    return np.dtype(fields, align=True)


def resized(array: Array, *shape: int) -> Array:
    """Return a copy of an array in another shape; what is new in it is 0."""
    copy = np.zeros(shape, array.dtype)
    common = tuple(map(slice, map(min, array.shape, shape)))
    _as_bytes(copy)[common] = _as_bytes(array)[common]
    return copy


def copied(array: Array) -> Array:
    """Return a copy of an array."""
    return resized(array, *array.shape)


def _as_bytes(array: Array) -> Array:
    """Return records as bytes, which NumPy copies ten times as fast; and others as they are."""
    return array if array.dtype.names is None else array.view(f"V{array.itemsize}")


class Tree(NamedTuple):
    """A spanning tree, rooted at ``order[0]``."""

    parent: np.ndarray  #: by vertex; −1 for the root
    weight: np.ndarray  #: by vertex: of the edge to the parent
    order: np.ndarray  #: vertices, parents before children


class PrototypeTrees(NamedTuple):
    """What a forest of optimum-path trees keeps beside its ``ForestArrays``."""

    root: np.ndarray  #: the prototype of each vertex
    pair: np.ndarray  #: of each prototype; −1 for none


class NoIndex(NamedTuple):
    """No index: all vertices are looked at."""
