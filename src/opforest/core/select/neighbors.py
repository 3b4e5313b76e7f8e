"""Find the nearest neighbors of every example by the fastest algorithm."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from opforest._utils import tuning
from opforest._utils.chunks import map_chunks, split_chunks
from opforest.core.jit import specialize
from opforest.core.kdtree.all_knn import find_nearest, transpose_points
from opforest.core.kdtree.query_knn import scan_for_nearest
from opforest.core.kdtree.static import StaticKDTree
from opforest.core.metrics.distances import make_tiles, measure_pairs
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.boruvka import LEAVES_PER_CALL
from opforest.core.select.mst import SEARCH_FRACTION, probe


def nearest_neighbors(
    rows: Array, k: int, metric: Metric, algorithm: str = "auto", n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Return the k nearest others of each example, by (distance, index).

    Parameters
    ----------
    rows : array of shape (n, d)
        The examples as ``metric.training_rows`` returned them: coordinates, or a table.
    k : int
        How many neighbors, less than n.
    metric : Metric
        Their metric.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to search; the neighbors are the same.
    n_jobs : int, default=None
        The number of threads.

    Returns
    -------
    near : array of shape (n, k)
        The indices of the neighbors, the nearest first.
    distance : array of shape (n, k)
        Their reduced distances.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.metrics import resolve
    >>> from opforest.neighbors import nearest_neighbors
    >>> rows = np.array([[0.0], [1.0], [3.0]])
    >>> near, distance = nearest_neighbors(rows, 1, resolve("euclidean"))
    >>> near.ravel(), distance.ravel()
    (array([1, 0, 1]), array([1., 1., 4.]))
    """
    n = len(rows)
    if not 0 < k < n:
        raise ValueError(f"k must be from 1 to {n - 1}, fewer than the {n} examples, got {k}.")
    probed, jobs = probe(rows, metric, algorithm), effective_n_jobs(n_jobs)
    near, distance = np.empty((n, k), np.int64), np.empty((n, k), rows.dtype)
    if probed.kdtree is not None and probed.visited_fraction < SEARCH_FRACTION:
        _search(rows, near, distance, metric.kernel, probed.kdtree, jobs)
    else:
        _scan(rows, near, distance, metric.kernel, jobs)
        metric.check_defined(distance.ravel(), lambda i: f"example {i // k} and another one")
    return near, distance


def _search(
    rows: Array, near: Array, distance: Array, kernel: Any, kdtree: StaticKDTree, jobs: int
) -> None:
    lower_bound, columns = np.empty(len(rows), rows.dtype), transpose_points(kdtree)
    found = np.empty(near.shape, np.int32)

    def search(leaves: Array) -> None:
        find_nearest(kdtree, columns, leaves, found, lower_bound, kernel)

    leaves = np.flatnonzero(kdtree.nodes["child"] < 0)
    size = min(LEAVES_PER_CALL, -(-len(leaves) // (4 * jobs)))
    map_chunks(search, split_chunks(leaves, size), jobs)
    near[kdtree.vertex] = kdtree.vertex[found]
    measure_pairs(rows, near, distance, kernel)


def _scan(rows: Array, near: Array, distance: Array, kernel: Any, jobs: int) -> None:
    n, tiles = len(rows), make_tiles(rows, np.arange(len(rows)), kernel)
    scan_some = specialize(scan_for_nearest, kernel)

    def scan(part: Array) -> None:
        chosen = slice(part[0], part[-1] + 1)
        scan_some(rows[chosen], part[0], rows, tiles, near[chosen], distance[chosen], kernel)

    size = min(tuning.values.work_per_call // max(1, rows.size), -(-n // jobs))
    map_chunks(scan, split_chunks(np.arange(n), max(1, size)), jobs)
