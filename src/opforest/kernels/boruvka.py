"""The minimum spanning tree by Borůvka's rounds, with a k-d tree to find the edges.

In each round every component finds its smallest outgoing edge under (weight, smaller index,
larger index), and all of these join the tree at once. A vertex remembers its nearest alien, which
stays right until it joins the vertex's own component; only then is it searched again, and only as
far as the component's best edge so far reaches.
"""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from opforest._jit import borrow, helper, kernel
from opforest.kernels.distances import distance
from opforest.kernels.kdtree import STACK, build_kdtree, push_children
from opforest.kernels.pieces import find_group
from opforest.kernels.spanning_tree import Tree

#: Places searched by one call of a kernel, so that threads share the work and Ctrl-C is heard.
PLACES_PER_CALL = 20_000


class Rounds(NamedTuple):
    """What is known between rounds; all but ``node`` by place in the k-d tree."""

    component: np.ndarray
    node: np.ndarray  #: by node: the component all its places are in, or −1
    alien: np.ndarray  #: the place of the nearest point of another component, or −1
    weight: np.ndarray  #: its distance
    beyond: np.ndarray  #: no alien is nearer than this
    best: np.ndarray  #: by component: no larger than its smallest outgoing edge known so far


def span_sparse(rows, metric, n_jobs=1) -> Tree | None:
    """Return the minimum spanning tree, or None where rounding has merged distinct points.

    Copies of a point are a star around the first of them, with edges of weight 0; so one point
    stands for them all. Where distinct points are at distance 0 too, that is not so.
    """
    first = _first_of_copies(rows)
    chosen = np.flatnonzero(first == np.arange(len(rows)))
    u, v, weight = _span_distinct(rows, chosen, metric, n_jobs)
    if len(weight) and weight.min() == 0:
        return None
    copies = np.flatnonzero(first != np.arange(len(rows)))
    return _root(
        len(rows),
        np.concatenate((u, first[copies])),
        np.concatenate((v, copies)),
        np.concatenate((weight, np.zeros(len(copies), rows.dtype))),
    )


def _first_of_copies(rows):
    """Return, for each row, the index of the first row equal to it."""
    order = np.lexsort(rows.T)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    first = np.empty(len(rows), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(rows)), 0))]
    return first


def _span_distinct(rows, chosen, metric, n_jobs):
    """Return the ends and weights of the edges of the tree of the chosen rows."""
    n = len(chosen)
    tree = build_kdtree(rows, chosen)
    rounds = Rounds(
        component=np.arange(n),
        node=np.full(len(tree.begin), -1),
        alien=np.full(n, -1),
        weight=np.full(n, np.inf, rows.dtype),
        beyond=np.zeros(n, rows.dtype),
        best=np.empty(n, rows.dtype),
    )
    group = np.arange(n)
    u, v = np.empty(max(n - 1, 0), np.int64), np.empty(max(n - 1, 0), np.int64)
    weight = np.empty(max(n - 1, 0), rows.dtype)
    m = 0
    while m < n - 1:
        waiting = _who_must_search(rounds)
        parts = [
            waiting[begin : begin + PLACES_PER_CALL]
            for begin in range(0, len(waiting), PLACES_PER_CALL)
        ]
        if n_jobs == 1:
            for part in parts:
                _search(tree, rounds, part, metric)
        else:
            Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(_search)(tree, rounds, part, metric) for part in parts
            )
        m = _join(tree, rounds, group, u, v, weight, m)
    return u, v, weight


@kernel
def _who_must_search(rounds):
    """Return the places whose alien is known no more, and note what components know."""
    component, _, alien, weight, _, best = rounds
    n = component.shape[0]
    waiting = np.empty(n, np.int64)
    m = 0
    for c in range(n):
        best[c] = np.inf
    for i in range(n):
        if alien[i] >= 0 and component[alien[i]] != component[i]:
            best[component[i]] = min(best[component[i]], weight[i])
        else:
            alien[i] = -1
            waiting[m] = i
            m += 1
    return waiting[:m].copy()


