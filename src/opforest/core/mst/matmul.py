"""Compute the minimum spanning tree by Borůvka's algorithm with matrix products.

This is for data with many features. Matrix products give estimates of distances that are never too
high (see ``conquest.matmul``), block by block. Every pair that might be close according to its
estimate is measured.
"""

from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest._utils.blas import one_blas_thread
from opforest._utils.chunks import split_chunks
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.neighbor_list import insert_neighbor
from opforest.core.kdtree.static import NODE, StaticKDTree
from opforest.core.metrics.distances import distance
from opforest.core.metrics.matmul import center_points, shrink_factor
from opforest.core.mst.boruvka import MANY_NEIGHBORS, Strategy, join_all, root_tree
from opforest.core.records import Tree


class Points(NamedTuple):
    """The points to span."""

    rows: np.ndarray
    norm: np.ndarray  #: lower bounds on their squared norms
    vertex: np.ndarray
    measured: np.ndarray  #: how many others each has been measured against


class TooRoughError(Exception):
    """Prim's algorithm would be faster."""


def span_by_matmul(rows, metric, n_jobs=1) -> Tree | None:
    """Return the minimum spanning tree; None if estimates are too rough to be of use."""
    n, size, n_others = len(rows), tuning.values.span_block, tuning.values.span_others
    with np.errstate(all="ignore"), one_blas_thread():
        centered, norm = center_points(rows, rows[:: 1 + n // size].mean(axis=0))
        points = Points(rows, norm, np.arange(n), np.zeros(n, np.int64))

        def find_near(chosen, component, near, distances):
            """List the nearest foreign points of the chosen ones."""
            own = (-2 * shrink_factor(rows)) * centered[chosen]
            product = np.empty((len(chosen), n_others), rows.dtype)
            for first in range(0, n, n_others):
                others = centered[first : first + n_others]
                block = product[:, : len(others)]
                with np.errstate(all="ignore"):
                    np.matmul(own, others.T, out=block)
                _measure_promising(block, first, chosen, points, component, near, distances, metric)
            if points.measured.sum() > size * n + tuning.values.span_rough * n * n:
                raise TooRoughError

        def list_near(rounds, chosen):
            near = rounds.near[chosen[0] : chosen[-1] + 1]
            near[:] = -1
            distances = np.full(near.shape, np.inf, rows.dtype)
            find_near(chosen, rounds.component, near, distances)
            rounds.lower_bound[chosen] = distances[:, -1]

        def search(rounds, chosen):
            best = rounds.best[rounds.component[chosen]]
            chosen = chosen[rounds.lower_bound[chosen] <= best]
            if not len(chosen):
                return
            distances = rounds.best[rounds.component[chosen]].reshape(-1, 1)
            near = np.full((len(chosen), 1), -1, np.int32)
            find_near(chosen, rounds.component, near, distances)
            found = near[:, 0] >= 0
            lower_bound = np.maximum(rounds.lower_bound[chosen], distances[:, 0])
            rounds.lower_bound[chosen] = lower_bound
            rounds.weight[chosen[found]] = distances[found, 0]
            rounds.foreign[chosen[found]] = near[found, 0]
            np.minimum.at(rounds.best, rounds.component[chosen], distances[:, 0])

        nodes, box = np.array([(0, n, -1)], NODE), np.stack((rows[:1], rows[:1]), axis=1)
        one_leaf = StaticKDTree(nodes, box, np.arange(n), rows)
        strategy = Strategy(
            MANY_NEIGHBORS, list_near, split_chunks(np.arange(n), size), search, size
        )
        try:
            edges = join_all(one_leaf, strategy, metric, n_jobs)
        except TooRoughError:
            return None
    tree: Tree = root_tree(n, *edges)
    return tree


@kernel
def _measure_promising(product, first, chosen, points, component, near, distances, metric):
    """Measure all pairs of a chosen and another point that might be near, and list those."""
    rows, norm, vertex, measured = borrow(points)
    last = near.shape[1] - 1
    for k in range(chosen.shape[0]):
        i = chosen[k]
        limit = distances[k, last]
        estimate = product[k]
        _add_norms(estimate, norm[i], norm[first : first + estimate.shape[0]])
        for j in range(estimate.shape[0]):
            if estimate[j] > limit or component[first + j] == component[i]:
                continue
            measured[i] += 1
            found = distance(rows[i], rows[first + j], metric)
            if found <= limit:
                limit = insert_neighbor(near, distances, k, k, vertex, first + j, found)


@helper
def _add_norms(product, own_norm, norm):
    for j in range(product.shape[0]):
        product[j] += own_norm + norm[j]
