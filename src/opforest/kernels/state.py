"""The arrays of a growing forest, as kernels see them.

All are indexed by vertex and longer than the number of vertices, which is ``count[SIZE]``: a
vertex exists once it is counted, so that a batch cut short leaves a valid forest behind.
"""

from typing import NamedTuple

import numpy as np

#: Places in ``State.count``.
SIZE, STAMP, CROSSING, PROTOTYPES = 0, 1, 2, 3


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
    gap: np.ndarray  #: scratch: distances from the vertex being inserted; −1 where of no interest
    gap_bits: np.ndarray  #: the same memory as unsigned integers: no interest sorts last
    count: np.ndarray  #: of vertices, of stamps used, of edges between classes, of prototypes
    longest: np.ndarray  #: one number, no smaller than the longest tree edge
