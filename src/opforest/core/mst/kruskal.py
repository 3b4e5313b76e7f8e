"""Merge minimum spanning forests by Kruskal's algorithm.

Edges are compared by (weight, smaller index, larger index). An edge that is not in the minimum
spanning forest of some edges is not in that of any larger set of edges, so forests can be merged.
Each forest lists its edges in order, so the lists are merged and never sorted again.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, kernel


class Edges(NamedTuple):
    """Edges between vertices, u < v, the smallest first."""

    u: np.ndarray
    v: np.ndarray
    weight: np.ndarray


def list_edges(tree, name) -> Edges:
    """Return the edges of a tree; the names of its vertices are in rising order."""
    child = np.flatnonzero(tree.parent >= 0)
    ends = name[child], name[tree.parent[child]]
    return sort_edges(np.minimum(*ends), np.maximum(*ends), tree.weight[child])


def sort_edges(u, v, weight) -> Edges:
    """Return edges, u < v, the smallest first."""
    order = np.argsort(weight)
    if (np.diff(weight[order]) == 0).any():  # ties are slower to sort
        order = np.lexsort((v, u, weight))
    return Edges(u[order], v[order], weight[order])


def merge_forests(forests) -> Edges:
    """Return the minimum spanning forest of the edges of several forests.

    Its memory grows with the number of edges and with the ranges of the smaller and larger ends.
    """
    edges = Edges(*(np.concatenate(arrays) for arrays in zip(*forests, strict=True)))
    u, v, _ = edges
    if len(u) == 0:
        return edges
    end = np.cumsum([len(forest.u) for forest in forests])
    kept = _merge(edges, np.append(0, end[:-1]), end, u.min(), u.max(), v.min(), v.max())
    return Edges(*(array[kept] for array in edges))


@kernel
def _merge(edges, head, end, first_u, last_u, first_v, last_v):
    """Return which edges are in the forest, the smallest first; ``head`` is consumed."""
    u, v, weight = borrow(edges)
    n_unused = max(0, first_v - last_u - 1)  # names that no vertex has
    group = np.arange(last_v - first_u - n_unused + 1)
    kept = np.empty(min(u.shape[0], group.shape[0] - 1), np.int64)
    m = 0
    while True:
        part, i = -1, np.int64(0)
        for other in range(head.shape[0]):
            j = head[other]
            if j < end[other] and (
                part < 0 or precedes(weight[j], u[j], v[j], weight[i], u[i], v[i])
            ):
                part, i = other, j
        if part < 0:
            return kept[:m].copy()
        head[part] += 1
        a = find_group(group, u[i] - first_u - (n_unused if u[i] > last_u else 0))
        b = find_group(group, v[i] - first_u - (n_unused if v[i] > last_u else 0))
        if a != b:
            group[max(a, b)] = min(a, b)
            kept[m] = i
            m += 1
