"""Update the costs and classes that are stored in the nodes of a k-d tree."""

import numpy as np

from opforest.core.dynamic.dispatch import choose_by_index
from opforest.core.jit import helper
from opforest.core.kdtree.dynamic import BUCKET, class_bit
from opforest.core.kdtree.dynamic_updates import cheaper, cheapest_in_leaf, leaf_of
from opforest.core.vertex_list import add, members, new_list


@helper
def _update_nodes(index, changed, arrays):
    # Each node above a change is updated once, after its children. Until then, ``count`` is the
    # number of its children that are still to be updated, minus 1.
    nodes, components, counters = index.nodes, index.components, arrays.counters[0]
    counters.stamp += 2
    leaves = new_list()
    for v in changed:
        node = leaf_of(index.leaf_of_bucket, arrays.vertices, v)
        if components[node].mark != counters.stamp:
            leaves = add(leaves, node)
        while node >= 0 and components[node].mark != counters.stamp:
            components[node].mark = counters.stamp
            components[node].count = 0
            node = np.int64(nodes[node].parent)
            if node >= 0 and components[node].mark == counters.stamp:
                components[node].count += 1
    for node in members(leaves):
        _summarize_leaf(nodes[node], index.vertex, arrays.vertices, arrays.cost)
        while nodes[node].parent >= 0:
            node = np.int64(nodes[node].parent)
            components[node].count -= 1
            if components[node].count >= 0:
                break
            _summarize_parent(nodes, node, arrays.cost)


@helper
def _summarize_leaf(leaf, vertex, vertices, cost):
    begin = (-1 - np.int64(leaf.child)) * BUCKET
    classes = np.uint64(0)
    for slot in range(begin, begin + leaf.count):
        classes |= class_bit(vertices[vertex[slot]].label)
    leaf.classes = classes
    leaf.first = cheapest_in_leaf(leaf, vertex, cost)


@helper
def _summarize_parent(nodes, node, cost):
    own = nodes[node]
    left, right = nodes[own.child], nodes[own.child + 1]
    own.classes = left.classes | right.classes
    own.first = cheaper(left.first, right.first, cost)


#: Update the index after costs and labels of some vertices have changed.
update_summaries = choose_by_index(lambda index, changed, arrays: None, _update_nodes.py_func)
