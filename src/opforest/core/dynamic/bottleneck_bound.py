"""Bound the largest edge between any two vertices from above, to exclude nearly all new edges.

Let m(a, v) be the largest edge on the path from a to v in the minimum spanning tree. If t is the
nearest vertex to a new vertex z, and an edge zv with v ≠ t enters the tree, then d(z, v) ≤ m(t, v):
otherwise zv would be the largest edge of the cycle z – t – … – v.

An upper bound of m is sufficient. Each vertex has a landmark p(v) and a height h(v), and there is a
table B between landmarks, such that for every pair

    m(a, v) ≤ max(h(a), B[p(a), p(v)], h(v)).                                                    (*)

To compute it, some vertices, spread over the order of arrival, conquer the tree: h is the cost and
p the conqueror. The vertices conquered by one landmark are connected, so the number of tree edges
between landmarks is one less than the number of landmarks, and B is the largest of these edges on
the path.

The bound is maintained by updates. When z is inserted next to t, p(z) = p(t) and
h(z) = max(h(t), d(z, t)): for old pairs m can only decrease, and m(z, v) ≤ max(d(z, t), m(t, v)).
When x is removed, let r be the longest of the edges that reconnect the components. A new edge
closes a cycle with the old path through x, so it is no shorter than any edge on that path. Hence m
rises to r at most, and only for pairs whose path led through x. At least one end of such a pair is
outside the largest component; there, h(v) becomes max(h(v), r). Landmarks are only names: it does
not matter whether the vertex from which a landmark was made still exists.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import helper
from opforest.core.tree_costs import as_tree, conquer

#: The largest number of landmarks, and the smallest number of vertices for each of them.
LANDMARKS, VERTICES_PER_LANDMARK = 256, 8


class Bound(NamedTuple):
    """The bound (*)."""

    landmark: np.ndarray  #: by vertex: the number of its landmark
    height: np.ndarray  #: by vertex
    table: np.ndarray  #: between landmarks


def make_bound(parent, weight) -> Bound:
    """Return the bound of a tree, given by parents and weights."""
    n = len(parent)
    m = max(1, min(LANDMARKS, n // VERTICES_PER_LANDMARK))
    chosen = np.linspace(0, n - 1, m).astype(np.int64)
    seeds = np.zeros(n, bool)
    seeds[chosen] = True
    tree = as_tree(parent, weight)
    conquest = conquer(tree, seeds)
    root = _find_conquerors(tree, seeds, conquest)
    # The edges between vertices of different landmarks. Parents come first, so each edge leads from
    # a known landmark to a new one. Landmarks are numbered in this order.
    child = tree.order[1:]
    child = child[root[child] != root[tree.parent[child]]]
    above, height = tree.parent[child], conquest.cost
    number = np.zeros(n, np.int32)
    number[root[child]] = np.arange(1, m)
    length = np.maximum(tree.weight[child], np.maximum(height[child], height[above]))
    table = np.zeros((m, m), weight.dtype)
    for new, (old, edge) in enumerate(zip(number[root[above]].tolist(), length, strict=True), 1):
        np.maximum(table[old, :new], edge, out=table[new, :new])
        table[:new, new] = table[new, :new]
    return Bound(number[root], height, table)


def _find_conquerors(tree, seeds, conquest):
    """Return a seed that conquers each vertex: always one that conquers a neighbor, too.

    ``trace_paths`` would do, but would have to be compiled for the first update.
    """
    v = tree.order[1:]
    u, weight = tree.parent[v], tree.weight[v]
    above = np.arange(len(seeds))
    for a, b in ((v, u), (u, v)):
        rises = weight > conquest.cost[a]
        steps = np.where(rises, 0, conquest.level[a] + 1)
        is_by = np.where(rises, weight, conquest.cost[a]) == conquest.cost[b]
        is_by &= (steps == conquest.level[b]) & ~seeds[b]
        above[b[is_by]] = a[is_by]
    while not np.array_equal(higher := above[above], above):
        above = higher
    return above


def find_bound_error(bound, parent, weight) -> str:
    """Return the first error in a bound of a tree; "" if (*) holds for every pair.

    For a number s, consider the vertices of height at most s, and put those into one set whose
    landmarks are at most s apart. (*) holds if and only if, for each s, the tree edges of length at
    most s connect each of these sets. So edges connect vertices as s rises, and whenever a set
    grows, its new part must already be connected with the old one.
    """
    landmark, height, table = bound
    if not ((landmark >= 0) & (landmark < len(table))).all():
        return "a landmark is out of range"
    group, found = np.arange(len(parent)), np.full(len(table), -1)
    cluster = np.arange(len(table))
    child = np.flatnonzero(parent >= 0)
    u, v = np.nonzero(np.triu(np.ones(table.shape, bool), 1))
    edges = zip(weight[child].tolist(), child.tolist(), parent[child].tolist(), strict=True)
    pairs = zip(table[u, v].tolist(), u.tolist(), v.tolist(), strict=True)
    events = [(w, 0, a, b) for w, a, b in edges] + [(w, 1, a, b) for w, a, b in pairs]
    events += [(h, 2, i, int(landmark[i])) for i, h in enumerate(height.tolist())]
    for _, kind, a, b in sorted(events):
        if kind == 0:
            group[find_group.py_func(group, a)] = find_group.py_func(group, b)
            continue
        if kind == 1:  # landmarks a and b are in one set from now on
            a, b = (find_group.py_func(cluster, i) for i in (a, b))
            if a == b:
                continue
            cluster[a] = b
            one, other = found[a], found[b]
            found[b] = max(one, other)
        else:  # vertex a is in the set of landmark b
            b = find_group.py_func(cluster, b)
            one, other, found[b] = a, found[b], a
        if one >= 0 and other >= 0:
            first, second = (find_group.py_func(group, i) for i in (one, other))
            if first != second:
                return "two vertices are farther apart than the bound"
    return ""


@helper
def extend(bound, z, t, distance):
    """Extend the bound by z, whose nearest vertex is t, at this distance."""
    bound.landmark[z] = bound.landmark[t]
    bound.height[z] = max(bound.height[t], distance)
