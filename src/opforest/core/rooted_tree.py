"""Rooted trees with linked lists of children: link, cut, reroot, find the heaviest edges.

A ``path`` is either the vertices, whose records lead to their parents, or an array that leads from
each vertex to another one. An edge of a path is named by the vertex that it leads away from.
"""

import numpy as np
from numba import types

from opforest.core.edge_order import precedes
from opforest.core.jit import helper, kernel, overload


@helper
def link(vertices, v, u, weight):
    """Make v, which has no parent, a child of u."""
    vertex, parent = vertices[v], vertices[u]
    first = parent.first_child
    vertex.parent = u
    vertex.weight = weight
    vertex.next_sibling = first
    vertex.previous_sibling = -1
    if first >= 0:
        vertices[first].previous_sibling = v
    parent.first_child = v


@helper
def cut(vertices, v):
    """Cut the subtree of v off its parent."""
    vertex = vertices[v]
    if vertex.previous_sibling >= 0:
        vertices[vertex.previous_sibling].next_sibling = vertex.next_sibling
    else:
        vertices[vertex.parent].first_child = vertex.next_sibling
    if vertex.next_sibling >= 0:
        vertices[vertex.next_sibling].previous_sibling = vertex.previous_sibling
    vertex.parent = -1
    vertex.next_sibling = -1
    vertex.previous_sibling = -1
    vertex.weight = 0


@helper
def isolate(vertices, v):
    """Make v a vertex without edges, in no index."""
    vertex = vertices[v]
    vertex.slot = -1
    vertex.parent = -1
    vertex.first_child = -1
    vertex.next_sibling = -1
    vertex.previous_sibling = -1
    vertex.cuts = 0
    vertex.weight = 0


@helper
def reroot(vertices, v):
    """Make v the root of its tree by reversing the edges above it."""
    below = np.int64(-1)
    weight_below = vertices[v].weight
    while v >= 0:
        parent = np.int64(vertices[v].parent)
        weight = vertices[v].weight
        if parent >= 0:
            cut(vertices, v)
        if below >= 0:
            link(vertices, v, below, weight_below)
        below, weight_below, v = v, weight, parent


@kernel
def link_children(vertices, n):
    """Fill in the lists of children of a tree whose parents and weights are known."""
    for v in range(n):
        vertex = vertices[v]
        vertex.first_child = -1
        vertex.next_sibling = -1
        vertex.previous_sibling = -1
    for v in range(n - 1, -1, -1):
        if vertices[v].parent >= 0:
            link(vertices, v, np.int64(vertices[v].parent), vertices[v].weight)


@helper
def next_in_preorder(vertices, v, top):
    """Return the vertex after v in a traversal of the subtree of ``top``; −1 at the end."""
    if vertices[v].first_child >= 0:
        return np.int64(vertices[v].first_child)
    while v != top and vertices[v].next_sibling < 0:
        v = np.int64(vertices[v].parent)
    return np.int64(-1) if v == top else np.int64(vertices[v].next_sibling)


@helper
def first_neighbor(vertices, v):
    """Return the first neighbor of v, its parent if it has one; −1 if there is none."""
    parent = np.int64(vertices[v].parent)
    return parent if parent >= 0 else np.int64(vertices[v].first_child)


@helper
def next_neighbor(vertices, v, t):
    """Return the neighbor of v after t; −1 at the end."""
    is_parent = t == vertices[v].parent
    return np.int64(vertices[v].first_child if is_parent else vertices[t].next_sibling)


@helper
def edge_weight(vertices, u, v):
    """Return the weight of the edge between two neighbors."""
    return vertices[u].weight if vertices[u].parent == v else vertices[v].weight


def step(path, v):
    """Return the next vertex on a path; −1 at its end (compiled code only)."""


@overload(step)
def _step(path, v):
    if isinstance(path.dtype, types.Record):
        return lambda path, v: np.int64(path[v].parent)
    return lambda path, v: np.int64(path[v])


