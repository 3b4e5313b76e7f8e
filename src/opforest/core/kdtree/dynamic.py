"""Define, build, and check the k-d tree that is kept up to date with the forest.

Leaves are buckets that store copies of their points contiguously. Each node stores exact summaries
of its points: the bounding box, the smallest vertex, the set of classes, and the vertex with the
smallest (cost, index). ``dynamic_updates`` changes the tree.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from opforest.core.jit import helper
from opforest.core.kdtree.boxes import HIGH, LOW
from opforest.core.kdtree.static import LEAF
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


class DynamicKDTree(NamedTuple):
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
        ("oldest", np.int32),  # the smallest vertex in it
        ("first", np.int32),  # the vertex with the smallest (cost, index)
        ("axis", np.int32),  # where its children are divided, and at which coordinate
        ("landmark", np.int32),  # the landmark of one of its vertices
        ("split", dtype),
        ("slack", dtype),  # no less than any height in it, and than the table from its landmark
        ("classes", np.uint64),  # a bit for each class in it, modulo 64
    ]
    return np.dtype(fields, align=True)


def build_index(state, tree) -> DynamicKDTree:
    """Return the index of the vertices in a k-d tree, which are told where they are.

    Its nodes are those of the tree, in the same order. What they say of a bound is not filled in.
    """
    (n, d), dtype, begin = tree.points.shape, tree.points.dtype, tree.nodes["begin"]
    pairs = n // (LEAF // 2) + 16  # leaves are at least half full; and room to grow
    leaf = np.flatnonzero(tree.nodes["child"] < 0)
    leaf = leaf[np.argsort(begin[leaf])]
    size = tree.nodes["end"][leaf] - begin[leaf]
    place = np.arange(n) + np.repeat(np.arange(len(leaf)) * BUCKET - begin[leaf], size)
    spare = np.empty((pairs, 2), np.int32)  # a broadcast sum crashes NumPy if memory runs out
    for side in (0, 1):
        spare[:, side] = np.arange(side, pairs + side)[::-1]
    index = DynamicKDTree(
        nodes=np.zeros(2 * pairs + 1, node_type(dtype)),
        pieces=np.zeros(2 * pairs + 1, PIECE),
        box=np.empty((2 * pairs + 1, 2, d), dtype),
        vertex=np.empty((pairs + 1) * BUCKET, np.int32),
        points=np.empty(((pairs + 1) * BUCKET, d), dtype),
        holder=np.zeros(pairs + 1, np.int32),
        spare=spare,
        room=np.array([pairs - (len(leaf) - 1), 0, 0, 0]),
    )
    index.box[: len(tree.box)] = tree.box
    index.vertex[place] = tree.vertex
    index.points[place] = tree.points
    index.holder[: len(leaf)] = leaf
    state.vertices["home"][tree.vertex] = place
    _summarize_all(index.nodes[: len(tree.nodes)], tree, leaf, state)
    return index


def _summarize_all(nodes, tree, leaf, state):
    """Fill in the nodes of a new index; the leaves are given in the order of their places."""
    begin, count = tree.nodes["begin"], tree.nodes["end"] - tree.nodes["begin"]
    first_place, vertex = begin[leaf], tree.vertex
    cost = state.cost[vertex]
    least = np.minimum.reduceat(cost, first_place)
    cheapest = np.where(cost == np.repeat(least, count[leaf]), vertex, NOBODY)
    bits = np.uint64(1) << (state.vertices["label"][vertex] & 63).astype(np.uint64)
    nodes["count"], nodes["above"], nodes["child"] = count, -1, tree.nodes["child"]
    nodes["child"][leaf] = -1 - np.arange(len(leaf))
    nodes["oldest"][leaf] = np.minimum.reduceat(vertex, first_place)
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
    nodes["oldest"][parent] = np.minimum(nodes["oldest"][left], nodes["oldest"][right])
    nodes["classes"][parent] = nodes["classes"][left] | nodes["classes"][right]
    nodes["first"][parent] = np.where(is_right, b, a)


def is_full(index) -> bool:
    """Tell whether an index needs more room before any vertex may come or go."""
    return bool(index.room[SPARE] < 2 or index.room[SHORT])


def with_room(index) -> DynamicKDTree:
    """Return the index with more room for nodes."""
    before, after = len(index.spare), 2 * len(index.spare)
    free = index.room[SPARE]
    spare = resized(index.spare, after, 2)
    spare[free : free + after - before, 0] = np.arange(before, after)
    spare[free : free + after - before, 1] = np.arange(before, after) + 1
    d = index.points.shape[1]
    places = (after + 1) * BUCKET
    return DynamicKDTree(
        nodes=resized(index.nodes, 2 * after + 1),
        pieces=resized(index.pieces, 2 * after + 1),
        box=resized(index.box, 2 * after + 1, 2, d),
        vertex=resized(index.vertex, places),
        points=resized(index.points, places, d),
        holder=resized(index.holder, after + 1),
        spare=spare,
        room=np.array([free + after - before, 0, *index.room[EFFORT:]]),
    )


def with_width(index, d) -> DynamicKDTree:
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
    return np.flatnonzero(state.vertices["label"][: state.counters[0]["size"]] >= 0)


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
        "the eldest is another one": own["oldest"] == inside.min(),
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
def class_bit(label):
    """Return the bit that stands for a class, among others."""
    return np.uint64(1) << np.uint64(label & 63)


@helper
def _is_unbalanced(count, left, right):
    heavier = max(left, right)
    return count <= LEAF or heavier == count or 4 * heavier > 3 * count + BUCKET
