"""Find the bottlenecks of a spanning tree: the longest edges on its paths.

As bounds on estimates of distances (``metrics.matmul``), they are scaled and in single precision,
rounded up.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import borrow, helper, kernel
from opforest.core.mst.boruvka import root_tree

#: Comes after all edges.
LAST = np.iinfo(np.int32).max


def round_up(weight, scale):
    """Return bounds that exceed the estimates of all distances up to the weights."""
    with np.errstate(under="ignore"):
        scaled = (weight * scale * scale).astype(np.float32)
        return np.nextafter(scaled, np.float32(np.inf))


class RankedTree(NamedTuple):
    """A rooted tree, ranked so that parents come before children and passes over it are fast."""

    rank: np.ndarray  #: by point
    parent: np.ndarray  #: by rank: the rank of the parent
    bound: np.ndarray  #: by rank: on the edge to the parent
    shortest: np.ndarray  #: by point: the bound on its shortest edge


def rank_tree(n, u, v, weight, scale) -> RankedTree:
    """Return the spanning tree of n points with these edges."""
    tree = root_tree(n, u, v, weight)
    order = tree.order
    rank = np.empty(n, np.int32)
    rank[order] = np.arange(n, dtype=np.int32)
    bound = round_up(tree.weight, scale)
    shortest = bound.copy()
    shortest[order[0]] = np.inf
    np.minimum.at(shortest, tree.parent[order[1:]], bound[order[1:]])
    return RankedTree(rank, rank[tree.parent[order]], bound[order], shortest)


@kernel
def bound_paths(tree, hub, out):
    """Write, for each point, the bound on the longest edge of its path to a hub."""
    rank, parent, bound, _ = borrow(tree)
    n = rank.shape[0]
    longest = np.full(n, -1, np.float32)
    i = np.int64(rank[hub])
    longest[i] = 0
    while i > 0:
        above = np.int64(parent[i])
        longest[above] = max(longest[i], bound[i])
        i = above
    for i in range(1, n):
        if longest[i] < 0:
            longest[i] = max(longest[parent[i]], bound[i])
    for i in range(n):
        out[i] = longest[rank[i]]


class MergeTree(NamedTuple):
    """The order in which Kruskal's algorithm merges components, each into one at least as large.

    So paths to the root have at most log2(n) links, and the edges along them are in rising order.
    """

    link: np.ndarray  #: by point: where it was merged into, and by which edge; LAST for the root
    bound: np.ndarray  #: by edge, as the following
    u: np.ndarray
    v: np.ndarray
    weight: np.ndarray


def make_merge_tree(n, u, v, edges, scale) -> MergeTree:
    """Return the merge tree of a spanning tree; u and v are the points at the ends of its edges."""
    link = np.empty((n, 2), np.int32)
    _merge(u, v, link)
    return MergeTree(link, round_up(edges.weight, scale), *edges)


@kernel
def _merge(u, v, link):
    n = link.shape[0]
    size = np.ones(n, np.int32)
    group = np.arange(n)
    for i in range(n):
        link[i, 0], link[i, 1] = i, LAST
    for e in range(u.shape[0]):
        a, b = find_group(group, np.int64(u[e])), find_group(group, np.int64(v[e]))
        if size[a] > size[b]:
            a, b = b, a
        group[a] = b
        size[b] += size[a]
        link[a, 0], link[a, 1] = b, e


@helper
def find_bottleneck(link, p, q):
    """Return the largest edge on the path between two different points."""
    edge = np.int64(-1)
    while p != q:
        if link[p, 1] < link[q, 1]:
            edge, p = np.int64(link[p, 1]), np.int64(link[p, 0])
        else:
            edge, q = np.int64(link[q, 1]), np.int64(link[q, 0])
    return edge
