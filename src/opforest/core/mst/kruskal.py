"""Merge minimum spanning forests by Kruskal's algorithm.

Edges are compared by (weight, smaller index, larger index). An edge that is not in the minimum
spanning forest of some edges is not in that of any larger set of edges, so forests can be merged.
Each forest lists its edges in order, so the lists are merged and never sorted again.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import borrow, helper, kernel


class Edges(NamedTuple):
    """Edges between vertices, u < v, the smallest first."""

    u: np.ndarray
    v: np.ndarray
    weight: np.ndarray


def edges_of(tree, name) -> Edges:
    """Return the edges of a tree whose vertices have these names, which rise with them."""
    child = np.flatnonzero(tree.parent >= 0)
    ends = name[child], name[tree.parent[child]]
    u, v, weight = np.minimum(*ends), np.maximum(*ends), tree.weight[child]
    order = np.argsort(weight)
    if (np.diff(weight[order]) == 0).any():  # ties, which are slower to sort out
        order = np.lexsort((v, u, weight))
    return Edges(u[order], v[order], weight[order])


def merge_forests(forests) -> Edges:
    """Return the minimum spanning forest of the edges of several forests.

    Its memory grows with the number of edges and with the ranges that the smaller ends and the
    larger ends are in.
    """
    edges = Edges(*(np.concatenate(arrays) for arrays in zip(*forests, strict=True)))
    u, v, _ = edges
    if len(u) == 0:
        return edges
    end = np.cumsum([len(forest.u) for forest in forests])
    kept = _merge(edges, np.append(0, end[:-1]), end, u.min(), u.max(), v.min(), v.max())
    return Edges(*(array[kept] for array in edges))


@helper
def _comes_first(u, v, weight, i, j):
    """Tell whether edge i is smaller than edge j."""
    if weight[i] != weight[j]:
        return weight[i] < weight[j]
    if u[i] != u[j]:
        return u[i] < u[j]
    return v[i] < v[j]


@kernel
def _merge(edges, head, end, first_u, last_u, first_v, last_v):
    """Return which edges are in the forest, the smallest first; ``head`` is used up."""
    u, v, weight = borrow(edges)
    gap = max(0, first_v - last_u - 1)  # names that no vertex has
    group = np.arange(last_v - first_u - gap + 1)
    kept = np.empty(min(u.shape[0], group.shape[0] - 1), np.int64)
    m = 0
    while True:
        part = -1
        for other in range(head.shape[0]):
            if head[other] < end[other] and (
                part < 0 or _comes_first(u, v, weight, head[other], head[part])
            ):
                part = other
        if part < 0:
            return kept[:m].copy()
        i = head[part]
        head[part] += 1
        a = find_group(group, u[i] - first_u - (gap if u[i] > last_u else 0))
        b = find_group(group, v[i] - first_u - (gap if v[i] > last_u else 0))
        if a != b:
            group[max(a, b)] = min(a, b)
            kept[m] = i
            m += 1
