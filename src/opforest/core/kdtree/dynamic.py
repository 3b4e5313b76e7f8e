"""A k-d tree that changes with the forest: points come, points go, costs change.

Leaves are buckets, with copies of their points side by side. A node knows its box, its eldest
vertex, the classes in it and its vertex of the smallest (cost, index), all of them exactly. A
subtree out of balance is built anew, which costs a logarithm per change on average, whatever the
order in which points come: sorted, in clusters, or all the same.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import HIGH, LOW
from opforest.core.kdtree.static import (
    LEAF,
    NODE,
    STACK,
    KDTree,
    most_nodes,
    split_all,
    widest_axis,
)
from opforest.core.records import resized

#: Places in a bucket.
BUCKET = 16

#: Places in ``Index.room``.
SPARE, SHORT, EFFORT, PAUSE = 0, 1, 2, 3

#: Younger than all vertices.
NOBODY = np.int32(2**31 - 1)


#: Of the points of a node, those in one piece of a tree that has fallen apart: the mark of that
#: piece, as in the records of vertices, or less than 0 if there are several, and how many points.
PIECE = np.dtype([("mark", np.int64), ("inside", np.int64)])


class Index(NamedTuple):
    """The tree. Its root is node 0; pair p of siblings are the nodes 2p + 1 and 2p + 2."""

    nodes: np.ndarray  #: records of ``node_type``
    pieces: np.ndarray  #: by node, records of type PIECE: scratch for removals
    box: np.ndarray  #: by node: its corners
    vertex: np.ndarray  #: by place; the record of a vertex leads back to its place
    points: np.ndarray  #: by place
    holder: np.ndarray  #: by bucket: its leaf
    spare: np.ndarray  #: pairs of nodes and buckets that are free
    #: How many of these; whether they were too few to restore balance; what a search for candidates
    #: takes of late; and how many insertions will look at all vertices instead.
    room: np.ndarray


@cache
def node_type(dtype):
    """Return the record of a node, with coordinates of this type."""
    fields = [
        ("child", np.int32),  # the first of its two children; or −1 − bucket for a leaf
        ("above", np.int32),  # its parent, −1 for the root
        ("count", np.int32),  # how many points it has
        ("eldest", np.int32),  # the smallest vertex in it
        ("first", np.int32),  # the vertex with the smallest (cost, index)
        ("axis", np.int32),  # where its children are divided, and at which coordinate
        ("landmark", np.int32),  # the landmark of one of its vertices
        ("split", dtype),
        ("slack", dtype),  # no less than any height in it, and than the table from its landmark
        ("classes", np.uint64),  # a bit for each class in it, modulo 64
    ]
    return np.dtype(fields, align=True)


def build_index(state, tree) -> Index:
    """Return the index of the vertices in a k-d tree, which are told where they are.

    Its nodes are those of the tree, in the same order. What they say of a bound is not filled in.
    """
    (n, d), dtype, begin = tree.points.shape, tree.points.dtype, tree.nodes["begin"]
    pairs = n // (LEAF // 2) + 16  # leaves are at least half full; and room to grow
    leaf = np.flatnonzero(tree.nodes["child"] < 0)
    leaf = leaf[np.argsort(begin[leaf])]
    size = tree.nodes["end"][leaf] - begin[leaf]
    place = np.arange(n) + np.repeat(np.arange(len(leaf)) * BUCKET - begin[leaf], size)
    index = Index(
        nodes=np.zeros(2 * pairs + 1, node_type(dtype)),
        pieces=np.zeros(2 * pairs + 1, PIECE),
        box=np.empty((2 * pairs + 1, 2, d), dtype),
        vertex=np.empty((pairs + 1) * BUCKET, np.int32),
        points=np.empty(((pairs + 1) * BUCKET, d), dtype),
        holder=np.zeros(pairs + 1, np.int32),
        spare=np.arange(pairs, dtype=np.int32)[::-1, None] + np.array([0, 1], np.int32),
        room=np.array([pairs - (len(leaf) - 1), 0, 0, 0]),
    )
    index.box[: len(tree.box)] = tree.box
    index.vertex[place] = tree.vertex
    index.points[place] = tree.points
    index.holder[: len(leaf)] = leaf
    state.vertices["home"][tree.vertex] = place
    _summarise_all(index.nodes[: len(tree.nodes)], tree, leaf, state)
    return index


@kernel
def note_bound(index, bound):
    """Fill in what nodes say of a bound, which is new."""
    index, bound = borrow(index), borrow(bound)
    stack, order = np.empty(STACK, np.int64), np.empty(index.nodes.shape[0], np.int64)
    stack[0] = 0
    height, m = 1, 0
    while height > 0:
        height -= 1
        node = stack[height]
        order[m] = node
        m += 1
        if index.nodes[node].child >= 0:
            stack[height] = index.nodes[node].child
            stack[height + 1] = index.nodes[node].child + 1
            height += 2
    for i in range(m - 1, -1, -1):
        _note_slack(index.nodes, order[i], index.vertex, bound)


@helper
def _note_slack(nodes, node, vertex, bound):
    """Note how far a node's vertices may be from each other, once it is noted of its children."""
    own = nodes[node]
    below = np.int64(own.child)
    if below >= 0:
        left, right = nodes[below], nodes[below + 1]
        own.landmark = left.landmark
        between = bound.table[left.landmark, right.landmark]
        own.slack = max(left.slack, right.slack, between)
        return
    begin = (-1 - below) * BUCKET
    own.slack = 0
    if own.count > 0:
        own.landmark = bound.landmark[vertex[begin]]
    for place in range(begin, begin + own.count):
        v = vertex[place]
        between = bound.table[own.landmark, bound.landmark[v]]
        own.slack = max(own.slack, bound.height[v], between)


