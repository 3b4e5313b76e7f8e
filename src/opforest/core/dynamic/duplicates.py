"""Detect duplicates of a point and handle them during a removal.

Two vertices are duplicates if their rows are equal, so that they have the same distance to every
vertex. With a callable metric or a table of distances, no vertices are treated as duplicates.

Let z be the oldest of all vertices at distance 0 from it, and the next one, e, a duplicate of z.
The edges from z come first among those of length 0, and first among those of any other length that
lead to z or a duplicate of it. So all duplicates are attached to z and have no other edges; without
z, they are attached to e and have no other edges. A duplicate that is a prototype makes e a
prototype, and any other has the cost of e, so no other vertex needs them to find its edges and its
cost. Searches can therefore skip duplicates, and a removal can detach them and attach them again.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from opforest.core.jit import helper, overload
from opforest.core.metrics.distances import are_rows_equal
from opforest.core.metrics.types import Table
from opforest.core.rooted_tree import (
    count_edge,
    cut,
    edge_weight,
    first_neighbor,
    link,
    next_neighbor,
)
from opforest.core.vertex_list import add


def is_duplicate(rows, t, z, metric):
    """Return whether z has the same distances as t (compiled code only)."""


@overload(is_duplicate)
def _is_duplicate(rows, t, z, metric):
    # A user's function may be slightly asymmetric, and rows of a table are not coordinates.
    if isinstance(metric, types.Dispatcher) or metric.instance_class is Table:
        return lambda rows, t, z, metric: False
    return lambda rows, t, z, metric: are_rows_equal(rows, t, z)


@helper
def has_older_duplicate(rows, vertices, u, metric):
    """Return whether the parent of u is an older duplicate, whose edges all precede those of u."""
    t = np.int64(vertices[u].parent)
    return 0 <= t < u and vertices[u].weight == 0 and is_duplicate(rows, t, u, metric)


class Duplicates(NamedTuple):
    """The duplicates of a vertex, detached from the tree, as a list."""

    oldest: int  #: the duplicate that stays in the tree, to which the others will be attached
    first: int  #: of the others; −1 if none are detached
    last: int


@helper
def next_duplicate(vertices, v, duplicates):
    """Return the detached duplicate after v; −1 at the end."""
    return np.int64(vertices[v].next_in_list if v != duplicates.last else -1)


@helper
def detach_duplicates(rows, vertices, z, metric):
    """Detach the duplicates of z, if it is the oldest of them, except for the next oldest."""
    none = np.int64(-1)
    oldest, has_more = none, False
    t = first_neighbor(vertices, z)
    while t >= 0:
        if edge_weight(vertices, z, t) == 0:
            if t < z:
                return Duplicates(none, none, none)
            has_more = oldest >= 0
            oldest = min(oldest, t) if has_more else t
        t = next_neighbor(vertices, z, t)
    if not has_more or not is_duplicate(rows, oldest, z, metric):
        return Duplicates(none, none, none)
    first, last = none, none
    child = np.int64(vertices[z].first_child)
    while child >= 0:
        t = child
        child = np.int64(vertices[t].next_sibling)
        is_leaf = vertices[t].first_child < 0  # or the forest is that of a forged file
        if t != oldest and vertices[t].weight == 0 and is_leaf and is_duplicate(rows, t, z, metric):
            cut(vertices, t)
            vertices[t].next_in_list = first
            first, last = t, t if last < 0 else last
    return Duplicates(oldest, first, last)


@helper
def count_detached(vertices, counters, z, duplicates):
    """Count edges as if duplicates were attached to the oldest; return the prototypes lost."""
    lost = 0
    v = duplicates.first
    while v >= 0:
        was_prototype = vertices[v].cuts > 0
        count_edge(vertices, counters, z, v, -1)
        count_edge(vertices, counters, duplicates.oldest, v, 1)
        lost += was_prototype and vertices[v].cuts == 0
        v = next_duplicate(vertices, v, duplicates)
    return lost


@helper
def attach_duplicates(vertices, duplicates):
    """Attach the duplicates that were detached to the oldest of them."""
    v = duplicates.first
    while v >= 0:
        link(vertices, v, duplicates.oldest, vertices[v].weight)
        v = next_duplicate(vertices, v, duplicates)


@helper
def update_duplicate_costs(vertices, cost, duplicates, changed):
    """Update the costs of duplicates that were attached again; return the extended list."""
    v = duplicates.first
    while v >= 0:
        found = cost[v] - cost[v] if vertices[v].cuts > 0 else cost[duplicates.oldest]
        if cost[v] != found:
            cost[v] = found
            changed = add(changed, v)
        v = next_duplicate(vertices, v, duplicates)
    return changed