@helper
def _heavier(vertices, path, u, v):
    """Return the heavier one of two edges; −1 stands for none."""
    if u < 0 or v < 0:
        return max(u, v)
    after_u, after_v = step(path, u), step(path, v)
    weight_u, weight_v = edge_weight(vertices, u, after_u), edge_weight(vertices, v, after_v)
    return v if precedes(weight_u, u, after_u, weight_v, v, after_v) else u


@helper
def heaviest_to_ancestor(vertices, path, v, top):
    """Return the heaviest edge from v to ``top`` or to the end of its path; −1 for no edges."""
    best = np.int64(-1)
    while v != top and step(path, v) >= 0:
        best = _heavier(vertices, path, best, v)
        v = step(path, v)
    return best


@helper
def _heaviest_to_meeting(vertices, path, stamp, u, v):
    """Return the heaviest edges from u and from v to where their paths meet; −1 for no edges.

    The paths are followed in turn until one reaches a vertex of the other, or both end.
    """
    at_u, at_v = u, v
    best_u, best_v = np.int64(-1), np.int64(-1)
    vertices[u].mark = stamp
    vertices[v].mark = stamp + 1
    while step(path, at_u) >= 0 or step(path, at_v) >= 0:
        if step(path, at_u) >= 0:
            best_u = _heavier(vertices, path, best_u, at_u)
            at_u = step(path, at_u)
            if vertices[at_u].mark == stamp + 1:
                return best_u, heaviest_to_ancestor(vertices, path, v, at_u)
            vertices[at_u].mark = stamp
        if step(path, at_v) >= 0:
            best_v = _heavier(vertices, path, best_v, at_v)
            at_v = step(path, at_v)
            if vertices[at_v].mark == stamp:
                return heaviest_to_ancestor(vertices, path, u, at_v), best_v
            vertices[at_v].mark = stamp + 1
    return best_u, best_v


@helper
def heaviest_on_cycle(vertices, path, counters, u, v):
    """Return the heaviest other edge of the cycle that the edge uv would close.

    The result is the end of uv on the same side as the heaviest edge, the other end, and the edge;
    −1 if there are no other edges.
    """
    counters.stamp += 2
    best_u, best_v = _heaviest_to_meeting(vertices, path, counters.stamp, u, v)
    x = _heavier(vertices, path, best_u, best_v)
    return (v, u, x) if x == best_v else (u, v, x)


@helper
def heaviest_between(vertices, counters, u, v):
    """Return the weight of the heaviest edge between two vertices, 0 if they are the same."""
    if u == v:
        return vertices[u].weight - vertices[u].weight
    return vertices[heaviest_on_cycle(vertices, vertices, counters, u, v)[2]].weight


@helper
def count_edge(vertices, counters, u, v, change):
    """Count an edge that was added (+1) or removed (−1), if it joins two classes."""
    if vertices[u].label == vertices[v].label:
        return
    counters.n_cut_edges += change
    for end in (u, v):
        vertex = vertices[end]
        was_prototype = vertex.cuts > 0
        vertex.cuts += change
        counters.prototypes += (vertex.cuts > 0) - was_prototype


@helper
def add_edge(vertices, counters, z, v, weight):
    """Add an edge to a minimum spanning tree and remove the heaviest edge of the cycle.

    Return the ends and the weight of the removed edge, which may be the new one. The root of the
    tree stays its root.
    """
    near, far, x = heaviest_on_cycle(vertices, vertices, counters, z, v)
    y = np.int64(vertices[x].parent)
    removed = vertices[x].weight
    if precedes(removed, x, y, weight, z, v):
        return z, v, weight
    cut(vertices, x)
    reroot(vertices, near)
    link(vertices, near, far, weight)
    return x, y, removed


@helper
def update_longest(vertices, counters, n):
    """Find the longest edge of a tree of n vertices."""
    counters.longest = 0
    for v in range(n):
        counters.longest = max(counters.longest, vertices[v].weight)
