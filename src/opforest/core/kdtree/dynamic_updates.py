"""Update the dynamic k-d tree: insertion, deletion, rebuilding, and changes of costs.

Each update refreshes the summaries of the nodes on the path to the root. A subtree that is out of
balance is rebuilt, which takes amortized logarithmic time per update in any order of insertion:
sorted, in clusters, or all points equal.

Functions that are called often receive single arrays and allocate nothing, so that no references
are counted.
"""

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import HIGH, LOW
from opforest.core.kdtree.dynamic import BUCKET, NO_VERTEX, class_bit, is_unbalanced
from opforest.core.kdtree.static import (
    LEAF,
    NODE,
    STACK,
    StaticKDTree,
    max_nodes,
    split_below,
    widest_axis,
)


@kernel
def update_node_bounds(index, bound):
    """Summarize a new bound in all nodes."""
    index, bound = borrow(index), borrow(bound)
    stack, order = np.empty(STACK, np.int64), np.empty(index.nodes.shape[0], np.int64)
    stack[0] = 0
    n_stacked, m = 1, 0
    while n_stacked > 0:
        n_stacked -= 1
        node = stack[n_stacked]
        order[m] = node
        m += 1
        below = np.int64(index.nodes[node].child)
        if below >= 0:
            stack[n_stacked], stack[n_stacked + 1] = below, below + 1
            n_stacked += 2
    for i in range(m - 1, -1, -1):
        _update_slack(index.nodes, order[i], index.vertex, bound)


@helper
def _update_slack(nodes, node, vertex, bound):
    """Summarize the bound in a node whose children are up to date."""
    own = nodes[node]
    below = np.int64(own.child)
    if below >= 0:
        left, right = nodes[below], nodes[below + 1]
        own.landmark = left.landmark
        own.slack = max(left.slack, right.slack, bound.table[left.landmark, right.landmark])
        return
    begin = (-1 - below) * BUCKET
    own.slack = 0
    if own.count > 0:
        own.landmark = bound.landmark[vertex[begin]]
    for slot in range(begin, begin + own.count):
        v = vertex[slot]
        between = bound.table[own.landmark, bound.landmark[v]]
        own.slack = max(own.slack, bound.height[v], between)


