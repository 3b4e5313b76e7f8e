"""Arrays and records of a forest, as kernels receive them.

Fields that a tree traversal reads together are in one record per vertex, so that each step costs
one memory access. Fields that are read in a pass over all vertices are separate arrays.

All arrays are longer than the number of vertices, ``counters.size``. A vertex exists once it is
counted, so an interrupted batch leaves a valid forest. A deleted vertex keeps its place, with no
label, an infinite cost and no edges.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: The label of a deleted vertex.
DELETED = -1


class ForestArrays(NamedTuple):
    """Points, tree, costs and scratch space."""

    rows: np.ndarray  #: coordinates, or a table of distances
    tiles: np.ndarray  #: the coordinates in tiles
    vertices: np.ndarray  #: records of ``vertex_type``
    cost: np.ndarray  #: in reduced units; infinite for deleted vertices
    distances: np.ndarray  #: scratch: distances from the vertex being inserted; −1 to exclude one
    distance_bits: np.ndarray  #: the same memory as unsigned integers, where −1 sorts last
    counters: np.ndarray  #: one record of ``counters_type``
    seed_parent: np.ndarray  #: the next vertex on the path to the seed, −1 for seeds; may be empty


@cache
def vertex_type(dtype: Any) -> np.dtype[Any]:
    """Return the record type of a vertex, with weights of this type."""
    links = ("parent", "first_child", "next_sibling", "previous_sibling")
    fields = [(name, np.int32) for name in links]
    fields += [
        ("label", np.int32),
        # Tree edges to other classes; in a semi-supervised forest, 1 for seeds. A prototype is a
        # vertex that has any. Two fields would make the record larger by a sixth.
        ("cuts", np.int32),
        ("slot", np.int32),  # where an index stores it
        ("next_in_list", np.int32),  # scratch: −1 at the end of the list
        ("mark", np.int64),  # scratch: the stamp of the last traversal that visited it
        ("weight", dtype),  # of the edge to the parent
    ]
    return np.dtype(fields, align=True)


@cache
def counters_type(dtype: Any) -> np.dtype[Any]:
    """Return the record type of the counters of a forest, with weights of this type."""
    fields = [
        ("size", np.int64),  # the number of vertices, including deleted ones
        ("n_deleted", np.int64),
        ("oldest", np.int64),  # the first vertex that is not deleted
        ("n_cut_edges", np.int64),  # edges between classes
        ("prototypes", np.int64),
        ("stamp", np.int64),  # the last one used as a mark
        ("version", np.int64),  # counts changes
        ("longest", dtype),  # an upper bound on the weights of the tree
    ]
    return np.dtype(fields, align=True)


def resize_array(array: Array, *shape: int) -> Array:
    """Return a copy of an array in another shape, filled up with zeros."""
    copy = np.zeros(shape, array.dtype)
    common = tuple(map(slice, map(min, array.shape, shape)))
    _as_bytes(copy)[common] = _as_bytes(array)[common]
    return copy


def copy_array(array: Array) -> Array:
    """Return a copy of an array."""
    return resize_array(array, *array.shape)


def _as_bytes(array: Array) -> Array:
    """Return records as bytes, which NumPy copies ten times as fast."""
    return array if array.dtype.names is None else array.view(f"V{array.itemsize}")


class Tree(NamedTuple):
    """A spanning tree, rooted at ``order[0]``."""

    parent: np.ndarray  #: by vertex; −1 for the root
    weight: np.ndarray  #: by vertex: of the edge to the parent
    order: np.ndarray  #: vertices, parents before children


class PrototypeTrees(NamedTuple):
    """The optimum-path trees of an approximate forest, by vertex."""

    root: np.ndarray  #: its prototype
    pair: np.ndarray  #: of a prototype: the one of another class it was paired with; −1 for none


class NoIndex(NamedTuple):
    """Stands for an index where all vertices are scanned."""
