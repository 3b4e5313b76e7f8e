"""The pieces that a tree falls into when a vertex is gone, and groups of those joined again."""

from typing import NamedTuple

import numpy as np

from opforest._jit import helper


class Pieces(NamedTuple):
    """Pieces of a tree. The members of each are a list: ``State.link`` leads to the next one.

    ``State.gap`` holds, for each member, the longest edge on its way to z.
    """

    stamp: int  #: vertices of piece i are marked by this plus i; others are in the rest
    rest: int  #: the piece that was not walked through to its end
    group: np.ndarray  #: by piece: the piece it has been joined with, or itself
    head: np.ndarray  #: by piece: its first member, which is a neighbour of z, and its last
    tail: np.ndarray


@helper
def find_group(group, i):
    """Return the group of a piece."""
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i


@helper
def group_of(mark, v, pieces):
    """Return the group of pieces that a vertex is in."""
    return group_by_mark(mark, v, pieces.stamp, pieces.rest, pieces.group)


@helper
def piece_of(mark, v, pieces):
    """Return the piece that a vertex is in."""
    piece = mark[v] - pieces.stamp
    return piece if 0 <= piece < pieces.group.shape[0] else pieces.rest


@helper
def group_by_mark(mark, v, stamp, rest, group):
    """Return the group of pieces that a vertex is in; for loops, which should not see tuples."""
    piece = mark[v] - stamp
    return find_group(group, piece if 0 <= piece < group.shape[0] else rest)
