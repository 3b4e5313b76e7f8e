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

from opforest._utils.chunks import map_chunks, split_chunks
from opforest._utils.progress import advance
from opforest.core.disjoint_set import find_group
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.all_knn import columns_of, find_nearest
from opforest.core.kdtree.static import STACK, build_kdtree, push_children
from opforest.core.metrics.distances import distance
from opforest.core.records import Tree

#: Neighbors that every point lists first, at the most and at the least: the more features there
#: are, the longer it takes to find another one, and the sooner components are joined by few.
MANY_NeighborS, FEW_NeighborS = 8, 3

#: Leaves or places searched by one call of a kernel, so that threads share the work and Ctrl-C is
#: heard.
LEAVES_PER_CALL, PLACES_PER_CALL = 5_000, 20_000


class Rounds(NamedTuple):
    """What is known between rounds; all but ``node`` by place in the k-d tree."""

    component: np.ndarray
    node: np.ndarray  #: by node: the component all its places are in, or −1
    near: np.ndarray  #: the places of the nearest neighbors, and how many of them are no aliens
    passed: np.ndarray
    alien: np.ndarray  #: the place of the nearest point of another component, or −1
    weight: np.ndarray  #: its distance
    beyond: np.ndarray  #: no alien that is not listed is nearer than this
    best: np.ndarray  #: by component: no larger than its smallest outgoing edge known so far


def span_sparse(rows, tree, metric, n_jobs=1) -> Tree | None:
    """Return the minimum spanning tree, or None where rounding has merged distinct points.

    ``tree`` is the k-d tree of the rows.

    Copies of a point are a star around the first of them, with edges of weight 0; so one point
    stands for them all. Where distinct points are at distance 0 too, that is not so.
    """
    bits = (rows + 0).view(f"u{rows.itemsize}")  # adding 0 makes −0.0 a 0.0
    first = _first_of_copies(bits)
    chosen = np.flatnonzero(first == np.arange(len(rows)))
    if len(chosen) < len(rows):
        tree = build_kdtree(rows, chosen)
    u, v, weight = _span_distinct(tree, metric, n_jobs)
    if len(weight) and weight.min() == 0:
        return None
    copies = np.flatnonzero(first != np.arange(len(rows)))
    return root(
        len(rows),
        np.concatenate((u, first[copies])),
        np.concatenate((v, copies)),
        np.concatenate((weight, np.zeros(len(copies), rows.dtype))),
    )


@kernel
def _first_of_copies(bits):
    """Return, for each row, the index of the first row equal to it, by hashing."""
    n, d = bits.shape
    size = 2
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1)
    first = np.empty(n, np.int64)
    for i in range(n):
        key = np.uint64(0)
        for k in range(d):
            key = (key ^ np.uint64(bits[i, k])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(size - 1))
        while table[slot] >= 0 and not _are_equal(bits, table[slot], i):
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = i
        first[i] = table[slot]
    return first


@helper
def _are_equal(bits, i, j):
    for k in range(bits.shape[1]):
        if bits[i, k] != bits[j, k]:
            return False
    return True


def _span_distinct(tree, metric, n_jobs):
    """Return the ends and weights of the edges of the spanning tree of the points in a k-d tree."""

    def list_near(rounds, leaves):
        find_nearest(tree, columns, leaves, rounds.near, rounds.beyond, metric)

    def search(rounds, places):
        _search(tree, rounds, places, metric)

    columns = columns_of(tree)
    leaves = split_chunks(np.flatnonzero(tree.nodes["child"] < 0), LEAVES_PER_CALL)
    k = max(FEW_NeighborS, min(MANY_NeighborS, 12 - 2 * len(columns)))
    return join_all(tree, k, list_near, leaves, search, PLACES_PER_CALL, metric, n_jobs)


def join_all(tree, k, list_near, parts, search, per_call, metric, n_jobs):
    """Return the ends and weights of the edges of the spanning tree of the points in a k-d tree.

    Parameters
    ----------
    k : int
        How many neighbors each point lists first.
    list_near : callable
        ``list_near(rounds, part)`` fills in ``near`` and ``beyond`` for each of the ``parts``.
    search : callable
        ``search(rounds, places)`` fills in ``alien``, ``weight`` and ``beyond`` at some places, at
        most ``per_call`` of them, if there is an alien within the ``best`` of their component.
    """
    n, dtype = len(tree.vertex), tree.points.dtype
    rounds = Rounds(
        component=np.arange(n, dtype=np.int32),
        node=np.full(len(tree.nodes), -1, np.int32),
        near=np.empty((n, k), np.int32),
        passed=np.zeros(n, np.uint8),
        alien=np.full(n, -1, np.int32),
        weight=np.empty(n, dtype),
        beyond=np.empty(n, dtype),
        best=np.empty(n, dtype),
    )
    group = np.arange(n, dtype=np.int32)
    u, v = np.empty(max(n - 1, 0), np.int64), np.empty(max(n - 1, 0), np.int64)
    weight = np.empty(max(n - 1, 0), dtype)
    m = 0
    map_chunks(partial(list_near, rounds), parts, n_jobs)
    while m < n - 1:
        waiting = split_chunks(_who_must_search(tree.points, rounds, metric), per_call)
        map_chunks(partial(search, rounds), waiting, n_jobs)
        m = _join(tree, rounds, group, u, v, weight, m)
        advance(m / (n - 1))
    return u, v, weight


