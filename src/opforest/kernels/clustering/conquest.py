"""Forests of densities: hills of a graph of nearest neighbours, each conquered from its top.

Arcs lead from a vertex to its k nearest others and, where two are equally dense, both ways. Each
vertex begins with a value below its density. The one with the largest (value, density, −index) is
next: if nobody has taken it, it is a root, and worth its density. It offers each vertex it has an
arc to the smaller one of its own value and the other's density, which that takes if it is more than
it has.
"""

from typing import NamedTuple

import numpy as np

from opforest._jit import borrow, helper, kernel

#: The largest density; the smallest one is 1.
TOP = 1000.0

#: Places of ``scale``: the unit of distances, the smallest and the largest sum.
UNIT, LEAST, MOST = 0, 1, 2


class Hills(NamedTuple):
    """A forest of densities, by vertex."""

    density: np.ndarray
    value: np.ndarray  #: to begin with, and that on which it was conquered
    root: np.ndarray
    predecessor: np.ndarray  #: −1 for roots


@kernel
def find_densities(distance, k, density, scale):
    """Write the densities by the k nearest, from 1 to ``TOP``, and their scale."""
    n = distance.shape[0]
    longest = 0.0
    for i in range(n):
        longest = max(longest, distance[i, k - 1])
    unit = 2 * longest / 9
    least, most = np.inf, -np.inf
    for i in range(n):
        total = 0.0
        for slot in range(k):
            total += np.exp(-distance[i, slot] / unit) if unit > 0 else 1.0
        density[i] = total / (k + 1)
        least, most = min(least, density[i]), max(most, density[i])
    for i in range(n):
        density[i] = (TOP - 1) * (density[i] - least) / (most - least) + 1 if most > least else TOP
    scale[UNIT], scale[LEAST], scale[MOST] = unit, least, most


@helper
def _is_arc(near, k, u, v):
    for slot in range(k):
        if near[u, slot] == v:
            return True
    return False


@helper
def _list_arcs_back(near, k, level):
    """Return the arcs from vertices to those that lead to them and are equally dense.

    Returns
    -------
    first : array of length n + 1
        Where the arcs of each vertex begin, and where the last ones end.
    back : array
        Where they lead, in rising order; those that are there already left out.
    """
    n = near.shape[0]
    first = np.zeros(n + 2, np.int64)
    tied = _list_tied(level)
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


@helper
def _list_tied(level):
    """Return the vertices whose level others have, too, in rising order."""
    n = level.shape[0]
    order = np.argsort(level)
    is_tied = np.zeros(n, np.bool_)
    for i in range(1, n):
        if level[order[i]] == level[order[i - 1]]:
            is_tied[order[i]] = is_tied[order[i - 1]] = True
    return np.flatnonzero(is_tied)


@helper
def _comes_before(u, v, value, density):
    if value[u] != value[v]:
        return value[u] > value[v]
    if density[u] != density[v]:
        return density[u] > density[v]
    return u < v


@helper
def _sift_up(heap, place, i, value, density):
    v = heap[i]
    while i > 0:
        above = (i - 1) // 2
        if not _comes_before(v, heap[above], value, density):
            break
        heap[i] = heap[above]
        place[heap[i]] = i
        i = above
    heap[i] = v
    place[v] = i


@helper
def _sift_down(heap, place, i, m, value, density):
    v = heap[i]
    while 2 * i + 1 < m:
        below = 2 * i + 1
        if below + 1 < m and _comes_before(heap[below + 1], heap[below], value, density):
            below += 1
        if not _comes_before(heap[below], v, value, density):
            break
        heap[i] = heap[below]
        place[heap[i]] = i
        i = below
    heap[i] = v
    place[v] = i


@kernel
def conquer_hills(near, k, level, label, hills):
    """Find the forest of densities, whose values to begin with are in place.

    Parameters
    ----------
    level : array
        Densities by which arcs lead both ways where they are equal.
    label : array
        Arcs lead only to vertices of the same label.
    """
    density, value, root, predecessor = borrow(hills)
    n = near.shape[0]
    first, back = _list_arcs_back(near, k, level)
    heap, place = np.arange(n), np.arange(n)
    closed = np.zeros(n, np.bool_)  # nobody can offer them more
    for i in range(n // 2 - 1, -1, -1):
        _sift_down(heap, place, i, n, value, density)
    for v in range(n):
        root[v], predecessor[v] = v, -1
    for m in range(n - 1, -1, -1):
        u = heap[0]
        closed[u] = True
        if m > 0:
            heap[0] = heap[m]
            _sift_down(heap, place, 0, m, value, density)
        if predecessor[u] < 0:
            value[u] = density[u]
        for i in range(k + first[u + 1] - first[u]):
            v = near[u, i] if i < k else back[first[u] + i - k]
            if closed[v] or label[u] != label[v]:
                continue
            offer = min(value[u], density[v])
            if offer > value[v]:
                value[v] = offer
                closed[v] = offer == density[v]
                root[v], predecessor[v] = root[u], u
                _sift_up(heap, place, place[v], value, density)


@kernel
def find_cut(near, weight, k, level, root):
    """Return the normalised cut between the clusters of these roots, and their number.

    It is the sum over clusters of outside / (inside + outside), where arcs that leave a cluster,
    and those that stay in it, weigh the inverse of their length; those of length 0 weigh nothing.
    One of several clusters with nothing to weigh counts 1.
    """
    n = near.shape[0]
    first, back = _list_arcs_back(near, k, level)
    inside, outside = np.zeros(n), np.zeros(n)
    for u in range(n):
        own = root[u]
        stays = leaves = 0.0
        for slot in range(k):
            is_own = root[near[u, slot]] == own
            stays += weight[u, slot] if is_own else 0.0
            leaves += 0.0 if is_own else weight[u, slot]
        for i in range(first[u], first[u + 1]):
            v = back[i]
            for slot in range(k):
                if near[v, slot] == u:
                    stays += weight[v, slot] if root[v] == own else 0.0
                    leaves += 0.0 if root[v] == own else weight[v, slot]
        inside[own] += stays
        outside[own] += leaves
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
