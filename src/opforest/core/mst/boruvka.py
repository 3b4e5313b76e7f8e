"""Compute the minimum spanning tree by Borůvka's algorithm, with a k-d tree to find the edges.

In each round every component finds its smallest outgoing edge under (weight, smaller index, larger
index), and all of these join the tree at once. Each vertex has a list of its nearest neighbors; the
first one outside its component remains the nearest such vertex until the two components are joined.
A search is needed only when the list is exhausted, and only up to the length of the component's
best edge so far.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest._utils.chunks import map_chunks, run_parallel, split_chunks
from opforest._utils.progress import advance
from opforest.core.disjoint_set import find_group
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.all_knn import find_nearest, transpose_points
from opforest.core.kdtree.static import STACK, build_kdtree, push_children
from opforest.core.metrics.distances import are_rows_equal, distance
from opforest.core.records import Tree

#: The largest and the smallest number of neighbors that every point lists first: the more features
#: there are, the longer it takes to find another one, and the sooner components are joined.
MANY_NEIGHBORS, FEW_NEIGHBORS = 8, 3

#: Leaves or points searched by one call of a kernel: few enough for Ctrl-C to be noticed.
LEAVES_PER_CALL, POINTS_PER_CALL = 5_000, 20_000

#: Stands for the parent of a vertex that has not been reached.
UNSEEN = -2


class Rounds(NamedTuple):
    """The results of the rounds so far, by point of the k-d tree unless noted.

    A foreign point is one of another component.
    """

    component: np.ndarray
    component_of_node: np.ndarray  #: by node: the component of all its points, or −1
    near: np.ndarray  #: the nearest neighbors
    n_passed: np.ndarray  #: how many of them are known not to be foreign
    foreign: np.ndarray  #: the nearest foreign point, or −1
    weight: np.ndarray  #: its distance
    lower_bound: np.ndarray  #: on the distances of foreign points that are not listed
    best: np.ndarray  #: by component: an upper bound on its smallest outgoing edge


def span_sparse(rows, kdtree, metric, n_jobs=1) -> Tree | None:
    """Return the minimum spanning tree, or None if rounding has merged distinct points.

    Duplicates are a star around the first of them, with edges of weight 0, so one point represents
    them all. If distinct points are at distance 0, too, that does not hold.
    """
    kdtree, first = keep_distinct(rows, kdtree, n_jobs)
    edges = span_distinct(kdtree, metric, n_jobs)
    return root_places(kdtree, edges, first)


def keep_distinct(rows, kdtree, n_jobs):
    """Return a k-d tree without duplicates, and the first row equal to each row, or None."""
    first = find_first(rows, n_jobs)
    is_first = first == np.arange(len(rows), dtype=np.int32)
    if is_first.all():
        return kdtree, None
    return build_kdtree(rows, np.flatnonzero(is_first), n_jobs), first


def find_first(rows, n_jobs=1):
    """Return, for each row, the index of the first row equal to it."""
    first = np.arange(len(rows), dtype=np.int32)
    bits = rows.view(f"u{rows.itemsize}")
    n_parts = n_jobs if len(rows) >= tuning.values.few_for_threads else 1
    run_parallel(
        *(partial(_find_first, rows, bits, first, part, n_parts) for part in range(n_parts)),
        n_jobs=n_jobs,
    )
    return first


@kernel
def _find_first(rows, bits, first, part, n_parts):
    """Write, for a part of the rows by hash, the index of the first row equal to each."""
    n = np.int64(0)
    for i in range(rows.shape[0]):
        key = _hash(rows, bits, i)
        n += (key >> np.uint64(40)) % np.uint64(n_parts) == np.uint64(part)
    size = 2
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int32)
    for i in range(rows.shape[0]):
        key = _hash(rows, bits, i)
        if (key >> np.uint64(40)) % np.uint64(n_parts) != np.uint64(part):
            continue
        slot = np.int64(key & np.uint64(size - 1))
        while table[slot] >= 0 and not are_rows_equal(rows, np.int64(table[slot]), i):
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = i
        first[i] = table[slot]


@helper
def _hash(rows, bits, i):
    key = np.uint64(0)
    for k in range(rows.shape[1]):
        if rows[i, k] != 0:  # −0.0 equals 0.0
            key ^= np.uint64(bits[i, k])
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def span_distinct(kdtree, metric, n_jobs, report=advance):
    """Return the ends, by place in the tree, and weights of the edges between distinct points."""
    (n, d), dtype = kdtree.points.shape, kdtree.points.dtype
    n_neighbors = max(FEW_NEIGHBORS, min(MANY_NEIGHBORS, 12 - 2 * d))
    rounds = Rounds(
        component=np.arange(n, dtype=np.int32),
        component_of_node=np.full(len(kdtree.nodes), -1, np.int32),
        near=np.empty((n, n_neighbors), np.int32),
        n_passed=np.zeros(n, np.uint8),
        foreign=np.full(n, -1, np.int32),
        weight=np.empty(n, dtype),
        lower_bound=np.empty(n, dtype),
        best=np.empty(n, dtype),
    )
    columns = transpose_points(kdtree)

    def list_near(leaves):
        find_nearest(kdtree, columns, leaves, rounds.near, rounds.lower_bound, metric)

    def search(points):
        search_foreign(kdtree, rounds, points, -1, metric)

    group = np.arange(n, dtype=np.int32)
    size = max(n - 1, 0)
    edges = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, dtype)
    m = 0
    leaves = np.flatnonzero(kdtree.nodes["child"] < 0)
    map_chunks(list_near, split_chunks(leaves, LEAVES_PER_CALL), n_jobs)
    while m < n - 1:
        waiting = _list_waiting(kdtree.points, rounds, metric)
        map_chunks(search, split_chunks(waiting, POINTS_PER_CALL), n_jobs)
        m = _join(kdtree, rounds, group, edges, m)
        report(m / (n - 1))
    return edges


@kernel
def _list_waiting(points, rounds, metric):
    """Return the points that must search for a foreign point, and update ``best``."""
    component, _, near, n_passed, foreign, weight, lower_bound, best = borrow(rounds)
    n, k = near.shape
    waiting = np.empty(n, np.int64)
    m = 0
    for c in range(n):
        best[c] = np.inf
    for i in range(n):
        c = component[i]
        if foreign[i] >= 0 and component[foreign[i]] == c:
            foreign[i] = -1
        if foreign[i] < 0 and n_passed[i] < k:
            slot = np.int64(n_passed[i])
            while slot < k and near[i, slot] >= 0 and component[near[i, slot]] == c:
                slot += 1
            n_passed[i] = slot
            if slot < k and near[i, slot] >= 0:
                foreign[i] = near[i, slot]
                weight[i] = distance(points[i], points[foreign[i]], metric)
        if foreign[i] >= 0:
            best[c] = min(best[c], weight[i])
        elif lower_bound[i] < np.inf:
            waiting[m] = i
            m += 1
    return waiting[:m].copy()


@kernel
def search_foreign(kdtree, rounds, waiting, skipped, metric):
    """Find the nearest foreign points within ``best``, and lower it; skip one node's points."""
    kdtree, rounds = borrow(kdtree), borrow(rounds)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, kdtree.points.dtype)
    for i in waiting:
        c = rounds.component[i]
        limit = rounds.best[c]
        if rounds.lower_bound[i] > limit:
            continue
        j, weight = _nearest_foreign(kdtree, rounds, i, limit, skipped, stack, bound, metric)
        if j < 0:
            rounds.lower_bound[i] = max(rounds.lower_bound[i], limit)
            continue
        rounds.foreign[i] = j
        rounds.weight[i] = rounds.lower_bound[i] = weight
        if weight < rounds.best[c]:
            rounds.best[c] = weight


