"""Forests too large to fit within a benchmark, for timing only.

Their spanning tree is not quite the minimum: it is the shortest one among the edges of the exact
trees of many groups of points. An insertion works on any spanning tree; ``insertion.py`` prints how
its time on such a one compares with that on the true one.
"""

from unittest.mock import patch

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from opforest import OPFClassifier
from opforest.kernels.spanning.prim import Tree, span

#: Points in a group, at most, and how often all points are grouped anew.
GROUP = 4000
ROUNDS = 6


def fit_roughly(X: np.ndarray, y: np.ndarray) -> OPFClassifier:
    """Return a classifier whose tree is not quite minimal, much sooner than ``fit``."""
    with patch("opforest.spanning.span", span_roughly):
        return OPFClassifier(algorithm="brute").fit(X, y)


def span_roughly(rows: np.ndarray, metric: tuple) -> Tree:
    """Return a spanning tree of the rows that is not much longer than the minimum."""
    n, rng = len(rows), np.random.default_rng(0)
    ends, weights = [], []
    for _ in range(ROUNDS):
        for group in split(rows, np.arange(n), rng):
            tree = span(rows[group], metric)
            child = np.flatnonzero(tree.parent >= 0)
            ends.append(np.sort([group[child], group[tree.parent[child]]], axis=0))
            weights.append(tree.weight[child])
    low, high = np.concatenate(ends, axis=1)
    _, once = np.unique(low * n + high, return_index=True)  # coo_array would add repeated edges
    edges = np.concatenate(weights)[once], (low[once], high[once])
    return root(minimum_spanning_tree(coo_array(edges, shape=(n, n))), rows.dtype)


def split(rows: np.ndarray, chosen: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Halve the chosen points across random directions until groups are small."""
    if len(chosen) <= GROUP:
        return [chosen]
    direction = rng.standard_normal(rows.shape[1])
    half = len(chosen) // 2
    chosen = chosen[np.argpartition(rows[chosen] @ direction, half)]
    return split(rows, chosen[:half], rng) + split(rows, chosen[half:], rng)


def root(graph: coo_array, dtype: np.dtype) -> Tree:
    """Return the spanning tree in a matrix as one rooted at vertex 0."""
    order, parent = breadth_first_order(graph, 0, directed=False)
    assert len(order) == graph.shape[0], "the groups are not connected; more rounds are needed"
    parent = np.where(parent < 0, -1, parent).astype(np.int64)
    edges = graph.tocoo()
    child = np.where(parent[edges.row] == edges.col, edges.row, edges.col)
    weight = np.zeros(len(parent), dtype)
    weight[child] = edges.data
    return Tree(parent, weight, order.astype(np.int64))
