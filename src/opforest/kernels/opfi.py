"""OPFI: the insertion of Ponti & Riva, Algorithms 1 to 4.

The forest holds one rooted tree for each prototype, parents being predecessors, and each tree is
the minimum spanning tree of its members. Where this departs from the paper's print:

- Algorithm 2 lets Chin and Houck walk the whole tree. Edges are totally ordered, so the tree is
  unique, and a few candidates and path swaps find the same one. The last edge of their walk,
  which the paper forgets to add, is the edge to the nearest member.
- Algorithm 4, line 3: the cost of a path is max(cost of the predecessor, distance to it).
- Nothing recurses: a tree may be a path of any length.
"""

from typing import NamedTuple

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.candidates import (
    OUT,
    drop_shadowed,
    lowest_gaps,
    measure_from,
    take_nearest,
)  # fmt: skip
from opforest.kernels.distances import TILE, between
from opforest.kernels.insertion import (
    CASE_1,
    CASE_2,
    CASE_3,
    GAINED,
    LEARNED,
    LOST,
    RECONQUERED,
    TAKEOVERS,
)  # fmt: skip
from opforest.kernels.rooted_tree import add_edge, hang, largest_below, turn, unlink
from opforest.kernels.state import SIZE

#: Coming to a member of a tree takes as long as measuring so many coordinates in a row, for members
#: lie anywhere in memory; and measuring one there takes as long as measuring so many in a row.
STEP, FAR = 512, 8


class Lines(NamedTuple):
    """What a grown forest keeps beside its ``State``."""

    root: np.ndarray  #: the prototype of each vertex
    pair: np.ndarray  #: of each prototype; −1 for none


@kernel
def insert_opfi(state, lines, conqueror, begin, end, measured, metric, report):
    """Insert the vertices from ``count[SIZE]`` to ``end``, whose rows and labels are in place.

    ``conqueror[z - begin]`` conquered z when the batch, which begins at ``begin``, was
    classified (Algorithm 1, line 1). ``measured`` says whether ``gap`` holds the distances from
    the first of them already.
    """
    state, lines = borrow(state), borrow(lines)
    distance = np.empty(TILE, state.gap.dtype)
    for z in range(state.count[SIZE], end):
        p = conqueror[z - begin]
        state.parent[z] = state.child[z] = state.after[z] = state.before[z] = -1
        state.weight[z] = 0
        lines.pair[z] = -1
        if state.label[p] != state.label[z]:
            report[CASE_3] += 1
            _start_tree(state, lines, z, p, metric, report)
        else:
            q = lines.pair[p]
            if lines.root[p] == p:
                report[CASE_2] += 1
            else:
                report[CASE_1] += 1
            if not measured and not _measure_few(state, z, lines.root[p], metric):
                measure_from(state, z, z, np.inf, metric)
            _insert_into_tree(state, lines, z, lines.root[p], distance, metric)
            if q >= 0 and between(q, z, state.rows, metric) < between(p, q, state.rows, metric):
                report[TAKEOVERS] += 1
                _take_over(state, lines, z, p, report)
            else:
                report[RECONQUERED] += _conquer_below(state, lines, z, lines.root[z])
        measured = False
        state.count[SIZE] = z + 1
        report[LEARNED] += 1


@helper
def _insert_into_tree(state, lines, z, root, distance, metric):
    """Algorithm 2: make z a member of the tree with this root, which stays its root."""
    longest = _keep_members(state.gap[:z], lines.root[:z], root, state.cost[:z])
    lines.root[z] = root
    lowest = lowest_gaps(state, z, longest)
    p, gap = take_nearest(state, lowest, z)
    hang(state, z, p, gap)
    dropping = True
    while True:
        dropping = dropping and drop_shadowed(state, lowest, p, z, distance, metric)
        p, gap = take_nearest(state, lowest, z)
        if p < 0:
            return
        add_edge(state, z, p, gap)


@helper
def _keep_members(gap, roots, root, cost):
    """Take out all vertices of other trees, and return the longest edge of this one."""
    for v in range(gap.shape[0]):
        gap[v] = gap[v] if roots[v] == root else OUT
    longest = cost[root]
    for v in range(gap.shape[0]):
        longest = max(longest, cost[v] if roots[v] == root else longest)
    return longest


@helper
def _following(state, v, top):
    """Return the vertex after v on a walk through all below ``top``; −1 at the end."""
    if state.child[v] >= 0:
        return state.child[v]
    while v != top and state.after[v] < 0:
        v = state.parent[v]
    return -1 if v == top else state.after[v]


@helper
def _measure_few(state, z, root, metric):
    """Write the distances from z to the members of a small tree; False if it is not small."""
    n_features = state.rows.shape[1]
    members = 0
    v = root
    while v >= 0:
        members += 1
        if members * (STEP + FAR * n_features) > z * n_features:
            return False
        v = _following(state, v, root)
    for u in range(z):
        state.gap[u] = OUT
    v = root
    while v >= 0:
        state.gap[v] = between(v, z, state.rows, metric)
        v = _following(state, v, root)
    return True


@helper
def _conquer_below(state, lines, top, root):
    """Algorithm 4: bring costs and roots below ``top``, itself included, up to date."""
    v = top
    count = 0
    while v >= 0:
        above = state.parent[v]
        state.cost[v] = 0 if above < 0 else max(state.cost[above], state.weight[v])
        lines.root[v] = root
        count += 1
        v = _following(state, v, top)
    return count


@helper
def _take_over(state, lines, z, p, report):
    """Algorithm 3: z is nearer to the pair of its prototype p and takes its place."""
    turn(state, z)
    lines.pair[z] = lines.pair[p]
    lines.pair[p] = -1
    for v in range(z):
        if lines.pair[v] == p:
            lines.pair[v] = z
    report[RECONQUERED] += _conquer_below(state, lines, z, z)
    report[GAINED] += 1
    report[LOST] += 1


@helper
def _start_tree(state, lines, z, p, metric, report):
    """Algorithm 1, lines 10 to 12: z and its conqueror p, of another class, become prototypes."""
    lines.root[z] = z
    lines.pair[z] = p
    state.cost[z] = 0
    report[GAINED] += 1
    report[RECONQUERED] += 1
    q = lines.pair[p]
    if lines.root[p] == p:
        if q < 0 or between(p, z, state.rows, metric) < between(p, q, state.rows, metric):
            lines.pair[p] = z
        return
    unlink(state, largest_below(state, p, lines.root[p]))
    turn(state, p)
    lines.pair[p] = z
    report[GAINED] += 1
    report[RECONQUERED] += _conquer_below(state, lines, p, p)