@helper
def _nearest_foreign(kdtree, rounds, i, limit, skipped, stack, bound, metric):
    """Return the nearest foreign point within ``limit``, by (weight, indices), or −1."""
    nodes, box, vertex, points = kdtree
    component, component_of_node = rounds.component, rounds.component_of_node
    x, c = points[i], component[i]
    best, best_weight = -1, limit
    stack[0], bound[0] = 0, 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > best_weight or component_of_node[node] == c or node == skipped:
            continue
        if nodes[node].child >= 0:
            m = push_children(nodes[node].child, box, x, stack, bound, m, metric)
            continue
        for j in range(nodes[node].begin, nodes[node].end):
            if component[j] == c:
                continue
            weight = distance(x, points[j], metric)
            # Edges of one vertex and equal weight are ordered by their other ends.
            is_tie = weight == best_weight and (best < 0 or vertex[j] < vertex[best])
            if weight < best_weight or is_tie:
                best, best_weight = j, weight
    return best, best_weight


@kernel
def _join(kdtree, rounds, group, edges, m):
    """Join components by their smallest edges; return how many edges the tree has then."""
    nodes, _, vertex, _ = borrow(kdtree)
    u, v, weights = edges
    component, component_of_node, _, _, foreign, weight, _, _ = borrow(rounds)
    n = group.shape[0]
    chosen = np.empty(n, np.int32)
    for c in range(n):
        chosen[c] = -1
    for i in range(n):
        c, j = component[i], np.int64(chosen[component[i]])
        if foreign[i] >= 0 and (
            j < 0
            or precedes(
                weight[i], vertex[i], vertex[foreign[i]], weight[j], vertex[j], vertex[foreign[j]]
            )
        ):
            chosen[c] = i
    for c in range(n):
        i = np.int64(chosen[c])
        if i < 0:
            continue
        a, b = find_group(group, i), find_group(group, np.int64(foreign[i]))
        if a != b:
            group[max(a, b)] = min(a, b)
            u[m], v[m], weights[m] = i, foreign[i], weight[i]
            m += 1
    for i in range(n):
        component[i] = find_group(group, i)
    label_nodes(nodes, component, component_of_node)
    return m


