"""Compute the density forest of a nearest-neighbor graph: one tree per maximum of the density.

Arcs lead from a vertex to its k nearest neighbors and, between vertices of equal density, in both
directions. Each vertex starts with a value below its density. Vertices are processed in decreasing
order of (value, density, −index). A vertex that has not been conquered becomes a root, and its
value becomes its density. It then offers every vertex at the end of one of its arcs the minimum of
its own value and that vertex's density; the offer is accepted if it exceeds the current value.

Vertices in ``near`` are unsigned, so that Numba does not have to check for negative indices.
"""

import math
from typing import NamedTuple

import numpy as np

from opforest.core.density.rank_set import (
    add_rank,
    make_rank_set,
    remove_rank,
    smallest_rank,
)
from opforest.core.heap import pop, push
from opforest.core.jit import borrow, helper, kernel

#: The largest density; the smallest one is 1.
MAX_DENSITY = 1000.0

#: Positions in ``scale``: the unit of distances, the smallest and the largest sum.
UNIT, LEAST, MOST = 0, 1, 2

ONE = np.uint64(1)

#: 1 / ln 2, and ln 2 as the sum of two numbers, of which the first has zeros at the end.
PER_HALVING = 1.4426950408889634
HALVING, REST_OF_HALVING = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")

#: Coefficients of the exponential series, the last one first.
SERIES = tuple(1 / math.factorial(i) for i in range(13, 1, -1))


class DensityArrays(NamedTuple):
    """A density forest, by vertex."""

    density: np.ndarray
    value: np.ndarray  #: the initial one, and after the conquest the final one
    root: np.ndarray
    predecessor: np.ndarray  #: −1 for roots


@helper
def exp_minus(x):
    """Return exp(−x) for 0 ≤ x < 30, within 1.1 units in the last place.

    Unlike that of the C library, it is the same on every machine, and simple enough for the
    compiler to vectorize.
    """
    halvings = math.floor(x * PER_HALVING + 0.5)
    r = (halvings * HALVING - x) + halvings * REST_OF_HALVING
    a, b, c, d, e, f, g, h, i, j, k, m = SERIES
    low = ((((((a * r + b) * r + c) * r + d) * r + e) * r + f) * r + g) * r + h
    total = (((((low * r + i) * r + j) * r + k) * r + m) * r + 1.0) * r + 1.0
    return total / (1 << int(halvings))


@kernel
def find_densities(distance, k, density, scale):
    """Write the densities by the k nearest neighbors, from 1 to ``MAX_DENSITY``, and their scale.

    ``distance`` has a row for each position in the lists of neighbors and a column per vertex.
    """
    n = density.shape[0]
    longest = 0.0
    for i in range(n):
        longest = max(longest, distance[k - 1, i])
    unit = 2 * longest / 9
    density[:] = 0.0 if unit > 0 else k
    if unit > 0:
        for slot in range(k):
            _add_kernel_values(distance[slot], unit, density)
    least, most = np.inf, -np.inf
    for i in range(n):
        density[i] /= k + 1
        least, most = min(least, density[i]), max(most, density[i])
    for i in range(n):
        density[i] = (
            (MAX_DENSITY - 1) * (density[i] - least) / (most - least) + 1
            if most > least
            else MAX_DENSITY
        )
    scale[UNIT], scale[LEAST], scale[MOST] = unit, least, most


@helper
def _add_kernel_values(distance, unit, total):
    for i in range(total.shape[0]):
        total[i] += exp_minus(distance[i] / unit)


@helper
def _is_arc(near, k, u, v):
    for slot in range(k):
        if near[u, slot] == v:
            return True
    return False


@helper
def _list_backward_arcs(near, k, level, tied):
    """Return the arcs from vertices to equally dense ones that have arcs to them.

    The first result is the start of the arcs of each vertex, and the end of the last ones; the
    second is where they lead, in increasing order, without arcs that exist anyway.
    """
    n = near.shape[0]
    first = np.zeros(n + 2, np.int64)
    for u in tied:
        for slot in range(k):
            v = near[u, slot]
            if level[u] == level[v] and not _is_arc(near, k, v, u):
                first[v + 2] += 1
    for v in range(n):
        first[v + 2] += first[v + 1]
    back = np.empty(first[n + 1], np.int64)
    for u in tied:
        for slot in range(k):
            v = near[u, slot]
            if level[u] == level[v] and not _is_arc(near, k, v, u):
                back[first[v + 1]] = u
                first[v + 1] += 1
    return first, back


