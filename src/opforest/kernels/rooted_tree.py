"""Rooted trees with linked lists of children: hanging, cutting, turning, largest edges."""

from opforest._jit import helper, kernel
from opforest.kernels.state import CROSSING, PROTOTYPES, STAMP


@helper
def hang(tree, v, u, weight):
    """Make v, which has no parent, a child of u."""
    tree.parent[v] = u
    tree.weight[v] = weight
    first = tree.child[u]
    tree.after[v] = first
    tree.before[v] = -1
    if first >= 0:
        tree.before[first] = v
    tree.child[u] = v


@helper
def unlink(tree, v):
    """Cut v, with all below it, off its parent."""
    after, before = tree.after[v], tree.before[v]
    if before >= 0:
        tree.after[before] = after
    else:
        tree.child[tree.parent[v]] = after
    if after >= 0:
        tree.before[after] = before
    tree.parent[v] = tree.after[v] = tree.before[v] = -1
    tree.weight[v] = 0


@helper
def turn(tree, v):
    """Make v the root of its tree by reversing the edges above it."""
    below = -1
    weight_below = tree.weight[v]
    while v >= 0:
        above = tree.parent[v]
        weight = tree.weight[v]
        if above >= 0:
            unlink(tree, v)
        if below >= 0:
            hang(tree, v, below, weight_below)
        below, weight_below, v = v, weight, above


@kernel
def link_children(tree, n):
    """Fill in the lists of children of a tree whose parents and weights are known."""
    for v in range(n):
        tree.child[v] = tree.after[v] = tree.before[v] = -1
    for v in range(n - 1, -1, -1):
        if tree.parent[v] >= 0:
            hang(tree, v, tree.parent[v], tree.weight[v])


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
def largest_below(tree, v, top):
    """Return the vertex under the largest edge on the way from v up to ``top``, −1 if v is it."""
    best = -1
    while v != top:
        if best < 0 or precedes(
            tree.weight[best], best, tree.parent[best], tree.weight[v], v, tree.parent[v]
        ):
            best = v
        v = tree.parent[v]
    return best


@helper
def _meeting_point(tree, u, v):
    """Climb from u and v by turns until one comes where the other has been."""
    tree.count[STAMP] += 2
    mine, yours = tree.count[STAMP], tree.count[STAMP] + 1
    tree.mark[u], tree.mark[v] = mine, yours
    while True:
        if tree.parent[u] >= 0:
            u = tree.parent[u]
            if tree.mark[u] == yours:
                return u
            tree.mark[u] = mine
        if tree.parent[v] >= 0:
            v = tree.parent[v]
            if tree.mark[v] == mine:
                return v
            tree.mark[v] = yours


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
    top = _meeting_point(tree, z, v)
    under_z, under_v = largest_below(tree, z, top), largest_below(tree, v, top)
    # One of the two may be missing, where z or v is the meeting point itself.
    turned, fixed, x = z, v, under_z
    if under_z < 0 or (
        under_v >= 0
        and precedes(
            tree.weight[under_z], under_z, tree.parent[under_z],
            tree.weight[under_v], under_v, tree.parent[under_v],
        )
    ):  # fmt: skip
        turned, fixed, x = v, z, under_v
    y = tree.parent[x]
    removed = tree.weight[x]
    if precedes(removed, x, y, weight, z, v):
        return z, v, weight
    unlink(tree, x)
    turn(tree, turned)
    hang(tree, turned, fixed, weight)
    return x, y, removed