@kernel
def _search(tree, rounds, waiting, metric):
    tree, rounds = borrow(tree), borrow(rounds)
    stack = np.empty(STACK, np.int64)
    bound = np.empty(STACK, tree.points.dtype)
    for i in waiting:
        c = rounds.component[i]
        limit = rounds.best[c]
        if rounds.beyond[i] > limit:
            continue
        place, weight = _nearest_alien(tree, rounds, i, limit, stack, bound, metric)
        if place < 0:
            rounds.beyond[i] = max(rounds.beyond[i], limit)
            continue
        rounds.alien[i] = place
        rounds.weight[i] = rounds.beyond[i] = weight
        if weight < rounds.best[c]:
            rounds.best[c] = weight


@helper
def _nearest_alien(tree, rounds, i, limit, stack, bound, metric):
    """Return the nearest point of another component within ``limit``, by (weight, indices)."""
    vertex, points, begin, end, child, _, _ = tree
    x, c = points[i], rounds.component[i]
    best, best_weight = -1, limit
    zero = x[0] - x[0]
    stack[0], bound[0] = 0, zero
    m = 1
    while m > 0:
        m -= 1
        node = stack[m]
        if bound[m] > best_weight or rounds.node[node] == c:
            continue
        if child[node] < 0:
            for j in range(begin[node], end[node]):
                if rounds.component[j] == c:
                    continue
                weight = distance(x, points[j], metric)
                # Edges of one vertex and equal weight are ordered by their other ends.
                if weight < best_weight or (
                    weight == best_weight and (best < 0 or vertex[j] < vertex[best])
                ):
                    best, best_weight = j, weight
            continue
        m = push_children(tree, x, child[node], stack, bound, m, zero, metric)
    return best, best_weight


@helper
def _is_smaller(tree, rounds, i, j):
    """Compare the edges that places i and j have found."""
    if rounds.weight[i] != rounds.weight[j]:
        return rounds.weight[i] < rounds.weight[j]
    a, b = tree.vertex[i], tree.vertex[rounds.alien[i]]
    c, d = tree.vertex[j], tree.vertex[rounds.alien[j]]
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@kernel
def _join(tree, rounds, group, u, v, weight, m):
    """Join components by their smallest edges; return how many edges the tree has then."""
    n = group.shape[0]
    chosen = np.full(n, -1)
    for i in range(n):
        c = rounds.component[i]
        if rounds.alien[i] >= 0 and (chosen[c] < 0 or _is_smaller(tree, rounds, i, chosen[c])):
            chosen[c] = i
    for c in range(n):
        i = chosen[c]
        if i < 0:
            continue
        a, b = find_group(group, i), find_group(group, rounds.alien[i])
        if a != b:
            group[max(a, b)] = min(a, b)
            u[m], v[m] = tree.vertex[i], tree.vertex[rounds.alien[i]]
            weight[m] = rounds.weight[i]
            m += 1
    for i in range(n):
        rounds.component[i] = find_group(group, i)
    _merge_nodes(tree, rounds)
    return m


@helper
def _merge_nodes(tree, rounds):
    """Note for each node whether all its places are in one component."""
    for node in range(tree.begin.shape[0] - 1, -1, -1):
        below = tree.child[node]
        if below >= 0:
            same = rounds.node[below] == rounds.node[below + 1]
            rounds.node[node] = rounds.node[below] if same else -1
            continue
        c = rounds.component[tree.begin[node]]
        for place in range(tree.begin[node] + 1, tree.end[node]):
            if rounds.component[place] != c:
                c = -1
                break
        rounds.node[node] = c


@kernel
def _root(n, u, v, weight):
    """Return the tree with these edges, rooted at vertex 0."""
    start = np.zeros(n + 1, np.int64)
    for i in range(n - 1):
        start[u[i] + 1] += 1
        start[v[i] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    filled = start[:n].copy()
    edge = np.empty(2 * (n - 1), np.int64)
    for i in range(n - 1):
        for end in (u[i], v[i]):
            edge[filled[end]] = i
            filled[end] += 1
    tree = Tree(np.full(n, -1), np.zeros(n, weight.dtype), np.zeros(n, np.int64))
    m = 1
    for i in range(n):
        a = tree.order[i]
        for slot in range(start[a], start[a + 1]):
            e = edge[slot]
            b = u[e] + v[e] - a
            if b != tree.parent[a]:
                tree.parent[b] = a
                tree.weight[b] = weight[e]
                tree.order[m] = b
                m += 1
    return tree
