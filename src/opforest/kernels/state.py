"""The arrays of a growing forest, as kernels see them.

All are indexed by vertex and longer than the number of vertices, which is ``count[SIZE]``: a
vertex exists once it is counted, so that a batch cut short leaves a valid forest behind. One that
is forgotten leaves a hole: no label, an infinite cost, no edges.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Places in ``State.count``.
SIZE, STAMP, CROSSING, PROTOTYPES, HOLES, ELDEST = 0, 1, 2, 3, 4, 5

#: The label of a hole.
FORGOTTEN = -1


class State(NamedTuple):
    """Points, labels, a tree with linked lists of children, costs, and scratch space."""

    rows: np.ndarray  #: coordinates, or a table of distances
    tiles: np.ndarray  #: the coordinates in tiles
    label: np.ndarray
    parent: np.ndarray  #: −1 for a root
    weight: np.ndarray  #: of the edge to the parent
    child: np.ndarray  #: the first child, or −1
    after: np.ndarray  #: the next sibling, or −1
    before: np.ndarray  #: the sibling before, or −1
    cuts: np.ndarray  #: how many tree edges lead to another class
    cost: np.ndarray  #: in reduced units
    mark: np.ndarray  #: scratch: stamped where a climb has passed
    link: np.ndarray  #: scratch: the next vertex in a list, or −1
    gap: np.ndarray  #: scratch: distances from the vertex being inserted; −1 where of no interest
    gap_bits: np.ndarray  #: the same memory as unsigned integers: no interest sorts last
    count: np.ndarray  #: of vertices with holes, of stamps used, of edges between classes, of
    #: prototypes, of holes; and the eldest vertex that is no hole
    longest: np.ndarray  #: one number, no smaller than the longest tree edge


def resized(array: Array, *shape: int) -> Array:
    """Return a copy of an array in another shape; what is new in it is 0."""
    copy = np.zeros(shape, array.dtype)
    common = tuple(map(slice, map(min, array.shape, shape)))
    copy[common] = array[common]
    return copy