@helper
def leaf_of(leaf_of_bucket, vertices, v):
    """Return the leaf that holds a vertex."""
    return np.int64(leaf_of_bucket[vertices[v].slot // BUCKET])


@helper
def raise_slack(nodes, leaf, height):
    """Raise the slack of a leaf and its ancestors to the new height of a vertex."""
    node = leaf
    while node >= 0 and nodes[node].slack < height:
        nodes[node].slack = height
        node = np.int64(nodes[node].parent)


@helper
def _graft(index, bound, node, bucket, kdtree, arrays):
    """Copy a static k-d tree to a node without children; its first leaf gets this bucket."""
    source, box, vertex, points = kdtree
    m = source.shape[0]
    target, bucket_of = np.empty(m, np.int64), np.empty(m, np.int64)
    target[0], bucket_of[0] = node, bucket
    for i in range(m):
        node, below = target[i], source[i].child
        if below < 0:
            leaf, bucket = index.nodes[node], bucket_of[i]
            leaf.child = -1 - bucket
            leaf.count = source[i].end - source[i].begin
            index.leaf_of_bucket[bucket] = node
            for j in range(leaf.count):
                place = source[i].begin + j
                _put(index, bucket * BUCKET + j, vertex[place], points, place, arrays.vertices)
            continue
        index.status[0].n_free -= 1
        free = index.free_list[index.status[0].n_free]
        pair = 2 * np.int64(free[0]) + 1
        target[below], target[below + 1] = pair, pair + 1
        bucket_of[below], bucket_of[below + 1] = bucket_of[i], free[1]
        index.nodes[pair].parent = node
        index.nodes[pair + 1].parent = node
        parent = index.nodes[node]
        parent.child = pair
        parent.axis = widest_axis(box, i)
        parent.split = box[below + 1, LOW, parent.axis]
    for i in range(m - 1, -1, -1):
        _summarize(index, bound, target[i], arrays)


@helper
def _put(index, slot, v, rows, row, vertices):
    """Put vertex v, whose coordinates are in this row, into a slot."""
    index.vertex[slot] = v
    vertices[v].slot = slot
    for k in range(rows.shape[1]):
        index.points[slot, k] = rows[row, k]


@helper
def cheaper(u, v, cost):
    """Return the vertex with the smaller (cost, index); −1 stands for none."""
    if u < 0 or (v >= 0 and (cost[v] < cost[u] or (cost[v] == cost[u] and v < u))):
        return v
    return u


@helper
def cheapest_in_leaf(leaf, vertex, cost):
    """Return the vertex of a leaf with the smallest (cost, index)."""
    begin = (-1 - np.int64(leaf.child)) * BUCKET
    first = np.int32(-1)
    for slot in range(begin, begin + leaf.count):
        first = cheaper(first, vertex[slot], cost)
    return first


@helper
def _summarize_leaf(nodes, node, box, vertex, points, vertices, cost):
    leaf = nodes[node]
    begin = (-1 - np.int64(leaf.child)) * BUCKET
    leaf.oldest = NO_VERTEX
    leaf.classes = 0
    for k in range(box.shape[2]):
        box[node, LOW, k], box[node, HIGH, k] = np.inf, -np.inf
    for slot in range(begin, begin + leaf.count):
        v = vertex[slot]
        leaf.oldest = min(leaf.oldest, v)
        leaf.classes |= class_bit(vertices[v].label)
        for k in range(box.shape[2]):
            box[node, LOW, k] = min(box[node, LOW, k], points[slot, k])
            box[node, HIGH, k] = max(box[node, HIGH, k], points[slot, k])
    leaf.first = cheapest_in_leaf(leaf, vertex, cost)


@helper
def _summarize_parent(nodes, node, box, cost):
    parent = nodes[node]
    below = np.int64(parent.child)
    left, right = nodes[below], nodes[below + 1]
    parent.count = left.count + right.count
    parent.oldest = min(left.oldest, right.oldest)
    parent.classes = left.classes | right.classes
    parent.first = cheaper(left.first, right.first, cost)
    for k in range(box.shape[2]):
        box[node, LOW, k] = min(box[below, LOW, k], box[below + 1, LOW, k])
        box[node, HIGH, k] = max(box[below, HIGH, k], box[below + 1, HIGH, k])


@helper
def _summarize(index, bound, node, arrays):
    """Summarize a node whose children are up to date."""
    nodes, box, vertex, cost = index.nodes, index.box, index.vertex, arrays.cost
    if nodes[node].child >= 0:
        _summarize_parent(nodes, node, box, cost)
    else:
        _summarize_leaf(nodes, node, box, vertex, index.points, arrays.vertices, cost)
    _update_slack(nodes, node, vertex, bound)


@helper
def _summarize_ancestors(nodes, node, box, vertex, bound, cost):
    """Summarize all ancestors of a node; return the highest that is unbalanced, or −1."""
    highest = np.int64(-1)
    node = np.int64(nodes[node].parent)
    while node >= 0:
        _summarize_parent(nodes, node, box, cost)
        _update_slack(nodes, node, vertex, bound)
        below = nodes[node].child
        if is_unbalanced(nodes[node].count, nodes[below].count, nodes[below + 1].count):
            highest = node
        node = np.int64(nodes[node].parent)
    return highest


@helper
def has_room(index):
    """Return whether a vertex may be inserted."""
    return index.status[0].n_free >= 2 and index.status[0].is_short == 0


@helper
def insert(index, bound, z, arrays):
    """Insert a vertex."""
    leaf = _find_leaf(index.nodes, arrays.rows, z, 0)
    while index.nodes[leaf].count == BUCKET:
        _rebuild(index, bound, leaf, arrays)
        leaf = _find_leaf(index.nodes, arrays.rows, z, leaf)
    record = index.nodes[leaf]
    slot = (-1 - np.int64(record.child)) * BUCKET + record.count
    _put(index, slot, z, arrays.rows, z, arrays.vertices)
    record.count += 1
    _update_ancestors(index, bound, leaf, arrays)


@helper
def _find_leaf(nodes, rows, z, node):
    """Return the leaf under a node that z belongs to."""
    while nodes[node].child >= 0:
        own = nodes[node]
        below = np.int64(own.child)
        x = rows[z, own.axis]
        right = x > own.split or (x == own.split and nodes[below + 1].count < nodes[below].count)
        node = below + right
    return node


@helper
def delete(index, bound, z, arrays):
    """Delete a vertex."""
    slot = np.int64(arrays.vertices[z].slot)
    node = leaf_of(index.leaf_of_bucket, arrays.vertices, z)
    index.nodes[node].count -= 1
    last = slot // BUCKET * BUCKET + index.nodes[node].count
    if last != slot:
        _put(index, slot, np.int64(index.vertex[last]), index.points, last, arrays.vertices)
    arrays.vertices[z].slot = -1
    _update_ancestors(index, bound, node, arrays)


@helper
def _update_ancestors(index, bound, leaf, arrays):
    """Summarize a leaf and its ancestors, and restore balance."""
    _summarize(index, bound, leaf, arrays)
    highest = _summarize_ancestors(index.nodes, leaf, index.box, index.vertex, bound, arrays.cost)
    if highest >= 0:
        _rebuild(index, bound, highest, arrays)


@helper
def _rebuild(index, bound, node, arrays):
    """Rebuild the subtree under a node, or set ``is_short`` if there is no room to do so."""
    count, status = np.int64(index.nodes[node].count), index.status[0]
    if status.n_free < count // (LEAF // 2) + 1 - count // BUCKET:
        status.is_short = 1
        return
    vertex = np.empty(count, np.int64)
    stack = np.empty(STACK, np.int64)
    stack[0] = node
    n_stacked, m, pairs, buckets = 1, 0, status.n_free, status.n_free
    bucket = np.int64(-1)
    while n_stacked > 0:
        n_stacked -= 1
        at = stack[n_stacked]
        below = np.int64(index.nodes[at].child)
        if below >= 0:
            index.free_list[pairs, 0] = (below - 1) // 2
            pairs += 1
            stack[n_stacked], stack[n_stacked + 1] = below, below + 1
            n_stacked += 2
            continue
        if bucket >= 0:
            index.free_list[buckets, 1] = bucket
            buckets += 1
        bucket = -1 - below
        for slot in range(bucket * BUCKET, bucket * BUCKET + index.nodes[at].count):
            vertex[m] = index.vertex[slot]
            m += 1
    status.n_free = pairs
    size, rows = max_nodes(count), arrays.rows
    nodes, box = np.empty(size, NODE), np.empty((size, 2, rows.shape[1]), rows.dtype)
    points = rows[vertex]
    nodes[0].begin, nodes[0].end = 0, vertex.shape[0]
    m = split_below(points, vertex, nodes, box, 0, 1)
    _graft(index, bound, node, bucket, StaticKDTree(nodes[:m], box, vertex, points), arrays)


@helper
def count_in_component(nodes, components, leaf, mark, stamp):
    """Count a vertex of a leaf in the component with this mark; ``stamp`` is the smallest mark."""
    node, count = leaf, np.int64(1)
    while node >= 0:
        component = components[node]
        if component.mark != mark:
            is_other = component.mark >= stamp or component.mark == -stamp
            component.mark = -stamp if is_other else mark
            component.count = 0
        if component.mark == -stamp:
            return
        component.count += count
        if component.count < nodes[node].count:
            return
        count = component.count
        node = np.int64(nodes[node].parent)


@helper
def update_min_cost(index, changed, vertices, cost):
    """Update the nodes after the costs of these vertices, and of no others, have changed."""
    for v in changed:
        leaf = leaf_of(index.leaf_of_bucket, vertices, v)
        update_min_cost_of(v, leaf, index.nodes, index.vertex, cost)


@helper
def update_min_cost_of(v, leaf, nodes, vertex, cost):
    """Update the nodes after the cost of v, and of vertices still to be updated, has changed."""
    node = leaf
    while node >= 0:
        own = nodes[node]
        before, below = own.first, np.int64(own.child)
        if below >= 0:
            own.first = cheaper(nodes[below].first, nodes[below + 1].first, cost)
        else:
            own.first = cheapest_in_leaf(own, vertex, cost)
        if own.first == before and before != v:
            break
        node = np.int64(own.parent)
