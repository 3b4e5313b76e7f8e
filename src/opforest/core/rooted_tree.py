"""Rooted trees with linked lists of children: link, cut, reroot, find largest edges."""

import numpy as np

from opforest.core.edge_order import precedes
from opforest.core.jit import helper, kernel


@helper
def hang(vertices, v, u, weight):
    """Make v, which has no parent, a child of u."""
    vertex, above = vertices[v], vertices[u]
    first = above.child
    vertex.parent = u
    vertex.weight = weight
    vertex.after = first
    vertex.before = -1
    if first >= 0:
        vertices[first].before = v
    above.child = v


@helper
def unlink(vertices, v):
    """Cut v, with all below it, off its parent."""
    vertex = vertices[v]
    if vertex.before >= 0:
        vertices[vertex.before].after = vertex.after
    else:
        vertices[vertex.parent].child = vertex.after
    if vertex.after >= 0:
        vertices[vertex.after].before = vertex.before
    vertex.parent = -1
    vertex.after = -1
    vertex.before = -1
    vertex.weight = 0


@helper
def isolate(vertices, v):
    """Make v a vertex without edges, in no index."""
    vertex = vertices[v]
    vertex.home = -1
    vertex.parent = -1
    vertex.child = -1
    vertex.after = -1
    vertex.before = -1
    vertex.cuts = 0
    vertex.weight = 0


@helper
def turn(vertices, v):
    """Make v the root of its tree by reversing the edges above it."""
    below = np.int64(-1)
    length_below = vertices[v].weight
    while v >= 0:
        above = np.int64(vertices[v].parent)
        length = vertices[v].weight
        if above >= 0:
            unlink(vertices, v)
        if below >= 0:
            hang(vertices, v, below, length_below)
        below, length_below, v = v, length, above


@kernel
def link_children(vertices, n):
    """Fill in the lists of children of a tree whose parents and weights are known."""
    for v in range(n):
        vertex = vertices[v]
        vertex.child = -1
        vertex.after = -1
        vertex.before = -1
    for v in range(n - 1, -1, -1):
        if vertices[v].parent >= 0:
            hang(vertices, v, np.int64(vertices[v].parent), vertices[v].weight)


@helper
def following(vertices, v, top):
    """Return the vertex after v on a walk through all below ``top``; −1 at the end."""
    if vertices[v].child >= 0:
        return np.int64(vertices[v].child)
    while v != top and vertices[v].after < 0:
        v = np.int64(vertices[v].parent)
    return np.int64(-1) if v == top else np.int64(vertices[v].after)


@helper
def _larger(vertices, best, v):
    """Return the vertex under the larger one of two edges; −1 is none."""
    if best < 0:
        return v
    a, b = vertices[best], vertices[v]
    above, other = np.int64(a.parent), np.int64(b.parent)
    return v if precedes(a.weight, best, above, b.weight, v, other) else best


@helper
def heaviest_to_ancestor(vertices, v, top):
    """Return the vertex under the largest edge on the way from v up to ``top``, −1 if v is it."""
    best = np.int64(-1)
    while v != top:
        best = _larger(vertices, best, v)
        v = np.int64(vertices[v].parent)
    return best


@helper
def _largest_on_both_sides(vertices, mine, u, v):
    """Return the vertices under the largest edges from u and from v up to where they meet.

    Climb from u and v by turns until one comes where the other has been; −1 where it began.
    """
    yours = mine + 1
    at_u, at_v = u, v
    under_u, under_v = np.int64(-1), np.int64(-1)
    vertices[u].mark = mine
    vertices[v].mark = yours
    while True:
        if vertices[at_u].parent >= 0:
            under_u = _larger(vertices, under_u, at_u)
            at_u = np.int64(vertices[at_u].parent)
            if vertices[at_u].mark == yours:
                return under_u, heaviest_to_ancestor(vertices, v, at_u)
            vertices[at_u].mark = mine
        if vertices[at_v].parent >= 0:
            under_v = _larger(vertices, under_v, at_v)
            at_v = np.int64(vertices[at_v].parent)
            if vertices[at_v].mark == mine:
                return heaviest_to_ancestor(vertices, u, at_v), under_v
            vertices[at_v].mark = yours


@helper
def largest_between(vertices, counters, u, v):
    """Return the weight of the largest edge between two vertices, 0 if they are the same."""
    if u == v:
        return vertices[u].weight - vertices[u].weight
    counters.stamp += 2
    under_u, under_v = _largest_on_both_sides(vertices, counters.stamp, u, v)
    if under_u < 0 or (under_v >= 0 and vertices[under_v].weight > vertices[under_u].weight):
        return vertices[under_v].weight
    return vertices[under_u].weight


@helper
def count_crossing(vertices, counters, u, v, change):
    """Note that an edge came (+1) or went (−1), if it joins two classes."""
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
    """Add an edge to a minimum spanning tree and remove the largest edge of the circle it closes.

    The root of the tree stays its root.

    Returns
    -------
    x, y, weight
        The ends and the weight of the edge that had to leave: z, v and the new edge's weight, if
        that is the largest itself.
    """
    counters.stamp += 2
    under_z, under_v = _largest_on_both_sides(vertices, counters.stamp, z, v)
    # One of the two may be missing, where z or v is the meeting point itself.
    turned, fixed, x = z, v, under_z
    if under_z < 0 or (under_v >= 0 and _larger(vertices, under_z, under_v) == under_v):
        turned, fixed, x = v, z, under_v
    y = np.int64(vertices[x].parent)
    removed = vertices[x].weight
    if precedes(removed, x, y, weight, z, v):
        return z, v, weight
    unlink(vertices, x)
    turn(vertices, turned)
    hang(vertices, turned, fixed, weight)
    return x, y, removed
