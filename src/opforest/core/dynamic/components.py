"""Components of a tree from which a vertex was removed, and the groups they are joined into."""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import helper


class Pieces(NamedTuple):
    """Pieces of a tree. The members of each are a list: ``link`` leads to the next one.

    ``State.gap`` holds, for each member, the longest edge on its way to z.
    """

    stamp: int  #: vertices of piece i are marked by this plus i; others are in the rest
    rest: int  #: the piece that was not walked through to its end
    group: np.ndarray  #: by piece: the piece it has been joined with, or itself
    head: np.ndarray  #: by piece: its first member, which is a neighbor of z, and its last
    tail: np.ndarray


@helper
def piece_of(vertices, v, stamp, rest, n_pieces):
    """Return the piece that a vertex is in."""
    piece = vertices[v].mark - stamp
    return piece if 0 <= piece < n_pieces else rest


@helper
def group_of(vertices, v, stamp, rest, group):
    """Return the group of pieces that a vertex is in; for loops, which should not see tuples."""
    return find_group(group, piece_of(vertices, v, stamp, rest, group.shape[0]))
