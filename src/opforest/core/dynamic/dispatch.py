"""Dispatch the operations of an update to the k-d tree or to a scan of all vertices.

The two kinds of index, ``DynamicKDTree`` and ``NoIndex``, are distinct types, so each
kernel is compiled for the kind that it receives.
"""

import numpy as np

from opforest.core.dynamic.candidates_kdtree import search_candidates, search_way_out
from opforest.core.dynamic.candidates_scan import list_candidates, scan_for_way_out
from opforest.core.jit import overload
from opforest.core.kdtree import dynamic_updates as tree
from opforest.core.records import NoIndex


def has_room(index):
    """Tell whether any vertex may enter."""


@overload(has_room)
def _has_room(index):
    return (lambda index: True) if index.instance_class is NoIndex else tree.has_room.py_func


def enter(index, bound, z, rows, vertices, cost):
    """Take a vertex into the index."""


@overload(enter)
def _enter(index, bound, z, rows, vertices, cost):
    return _ignore if index.instance_class is NoIndex else tree.enter.py_func


def leave(index, bound, z, rows, vertices, cost):
    """Let a vertex go from the index."""


@overload(leave)
def _leave(index, bound, z, rows, vertices, cost):
    return _ignore if index.instance_class is NoIndex else tree.leave.py_func


def _ignore(index, bound, z, rows, vertices, cost):
    pass


def update_min_cost(index, changed, n_changed, vertices, cost):
    """Note in the index that costs have changed."""


@overload(update_min_cost)
def _reprice(index, changed, n_changed, vertices, cost):
    if index.instance_class is NoIndex:
        return lambda index, changed, n_changed, vertices, cost: None
    return tree.update_min_cost.py_func


def reprice_one(index, v, vertices, cost):
    """Note in the index, if v is in it, that its cost has changed; heights are costs."""


@overload(reprice_one)
def _reprice_one(index, v, vertices, cost):
    if index.instance_class is NoIndex:
        return lambda index, v, vertices, cost: None

    def reprice_in_nodes(index, v, vertices, cost):
        if vertices[v].home >= 0:
            tree.reprice_one(v, vertices, index.holder, index.nodes, index.vertex, cost)
            tree.raise_slack(index.nodes, index.holder, vertices, v, cost[v])

    return reprice_in_nodes


def raise_heights(bound, index, vertices, first, last, least):
    """Note that vertices of a list, from the first to the last, may be so far from others."""


@overload(raise_heights)
def _raise_heights(bound, index, vertices, first, last, least):
    if index.instance_class is NoIndex:
        return _raise_in_list
    return _raise_in_nodes


def _raise_in_list(bound, index, vertices, first, last, least):
    v = first
    while True:
        bound.height[v] = max(bound.height[v], least)
        if v == last:
            return
        v = np.int64(vertices[v].link)


def _raise_in_nodes(bound, index, vertices, first, last, least):
    v = first
    while True:
        if bound.height[v] < least:
            bound.height[v] = least
            tree.raise_slack(index.nodes, index.holder, vertices, v, least)
        if v == last:
            return
        v = np.int64(vertices[v].link)


def note_pieces(index, vertices, stamp, rest, head, tail):
    """Note in the index which vertices are in which piece of a tree, but for those of the rest."""


@overload(note_pieces)
def _note_pieces(index, vertices, stamp, rest, head, tail):
    if index.instance_class is NoIndex:
        return lambda index, vertices, stamp, rest, head, tail: None

    def note_in_nodes(index, vertices, stamp, rest, head, tail):
        for i in range(head.shape[0]):
            v = head[i]
            while i != rest:
                tree.note_piece(
                    index.nodes, index.pieces, index.holder, vertices, v, stamp + i, stamp
                )
                if v == tail[i]:
                    break
                v = np.int64(vertices[v].link)

    return note_in_nodes


def find_candidates(state, index, bound, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, in order, and their distances.

    ``measured`` says whether ``gap`` holds the distances from z already.
    """


@overload(find_candidates)
def _find_candidates(state, index, bound, z, measured, metric):
    return (list_candidates if index.instance_class is NoIndex else search_candidates).py_func


def min_outgoing_edge(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""


@overload(min_outgoing_edge)
def _find_way_out(state, index, own, pieces, metric):
    return (scan_for_way_out if index.instance_class is NoIndex else search_way_out).py_func
