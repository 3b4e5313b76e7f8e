"""Update the costs and classes that are stored in the nodes of a k-d tree."""

import numpy as np

from opforest.core.jit import helper, overload
from opforest.core.kdtree.dynamic import BUCKET, class_bit
from opforest.core.records import NoIndex


def refresh(index, changed, n_changed, vertices, cost, counters):
    """Bring the index up to date where costs and labels of these vertices have changed."""


@overload(refresh)
def _refresh(index, changed, n_changed, vertices, cost, counters):
    if index.instance_class is NoIndex:
        return lambda index, changed, n_changed, vertices, cost, counters: None

    def refresh_nodes(index, changed, n_changed, vertices, cost, counters):
        # Each node above a change is looked at once, after those below it. Until then, ``inside``
        # is the number of its children that are still to come.
        nodes, pieces = index.nodes, index.pieces
        counters.stamp += 2
        leaves, m = np.empty(n_changed, np.int64), 0
        for i in range(n_changed):
            node = np.int64(index.holder[vertices[changed[i]].home // BUCKET])
            if pieces[node].mark != counters.stamp:
                leaves[m] = node
                m += 1
            while node >= 0 and pieces[node].mark != counters.stamp:
                pieces[node].mark = counters.stamp
                pieces[node].inside = 0
                node = np.int64(nodes[node].above)
                if node >= 0 and pieces[node].mark == counters.stamp:
                    pieces[node].inside += 1
        for i in range(m):
            node = leaves[i]
            _sum_up_leaf(nodes[node], index.vertex, vertices, cost)
            while nodes[node].above >= 0:
                node = np.int64(nodes[node].above)
                pieces[node].inside -= 1
                if pieces[node].inside >= 0:
                    break
                _sum_up_children(nodes, node, cost)

    return refresh_nodes


@helper
def _sum_up_leaf(own, vertex, vertices, cost):
    begin = (-1 - np.int64(own.child)) * BUCKET
    first, classes = np.int64(vertex[begin]), np.uint64(0)
    for place in range(begin, begin + own.count):
        v = np.int64(vertex[place])
        classes |= class_bit(vertices[v].label)
        if cost[v] < cost[first] or (cost[v] == cost[first] and v < first):
            first = v
    own.first = first
    own.classes = classes


@helper
def _sum_up_children(nodes, node, cost):
    own = nodes[node]
    a, b = nodes[own.child], nodes[own.child + 1]
    own.classes = a.classes | b.classes
    is_b = cost[b.first] < cost[a.first] or (cost[b.first] == cost[a.first] and b.first < a.first)
    own.first = b.first if is_b else a.first