@helper
def label_nodes(nodes, component, component_of_node):
    """Write, for each node, the component of all its points, or −1 if there are several."""
    for node in range(nodes.shape[0] - 1, -1, -1):
        below = nodes[node].child
        if below >= 0:
            c = component_of_node[below]
            is_one = c == component_of_node[below + 1]
        else:
            c = component[nodes[node].begin]
            is_one = True
            for i in range(nodes[node].begin + 1, nodes[node].end):
                is_one &= component[i] == c
        component_of_node[node] = c if is_one else -1


def root_tree(n, u, v, weight) -> Tree:
    """Return the tree with these edges, rooted at vertex 0.

    If the edges are those of a forest, each of its trees has a root, whose parent is −1.
    """
    tree = Tree(np.empty(n, np.int64), np.zeros(n, weight.dtype), np.empty(n, np.int64))
    _root(u, v, weight, np.arange(n), tree)
    return tree


def root_places(kdtree, edges, first) -> Tree | None:
    """Return the tree with these edges between places of a k-d tree, rooted at vertex 0.

    ``first`` is the first duplicate of each vertex, if there are duplicates. The result is None if
    an edge between distinct points has weight 0. Neighbors in space are near each other in memory
    as places, but not as vertices.
    """
    u, v, weight = edges
    if len(weight) and weight.min() == 0:
        return None
    vertex = kdtree.vertex
    if first is not None:
        place = np.empty(len(first), np.int32)
        place[vertex] = np.arange(len(vertex), dtype=np.int32)
        duplicates = np.flatnonzero(first != np.arange(len(first), dtype=np.int32))
        u = np.append(u, place[first[duplicates]])
        v = np.append(v, np.arange(len(vertex), len(first), dtype=np.int32))
        weight = np.append(weight, np.zeros(len(duplicates), weight.dtype))
        vertex = np.append(vertex, duplicates)
    n = len(vertex)
    tree = Tree(np.empty(n, np.int64), np.empty(n, weight.dtype), np.empty(n, np.int64))
    _root(u, v, weight, vertex, tree)
    return tree


@kernel
def _root(u, v, weight, vertex, tree):
    """Fill in the tree with these edges between places, the vertices of which are given."""
    parent, length, order = borrow(tree)
    n, n_edges = vertex.shape[0], u.shape[0]
    start = np.zeros(n + 2, np.int32)  # where each place's edges begin, one entry later
    for e in range(n_edges):
        start[u[e] + 2] += 1
        start[v[e] + 2] += 1
    for i in range(n):
        start[i + 2] += start[i + 1]
    edge = np.empty(2 * n_edges, np.int32)
    for e in range(n_edges):
        for end in (u[e], v[e]):
            edge[start[end + 1]] = e
            start[end + 1] += 1
    stack, via = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        parent[i] = UNSEEN
    first = 0
    for i in range(n):
        if vertex[i] == 0:
            first = i
    m = 0
    for i in range(-1, n):
        top = first if i < 0 else i
        if parent[vertex[top]] != UNSEEN:
            continue
        stack[0], via[0], parent[vertex[top]], length[vertex[top]] = top, -1, -1, 0
        n_stacked = 1
        while n_stacked > 0:
            n_stacked -= 1
            a, above = stack[n_stacked], via[n_stacked]
            order[m] = vertex[a]
            m += 1
            for slot in range(start[a], start[a + 1]):
                e = edge[slot]
                if e != above:
                    b = u[e] + v[e] - a
                    parent[vertex[b]], length[vertex[b]] = vertex[a], weight[e]
                    stack[n_stacked], via[n_stacked] = b, e
                    n_stacked += 1
