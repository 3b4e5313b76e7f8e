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
from opforest.core.dynamic.candidates_scan import EXCLUDED, measure_from, nearest_of
from opforest.core.dynamic.dispatch import (
    choose_by_index,
    has_room,
    insert_into_index,
    update_cost_and_height,
)
from opforest.core.dynamic.duplicates import is_duplicate
from opforest.core.heap import append
from opforest.core.jit import borrow, helper, kernel
from opforest.core.metrics.distances import TILE, between, count_tiles
from opforest.core.rooted_tree import (
    add_edge,
    cut,
    heaviest_to_ancestor,
    isolate,
    link,
    next_in_preorder,
    reroot,
)

#: Members of a tree are scattered in memory: reaching one takes as long as measuring ``STEP``
#: contiguous coordinates, and measuring it takes ``FAR`` times as long.
STEP, FAR = 512, 8


@kernel
def insert_opfi(arrays, index, bound, trees, conqueror, measured, metric, report):
    """Insert the vertices from ``counters.size`` on, as ``insert_exactly`` does.

    The heights of the bound are the costs, and it has one landmark. ``trees`` are the
    ``PrototypeTrees``. ``conqueror`` holds the conqueror of each vertex when the batch was
    classified (Algorithm 1, line 1).
    """
    arrays, index, bound, trees = borrow(arrays), borrow(index), borrow(bound), borrow(trees)
    begin = arrays.counters[0].size
    for i in range(conqueror.shape[0]):
        if not has_room(index):
            return
        _insert(arrays, index, bound, trees, begin + i, conqueror[i], measured, metric, report[0])
        measured = False


@helper
def _insert(arrays, index, bound, trees, z, p, measured, metric, report):
    """Algorithm 1: insert z, which was conquered by p."""
    vertices, counters, rows = arrays.vertices, arrays.counters[0], arrays.rows
    root, pair = trees
    isolate(vertices, z)
    pair[z] = -1
    if vertices[p].label != vertices[z].label:
        _start_tree(arrays, index, trees, z, p, metric, report)
        report.case_3 += 1
    else:
        if root[p] == p:
            report.case_2 += 1
        else:
            report.case_1 += 1
        near, distances, m = find_members(arrays, index, bound, root, z, p, measured, metric)
        link(vertices, z, near[0], distances[0])  # Algorithm 2
        counters.longest = max(counters.longest, distances[0])
        for i in range(1, m):
            add_edge(vertices, counters, z, near[i], distances[i])
        root[z] = root[p]
        q = pair[p]
        if q >= 0 and between(q, z, rows, metric) < between(p, q, rows, metric):
            _take_over(arrays, index, trees, z, p, report)
        else:
            report.reconquered += _conquer_below(arrays, index, root, z, root[z])
    insert_into_index(index, bound, z, arrays)
    counters.size = z + 1
    counters.version += 1
    report.learned += 1


@helper
def _search_members(arrays, index, bound, root, z, p, measured, metric):
    measured = measured and index.status[0].pause > 0
    near, distances = np.empty(16, np.int64), np.empty(16, arrays.rows.dtype)
    near[0], distances[0] = p, between(p, z, arrays.rows, metric)
    near, distances, m = search_near(
        arrays, index, bound, z, root, root[p], near, distances, metric
    )
    if m == 0:
        return _scan_for_members(arrays, index, bound, root, z, p, measured, metric)
    return near, distances, m


