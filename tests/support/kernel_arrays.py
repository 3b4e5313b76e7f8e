"""The arrays that kernels receive, built from examples with nothing above ``opforest.core``."""

import numpy as np

from opforest.core.dynamic.bottleneck_bound import Bound, make_bound
from opforest.core.kdtree.dynamic import build_index, find_node_error, find_slot_error
from opforest.core.kdtree.dynamic_updates import update_node_bounds
from opforest.core.kdtree.static import build_kdtree
from opforest.core.label_spread.batch import UNLABELED, spread_labels
from opforest.core.metrics.distances import make_tiles
from opforest.core.metrics.types import SquaredEuclidean
from opforest.core.mst.prim import span
from opforest.core.records import ForestArrays, NoIndex, counters_type, vertex_type
from opforest.core.rooted_tree import link_children
from opforest.core.tree_costs import conquer, count_cuts

SQUARED = SquaredEuclidean()


def make_arrays(X, label, n=None, is_seeded=False):
    """Return the arrays of a forest of the first n examples; the others are staged."""
    n, dtype = len(X) if n is None else n, X.dtype
    tree = span(X[:n], SQUARED)
    seed_parent = np.empty(0, np.int32)
    if is_seeded:
        spread = spread_labels(tree, label[:n])
        seed_parent = np.resize(spread.seed_parent, len(X))
        own, cost, cuts = spread.label, spread.cost, (label[:n] != UNLABELED).astype(int)
    else:
        cuts = count_cuts(tree.parent, label[:n])
        own, cost = label[:n], conquer(tree, cuts > 0).cost
    vertices = np.zeros(len(X), vertex_type(dtype))
    vertices["label"] = label
    vertices["slot"] = -1
    fields = {"label": own, "parent": tree.parent, "weight": tree.weight, "cuts": cuts}
    for name, values in fields.items():
        vertices[name][:n] = values
    link_children(vertices, n)
    parent = tree.parent
    counters = np.zeros(1, counters_type(dtype))
    counters["size"], counters["longest"] = n, tree.weight.max(initial=0)
    counters["n_cut_edges"] = ((own != own[parent]) & (parent >= 0)).sum()
    counters["prototypes"] = (cuts > 0).sum()
    scratch = np.zeros(len(X), dtype)
    return ForestArrays(
        rows=X.copy(),
        tiles=make_tiles(X, np.arange(len(X)), SQUARED),
        vertices=vertices,
        cost=np.resize(cost, len(X)),
        distances=scratch,
        distance_bits=scratch.view(f"u{dtype.itemsize}"),
        counters=counters,
        seed_parent=seed_parent,
    )


def make_searchable(arrays, use_kdtree):
    """Return an index of the vertices, or none, and the bound of their tree."""
    n = int(arrays.counters[0]["size"])
    vertices = arrays.vertices[:n]
    landmark, height, table = make_bound(vertices["parent"].astype(int), vertices["weight"].copy())
    size = len(arrays.vertices)
    bound = Bound(np.resize(landmark, size), np.resize(height, size), table)
    if not use_kdtree:
        return NoIndex(), bound
    index = build_index(arrays, build_kdtree(arrays.rows, np.arange(n)))
    update_node_bounds(index, bound)
    return index, bound


def alive(arrays):
    """Return the vertices that are not deleted."""
    return np.flatnonzero(arrays.vertices["label"][: arrays.counters[0]["size"]] >= 0)


def edges(arrays):
    """Return the edges of the tree, numbered among the vertices that are not deleted."""
    vertex = alive(arrays)
    parent = arrays.vertices["parent"][vertex]
    ends = [(v, u) for v, u in zip(vertex, parent, strict=True) if u >= 0]
    return sorted(tuple(sorted(np.searchsorted(vertex, pair).tolist())) for pair in ends)


def assert_index(index, arrays, bound):
    """Assert that an index describes the vertices that are not deleted."""
    if not isinstance(index, NoIndex):
        assert find_slot_error(index, arrays) == ""
        assert find_node_error(index, arrays, bound) == ""
