"""The edges of trees, for comparison."""

import numpy as np

from opforest.core.mst.kruskal import list_edges


def pairs(edges):
    return sorted(zip(edges.u.tolist(), edges.v.tolist(), strict=True))


def ends(tree):
    return pairs(list_edges(tree, np.arange(len(tree.parent))))
