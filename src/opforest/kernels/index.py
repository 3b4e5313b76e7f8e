"""A k-d tree that changes with the forest: points come, points go, costs change.

Leaves are buckets, with copies of their points side by side. A node knows its box, its eldest
vertex, the classes in it and its vertex of the smallest (cost, index), all of them exactly. A
subtree out of balance is built anew, which costs a logarithm per change on average, whatever the
order in which points come: sorted, in clusters, or all the same.
"""

from typing import NamedTuple

import numpy as np

from opforest._jit import borrow, helper, kernel
from opforest.kernels.kdtree import LEAF, STACK, most_nodes, split_all, widest_axis
from opforest.kernels.state import SIZE, resized

#: Places in a bucket.
BUCKET = 16

#: Places in ``Index.tally``.
SPARE, SHORT = 0, 1

#: Younger than all vertices.
NOBODY = np.int32(2**31 - 1)


class Flat(NamedTuple):
    """No index: all vertices are looked at."""


class Index(NamedTuple):
    """The tree. Its root is node 0; pair p of siblings are the nodes 2p + 1 and 2p + 2."""

    child: np.ndarray  #: by node: the first of its two children; or −1 − bucket for a leaf
    above: np.ndarray  #: by node: its parent, −1 for the root
    count: np.ndarray  #: by node: of its points
    axis: np.ndarray  #: by node: where its children are divided, and at which coordinate
    split: np.ndarray
    low: np.ndarray  #: by node: the corners of its box
    high: np.ndarray
    eldest: np.ndarray  #: by node: the smallest vertex in it
    first: np.ndarray  #: by node: the vertex with the smallest (cost, index)
    classes: np.ndarray  #: by node: a bit for each class in it, modulo 64
    vertex: np.ndarray  #: by place
    points: np.ndarray  #: by place
    holder: np.ndarray  #: by bucket: its leaf
    home: np.ndarray  #: by vertex: its place
    spare: np.ndarray  #: pairs of nodes and buckets that are free
    tally: np.ndarray  #: how many of these; and whether they were too few to restore balance


def build_index(state, tree) -> Index:
    """Return the index of the vertices in a k-d tree."""
    d, dtype = state.rows.shape[1], state.rows.dtype
    pairs = len(tree.vertex) // (LEAF // 2) + 16  # leaves are at least half full; and room to grow
    nodes, buckets = 2 * pairs + 1, pairs + 1
    index = Index(
        child=np.full(nodes, -1, np.int32),
        above=np.full(nodes, -1, np.int32),
        count=np.zeros(nodes, np.int32),
        axis=np.zeros(nodes, np.int32),
        split=np.zeros(nodes, dtype),
        low=np.empty((nodes, d), dtype),
        high=np.empty((nodes, d), dtype),
        eldest=np.full(nodes, NOBODY),
        first=np.full(nodes, -1, np.int32),
        classes=np.zeros(nodes, np.uint64),
        vertex=np.empty(buckets * BUCKET, np.int32),
        points=np.empty((buckets * BUCKET, d), dtype),
        holder=np.zeros(buckets, np.int32),
        home=np.full(len(state.label), -1, np.int32),
        spare=np.column_stack((np.arange(pairs)[::-1], np.arange(1, buckets)[::-1])).astype(
            np.int32
        ),
        tally=np.array([pairs, 0]),
    )
    plant(index, tree, state.label, state.cost)
    return index


def is_full(index) -> bool:
    """Tell whether an index needs more room before any vertex may come or go."""
    return bool(index.tally[SPARE] < 2 or index.tally[SHORT])


