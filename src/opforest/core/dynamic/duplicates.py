"""Detect duplicates of a point and handle them during a removal.

Two vertices are duplicates if their rows are equal, so that they have the same distance to every
vertex. With a callable metric or a table of distances, no vertices are treated as duplicates. Edges
are ordered so that duplicates are normally attached to the oldest of them and have no other edges.
Searches can therefore skip them, and a removal can detach them and attach them again to the oldest
that remains.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from opforest.core.heap import append
from opforest.core.jit import helper, overload
from opforest.core.metrics.types import Table
from opforest.core.rooted_tree import count_crossing, hang, unlink


def is_duplicate(rows, t, z, metric):
    """Tell whether z has all distances that t has (compiled code only)."""


@overload(is_duplicate)
def _is_copy_by(rows, t, z, metric):
    # A user's function may not be quite symmetric, and rows of a table are no coordinates.
    if isinstance(metric, types.Dispatcher) or metric.instance_class is Table:
        return lambda rows, t, z, metric: False
    return lambda rows, t, z, metric: are_equal(rows, t, z)


@helper
def has_elder_copy(rows, vertices, u, metric):
    """Tell whether u hangs on an elder copy of it, whose edges all come before those of u."""
    t = np.int64(vertices[u].parent)
    return 0 <= t < u and vertices[u].weight == 0 and is_duplicate(rows, t, u, metric)


@helper
def are_equal(rows, u, v):
    """Tell whether two rows are equal."""
    for k in range(rows.shape[1]):
        if rows[u, k] != rows[v, k]:
            return False
    return True


# Let z be the eldest of all vertices at distance 0 from it, and the next one, e, a copy of z. The
# edges from z come first among those of length 0, and first among those of any other length that
# lead to z or to a copy of it. So all copies hang on z and have no other edges; and without z they
# hang on e and have no other edges. A copy that is a prototype makes one of e, too, and any other
# costs what e costs, so nobody else needs them to find its own edges and costs.
class Aside(NamedTuple):
    """The copies of a vertex, taken out of the tree: a list, in which ``link`` leads on."""

    oldest: int  #: the copy on which the others will hang, which has stayed in the tree
    first: int  #: of the others; −1 if none are set aside
    last: int


@helper
def set_copies_aside(rows, vertices, z, metric):
    """Take the copies of z, if it is the eldest of them, out of the tree but for the next one."""
    none = np.int64(-1)
    oldest, has_more = none, False
    t, length = np.int64(vertices[z].parent), vertices[z].weight
    next_one = np.int64(vertices[z].child)
    while True:
        if t >= 0 and length == 0:
            if t < z:
                return Aside(none, none, none)
            has_more = oldest >= 0
            oldest = min(oldest, t) if has_more else t
        if next_one < 0:
            break
        t, length = next_one, vertices[next_one].weight
        next_one = np.int64(vertices[next_one].after)
    if not has_more or not is_duplicate(rows, oldest, z, metric):
        return Aside(none, none, none)
    first, last = none, none
    next_one = np.int64(vertices[z].child)
    while next_one >= 0:
        t = next_one
        next_one = np.int64(vertices[t].after)
        is_leaf = vertices[t].child < 0  # or the forest is that of a forged file
        if t != oldest and vertices[t].weight == 0 and is_leaf and is_duplicate(rows, t, z, metric):
            unlink(vertices, t)
            vertices[t].link = first
            first, last = t, t if last < 0 else last
    return Aside(oldest, first, last)


@helper
def _count_aside(vertices, counters, z, aside):
    """Count edges between classes as if copies hung on the eldest; return prototypes lost."""
    lost = 0
    v = aside.first
    while v >= 0:
        was_prototype = vertices[v].cuts > 0
        count_crossing(vertices, counters, z, v, -1)
        count_crossing(vertices, counters, aside.oldest, v, 1)
        lost += was_prototype and vertices[v].cuts == 0
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)
    return lost


@helper
def hang_copies(vertices, aside):
    """Hang copies that were set aside on the eldest of them."""
    v = aside.first
    while v >= 0:
        hang(vertices, v, aside.oldest, vertices[v].weight)
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)


@helper
def _take_back(vertices, cost, aside, changed, n_changed):
    """Hang copies on the eldest of them, and find their costs; return whose cost has changed."""
    hang_copies(vertices, aside)
    v = aside.first
    while v >= 0:
        found = cost[v] - cost[v] if vertices[v].cuts > 0 else cost[aside.oldest]
        if cost[v] != found:
            cost[v] = found
            changed = append(changed, n_changed, v)
            n_changed += 1
        v = np.int64(vertices[v].link) if v != aside.last else np.int64(-1)
    return changed, n_changed
