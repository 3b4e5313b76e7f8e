"""Find candidate edges of the minimum spanning tree in a k-d tree.

The results are the same as those of ``candidates_scan``. The more features there are, the more
vertices a search visits. Where that takes longer than a scan, it is given up, and insertions scan
all vertices for a while.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.dynamic.candidates_scan import list_candidates
from opforest.core.dynamic.components import group_of
from opforest.core.dynamic.duplicates import has_older_duplicate
from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import borrow, helper
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.dynamic import BUCKET
from opforest.core.kdtree.static import STACK, push_children
from opforest.core.metrics.distances import are_rows_equal, between, distance

#: Neighbors of a removed vertex that are tried first.
FEW_HEADS = 16

#: A scan of all vertices takes as long as a search that visits 1 in 24 of them, and 64 more.
SCANNED_PER_VISIT, FEW_VISITS = 24, 64

#: Insertions that scan all vertices before a search is tried again.
PAUSE_BETWEEN_TRIALS = 64

#: Selects all vertices.
ALL = -1


class Search(NamedTuple):
    """A search around a point."""

    x: np.ndarray
    group: np.ndarray  #: a number for each vertex
    wanted: int  #: the number of the vertices to consider, or ``ALL``
    max_visited: int  #: the number of visited vertices after which it is given up
    stack: np.ndarray  #: nodes to visit, and lower bounds on the distances to them
    lower_bound: np.ndarray


@helper
def search_candidates(arrays, index, bound, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, nearest first, and distances.

    ``measured`` tells whether ``distances`` already holds the distances from z, if searches pause.
    """
    measured = measured and index.status[0].pause > 0
    near, distances = np.empty(16, np.int64), np.empty(16, arrays.rows.dtype)
    near[0], distances[0] = -1, np.inf
    near, distances, m = search_near(
        arrays, index, bound, z, bound.landmark, ALL, near, distances, metric
    )
    if m == 0:
        return list_candidates(arrays, index, bound, z, measured, metric)
    return near, distances, m


@helper
def search_near(arrays, index, bound, z, group, wanted, near, distances, metric):
    """Return the nearest vertex to z and those that the bound does not exclude, and distances.

    ``group`` and ``wanted`` are those of ``Search``. The first entries of ``near`` and
    ``distances`` are one of the wanted vertices, or −1, and its distance from z. The nearest vertex
    comes first. The third result is the number of vertices; 0 if the search was given up.
    """
    rows, status, affordable = arrays.rows, index.status[0], z // SCANNED_PER_VISIT + FEW_VISITS
    if status.pause > 0:
        status.pause -= 1
        return near, distances, 0
    stack, lower_bound = np.empty(STACK, np.int64), np.empty(STACK, rows.dtype)
    lent = borrow((stack, lower_bound))
    search = Search(rows[z], group, wanted, 2 * affordable, lent[0], lent[1])
    near[0], distances[0], n_visited = _find_nearest(search, index, near[0], distances[0], metric)
    m = 1
    if n_visited <= 2 * affordable and (distances[0] > 0 or not are_rows_equal(rows, near[0], z)):
        longest = arrays.counters[0].longest
        near, distances, m, n_visited = _list_within(
            search, index, bound, longest, near, distances, n_visited, metric
        )
    stack[0] = lower_bound.shape[0]  # this keeps both arrays alive until here
    status.effort += (16 * n_visited - status.effort) // 8  # sixteen times a moving average
    if status.effort > 16 * affordable:
        status.pause = PAUSE_BETWEEN_TRIALS
    return near, distances, m if n_visited <= 2 * affordable else 0


@helper
def _find_nearest(search, index, nearest, best, metric):
    """Return the vertex with the smallest (distance, index), the distance, and how many visited."""
    index, search = borrow(index), borrow(search)
    nodes, box, vertex, points = index.nodes, index.box, index.vertex, index.points
    x, group, wanted, max_visited, stack, lower_bound = search
    n_visited = 0
    stack[0] = 0
    lower_bound[0] = 0
    m = 1
    while m > 0 and n_visited <= max_visited:
        m -= 1
        node = nodes[stack[m]]
        if lower_bound[m] > best or (lower_bound[m] == best and node.oldest > nearest):
            continue
        below = np.int64(node.child)
        if below >= 0:
            m = push_children(below, box, x, stack, lower_bound, m, metric)
            continue
        begin = (-1 - below) * BUCKET
        n_visited += node.count
        for slot in range(begin, begin + node.count):
            found = distance(x, points[slot], metric)
            if found < best or (found == best and vertex[slot] < nearest):
                v = np.int64(vertex[slot])
                if wanted == ALL or group[v] == wanted:
                    nearest, best = v, found
    return nearest, best, n_visited