def with_room(index) -> Index:
    """Return the index with more room for nodes."""
    before, after = len(index.spare), 2 * len(index.spare)
    free = index.tally[SPARE]
    spare = resized(index.spare, after, 2)
    spare[free : free + after - before, 0] = np.arange(before, after)
    spare[free : free + after - before, 1] = np.arange(before, after) + 1
    by_node = ("child", "above", "count", "axis", "split", "eldest", "first", "classes")
    d = index.points.shape[1]
    places = (after + 1) * BUCKET
    return index._replace(
        **{name: resized(getattr(index, name), 2 * after + 1) for name in by_node},
        low=resized(index.low, 2 * after + 1, d),
        high=resized(index.high, 2 * after + 1, d),
        vertex=resized(index.vertex, places),
        points=resized(index.points, places, d),
        holder=resized(index.holder, after + 1),
        spare=spare,
        tally=np.array([free + after - before, 0]),
    )


def with_width(index, d) -> Index:
    """Return the index with another number of features; new ones are 0."""
    arrays = {name: getattr(index, name) for name in ("low", "high", "points")}
    return index._replace(**{name: resized(a, len(a), d) for name, a in arrays.items()})


def check_index(index, state) -> None:
    """Raise ``AssertionError`` if a node does not say the truth about its points."""
    alive = np.flatnonzero(state.label[: state.count[SIZE]] >= 0)
    assert np.array_equal(index.vertex[index.home[alive]], alive), "a vertex is not at home"
    assert np.array_equal(index.points[index.home[alive]], state.rows[alive]), "a point has moved"
    inside = _check_node(index, 0, state)
    assert np.array_equal(np.sort(inside), alive), "the leaves do not hold all points"


def _check_node(index, node, state):
    """Check a node and all below it, and return their points."""
    below = index.child[node]
    if below >= 0:
        assert (index.above[below : below + 2] == node).all(), "a child has another parent"
        parts = [_check_node(index, child, state) for child in (below, below + 1)]
        balanced = not _is_unbalanced.py_func(
            *(len(part) for part in ((*parts[0], *parts[1]), *parts))
        )
        assert index.tally[SHORT] or balanced, "a node is out of balance"
        inside = np.concatenate(parts)
    else:
        assert index.holder[-1 - below] == node, "a bucket has another leaf"
        inside = index.vertex[(-1 - below) * BUCKET :][: index.count[node]]
    cheapest = inside[np.lexsort((inside, state.cost[inside]))[0]]
    bits = np.bitwise_or.reduce(np.uint64(1) << (state.label[inside] & 63).astype(np.uint64))
    assert index.count[node] == len(inside), "points are miscounted"
    assert index.eldest[node] == inside.min(), "the eldest is another one"
    assert index.first[node] == cheapest, "the cheapest is another one"
    assert index.classes[node] == bits, "classes are wrong"
    assert np.array_equal(index.low[node], state.rows[inside].min(0)), "a box is wrong"
    assert np.array_equal(index.high[node], state.rows[inside].max(0)), "a box is wrong"
    return inside


@kernel
def plant(index, tree, label, cost):
    """Make an empty index that of the vertices in a k-d tree."""
    _graft(
        borrow(index), 0, 0, tree.vertex, tree.points, tree.begin, tree.end, tree.child, tree.low,
        tree.high, label, cost,
    )  # fmt: skip


@helper
def _graft(index, node, bucket, vertex, points, begin, end, child, low, high, label, cost):
    """Copy a k-d tree to a node without children; its first leaf gets this bucket."""
    m = begin.shape[0]
    target, bucket_of = np.empty(m, np.int64), np.empty(m, np.int64)
    target[0], bucket_of[0] = node, bucket
    for i in range(m):
        node, below = target[i], child[i]
        if below < 0:
            _fill(index, node, bucket_of[i], vertex, points, begin[i], end[i])
            continue
        index.tally[SPARE] -= 1
        spare = index.spare[index.tally[SPARE]]
        target[below], target[below + 1] = 2 * spare[0] + 1, 2 * spare[0] + 2
        bucket_of[below], bucket_of[below + 1] = bucket_of[i], spare[1]
        index.above[target[below]] = index.above[target[below + 1]] = node
        axis = widest_axis(low[i], high[i])
        index.child[node] = target[below]
        index.axis[node] = axis
        index.split[node] = low[below + 1, axis]
    for i in range(m - 1, -1, -1):
        _summarise(index, target[i], label, cost)


