"""Dispatch the operations of an update to the k-d tree or to a scan of all vertices.

The two kinds of index, ``DynamicKDTree`` and ``NoIndex``, are distinct types, so each kernel is
compiled for the kind that it receives.
"""

import inspect

import numpy as np

from opforest.core.dynamic.candidates_kdtree import search_candidates, search_outgoing_edge
from opforest.core.dynamic.candidates_scan import list_candidates, scan_for_outgoing_edge
from opforest.core.jit import overload
from opforest.core.kdtree import dynamic_updates as kdtree
from opforest.core.records import NoIndex


def choose_by_index(without, with_index):
    """Return a function for compiled code that calls one of two by the type of its index.

    Both have the same parameters, one of which is ``index``.
    """
    signature = inspect.signature(without)
    position = list(signature.parameters).index("index")

    def chosen():
        """Stand for both in compiled code."""

    def choose(*types):
        return without if types[position].instance_class is NoIndex else with_index

    choose.__signature__ = signature  # type: ignore[attr-defined]
    overload(chosen)(choose)
    return chosen


def _update_components(index, vertices, stamp, rest, head, tail):
    for i in range(head.shape[0]):
        v = head[i]
        while i != rest:
            leaf = kdtree.leaf_of(index.leaf_of_bucket, vertices, v)
            kdtree.count_in_component(index.nodes, index.components, leaf, stamp + i, stamp)
            if v == tail[i]:
                break
            v = np.int64(vertices[v].next_in_list)


def _update_cost_and_height(index, v, vertices, cost):
    leaf = kdtree.leaf_of(index.leaf_of_bucket, vertices, v)
    kdtree.update_min_cost_of(v, leaf, index.nodes, index.vertex, cost)
    kdtree.raise_slack(index.nodes, leaf, cost[v])


def _raise_in_list(bound, index, vertices, first, last, least):
    v = first
    while True:
        bound.height[v] = max(bound.height[v], least)
        if v == last:
            return
        v = np.int64(vertices[v].next_in_list)


def _raise_in_nodes(bound, index, vertices, first, last, least):
    v = first
    while True:
        if bound.height[v] < least:
            bound.height[v] = least
            leaf = kdtree.leaf_of(index.leaf_of_bucket, vertices, v)
            kdtree.raise_slack(index.nodes, leaf, least)
        if v == last:
            return
        v = np.int64(vertices[v].next_in_list)


#: Return whether a vertex may be inserted.
has_room = choose_by_index(lambda index: True, kdtree.has_room.py_func)

#: Insert a vertex into the index.
insert_into_index = choose_by_index(lambda index, bound, z, arrays: None, kdtree.insert.py_func)

#: Delete a vertex from the index.
delete_from_index = choose_by_index(lambda index, bound, z, arrays: None, kdtree.delete.py_func)

#: Update the index after the costs of some vertices have changed.
update_min_cost = choose_by_index(
    lambda index, changed, vertices, cost: None, kdtree.update_min_cost.py_func
)

#: Update the index after the cost of one vertex, which is its height, has changed.
update_cost_and_height = choose_by_index(
    lambda index, v, vertices, cost: None, _update_cost_and_height
)

#: Raise the heights of the vertices of a list, from the first to the last, to at least this.
raise_heights = choose_by_index(_raise_in_list, _raise_in_nodes)

#: Update the index after all components but the rest have been traversed.
update_components = choose_by_index(
    lambda index, vertices, stamp, rest, head, tail: None, _update_components
)

#: Return the vertices whose edges to z may enter the tree, nearest first, and their distances.
find_candidates = choose_by_index(list_candidates.py_func, search_candidates.py_func)

#: Return the smallest edge from a group of components to another: its ends and its weight.
min_outgoing_edge = choose_by_index(scan_for_outgoing_edge.py_func, search_outgoing_edge.py_func)
