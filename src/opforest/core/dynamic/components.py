"""Components of a tree from which a vertex was removed: how they are traversed and grouped.

Components are traversed in turns, one vertex each, until only one is unfinished: the largest
component need not be traversed completely. The vertices found so far are a linked list.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import helper


class Components(NamedTuple):
    """Components of a tree, each a list of its vertices.

    ``ForestArrays.distances`` holds the longest edge from each vertex to the removed one.
    """

    stamp: int  #: vertices of component i are marked by ``stamp + i``; others are in the rest
    rest: int  #: the component that was not traversed completely
    group: np.ndarray  #: by component: the one it has been joined with, or itself
    head: np.ndarray  #: by component: its first vertex, a neighbor of the removed one
    tail: np.ndarray  #: by component: its last vertex


@helper
def component_of(vertices, v, stamp, rest, n_components):
    """Return the component of a vertex."""
    component = vertices[v].mark - stamp
    return component if 0 <= component < n_components else rest


@helper
def group_of(vertices, v, stamp, rest, group):
    """Return the group of components that a vertex is in."""
    return find_group(group, component_of(vertices, v, stamp, rest, group.shape[0]))


@helper
def start_lists(vertices, head, stamp, active):
    """Start the list of each active component at its head."""
    for i in active:
        vertices[head[i]].mark = stamp + i
        vertices[head[i]].next_in_list = -1


@helper
def append_to_list(vertices, t, tail, i, stamp):
    """Append t to the list of component i."""
    vertices[t].mark = stamp + i
    vertices[t].next_in_list = -1
    vertices[tail[i]].next_in_list = t
    tail[i] = t


@helper
def advance(vertices, at, active, turn, n_active):
    """Advance the component whose turn it is; return the next turn and how many are active."""
    i = active[turn]
    at[i] = vertices[at[i]].next_in_list
    if at[i] >= 0:
        return turn + 1, n_active
    active[turn] = active[n_active - 1]
    return turn, n_active - 1