@helper
def _fill(index, leaf, bucket, vertex, points, begin, end):
    index.child[leaf] = -1 - bucket
    index.holder[bucket] = leaf
    index.count[leaf] = end - begin
    for i in range(begin, end):
        _put(index, bucket * BUCKET + i - begin, vertex[i], points[i])


@helper
def _put(index, place, v, row):
    index.vertex[place] = v
    index.home[v] = place
    for k in range(row.shape[0]):
        index.points[place, k] = row[k]


@helper
def _cheaper(u, v, cost):
    """Return the vertex with the smaller (cost, index); −1 is none."""
    if u < 0 or (v >= 0 and (cost[v] < cost[u] or (cost[v] == cost[u] and v < u))):
        return v
    return u


@helper
def _first_in_bucket(vertex, begin, end, cost):
    first = np.int32(-1)
    for place in range(begin, end):
        first = _cheaper(first, vertex[place], cost)
    return first


# What is called often is given single arrays and allocates nothing, so that nobody counts
# references.
@helper
def _summarise_leaf(
    node, begin, count, low, high, eldest, first, classes, vertex, points, label, cost
):
    """Note what is true of a leaf."""
    end = begin + count[node]
    eldest[node], classes[node] = NOBODY, 0
    for k in range(low.shape[1]):
        low[node, k], high[node, k] = np.inf, -np.inf
    for place in range(begin, end):
        v = vertex[place]
        eldest[node] = min(eldest[node], v)
        classes[node] |= class_bit(label[v])
        for k in range(low.shape[1]):
            low[node, k] = min(low[node, k], points[place, k])
            high[node, k] = max(high[node, k], points[place, k])
    first[node] = _first_in_bucket(vertex, begin, end, cost)


@helper
def _summarise_parent(node, below, count, low, high, eldest, first, classes, cost):
    """Note what is true of a node, once it is noted of its children."""
    other = below + 1
    count[node] = count[below] + count[other]
    eldest[node] = min(eldest[below], eldest[other])
    classes[node] = classes[below] | classes[other]
    first[node] = _cheaper(first[below], first[other], cost)
    for k in range(low.shape[1]):
        low[node, k] = min(low[below, k], low[other, k])
        high[node, k] = max(high[below, k], high[other, k])


@helper
def _summarise(index, node, label, cost):
    """Note what is true of a node, once it is noted of its children."""
    below = index.child[node]
    if below >= 0:
        _summarise_parent(
            node, below, index.count, index.low, index.high, index.eldest, index.first,
            index.classes, cost,
        )  # fmt: skip
    else:
        _summarise_leaf(
            node, (-1 - below) * BUCKET, index.count, index.low, index.high, index.eldest,
            index.first, index.classes, index.vertex, index.points, label, cost,
        )  # fmt: skip


@helper
def _summarise_above(node, above, child, count, low, high, eldest, first, classes, cost):
    """Note anew what is true of all nodes above one; return the highest that is unbalanced."""
    highest = -1
    node = above[node]
    while node >= 0:
        below = child[node]
        _summarise_parent(node, below, count, low, high, eldest, first, classes, cost)
        if _is_unbalanced(count[node], count[below], count[below + 1]):
            highest = node
        node = above[node]
    return highest


@helper
def class_bit(label):
    """Return the bit that stands for a class, among others."""
    return np.uint64(1) << np.uint64(label & 63)


@helper
def has_room(index):
    """Tell whether any vertex may enter."""
    return index.tally[SPARE] >= 2 and index.tally[SHORT] == 0


