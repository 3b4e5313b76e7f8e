"""Define, build, and check the k-d tree that is kept up to date with the forest.

Leaves are buckets that store copies of their points contiguously. Each node stores exact summaries
of its points: the bounding box, the smallest vertex, the set of classes, and the vertex with the
smallest (cost, index). ``dynamic_updates`` changes the tree.
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np

from opforest._utils.chunks import run_parallel
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import LOW
from opforest.core.kdtree.static import LEAF, STACK, SUBTREES_PER_JOB, count_nodes, widest_axis
from opforest.core.records import resize_array

#: Slots in a bucket.
BUCKET = 16

#: Larger than all vertices.
NO_VERTEX = np.int32(2**31 - 1)

#: The vertices of a node that are in one component of a split tree: the mark of the component, as
#: in the records of vertices, or a negative number if there are several, and how many they are.
COMPONENT = np.dtype([("mark", np.int64), ("count", np.int64)])

#: The status of an index: the number of entries in its free list; whether these were too few to
#: restore balance; the recent effort of searches; how many insertions will scan all vertices.
INDEX_STATUS = np.dtype([(name, np.int64) for name in ("n_free", "is_short", "effort", "pause")])


class DynamicKDTree(NamedTuple):
    """The tree. Its root is node 0; pair p of siblings are the nodes 2p + 1 and 2p + 2."""

    nodes: np.ndarray  #: records of ``node_type``
    components: np.ndarray  #: by node, records of type COMPONENT: scratch for removals
    box: np.ndarray  #: by node: its corners
    vertex: np.ndarray  #: by slot; the record of a vertex names its slot
    points: np.ndarray  #: by slot
    leaf_of_bucket: np.ndarray
    free_list: np.ndarray  #: pairs of nodes and buckets that are not in use
    status: np.ndarray  #: one record of type INDEX_STATUS


@cache
def node_type(dtype):
    """Return the record type of a node, with coordinates of this type."""
    fields = [
        ("child", np.int32),  # the first of its two children; or −1 − bucket for a leaf
        ("parent", np.int32),  # −1 for the root
        ("count", np.int32),  # of points
        ("oldest", np.int32),  # the smallest vertex in it
        ("first", np.int32),  # the vertex with the smallest (cost, index)
        ("axis", np.int32),  # where its children are divided, and at which coordinate
        ("landmark", np.int32),  # the landmark of one of its vertices
        ("split", dtype),
        ("slack", dtype),  # an upper bound on heights in it, and on distances from its landmark
        ("classes", np.uint64),  # a bit for each class in it, modulo 64
    ]
    return np.dtype(fields, align=True)


def build_index(arrays, kdtree, n_jobs=1) -> DynamicKDTree:
    """Return the index of the vertices in a static k-d tree, and write their slots.

    Its nodes are those of the static tree, in the same order, without the summaries of a bound.
    """
    n, d, dtype = len(kdtree.vertex), arrays.rows.shape[1], arrays.rows.dtype
    pairs = n // (LEAF // 2) + 16  # leaves are at least half full; and room to grow
    index = DynamicKDTree(
        nodes=np.zeros(2 * pairs + 1, node_type(dtype)),
        components=np.zeros(2 * pairs + 1, COMPONENT),
        box=np.empty((2 * pairs + 1, 2, d), dtype),
        vertex=np.empty((pairs + 1) * BUCKET, np.int32),
        points=np.empty(((pairs + 1) * BUCKET, d), dtype),
        leaf_of_bucket=np.zeros(pairs + 1, np.int32),
        free_list=_list_pairs(0, pairs)[::-1].copy(),
        status=np.array([(pairs - len(kdtree.nodes) // 2, 0, 0, 0)], INDEX_STATUS),
    )
    index.box[: len(kdtree.box)] = kdtree.box
    filled = index.nodes, index.vertex, index.points, index.leaf_of_bucket
    static = kdtree.nodes, kdtree.box, kdtree.vertex
    # The nodes of a level hold about as many points, so threads share them evenly.
    nodes, buckets = _list_level(kdtree, 1 if n_jobs == 1 else SUBTREES_PER_JOB * n_jobs)
    run_parallel(
        *(
            partial(_fill, filled, static, arrays.rows, arrays.vertices, arrays.cost, *place)
            for place in zip(nodes, buckets, strict=True)
        ),
        n_jobs=n_jobs,
    )
    index.nodes["parent"][0] = -1
    if len(nodes) > 1:
        _fill_top(index.nodes, kdtree.nodes, kdtree.box, max(nodes), arrays.cost)
    return index


def _list_pairs(begin, end):
    """Return free pairs of nodes, each beside the bucket that becomes free with it."""
    pair = np.empty((end - begin, 2), np.int32)  # a broadcast sum crashes NumPy without memory
    for side in (0, 1):
        pair[:, side] = np.arange(begin + side, end + side)
    return pair


def _list_level(kdtree, count):
    """Return the highest level of at least this many nodes, and their first buckets, in order."""
    level = [0]
    while len(level) < count and (kdtree.nodes["child"][level] >= 0).all():
        level = [child + side for child in kdtree.nodes["child"][level] for side in (0, 1)]
    sizes = kdtree.nodes["end"][level] - kdtree.nodes["begin"][level]
    leaves = [(count_nodes(int(size)) + 1) // 2 for size in sizes]
    return level, np.append(0, np.cumsum(leaves)[:-1])


@kernel
def _fill(index, static, rows, vertices, cost, top, bucket):
    """Fill in the subtree of a node, whose leaves are the buckets from this one on."""
    nodes, vertex, points, leaf_of_bucket = borrow(index)
    static_nodes, box, chosen = borrow(static)
    stack = np.empty(STACK, np.int64)
    stack[0] = top
    n_stacked, last = 1, top
    while n_stacked > 0:
        n_stacked -= 1
        node = stack[n_stacked]
        last = max(last, node)
        source = static_nodes[node]
        begin, end, below = source.begin, source.end, source.child
        own = nodes[node]
        own.count = end - begin
        if below >= 0:
            _divide(nodes, box, node, below)
            stack[n_stacked], stack[n_stacked + 1] = below + 1, below
            n_stacked += 2
            continue
        own.child, leaf_of_bucket[bucket] = -1 - bucket, node
        own.oldest = own.first = chosen[begin]
        own.classes = 0
        for i in range(begin, end):
            v, slot = chosen[i], bucket * BUCKET + i - begin
            vertex[slot], vertices[v].slot = v, slot
            for k in range(rows.shape[1]):
                points[slot, k] = rows[v, k]
            own.oldest = min(own.oldest, np.int32(v))
            own.first = _cheaper(own.first, np.int32(v), cost)
            own.classes |= class_bit(vertices[v].label)
        bucket += 1
    if last == top:
        return
    for node in range(last, static_nodes[top].child - 1, -1):
        if static_nodes[node].child >= 0:
            _combine(nodes, node, static_nodes[node].child, cost)
    _combine(nodes, top, static_nodes[top].child, cost)


@kernel
def _fill_top(nodes, static_nodes, box, end, cost):
    """Fill in the other nodes, those above, which come before ``end``."""
    for node in range(end - 1, -1, -1):
        below = static_nodes[node].child
        if nodes[node].count == 0:
            nodes[node].count = static_nodes[node].end - static_nodes[node].begin
            _divide(nodes, box, node, below)
            _combine(nodes, node, below, cost)


@helper
def _divide(nodes, box, node, below):
    """Link a node with its children."""
    axis = widest_axis(box, node)
    nodes[node].child = below
    nodes[node].axis = axis
    nodes[node].split = box[below + 1, LOW, axis]
    nodes[below].parent = nodes[below + 1].parent = node


@helper
def _combine(nodes, node, below, cost):
    """Summarize a node whose children have been summarized."""
    own, left, right = nodes[node], nodes[below], nodes[below + 1]
    own.oldest = min(left.oldest, right.oldest)
    own.first = _cheaper(left.first, right.first, cost)
    own.classes = left.classes | right.classes


@helper
def _cheaper(u, v, cost):
    return v if cost[v] < cost[u] or (cost[v] == cost[u] and v < u) else u


def is_full(index) -> bool:
    """Return whether an index needs more room before a vertex can be inserted or deleted."""
    return bool(index.status["n_free"][0] < 2 or index.status["is_short"][0])


def enlarge_index(index) -> DynamicKDTree:
    """Return the index with room for twice as many nodes."""
    before, after, free = len(index.free_list), 2 * len(index.free_list), index.status["n_free"][0]
    n_nodes, n_buckets = 2 * after + 1, after + 1
    n_slots = n_buckets * BUCKET
    sizes = (n_nodes, n_nodes, n_nodes, n_slots, n_slots, n_buckets, after, 1)
    larger = DynamicKDTree(
        *(resize_array(a, n, *a.shape[1:]) for a, n in zip(index, sizes, strict=True))
    )
    larger.free_list[free : free + before] = _list_pairs(before, after)
    larger.status["n_free"], larger.status["is_short"] = free + before, 0
    return larger


def resize_index_features(index, d) -> DynamicKDTree:
    """Return the index with another number of features; new ones are 0."""
    box, points = index.box, index.points
    return index._replace(
        box=resize_array(box, len(box), 2, d), points=resize_array(points, len(points), d)
    )


def find_slot_error(index, arrays) -> str:
    """Return the first error in the slots of vertices; "" if there is none."""
    alive = _list_alive(arrays)
    slot = arrays.vertices["slot"][alive]
    if not ((slot >= 0) & (slot < len(index.vertex))).all():
        return "a vertex has no slot"
    return "" if np.array_equal(index.vertex[slot], alive) else "a vertex has the wrong slot"


def find_node_error(index, arrays, bound=None) -> str:
    """Return the first error in the summaries of nodes; "" if there is none."""
    error, inside = _find_error_below(index, 0, arrays, bound)
    if not error and not np.array_equal(np.sort(inside), _list_alive(arrays)):
        return "the leaves do not hold all points"
    return error


def _list_alive(arrays):
    return np.flatnonzero(arrays.vertices["label"][: arrays.counters[0]["size"]] >= 0)


def _find_error_below(index, node, arrays, bound):
    """Return the first error in a node or its descendants, and the vertices in it."""
    nodes, own = index.nodes, index.nodes[node]
    below = own["child"]
    if below >= 0:
        if (nodes["parent"][below : below + 2] != node).any():
            return "a child has another parent", []
        found = [_find_error_below(index, child, arrays, bound) for child in (below, below + 1)]
        errors, parts = zip(*found, strict=True)
        sizes = [len(part) for part in parts]
        if any(errors):
            return errors[0] or errors[1], []
        if not index.status["is_short"][0] and is_unbalanced.py_func(sum(sizes), *sizes):
            return "a node is out of balance", []
        inside = np.concatenate(parts)
    else:
        if index.leaf_of_bucket[-1 - below] != node:
            return "a bucket has another leaf", []
        slots = slice((-1 - below) * BUCKET, (-1 - below) * BUCKET + own["count"])
        inside = index.vertex[slots]
        if not np.array_equal(index.points[slots], arrays.rows[inside]):
            return "a point has moved", []
    if own["count"] != len(inside) or len(inside) == 0:
        return "points are miscounted", []
    bits = np.uint64(1) << (arrays.vertices["label"][inside] & 63).astype(np.uint64)
    corners = arrays.rows[inside].min(0), arrays.rows[inside].max(0)
    cheapest = inside[np.lexsort((inside, arrays.cost[inside]))[0]]
    checks = {
        "the oldest vertex is wrong": own["oldest"] == inside.min(),
        "the cheapest vertex is wrong": own["first"] == cheapest,
        "classes are wrong": own["classes"] == np.bitwise_or.reduce(bits),
        "a box is wrong": np.array_equal(index.box[node], corners),
    }
    if bound is not None:
        farthest = bound.table[own["landmark"], bound.landmark[inside]].max()
        slack = max(farthest, bound.height[inside].max())
        checks["the slack of a node is too small"] = own["slack"] >= slack
    return next((error for error, holds in checks.items() if not holds), ""), inside


@helper
def class_bit(label):
    """Return the bit that stands for a class, among others."""
    return np.uint64(1) << np.uint64(label & 63)


@helper
def is_unbalanced(count, left, right):
    """Return whether a node must be rebuilt, given the counts of its points."""
    heavier = max(left, right)
    return count <= LEAF or heavier == count or 4 * heavier > 3 * count + BUCKET