@helper
def raise_slack(nodes, holder, vertices, v, height):
    """Note that a vertex has this height, which is more than it had."""
    node = np.int64(holder[vertices[v].home // BUCKET])
    while node >= 0 and nodes[node].slack < height:
        nodes[node].slack = height
        node = np.int64(nodes[node].above)


def _summarise_all(nodes, tree, leaf, state):
    """Fill in the nodes of a new index; the leaves are given in the order of their places."""
    begin, count = tree.nodes["begin"], tree.nodes["end"] - tree.nodes["begin"]
    first_place, vertex = begin[leaf], tree.vertex
    cost = state.cost[vertex]
    least = np.minimum.reduceat(cost, first_place)
    cheapest = np.where(cost == np.repeat(least, count[leaf]), vertex, NOBODY)
    bits = np.uint64(1) << (state.vertices["label"][vertex] & 63).astype(np.uint64)
    nodes["count"], nodes["above"], nodes["child"] = count, -1, tree.nodes["child"]
    nodes["child"][leaf] = -1 - np.arange(len(leaf))
    nodes["eldest"][leaf] = np.minimum.reduceat(vertex, first_place)
    nodes["first"][leaf] = np.minimum.reduceat(cheapest, first_place)
    nodes["classes"][leaf] = np.bitwise_or.reduceat(bits, first_place)
    levels = []
    parent = np.flatnonzero(tree.nodes["child"][:1] >= 0)
    while len(parent):
        levels.append(parent)
        below = np.concatenate((tree.nodes["child"][parent], tree.nodes["child"][parent] + 1))
        parent = below[tree.nodes["child"][below] >= 0]
    for parent in reversed(levels):
        left = tree.nodes["child"][parent]
        _note_children(nodes, tree.box, parent, left, left + 1, state.cost)


def _note_children(nodes, box, parent, left, right, cost):
    """Fill in nodes whose children have been filled in."""
    axis = (box[parent, HIGH] - box[parent, LOW]).argmax(axis=1)
    a, b = nodes["first"][left], nodes["first"][right]
    is_right = (cost[b] < cost[a]) | ((cost[b] == cost[a]) & (b < a))
    nodes["above"][left] = nodes["above"][right] = parent
    nodes["axis"][parent] = axis
    nodes["split"][parent] = box[right, LOW, axis]
    nodes["eldest"][parent] = np.minimum(nodes["eldest"][left], nodes["eldest"][right])
    nodes["classes"][parent] = nodes["classes"][left] | nodes["classes"][right]
    nodes["first"][parent] = np.where(is_right, b, a)


def is_full(index) -> bool:
    """Tell whether an index needs more room before any vertex may come or go."""
    return bool(index.room[SPARE] < 2 or index.room[SHORT])


def with_room(index) -> Index:
    """Return the index with more room for nodes."""
    before, after = len(index.spare), 2 * len(index.spare)
    free = index.room[SPARE]
    spare = resized(index.spare, after, 2)
    spare[free : free + after - before, 0] = np.arange(before, after)
    spare[free : free + after - before, 1] = np.arange(before, after) + 1
    d = index.points.shape[1]
    places = (after + 1) * BUCKET
    return Index(
        nodes=resized(index.nodes, 2 * after + 1),
        pieces=resized(index.pieces, 2 * after + 1),
        box=resized(index.box, 2 * after + 1, 2, d),
        vertex=resized(index.vertex, places),
        points=resized(index.points, places, d),
        holder=resized(index.holder, after + 1),
        spare=spare,
        room=np.array([free + after - before, 0, *index.room[EFFORT:]]),
    )


def with_width(index, d) -> Index:
    """Return the index with another number of features; new ones are 0."""
    box, points = index.box, index.points
    return index._replace(box=resized(box, len(box), 2, d), points=resized(points, len(points), d))


def find_lost(index, state) -> str:
    """Return what is not true of where vertices say that they are; nothing if all of it is."""
    alive = _alive(state)
    home = state.vertices["home"][alive]
    if not ((home >= 0) & (home < len(index.vertex))).all():
        return "a vertex has no home"
    return "" if np.array_equal(index.vertex[home], alive) else "a vertex is not at home"


def find_fault(index, state, bound=None) -> str:
    """Return what is not true of what nodes say of their points; nothing if all of it is."""
    fault, inside = _find_fault_below(index, 0, state, bound)
    if not fault and not np.array_equal(np.sort(inside), _alive(state)):
        return "the leaves do not hold all points"
    return fault


def _alive(state):
    return np.flatnonzero(state.vertices["label"][: state.tally[0]["size"]] >= 0)


def _find_fault_below(index, node, state, bound):
    """Return what is not true of a node or of one below it, and the points in it."""
    nodes, own = index.nodes, index.nodes[node]
    below = own["child"]
    if below >= 0:
        if (nodes["above"][below : below + 2] != node).any():
            return "a child has another parent", []
        found = [_find_fault_below(index, child, state, bound) for child in (below, below + 1)]
        faults, parts = zip(*found, strict=True)
        sizes = [len(part) for part in parts]
        if any(faults):
            return faults[0] or faults[1], []
        if not index.room[SHORT] and _is_unbalanced.py_func(sum(sizes), *sizes):
            return "a node is out of balance", []
        inside = np.concatenate(parts)
    else:
        if index.holder[-1 - below] != node:
            return "a bucket has another leaf", []
        places = slice((-1 - below) * BUCKET, (-1 - below) * BUCKET + own["count"])
        inside = index.vertex[places]
        if not np.array_equal(index.points[places], state.rows[inside]):
            return "a point has moved", []
    if own["count"] != len(inside) or len(inside) == 0:
        return "points are miscounted", []
    label = state.vertices["label"][inside]
    bits = np.bitwise_or.reduce(np.uint64(1) << (label & 63).astype(np.uint64))
    corners = state.rows[inside].min(0), state.rows[inside].max(0)
    truths = {
        "the eldest is another one": own["eldest"] == inside.min(),
        "the cheapest is another one": own["first"]
        == inside[np.lexsort((inside, state.cost[inside]))[0]],
        "classes are wrong": own["classes"] == bits,
        "a box is wrong": np.array_equal(index.box[node], corners),
    }
    if bound is not None:
        apart = bound.table[own["landmark"], bound.landmark[inside]].max()
        truths["a node is slacker than it says"] = own["slack"] >= max(
            apart, bound.height[inside].max()
        )
    return next((fault for fault, true in truths.items() if not true), ""), inside


@helper
def _graft(index, bound, node, bucket, tree, vertices, cost):
    """Copy a k-d tree to a node without children; its first leaf gets this bucket."""
    source, box, vertex, points = tree
    m = source.shape[0]
    target, bucket_of = np.empty(m, np.int64), np.empty(m, np.int64)
    target[0], bucket_of[0] = node, bucket
    for i in range(m):
        node, below = target[i], source[i].child
        if below < 0:
            leaf, bucket = index.nodes[node], bucket_of[i]
            leaf.child = -1 - bucket
            leaf.count = source[i].end - source[i].begin
            index.holder[bucket] = node
            for j in range(leaf.count):
                place = source[i].begin + j
                _put(index, bucket * BUCKET + j, vertex[place], points, place, vertices)
            continue
        index.room[SPARE] -= 1
        spare = index.room[SPARE]
        pair = 2 * np.int64(index.spare[spare, 0]) + 1
        target[below], target[below + 1] = pair, pair + 1
        bucket_of[below], bucket_of[below + 1] = bucket_of[i], index.spare[spare, 1]
        index.nodes[pair].above = node
        index.nodes[pair + 1].above = node
        parent = index.nodes[node]
        parent.child = pair
        parent.axis = widest_axis(box, i)
        parent.split = box[below + 1, LOW, parent.axis]
    for i in range(m - 1, -1, -1):
        _summarise(index, bound, target[i], vertices, cost)


@helper
def _put(index, place, v, rows, row, vertices):
    """Put vertex v, whose coordinates are in this row, at a place."""
    index.vertex[place] = v
    vertices[v].home = place
    for k in range(rows.shape[1]):
        index.points[place, k] = rows[row, k]


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
def _summarise_leaf(nodes, node, box, vertex, points, vertices, cost):
    """Note what is true of a leaf."""
    leaf = nodes[node]
    begin = (-1 - np.int64(leaf.child)) * BUCKET
    end = begin + leaf.count
    leaf.eldest = NOBODY
    leaf.classes = 0
    for k in range(box.shape[2]):
        box[node, LOW, k], box[node, HIGH, k] = np.inf, -np.inf
    for place in range(begin, end):
        v = vertex[place]
        leaf.eldest = min(leaf.eldest, v)
        leaf.classes |= class_bit(vertices[v].label)
        for k in range(box.shape[2]):
            box[node, LOW, k] = min(box[node, LOW, k], points[place, k])
            box[node, HIGH, k] = max(box[node, HIGH, k], points[place, k])
    leaf.first = _first_in_bucket(vertex, begin, end, cost)


@helper
def _summarise_parent(nodes, node, box, cost):
    """Note what is true of a node, once it is noted of its children."""
    parent = nodes[node]
    below = np.int64(parent.child)
    left, right = nodes[below], nodes[below + 1]
    parent.count = left.count + right.count
    parent.eldest = min(left.eldest, right.eldest)
    parent.classes = left.classes | right.classes
    parent.first = _cheaper(left.first, right.first, cost)
    for k in range(box.shape[2]):
        box[node, LOW, k] = min(box[below, LOW, k], box[below + 1, LOW, k])
        box[node, HIGH, k] = max(box[below, HIGH, k], box[below + 1, HIGH, k])


@helper
def _summarise(index, bound, node, vertices, cost):
    """Note what is true of a node, once it is noted of its children."""
    if index.nodes[node].child >= 0:
        _summarise_parent(index.nodes, node, index.box, cost)
    else:
        _summarise_leaf(index.nodes, node, index.box, index.vertex, index.points, vertices, cost)
    _note_slack(index.nodes, node, index.vertex, bound)


@helper
def _summarise_above(nodes, node, box, vertex, bound, cost):
    """Note anew what is true of all nodes above one; return the highest that is unbalanced."""
    highest = np.int64(-1)
    node = np.int64(nodes[node].above)
    while node >= 0:
        _summarise_parent(nodes, node, box, cost)
        _note_slack(nodes, node, vertex, bound)
        below = nodes[node].child
        if _is_unbalanced(nodes[node].count, nodes[below].count, nodes[below + 1].count):
            highest = node
        node = np.int64(nodes[node].above)
    return highest


@helper
def class_bit(label):
    """Return the bit that stands for a class, among others."""
    return np.uint64(1) << np.uint64(label & 63)


@helper
def has_room(index):
    """Tell whether any vertex may enter."""
    return index.room[SPARE] >= 2 and index.room[SHORT] == 0


@helper
def enter(index, bound, z, rows, vertices, cost):
    """Take a vertex in."""
    leaf = _find_leaf(index.nodes, rows, z, 0)
    while index.nodes[leaf].count == BUCKET:
        _rebuild(index, bound, leaf, rows, vertices, cost)
        leaf = _find_leaf(index.nodes, rows, z, leaf)
    record = index.nodes[leaf]
    place = (-1 - np.int64(record.child)) * BUCKET + record.count
    _put(index, place, z, rows, z, vertices)
    record.count += 1
    _climb(index, bound, leaf, rows, vertices, cost)


@helper
def _find_leaf(nodes, rows, z, node):
    """Return the leaf that z belongs to, under a node."""
    while nodes[node].child >= 0:
        own = nodes[node]
        below = np.int64(own.child)
        x = rows[z, own.axis]
        right = x > own.split or (x == own.split and nodes[below + 1].count < nodes[below].count)
        node = below + right
    return node


@helper
def leave(index, bound, z, rows, vertices, cost):
    """Let a vertex go."""
    place = np.int64(vertices[z].home)
    node = np.int64(index.holder[place // BUCKET])
    index.nodes[node].count -= 1
    last = place // BUCKET * BUCKET + index.nodes[node].count
    if last != place:
        _put(index, place, np.int64(index.vertex[last]), index.points, last, vertices)
    vertices[z].home = -1
    _climb(index, bound, node, rows, vertices, cost)


@helper
def _climb(index, bound, leaf, rows, vertices, cost):
    """Note anew what is true of a leaf and of all above it, and restore balance."""
    _summarise(index, bound, leaf, vertices, cost)
    highest = _summarise_above(index.nodes, leaf, index.box, index.vertex, bound, cost)
    if highest >= 0:
        _rebuild(index, bound, highest, rows, vertices, cost)


@helper
def _is_unbalanced(count, left, right):
    heavier = max(left, right)
    return count <= LEAF or heavier == count or 4 * heavier > 3 * count + BUCKET


@helper
def _rebuild(index, bound, node, rows, vertices, cost):
    """Build the subtree under a node anew, or note that there is no room to do so."""
    count = np.int64(index.nodes[node].count)
    if index.room[SPARE] < count // (LEAF // 2) + 1 - count // BUCKET:
        index.room[SHORT] = 1
        return
    vertex = np.empty(count, np.int64)
    stack = np.empty(STACK, np.int64)
    stack[0] = node
    height, m, pairs, buckets = 1, 0, index.room[SPARE], index.room[SPARE]
    bucket = np.int64(-1)
    while height > 0:
        height -= 1
        at = stack[height]
        below = np.int64(index.nodes[at].child)
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
        for place in range(bucket * BUCKET, bucket * BUCKET + index.nodes[at].count):
            vertex[m] = index.vertex[place]
            m += 1
    index.room[SPARE] = pairs
    size = most_nodes(count)
    nodes, box = np.empty(size, NODE), np.empty((size, 2, rows.shape[1]), rows.dtype)
    points = rows[vertex]
    m = split_all(points, vertex, nodes, box)
    _graft(index, bound, node, bucket, KDTree(nodes[:m], box, vertex, points), vertices, cost)


@helper
def note_piece(nodes, pieces, holder, vertices, v, mark, stamp):
    """Note that a vertex is in the piece with this mark; ``stamp`` is the least of all marks."""
    node, count = np.int64(holder[vertices[v].home // BUCKET]), np.int64(1)
    while node >= 0:
        piece = pieces[node]
        if piece.mark != mark:
            is_other = piece.mark >= stamp or piece.mark == -stamp
            piece.mark = -stamp if is_other else mark
            piece.inside = 0
        if piece.mark == -stamp:
            return
        piece.inside += count
        if piece.inside < nodes[node].count:
            return
        count = piece.inside
        node = np.int64(nodes[node].above)


@helper
def reprice(index, changed, n_changed, vertices, cost):
    """Note that the costs of these vertices, and of no others, have changed."""
    for i in range(n_changed):
        reprice_one(changed[i], vertices, index.holder, index.nodes, index.vertex, cost)


@helper
def reprice_one(v, vertices, holder, nodes, vertex, cost):
    """Note that the cost of a vertex has changed, and no other whose turn is still to come."""
    node = np.int64(holder[vertices[v].home // BUCKET])
    while node >= 0:
        own = nodes[node]
        before, below = own.first, np.int64(own.child)
        if below >= 0:
            own.first = _cheaper(nodes[below].first, nodes[below + 1].first, cost)
        else:
            begin = (-1 - below) * BUCKET
            own.first = _first_in_bucket(vertex, begin, begin + own.count, cost)
        if own.first == before and before != v:
            break
        node = np.int64(own.above)