@helper
def enter(index, z, rows, label, cost):
    """Take a vertex in."""
    child, count, axis, split = index.child, index.count, index.axis, index.split
    leaf = _find_leaf(child, count, axis, split, rows, z, 0)
    while index.count[leaf] == BUCKET:
        _rebuild(index, leaf, rows, label, cost)
        leaf = _find_leaf(child, count, axis, split, rows, z, leaf)
    _put(index, (-1 - index.child[leaf]) * BUCKET + index.count[leaf], z, rows[z])
    index.count[leaf] += 1
    _climb(index, leaf, rows, label, cost)


@helper
def _find_leaf(child, count, axis, split, rows, z, node):
    """Return the leaf that z belongs to, under a node."""
    while child[node] >= 0:
        below = child[node]
        x = rows[z, axis[node]]
        right = x > split[node] or (x == split[node] and count[below + 1] < count[below])
        node = np.int64(below + right)
    return node


@helper
def leave(index, z, rows, label, cost):
    """Let a vertex go."""
    place = np.int64(index.home[z])
    node = np.int64(index.holder[place // BUCKET])
    index.count[node] -= 1
    last = place // BUCKET * BUCKET + index.count[node]
    if last != place:
        _put(index, place, np.int64(index.vertex[last]), index.points[last])
    index.home[z] = -1
    _climb(index, node, rows, label, cost)


@helper
def _climb(index, leaf, rows, label, cost):
    """Note anew what is true of a leaf and of all above it, and restore balance."""
    _summarise(index, leaf, label, cost)
    highest = _summarise_above(
        leaf, index.above, index.child, index.count, index.low, index.high, index.eldest,
        index.first, index.classes, cost,
    )  # fmt: skip
    if highest >= 0:
        _rebuild(index, highest, rows, label, cost)


@helper
def _is_unbalanced(count, left, right):
    heavier = max(left, right)
    return count <= LEAF or heavier == count or 4 * heavier > 3 * count + BUCKET


@helper
def _rebuild(index, node, rows, label, cost):
    """Build the subtree under a node anew, or note that there is no room to do so."""
    count = index.count[node]
    if index.tally[SPARE] < count // (LEAF // 2) + 1 - count // BUCKET:
        index.tally[SHORT] = 1
        return
    vertex = np.empty(count, np.int64)
    stack = np.empty(STACK, np.int64)
    stack[0] = node
    height, m, pairs, buckets = 1, 0, index.tally[SPARE], index.tally[SPARE]
    bucket = -1
    while height > 0:
        height -= 1
        at = stack[height]
        below = index.child[at]
        if below >= 0:
            index.spare[pairs, 0] = (below - 1) // 2
            pairs += 1
            stack[height], stack[height + 1] = below, below + 1
            height += 2
            continue
        if bucket >= 0:
            index.spare[buckets, 1] = bucket
            buckets += 1
        bucket = -1 - below
        for place in range(bucket * BUCKET, bucket * BUCKET + index.count[at]):
            vertex[m] = index.vertex[place]
            m += 1
    index.tally[SPARE] = pairs
    size = most_nodes(count)
    begin, end, child = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    low = np.empty((size, rows.shape[1]), rows.dtype)
    high, points = np.empty_like(low), rows[vertex]
    m = split_all(points, vertex, begin, end, child, low, high)
    _graft(index, node, bucket, vertex, points, begin[:m], end, child, low, high, label, cost)


@helper
def reprice(index, changed, n_changed, cost):
    """Note that the costs of these vertices, and of no others, have changed."""
    _reprice(
        changed, n_changed, index.home, index.holder, index.above, index.child, index.count,
        index.first, index.vertex, cost,
    )  # fmt: skip


@helper
def _reprice(changed, n_changed, home, holder, above, child, count, first, vertex, cost):
    for i in range(n_changed):
        v = changed[i]
        node = holder[home[v] // BUCKET]
        while node >= 0:
            before, below = first[node], child[node]
            if below >= 0:
                first[node] = _cheaper(first[below], first[below + 1], cost)
            else:
                begin = (-1 - below) * BUCKET
                first[node] = _first_in_bucket(vertex, begin, begin + count[node], cost)
            if first[node] == before and before != v:
                break
            node = above[node]