@helper
def _scan_for_members(arrays, index, bound, root, z, p, measured, metric):
    cost, found, top = arrays.cost, arrays.distances, root[p]
    if not measured and not _measure_few(arrays.vertices, arrays.rows, found, z, top, metric):
        measure_from(arrays, z, z, np.inf, metric)
    for v in range(z):
        found[v] = found[v] if root[v] == top else EXCLUDED
    near, distances = np.empty(16, np.int64), np.empty(16, found.dtype)
    t = nearest_of(arrays.distance_bits, z)
    near[0], distances[0] = t, found[t]
    m = 1
    if distances[0] == 0 and is_duplicate(arrays.rows, t, z, metric):
        return near, distances, m
    found[t] = EXCLUDED
    for tile in range(count_tiles(z)):
        first, last = tile * TILE, min(tile * TILE + TILE, z)
        if _count_bounded(found[first:last], cost[t], cost[first:last]) == 0:
            continue
        for v in range(first, last):
            if 0 <= found[v] <= max(cost[t], cost[v]):
                near, distances = append(near, m, v), append(distances, m, found[v])
                m += 1
    return near, distances, m


#: Return the members of the tree of p whose edges to z may enter it, and their distances.
#:
#: No edge on the path between two members is longer than the larger of their costs. So, as with
#: ``bound``, few edges can enter: that to the nearest member t, and those to members v with
#: d(z, v) ≤ max(cost of t, cost of v). The nearest comes first.
find_members = choose_by_index(_scan_for_members.py_func, _search_members.py_func)


@helper
def _count_bounded(distances, least, cost):
    """Count the distances that costs do not exclude."""
    count = 0
    for j in range(distances.shape[0]):
        count += (distances[j] >= 0) & (distances[j] <= max(least, cost[j]))
    return count


@helper
def _measure_few(vertices, rows, distances, z, top, metric):
    """Write the distances from z to the members of a small tree; return whether it is small."""
    n_features = rows.shape[1]
    n_members = 0
    v = top
    while v >= 0:
        n_members += 1
        if n_members * (STEP + FAR * n_features) > z * n_features:
            return False
        v = next_in_preorder(vertices, v, top)
    for u in range(z):
        distances[u] = EXCLUDED
    v = top
    while v >= 0:
        distances[v] = between(v, z, rows, metric)
        v = next_in_preorder(vertices, v, top)
    return True


@helper
def _conquer_below(arrays, index, root, top, prototype):
    """Algorithm 4: update costs and roots in the subtree of ``top``; return its size."""
    vertices, cost = arrays.vertices, arrays.cost
    v = top
    count = 0
    while v >= 0:
        parent = vertices[v].parent
        value = 0 if parent < 0 else max(cost[parent], vertices[v].weight)
        if value != cost[v]:
            cost[v] = value
            if vertices[v].slot >= 0:  # the new vertex is in no index yet
                update_cost_and_height(index, v, vertices, cost)
        root[v] = prototype
        count += 1
        v = next_in_preorder(vertices, v, top)
    return count


@helper
def _take_over(arrays, index, trees, z, p, report):
    """Algorithm 3: z, which is nearer to the pair of its prototype p, takes its place."""
    root, pair = trees
    reroot(arrays.vertices, z)
    pair[z] = pair[p]
    pair[p] = -1
    for v in range(z):
        if pair[v] == p:
            pair[v] = z
    report.takeovers += 1
    report.reconquered += _conquer_below(arrays, index, root, z, z)
    report.prototypes_gained += 1
    report.prototypes_lost += 1


@helper
def _start_tree(arrays, index, trees, z, p, metric, report):
    """Algorithm 1, lines 10 to 12: z and its conqueror p, of another class, become prototypes."""
    vertices, rows = arrays.vertices, arrays.rows
    root, pair = trees
    root[z] = z
    pair[z] = p
    arrays.cost[z] = 0
    report.prototypes_gained += 1
    report.reconquered += 1
    q = pair[p]
    if root[p] == p:
        if q < 0 or between(p, z, rows, metric) < between(p, q, rows, metric):
            pair[p] = z
        return
    cut(vertices, heaviest_to_ancestor(vertices, vertices, p, root[p]))
    reroot(vertices, p)
    pair[p] = z
    report.prototypes_gained += 1
    report.reconquered += _conquer_below(arrays, index, root, p, p)
