"""What an update must find near a vertex, with an index or by looking at all vertices.

The two kinds of index, ``Index`` and ``Flat``, are types, so each kernel is compiled for the one
it is given.
"""

from opforest._jit import overload
from opforest.kernels.growing.by_index import search_candidates, search_way_out
from opforest.kernels.growing.by_scan import scan_for_way_out
from opforest.kernels.growing.candidates import list_candidates
from opforest.kernels.kdtree import index as tree
from opforest.kernels.kdtree.index import Flat


def has_room(index):
    """Tell whether any vertex may enter."""


@overload(has_room)
def _has_room(index):
    return (lambda index: True) if index.instance_class is Flat else tree.has_room.py_func


def enter(index, z, rows, vertices, cost):
    """Take a vertex into the index."""


@overload(enter)
def _enter(index, z, rows, vertices, cost):
    return _ignore if index.instance_class is Flat else tree.enter.py_func


def leave(index, z, rows, vertices, cost):
    """Let a vertex go from the index."""


@overload(leave)
def _leave(index, z, rows, vertices, cost):
    return _ignore if index.instance_class is Flat else tree.leave.py_func


def _ignore(index, z, rows, vertices, cost):
    pass


def reprice(index, changed, n_changed, vertices, cost):
    """Note in the index that costs have changed."""


@overload(reprice)
def _reprice(index, changed, n_changed, vertices, cost):
    if index.instance_class is Flat:
        return lambda index, changed, n_changed, vertices, cost: None
    return tree.reprice.py_func


def find_candidates(state, index, z, measured, metric):
    """Return the vertices whose edges to z may enter the tree, in order, and their distances.

    ``measured`` says whether ``gap`` holds the distances from z already.
    """


@overload(find_candidates)
def _find_candidates(state, index, z, measured, metric):
    return (list_candidates if index.instance_class is Flat else search_candidates).py_func


def find_way_out(state, index, own, pieces, metric):
    """Return the smallest edge from a group of pieces to another one: its ends and its weight."""


@overload(find_way_out)
def _find_way_out(state, index, own, pieces, metric):
    return (scan_for_way_out if index.instance_class is Flat else search_way_out).py_func
