"""Edges between places of a k-d tree, or between examples of different fragments."""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, kernel


class Pool(NamedTuple):
    """Edges between places of a k-d tree."""

    u: np.ndarray
    v: np.ndarray
    weight: np.ndarray

    @staticmethod
    def concatenate(pools):
        """Return the edges of all pools."""
        return Pool(*(np.concatenate(arrays) for arrays in zip(*pools, strict=True)))

    def select(self, chosen):
        """Return some of the edges."""
        return Pool(*(array[chosen] for array in self))


class Links(NamedTuple):
    """Edges between examples of different fragments."""

    u: np.ndarray  #: ids
    v: np.ndarray
    weight: np.ndarray
    a: np.ndarray  #: fragments, counted over all cells
    b: np.ndarray

    @staticmethod
    def concatenate(links):
        """Return all links."""
        return Links(*(np.concatenate(arrays) for arrays in zip(*links, strict=True)))

    def select(self, chosen):
        """Return some of the links."""
        return Links(*(array[chosen] for array in self))


@kernel
def choose_edges(edges, clusters, may_choose):
    """Return the smallest edge of each cluster that may choose, or −1.

    ``edges`` are between vertices; ``clusters`` has those of the ends of each edge.
    """
    u, v, weight = borrow(edges)
    first, second = borrow(clusters)
    chosen = np.full(may_choose.shape[0], -1)
    for e in range(u.shape[0]):
        for c in (first[e], second[e]):
            o = chosen[c]
            if may_choose[c] and (o < 0 or precedes(weight[e], u[e], v[e], weight[o], u[o], v[o])):
                chosen[c] = e
    return chosen


@kernel
def unite_clusters(fragments, chosen, group, label):
    """Join clusters by the chosen edges, and return those that join two.

    ``fragments`` has those of the ends of each edge; ``label`` becomes the new cluster of each.
    """
    first, second = borrow(fragments)
    taken = np.empty(chosen.shape[0], np.int64)
    m = 0
    for c in range(chosen.shape[0]):
        e = chosen[c]
        if e < 0:
            continue
        a = find_group(group, np.int64(first[e]))
        b = find_group(group, np.int64(second[e]))
        if a != b:
            group[max(a, b)] = min(a, b)
            taken[m] = e
            m += 1
    for i in range(label.shape[0]):
        label[i] = find_group(group, i)
    return taken[:m].copy()