@kernel
def conquer_by_density(near, k, level, tied, label, orders, forest):
    """Find the density forest, given the initial values.

    The next vertex comes from one of three queues. Most vertices are conquered at their full
    density and wait in a set of ranks. Those that have not been conquered wait in the order of
    their initial values. The few others wait in a heap, which may contain obsolete entries.

    Arcs lead only to vertices of the same label, and both ways between vertices of equal ``level``.
    ``tied`` are the vertices whose level is not unique, in increasing order. ``orders`` are the
    vertices by decreasing (density, −index), and by decreasing (value, density, −index).
    """
    density, value, root, predecessor = borrow(forest)
    by_density, by_value = borrow(orders)
    n = near.shape[0]
    first, back = _list_backward_arcs(near, k, level, tied)
    rank = np.empty(n, np.uint64)
    for i in range(n):
        rank[by_density[i]] = i
        root[i], predecessor[i] = i, -1
    closed = np.zeros(n, np.bool_)  # these cannot receive a better offer
    words, filled = make_rank_set(n)
    keys, ranks, m = np.empty(16), np.empty(16, np.int64), 0
    start = 0
    for _ in range(n):
        while start < n and (predecessor[by_value[start]] >= 0 or closed[by_value[start]]):
            start += 1
        while m > 0 and (closed[by_density[ranks[0]]] or value[by_density[ranks[0]]] != -keys[0]):
            m = pop(keys, ranks, m)
        least = smallest_rank(words, filled, n)
        u, key = np.uint64(n), -np.inf
        if least < n:
            u, key = np.uint64(by_density[least]), density[by_density[least]]
        if start < n and _comes_before(by_value[start], value[by_value[start]], u, key, rank):
            u, key = np.uint64(by_value[start]), value[by_value[start]]
        if m > 0 and _comes_before(by_density[ranks[0]], -keys[0], u, key, rank):
            u = np.uint64(by_density[ranks[0]])
        if predecessor[u] < 0:
            value[u] = density[u]
        elif closed[u]:
            remove_rank(words, filled, rank[u])
        closed[u] = True
        for i in range(k + first[u + ONE] - first[u]):
            v = np.uint64(near[u, i] if i < k else back[first[u] + i - k])
            if closed[v] or label[u] != label[v]:
                continue
            offer = min(value[u], density[v])
            if offer > value[v]:
                value[v] = offer
                root[v], predecessor[v] = root[u], u
                closed[v] = offer == density[v]
                if closed[v]:
                    add_rank(words, filled, rank[v])
                else:
                    keys, ranks, m = push(keys, ranks, m, -offer, np.int64(rank[v]))


@helper
def _comes_before(u, value, v, other, rank):
    """Compare two vertices and their values; v may be missing, with the value −infinity."""
    return rank[u] < rank[v] if value == other else not value < other


@kernel
def find_cut(graph, k, level, tied, root):
    """Return the normalized cut between the clusters of these roots, and their number.

    It is the sum over clusters of outside / (inside + outside), where arcs weigh the inverse of
    their length; those of length 0 have no weight. A cluster without weight counts 1, unless it is
    the only one. ``graph`` holds the neighbors by vertex, the same by position in the lists, and
    the weights of the latter.
    """
    near, columns, weight = borrow(graph)
    n = near.shape[0]
    first, back = _list_backward_arcs(near, k, level, tied)
    group, stays, leaves = root.astype(np.uint32), np.zeros(n), np.zeros(n)
    for slot in range(k):
        _weigh_arcs(columns[slot], weight[slot], group, stays, leaves)
    inside, outside = np.zeros(n), np.zeros(n)
    for u in range(n):
        for i in range(first[u], first[u + 1]):
            v = back[i]
            for slot in range(k):
                if near[v, slot] == u:
                    stays[u] += weight[slot, v] if group[v] == group[u] else 0.0
                    leaves[u] += 0.0 if group[v] == group[u] else weight[slot, v]
        inside[group[u]] += stays[u]
        outside[group[u]] += leaves[u]
    clusters = 0
    cut = 0.0
    empty = 0
    for u in range(n):
        if root[u] == u:
            clusters += 1
            total = inside[u] + outside[u]
            empty += total == 0
            cut += outside[u] / total if total > 0 else 0.0
    return cut + (empty if clusters > 1 else 0), clusters


@helper
def _weigh_arcs(near, weight, group, stays, leaves):
    """Add the weight of one arc of each vertex to the weight that stays in its group or leaves."""
    n = group.shape[0]
    is_own = np.empty(n, np.bool_)
    for u in range(n):
        is_own[u] = group[near[u]] == group[u]
    for u in range(n):
        stays[u] += weight[u] if is_own[u] else 0.0
    for u in range(n):
        leaves[u] += 0.0 if is_own[u] else weight[u]
