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
from opforest.kernels.distances import TILE, between
from opforest.kernels.growing.candidates import (
    OUT,
    drop_shadowed,
    lowest_gaps,
    measure_from,
    take_nearest,
)  # fmt: skip
from opforest.kernels.growing.tree import (
    add_edge,
    following,
    hang,
    isolate,
    largest_below,
    turn,
    unlink,
)

#: Coming to a member of a tree takes as long as measuring so many coordinates in a row, for members
#: lie anywhere in memory; and measuring one there takes as long as measuring so many in a row.
STEP, FAR = 512, 8


class Lines(NamedTuple):
    """What a forest of optimum-path trees keeps beside its ``State``."""

    root: np.ndarray  #: the prototype of each vertex
    pair: np.ndarray  #: of each prototype; −1 for none


@kernel
def insert_opfi(state, lines, conqueror, end, measured, metric, report):
    """Insert the vertices from ``tally.size`` to ``end``, whose rows and labels are in place.

    Their conquerors are the last of the list ``conqueror``, found when the batch was classified
    (Algorithm 1, line 1). ``measured`` says whether ``gap`` holds the distances from the first
    of them already.
    """
    state, lines = borrow(state), borrow(lines)
    for z in range(state.tally[0].size, end):
        p = conqueror[z - end]
        _insert(state, lines, z, p, measured, metric, report[0])
        measured = False


@helper
def _insert(state, lines, z, p, measured, metric, report):
    """Algorithm 1: insert z, which was conquered by p."""
    vertices, cost, tally, rows = state.vertices, state.cost, state.tally[0], state.rows
    root, pair = lines
    isolate(vertices, z)
    pair[z] = -1
    if vertices[p].label != vertices[z].label:
        _start_tree(vertices, cost, rows, root, pair, z, p, metric, report)
        report.case_3 += 1
    else:
        if root[p] == p:
            report.case_2 += 1
        else:
            report.case_1 += 1
        if not measured and not _measure_few(vertices, rows, state.gap, z, root[p], metric):
            measure_from(state, z, z, np.inf, metric)
        q = pair[p]
        _insert_into_tree(state, root, z, root[p], metric)
        if q >= 0 and between(q, z, rows, metric) < between(p, q, rows, metric):
            _take_over(vertices, cost, root, pair, z, p, report)
        else:
            report.reconquered += _conquer_below(vertices, cost, root, z, root[z])
    tally.size = z + 1
    tally.version += 1
    report.learned += 1


@helper
def _insert_into_tree(state, root, z, top, metric):
    """Algorithm 2: make z a member of the tree with the root ``top``, which stays its root."""
    vertices, tally = state.vertices, state.tally[0]
    longest = _keep_members(state.gap[:z], root[:z], top, state.cost[:z])
    root[z] = top
    lowest = lowest_gaps(state, z, longest)
    distance = np.empty(TILE, state.gap.dtype)
    p, gap = take_nearest(state, lowest, z)
    hang(vertices, z, p, gap)
    dropping = True
    while True:
        dropping = dropping and drop_shadowed(state, lowest, p, z, distance, metric)
        p, gap = take_nearest(state, lowest, z)
        if p < 0:
            return
        add_edge(vertices, tally, z, p, gap)


@helper
def _keep_members(gap, root, top, cost):
    """Take out all vertices of other trees, and return the longest edge of this one."""
    for v in range(gap.shape[0]):
        gap[v] = gap[v] if root[v] == top else OUT
    longest = cost[top]
    for v in range(gap.shape[0]):
        longest = max(longest, cost[v] if root[v] == top else longest)
    return longest


@helper
def _measure_few(vertices, rows, gap, z, top, metric):
    """Write the distances from z to the members of a small tree; False if it is not small."""
    n_features = rows.shape[1]
    members = 0
    v = top
    while v >= 0:
        members += 1
        if members * (STEP + FAR * n_features) > z * n_features:
            return False
        v = following(vertices, v, top)
    for u in range(z):
        gap[u] = OUT
    v = top
    while v >= 0:
        gap[v] = between(v, z, rows, metric)
        v = following(vertices, v, top)
    return True


@helper
def _conquer_below(vertices, cost, root, top, prototype):
    """Algorithm 4: bring costs and roots below ``top``, itself included, up to date."""
    v = top
    count = 0
    while v >= 0:
        above = vertices[v].parent
        cost[v] = 0 if above < 0 else max(cost[above], vertices[v].weight)
        root[v] = prototype
        count += 1
        v = following(vertices, v, top)
    return count


@helper
def _take_over(vertices, cost, root, pair, z, p, report):
    """Algorithm 3: z is nearer to the pair of its prototype p and takes its place."""
    turn(vertices, z)
    pair[z] = pair[p]
    pair[p] = -1
    for v in range(z):
        if pair[v] == p:
            pair[v] = z
    report.takeovers += 1
    report.reconquered += _conquer_below(vertices, cost, root, z, z)
    report.prototypes_gained += 1
    report.prototypes_lost += 1


@helper
def _start_tree(vertices, cost, rows, root, pair, z, p, metric, report):
    """Algorithm 1, lines 10 to 12: z and its conqueror p, of another class, become prototypes."""
    root[z] = z
    pair[z] = p
    cost[z] = 0
    report.prototypes_gained += 1
    report.reconquered += 1
    q = pair[p]
    if root[p] == p:
        if q < 0 or between(p, z, rows, metric) < between(p, q, rows, metric):
            pair[p] = z
        return
    unlink(vertices, largest_below(vertices, p, root[p]))
    turn(vertices, p)
    pair[p] = z
    report.prototypes_gained += 1
    report.reconquered += _conquer_below(vertices, cost, root, p, p)