@helper
def _list_within(search, index, bound, longest, near, distances, n_visited, metric):
    """Append all vertices that the bound does not exclude to the nearest one."""
    index, search, bound = borrow(index), borrow(search), borrow(bound)
    nodes, box, vertex, points = index.nodes, index.box, index.vertex, index.points
    x, group, wanted, max_visited, stack, _ = search
    landmark, heights, table = bound
    t = near[0]
    row, height = table[landmark[t]], heights[t]
    stack[0] = 0
    n_stacked, m = 1, 1
    while n_stacked > 0 and n_visited <= max_visited:
        n_stacked -= 1
        node = nodes[stack[n_stacked]]
        limit = min(longest, max(height, row[node.landmark], node.slack))
        if distance_to_box(x, box, stack[n_stacked], metric) > limit:
            continue
        below = np.int64(node.child)
        if below >= 0:
            stack[n_stacked], stack[n_stacked + 1] = below, below + 1
            n_stacked += 2
            continue
        begin = (-1 - below) * BUCKET
        n_visited += node.count
        for slot in range(begin, begin + node.count):
            v = np.int64(vertex[slot])
            found = distance(x, points[slot], metric)
            if v == t or (wanted != ALL and group[v] != wanted):
                continue
            if found <= min(longest, max(height, row[landmark[v]], heights[v])):
                near, distances = append(near, m, v), append(distances, m, found)
                m += 1
    return near, distances, m, n_visited


@helper
def _try_heads(rows, own, components, infinity, metric):
    """Return the smallest of a few edges between neighbors of the removed vertex."""
    best = (np.int64(-1), np.int64(-1), infinity)
    head = components.head
    u = head[own]
    for i in range(min(head.shape[0], FEW_HEADS)):
        if find_group(components.group, i) != own:
            weight = between(u, head[i], rows, metric)
            if precedes(weight, u, head[i], best[2], best[0], best[1]):
                best = (u, head[i], weight)
    return best


@helper
def search_outgoing_edge(arrays, index, own, components, metric):
    """Return the smallest edge from a group of components to another: its ends and its weight."""
    stack, lower_bound = np.empty(STACK, np.int64), np.empty(STACK, arrays.cost.dtype)
    lower_bound[0] = np.inf
    lent = borrow((stack, lower_bound))
    best = _try_heads(arrays.rows, own, components, lower_bound[0], metric)
    u = components.head[own]
    while u >= 0:
        may_win = arrays.distances[u] <= best[2]
        if may_win and not has_older_duplicate(arrays.rows, arrays.vertices, u, metric):
            best = _search_from(best, u, own, arrays, index, components, lent, metric)
        u = np.int64(arrays.vertices[u].next_in_list)
    stack[0] = lower_bound.shape[0]  # this keeps both arrays alive until here
    return best


@helper
def _search_from(best, u, own, arrays, index, components, lent, metric):
    """Return the smaller one of an edge and the smallest from u to another group."""
    arrays, index, components, lent = (
        borrow(arrays),
        borrow(index),
        borrow(components),
        borrow(lent),
    )
    nodes, box, vertex, points = index.nodes, index.box, index.vertex, index.points
    vertices, x, group = arrays.vertices, arrays.rows[u], components.group
    stamp, rest = components.stamp, components.rest
    stack, lower_bound = lent
    stack[0] = 0
    lower_bound[0] = 0
    m = 1
    while m > 0:
        m -= 1
        node, own_part = nodes[stack[m]], index.components[stack[m]]
        # No edge into the node precedes one of this length to its oldest vertex.
        if not precedes(lower_bound[m], u, node.oldest, best[2], best[0], best[1]):
            continue
        component = own_part.mark - stamp
        if component >= 0 and own_part.count == node.count and group[component] == own:
            continue  # all of it is in this group; a group that was joined twice is not noticed
        below = np.int64(node.child)
        if below >= 0:
            m = push_children(below, box, x, stack, lower_bound, m, metric)
            continue
        begin = (-1 - below) * BUCKET
        for slot in range(begin, begin + node.count):
            weight = distance(x, points[slot], metric)
            if weight <= best[2]:
                v = np.int64(vertex[slot])
                if (
                    precedes(weight, u, v, best[2], best[0], best[1])
                    and group_of(vertices, v, stamp, rest, group) != own
                ):
                    best = (u, v, weight)
    return best
