"""Compute the minimum spanning tree by Borůvka's algorithm with matrix products.

This is for data with many features. Matrix products give estimates of distances that are never too
high (see ``conquest.matmul``), block by block. Every pair that might be close according to its
estimate is measured.
"""

from typing import NamedTuple

import numpy as np

from opforest._utils.blas import one_blas_thread
from opforest._utils.chunks import split_chunks
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.all_knn import keep
from opforest.core.kdtree.static import NODE, StaticKDTree
from opforest.core.metrics.distances import distance
from opforest.core.metrics.matmul import center_points, share_kept
from opforest.core.mst.boruvka import MANY_NeighborS, join_all, root
from opforest.core.records import Tree

#: Points in a block that look, and points that they look at.
BLOCK, OTHERS = 256, 2048

#: Where a larger share of all pairs is measured than this, estimates are too rough.
ROUGH = 1 / 16


class Points(NamedTuple):
    """The points that look and are looked at."""

    rows: np.ndarray
    norm: np.ndarray  #: what is left of their squared norms after rounding
    vertex: np.ndarray
    measured: np.ndarray  #: how many others each has been measured against


class TooRoughError(Exception):
    """Prim's algorithm would be faster."""


def span_by_products(rows, metric, n_jobs=1) -> Tree | None:
    """Return the minimum spanning tree; None where estimates are too rough to be of use."""
    n = len(rows)
    with np.errstate(all="ignore"), one_blas_thread():
        centered, norm = center_points(rows, rows[:: 1 + n // BLOCK].mean(axis=0))
        points = Points(rows, norm, np.arange(n), np.zeros(n, np.int64))

        def look(places, component, near, gaps):
            """Keep the nearest aliens of some points in their lists."""
            own = (-2 * share_kept(rows)) * centered[places]
            product = np.empty((len(places), OTHERS), rows.dtype)
            for first in range(0, n, OTHERS):
                others = centered[first : first + OTHERS]
                block = product[:, : len(others)]
                with np.errstate(all="ignore"):
                    np.matmul(own, others.T, out=block)
                _judge(block, first, places, points, component, near, gaps, metric)
            if points.measured.sum() > BLOCK * n + ROUGH * n * n:
                raise TooRoughError

        def list_near(rounds, places):
            near = rounds.near[places[0] : places[-1] + 1]
            near[:] = -1
            gaps = np.full(near.shape, np.inf, rows.dtype)
            look(places, rounds.component, near, gaps)
            rounds.beyond[places] = gaps[:, -1]

        def search(rounds, places):
            best = rounds.best[rounds.component[places]]
            places = places[rounds.beyond[places] <= best]
            if not len(places):
                return
            gaps = rounds.best[rounds.component[places]].reshape(-1, 1)
            near = np.full((len(places), 1), -1, np.int32)
            look(places, rounds.component, near, gaps)
            found = near[:, 0] >= 0
            rounds.beyond[places] = np.maximum(rounds.beyond[places], gaps[:, 0])
            rounds.weight[places[found]] = gaps[found, 0]
            rounds.alien[places[found]] = near[found, 0]
            np.minimum.at(rounds.best, rounds.component[places], gaps[:, 0])

        blocks = split_chunks(np.arange(n), BLOCK)
        try:
            edges = join_all(
                _one_leaf(rows), MANY_NeighborS, list_near, blocks, search, BLOCK, metric, n_jobs
            )
        except TooRoughError:
            return None
    tree: Tree = root(n, *edges)
    return tree


def _one_leaf(rows):
    """Return a k-d tree that is one leaf."""
    n = len(rows)
    nodes, box = np.array([(0, n, -1)], NODE), np.stack((rows[:1], rows[:1]), axis=1)
    return StaticKDTree(nodes, box, np.arange(n), rows)


@kernel
def _judge(product, first, places, points, component, near, gaps, metric):
    """Measure all pairs of a place and another point that might be near, and note who is."""
    rows, norm, vertex, measured = borrow(points)
    last = near.shape[1] - 1
    for k in range(places.shape[0]):
        i = places[k]
        limit = gaps[k, last]
        estimate = product[k]
        _add_norms(estimate, norm[i], norm[first : first + estimate.shape[0]])
        for j in range(estimate.shape[0]):
            if estimate[j] > limit or component[first + j] == component[i]:
                continue
            measured[i] += 1
            gap = distance(rows[i], rows[first + j], metric)
            if gap <= limit:
                limit = keep(near, gaps, k, k, vertex, first + j, gap)


@helper
def _add_norms(product, own_norm, norm):
    for j in range(product.shape[0]):
        product[j] += own_norm + norm[j]
