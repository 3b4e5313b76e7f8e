"""OPFI: the insertion of Ponti & Riva, Algorithms 1 to 4.

The forest has one rooted tree per prototype, in which parents are predecessors, and each tree is
the minimum spanning tree of its members. Differences from the paper as printed:

- Algorithm 2 traverses the whole tree by the method of Chin and Houck. Edges are totally ordered,
  so the tree is unique, and a few candidates and path swaps find the same one. The last edge of
  the traversal, which the paper omits, is the edge to the nearest member.
- Algorithm 4, line 3: the cost of a path is max(cost of the predecessor, distance to it).
- There is no recursion: a tree may be a path of any length.
"""

import numpy as np

from opforest.core.dynamic.candidates_kdtree import search_near
from opforest.core.dynamic.candidates_scan import OUT, measure_from, nearest_of
from opforest.core.dynamic.dispatch import enter, has_room, reprice_one
from opforest.core.dynamic.duplicates import is_duplicate
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel, overload
from opforest.core.kdtree.dynamic import PAUSE
from opforest.core.metrics.distances import TILE, between, count_tiles
from opforest.core.records import NoIndex
from opforest.core.rooted_tree import (
    add_edge,
    following,
    hang,
    heaviest_to_ancestor,
    isolate,
    turn,
    unlink,
)

#: Coming to a member of a tree takes as long as measuring so many coordinates in a row, for members
#: lie anywhere in memory; and measuring one there takes as long as measuring so many in a row.
STEP, FAR = 512, 8


@kernel
def insert_opfi(state, index, bound, lines, conqueror, measured, metric, report):
    """Insert the vertices from ``tally.size`` on, whose rows and labels are in place.

    It stops early where an index has no room left.

    Parameters
    ----------
    index : Flat or Index
        Finds neighbors.
    bound : Bound
        Its heights are the costs, and there is one landmark.
    conqueror : array
        Who conquers each of them, found when the batch was classified (Algorithm 1, line 1).
    measured : bool
        Whether ``gap`` holds the distances from the first of them already.
    report : array
        One record of the counters of an ``UpdateReport``.
    """
    state, index, bound, lines = borrow(state), borrow(index), borrow(bound), borrow(lines)
    begin = state.counters[0].size
    for i in range(conqueror.shape[0]):
        if not has_room(index):
            return
        _insert(state, index, bound, lines, begin + i, conqueror[i], measured, metric, report[0])
        measured = False


@helper
def _insert(state, index, bound, lines, z, p, measured, metric, report):
    """Algorithm 1: insert z, which was conquered by p."""
    vertices, cost, counters, rows = state.vertices, state.cost, state.counters[0], state.rows
    root, pair = lines
    isolate(vertices, z)
    pair[z] = -1
    if vertices[p].label != vertices[z].label:
        _start_tree(state, index, root, pair, z, p, metric, report)
        report.case_3 += 1
    else:
        if root[p] == p:
            report.case_2 += 1
        else:
            report.case_1 += 1
        near, gaps, m = find_members(state, index, bound, root, z, p, measured, metric)
        _insert_into_tree(vertices, counters, z, near, gaps, m)
        root[z] = root[p]
        q = pair[p]
        if q >= 0 and between(q, z, rows, metric) < between(p, q, rows, metric):
            _take_over(vertices, cost, index, root, pair, z, p, report)
        else:
            report.reconquered += _conquer_below(vertices, cost, index, root, z, root[z])
    enter(index, bound, z, rows, vertices, cost)
    counters.size = z + 1
    counters.version += 1
    report.learned += 1


@helper
def _insert_into_tree(vertices, counters, z, near, gaps, m):
    """Algorithm 2: make z a member of a tree whose root stays."""
    hang(vertices, z, near[0], gaps[0])
    counters.longest = max(counters.longest, gaps[0])
    for i in range(1, m):
        add_edge(vertices, counters, z, near[i], gaps[i])