@kernel
def _who_must_search(points, rounds, metric):
    """Return the places whose alien is known no more, and note what components know."""
    component, _, near, passed, alien, weight, beyond, best = borrow(rounds)
    n, k = near.shape
    waiting = np.empty(n, np.int64)
    m = 0
    for c in range(n):
        best[c] = np.inf
    for i in range(n):
        c = component[i]
        if alien[i] >= 0 and component[alien[i]] == c:
            alien[i] = -1
        if alien[i] < 0 and passed[i] < k:
            # The next alien in the list of neighbors, if there is one.
            slot = np.int64(passed[i])
            while slot < k and near[i, slot] >= 0 and component[near[i, slot]] == c:
                slot += 1
            passed[i] = slot
            if slot < k and near[i, slot] >= 0:
                alien[i] = near[i, slot]
                weight[i] = distance(points[i], points[alien[i]], metric)
        if alien[i] >= 0:
            best[c] = min(best[c], weight[i])
        elif beyond[i] < np.inf:
            waiting[m] = i
            m += 1
    return waiting[:m].copy()


@kernel
def _search(tree, rounds, waiting, metric):
    tree, rounds = borrow(tree), borrow(rounds)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, tree.points.dtype)
    for i in waiting:
        c = rounds.component[i]
        limit = rounds.best[c]
        if rounds.beyond[i] > limit:
            continue
        place, weight = _nearest_alien(
            tree, rounds.component, rounds.node, i, limit, stack, bound, metric
        )
        if place < 0:
            rounds.beyond[i] = max(rounds.beyond[i], limit)
            continue
        rounds.alien[i] = place
        rounds.weight[i] = rounds.beyond[i] = weight
        if weight < rounds.best[c]:
            rounds.best[c] = weight


@helper
def _nearest_alien(tree, component, component_of_node, i, limit, stack, bound, metric):
    """Return the nearest point of another component within ``limit``, by (weight, indices)."""
    nodes, box, vertex, points = tree
    x, c = points[i], component[i]
    best, best_weight = -1, limit
    stack[0], bound[0] = 0, 0
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > best_weight or component_of_node[node] == c:
            continue
        if nodes[node].child >= 0:
            m = push_children(nodes[node].child, box, x, stack, bound, m, metric)
            continue
        for j in range(nodes[node].begin, nodes[node].end):
            if component[j] == c:
                continue
            weight = distance(x, points[j], metric)
            # Edges of one vertex and equal weight are ordered by their other ends.
            if weight < best_weight or (
                weight == best_weight and (best < 0 or vertex[j] < vertex[best])
            ):
                best, best_weight = j, weight
    return best, best_weight


@helper
def _is_smaller(vertex, alien, weight, i, j):
    """Compare the edges that places i and j have found."""
    if weight[i] != weight[j]:
        return weight[i] < weight[j]
    a, b = vertex[i], vertex[alien[i]]
    c, d = vertex[j], vertex[alien[j]]
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@kernel
def _join(tree, rounds, group, u, v, length, m):
    """Join components by their smallest edges; return how many edges the tree has then."""
    nodes, _, vertex, _ = borrow(tree)
    component, component_of_node, _, _, alien, weight, _, _ = borrow(rounds)
    n = group.shape[0]
    chosen = np.empty(n, np.int32)
    for c in range(n):
        chosen[c] = -1
    for i in range(n):
        c = component[i]
        if alien[i] >= 0 and (
            chosen[c] < 0 or _is_smaller(vertex, alien, weight, i, np.int64(chosen[c]))
        ):
            chosen[c] = i
    for c in range(n):
        i = np.int64(chosen[c])
        if i < 0:
            continue
        a, b = find_group(group, i), find_group(group, np.int64(alien[i]))
        if a != b:
            group[max(a, b)] = min(a, b)
            u[m], v[m] = vertex[i], vertex[alien[i]]
            length[m] = weight[i]
            m += 1
    for i in range(n):
        component[i] = find_group(group, i)
    # Note for each node whether all its places are in one component.
    for node in range(nodes.shape[0] - 1, -1, -1):
        below = nodes[node].child
        if below >= 0:
            c = component_of_node[below]
            same = c == component_of_node[below + 1]
        else:
            c = component[nodes[node].begin]
            same = True
            for place in range(nodes[node].begin + 1, nodes[node].end):
                same &= component[place] == c
        component_of_node[node] = c if same else -1
    return m


def root(n, u, v, weight) -> Tree:
    """Return the tree with these edges, rooted at vertex 0."""
    tree = Tree(np.full(n, -1), np.zeros(n, weight.dtype), np.zeros(n, np.int64))
    _root(u, v, weight, tree)
    return tree


@kernel
def _root(u, v, weight, tree):
    parent, length, order = borrow(tree)
    n = parent.shape[0]
    start = np.zeros(n + 2, np.int64)  # where each vertex's edges begin, one place further on
    for i in range(n - 1):
        start[u[i] + 2] += 1
        start[v[i] + 2] += 1
    for i in range(n):
        start[i + 2] += start[i + 1]
    edge = np.empty(2 * (n - 1), np.int64)
    for i in range(n - 1):
        for end in (u[i], v[i]):
            edge[start[end + 1]] = i
            start[end + 1] += 1
    m = 1
    for i in range(n):
        a = order[i]
        for slot in range(start[a], start[a + 1]):
            e = edge[slot]
            b = u[e] + v[e] - a
            if b != parent[a]:
                parent[b] = a
                length[b] = weight[e]
                order[m] = b
                m += 1
