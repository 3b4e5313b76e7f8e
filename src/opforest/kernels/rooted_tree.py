"""Rooted trees with linked lists of children: hanging, cutting, turning, largest edges.

What runs in loops is given single arrays and allocates nothing, so that nobody counts references.
"""

import numpy as np

from opforest._jit import helper, kernel
from opforest.kernels.state import CROSSING, PROTOTYPES, STAMP


@helper
def _hang(parent, weight, child, after, before, v, u, length):
    parent[v] = u
    weight[v] = length
    first = child[u]
    after[v] = first
    before[v] = -1
    if first >= 0:
        before[first] = v
    child[u] = v


@helper
def hang(tree, v, u, weight):
    """Make v, which has no parent, a child of u."""
    _hang(tree.parent, tree.weight, tree.child, tree.after, tree.before, v, u, weight)


@helper
def _unlink(parent, weight, child, after, before, v):
    following, preceding = after[v], before[v]
    if preceding >= 0:
        after[preceding] = following
    else:
        child[parent[v]] = following
    if following >= 0:
        before[following] = preceding
    parent[v] = after[v] = before[v] = -1
    weight[v] = 0


@helper
def unlink(tree, v):
    """Cut v, with all below it, off its parent."""
    _unlink(tree.parent, tree.weight, tree.child, tree.after, tree.before, v)


@helper
def _turn(parent, weight, child, after, before, v):
    below = -1
    length_below = weight[v]
    while v >= 0:
        above = parent[v]
        length = weight[v]
        if above >= 0:
            _unlink(parent, weight, child, after, before, v)
        if below >= 0:
            _hang(parent, weight, child, after, before, v, below, length_below)
        below, length_below, v = v, length, above


@helper
def turn(tree, v):
    """Make v the root of its tree by reversing the edges above it."""
    _turn(tree.parent, tree.weight, tree.child, tree.after, tree.before, v)


@kernel
def link_children(tree, n):
    """Fill in the lists of children of a tree whose parents and weights are known."""
    parent, weight, child, after, before = (
        tree.parent, tree.weight, tree.child, tree.after, tree.before,
    )  # fmt: skip
    for v in range(n):
        child[v] = after[v] = before[v] = -1
    for v in range(n - 1, -1, -1):
        if parent[v] >= 0:
            _hang(parent, weight, child, after, before, v, parent[v], weight[v])


@helper
def precedes(weight, u, v, other_weight, other_u, other_v):
    """Compare two edges by (weight, smaller index, larger index)."""
    if weight != other_weight:
        return weight < other_weight
    low, other_low = min(u, v), min(other_u, other_v)
    if low != other_low:
        return low < other_low
    return max(u, v) < max(other_u, other_v)


@helper
def _larger(parent, weight, best, v):
    """Return the vertex under the larger one of two edges; −1 is none."""
    if best < 0 or precedes(weight[best], best, parent[best], weight[v], v, parent[v]):
        return v
    return best


@helper
def _largest_below(parent, weight, v, top):
    best = np.int64(-1)
    while v != top:
        best = _larger(parent, weight, best, v)
        v = parent[v]
    return best


@helper
def largest_below(tree, v, top):
    """Return the vertex under the largest edge on the way from v up to ``top``, −1 if v is it."""
    return _largest_below(tree.parent, tree.weight, v, top)


@helper
def _largest_on_both_sides(parent, weight, mark, mine, u, v):
    """Return the vertices under the largest edges from u and from v up to where they meet.

    Climb from u and v by turns until one comes where the other has been; −1 where it began.
    """
    yours = mine + 1
    at_u, at_v = u, v
    under_u, under_v = np.int64(-1), np.int64(-1)
    mark[u], mark[v] = mine, yours
    while True:
        if parent[at_u] >= 0:
            under_u = _larger(parent, weight, under_u, at_u)
            at_u = parent[at_u]
            if mark[at_u] == yours:
                return under_u, _largest_below(parent, weight, v, at_u)
            mark[at_u] = mine
        if parent[at_v] >= 0:
            under_v = _larger(parent, weight, under_v, at_v)
            at_v = parent[at_v]
            if mark[at_v] == mine:
                return _largest_below(parent, weight, u, at_v), under_v
            mark[at_v] = yours


@helper
def largest_between(tree, u, v):
    """Return the weight of the largest edge between two vertices, 0 if they are the same."""
    parent, weight = tree.parent, tree.weight
    if u == v:
        return weight[u] - weight[u]
    tree.count[STAMP] += 2
    under_u, under_v = _largest_on_both_sides(parent, weight, tree.mark, tree.count[STAMP], u, v)
    if under_u < 0 or (under_v >= 0 and weight[under_v] > weight[under_u]):
        return weight[under_v]
    return weight[under_u]


@helper
def count_crossing(tree, u, v, change):
    """Note that an edge came (+1) or went (−1), if it joins two classes."""
    if tree.label[u] == tree.label[v]:
        return
    tree.count[CROSSING] += change
    for end in (u, v):
        was_prototype = tree.cuts[end] > 0
        tree.cuts[end] += change
        tree.count[PROTOTYPES] += (tree.cuts[end] > 0) - was_prototype


@helper
def add_edge(tree, z, v, weight):
    """Add an edge to a minimum spanning tree and remove the largest edge of the circle it closes.

    The root of the tree stays its root.

    Returns
    -------
    x, y, weight
        The ends and the weight of the edge that had to leave: z, v and the new edge's weight, if
        that is the largest itself.
    """
    parent, length = tree.parent, tree.weight
    child, after, before = tree.child, tree.after, tree.before
    tree.count[STAMP] += 2
    under_z, under_v = _largest_on_both_sides(parent, length, tree.mark, tree.count[STAMP], z, v)
    # One of the two may be missing, where z or v is the meeting point itself.
    turned, fixed, x = z, v, under_z
    if under_z < 0 or (
        under_v >= 0
        and precedes(
            length[under_z], under_z, parent[under_z], length[under_v], under_v, parent[under_v]
        )
    ):
        turned, fixed, x = v, z, under_v
    y = parent[x]
    removed = length[x]
    if precedes(removed, x, y, weight, z, v):
        return z, v, weight
    _unlink(parent, length, child, after, before, x)
    _turn(parent, length, child, after, before, turned)
    _hang(parent, length, child, after, before, turned, fixed, weight)
    return x, y, removed