def find_members(state, index, bound, root, z, p, measured, metric):
    """Return the vertices in the tree of p whose edges to z may enter it, and their distances.

    No edge on the way between two members is longer than the larger of their costs. So, as in
    ``bound``, few edges can enter: that to the nearest member t, and those to members v with
    d(z, v) ≤ max(cost of t, cost of v). The nearest comes first.
    """


@overload(find_members)
def _find_members(state, index, bound, root, z, p, measured, metric):
    return (_scan_for_members if index.instance_class is NoIndex else _search_members).py_func


@helper
def _search_members(state, index, bound, root, z, p, measured, metric):
    measured = measured and index.room[PAUSE] > 0
    near, gaps = np.empty(16, np.int64), np.empty(16, state.rows.dtype)
    near[0], gaps[0] = p, between(p, z, state.rows, metric)
    near, gaps, m = search_near(state, index, bound, z, root, root[p], near, gaps, metric)
    if m == 0:
        return _scan_for_members(state, index, bound, root, z, p, measured, metric)
    return near, gaps, m


@helper
def _scan_for_members(state, index, bound, root, z, p, measured, metric):
    cost, gap, top = state.cost, state.gap, root[p]
    if not measured and not _measure_few(state.vertices, state.rows, gap, z, top, metric):
        measure_from(state, z, z, np.inf, metric)
    _keep_members(gap[:z], root[:z], top)
    near, gaps = np.empty(16, np.int64), np.empty(16, gap.dtype)
    t = nearest_of(state.bits, z)
    near[0], gaps[0] = t, gap[t]
    m = 1
    if gaps[0] == 0 and is_duplicate(state.rows, t, z, metric):
        return near, gaps, m
    gap[t] = OUT
    for tile in range(count_tiles(z)):
        first, last = tile * TILE, min(tile * TILE + TILE, z)
        if _count_within(gap[first:last], cost[t], cost[first:last]) == 0:
            continue
        for v in range(first, last):
            if 0 <= gap[v] <= max(cost[t], cost[v]):
                near, gaps = append(near, m, v), append(gaps, m, gap[v])
                m += 1
    return near, gaps, m


@helper
def _count_within(gap, least, cost):
    """Count the gaps that costs do not exclude."""
    count = 0
    for j in range(gap.shape[0]):
        count += (gap[j] >= 0) & (gap[j] <= max(least, cost[j]))
    return count


@helper
def _keep_members(gap, root, top):
    """Take out all vertices of other trees."""
    for v in range(gap.shape[0]):
        gap[v] = gap[v] if root[v] == top else OUT


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
def _conquer_below(vertices, cost, index, root, top, prototype):
    """Algorithm 4: bring costs and roots below ``top``, itself included, up to date."""
    v = top
    count = 0
    while v >= 0:
        above = vertices[v].parent
        value = 0 if above < 0 else max(cost[above], vertices[v].weight)
        if value != cost[v]:
            cost[v] = value
            reprice_one(index, v, vertices, cost)
        root[v] = prototype
        count += 1
        v = following(vertices, v, top)
    return count


@helper
def _take_over(vertices, cost, index, root, pair, z, p, report):
    """Algorithm 3: z is nearer to the pair of its prototype p and takes its place."""
    turn(vertices, z)
    pair[z] = pair[p]
    pair[p] = -1
    for v in range(z):
        if pair[v] == p:
            pair[v] = z
    report.takeovers += 1
    report.reconquered += _conquer_below(vertices, cost, index, root, z, z)
    report.prototypes_gained += 1
    report.prototypes_lost += 1


@helper
def _start_tree(state, index, root, pair, z, p, metric, report):
    """Algorithm 1, lines 10 to 12: z and its conqueror p, of another class, become prototypes."""
    vertices, cost, rows = state.vertices, state.cost, state.rows
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
    unlink(vertices, heaviest_to_ancestor(vertices, p, root[p]))
    turn(vertices, p)
    pair[p] = z
    report.prototypes_gained += 1
    report.reconquered += _conquer_below(vertices, cost, index, root, p, p)
