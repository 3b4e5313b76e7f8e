"""Update the dynamic k-d tree: insertion, deletion, rebuilding, and changes of costs.

Each update refreshes the summaries of the nodes on the path to the root. A subtree that is out of
balance is rebuilt, which takes amortized logarithmic time per update in any order of insertion:
sorted, in clusters, or all points equal.
"""

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import HIGH, LOW
from opforest.core.kdtree.dynamic import BUCKET, NOBODY, SHORT, SPARE, _is_unbalanced, class_bit
from opforest.core.kdtree.static import (
    LEAF,
    NODE,
    STACK,
    StaticKDTree,
    most_nodes,
    split_all,
    widest_axis,
)


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
        _summarize(index, bound, target[i], vertices, cost)


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
def _summarize_leaf(nodes, node, box, vertex, points, vertices, cost):
    """Note what is true of a leaf."""
    leaf = nodes[node]
    begin = (-1 - np.int64(leaf.child)) * BUCKET
    end = begin + leaf.count
    leaf.oldest = NOBODY
    leaf.classes = 0
    for k in range(box.shape[2]):
        box[node, LOW, k], box[node, HIGH, k] = np.inf, -np.inf
    for place in range(begin, end):
        v = vertex[place]
        leaf.oldest = min(leaf.oldest, v)
        leaf.classes |= class_bit(vertices[v].label)
        for k in range(box.shape[2]):
            box[node, LOW, k] = min(box[node, LOW, k], points[place, k])
            box[node, HIGH, k] = max(box[node, HIGH, k], points[place, k])
    leaf.first = _first_in_bucket(vertex, begin, end, cost)


@helper
def _summarize_parent(nodes, node, box, cost):
    """Note what is true of a node, once it is noted of its children."""
    parent = nodes[node]
    below = np.int64(parent.child)
    left, right = nodes[below], nodes[below + 1]
    parent.count = left.count + right.count
    parent.oldest = min(left.oldest, right.oldest)
    parent.classes = left.classes | right.classes
    parent.first = _cheaper(left.first, right.first, cost)
    for k in range(box.shape[2]):
        box[node, LOW, k] = min(box[below, LOW, k], box[below + 1, LOW, k])
        box[node, HIGH, k] = max(box[below, HIGH, k], box[below + 1, HIGH, k])


@helper
def _summarize(index, bound, node, vertices, cost):
    """Note what is true of a node, once it is noted of its children."""
    if index.nodes[node].child >= 0:
        _summarize_parent(index.nodes, node, index.box, cost)
    else:
        _summarize_leaf(index.nodes, node, index.box, index.vertex, index.points, vertices, cost)
    _note_slack(index.nodes, node, index.vertex, bound)


@helper
def _summarize_above(nodes, node, box, vertex, bound, cost):
    """Note anew what is true of all nodes above one; return the highest that is unbalanced."""
    highest = np.int64(-1)
    node = np.int64(nodes[node].above)
    while node >= 0:
        _summarize_parent(nodes, node, box, cost)
        _note_slack(nodes, node, vertex, bound)
        below = nodes[node].child
        if _is_unbalanced(nodes[node].count, nodes[below].count, nodes[below + 1].count):
            highest = node
        node = np.int64(nodes[node].above)
    return highest


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
    _summarize(index, bound, leaf, vertices, cost)
    highest = _summarize_above(index.nodes, leaf, index.box, index.vertex, bound, cost)
    if highest >= 0:
        _rebuild(index, bound, highest, rows, vertices, cost)


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
    _graft(index, bound, node, bucket, StaticKDTree(nodes[:m], box, vertex, points), vertices, cost)


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
def update_min_cost(index, changed, n_changed, vertices, cost):
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
