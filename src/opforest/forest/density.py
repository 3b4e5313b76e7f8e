"""Forests of densities on nearest-neighbor graphs: training and queries."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from opforest._utils import tuning
from opforest._utils.chunks import concatenate_results, map_chunks, split_chunks
from opforest.core.density.forest import (
    LEAST,
    MAX_DENSITY,
    MOST,
    UNIT,
    DensityArrays,
    conquer_by_density,
    find_cut,
    find_densities,
)
from opforest.core.density.opening import flatten_small_peaks
from opforest.core.jit import specialize
from opforest.core.kdtree.query_knn import scan_for_nearest, search_for_queries
from opforest.core.metrics.distances import make_tiles
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.select.mst import SEARCH_FRACTION, Probe, probe
from opforest.core.select.neighbors import nearest_neighbors

#: Measures of a peak by which small ones are merged into others.
MERGE_BY = ("height", "area", "volume")

#: Queries in one call of a kernel that searches a k-d tree.
QUERIES_PER_CALL = 4096


class DensityForestState(NamedTuple):
    """A forest of densities, and the scale of its densities."""

    k: int
    arrays: DensityArrays
    scale: Array  #: the unit of distances, the smallest and the largest sum


class NeighborGraph(NamedTuple):
    """Examples, their nearest neighbors, and the distances between them."""

    metric: Metric
    rows: Array
    vectors: Array | None  #: the points, if the rows are a table of distances between them
    algorithm: str
    near: Array  #: (n, k), the nearest first
    distance: Array  #: (k, n), in the metric's own units, as float64

    @classmethod
    def build(
        cls, points: Array, k: int, metric: Metric, algorithm: str, n_jobs: int | None
    ) -> "NeighborGraph":
        """Return the graph of the k nearest neighbors, or of all if there are fewer."""
        rows = metric.training_rows(points)
        vectors, k = None if rows is points else points, min(k, len(rows) - 1)
        near, distance = np.empty((1, 0), np.uint32), np.empty((0, 1))
        if k > 0:
            found, reduced = nearest_neighbors(rows, k, metric, algorithm, n_jobs)
            columns = np.ascontiguousarray(reduced.T, dtype=np.float64)
            near, distance = found.astype(np.uint32), metric.to_units(columns, rows.shape[1])
        return cls(metric, rows, vectors, algorithm, near, distance)

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.near)

    @property
    def k_max(self) -> int:
        """The number of neighbors known."""
        return int(self.near.shape[1])

    def forest(self, state: DensityForestState) -> "DensityForest":
        """Return a forest of the examples that classifies new ones."""
        return DensityForest(self.metric, self.rows, self.vectors, self.algorithm, state)


def compute_densities(graph: NeighborGraph, k: int) -> DensityForestState:
    """Return the densities for k neighbors, each example being a tree of its own."""
    n = graph.n
    arrays = DensityArrays(np.full(n, MAX_DENSITY), np.zeros(n), np.arange(n), np.full(n, -1))
    scale = np.zeros(3)
    if k:
        find_densities(graph.distance, k, arrays.density, scale)
    return DensityForestState(k, arrays, scale)


def grow(graph: NeighborGraph, k: int, label: Array | None = None) -> DensityForestState:
    """Return the forest for k neighbors; a tree has examples of one label only."""
    return _grow(graph, k, np.zeros(graph.n, np.int64) if label is None else label)[0]


def _grow(graph: NeighborGraph, k: int, label: Array) -> tuple[DensityForestState, Array]:
    """Return the forest, and the examples that are as dense as others."""
    state = compute_densities(graph, k)
    density = state.arrays.density
    state.arrays.value[:] = density - 1
    order, tied = _rank_by_level(density)
    conquer_by_density(graph.near, k, density, tied, label, (order, order), state.arrays)
    return state, tied


def _rank_by_level(level: Array) -> tuple[Array, Array]:
    """Return the examples by falling level, then rising index, and those with equals."""
    order = np.argsort(-level)
    is_equal = level[order[1:]] == level[order[:-1]]
    if not is_equal.any():
        return order, order[:0]
    tied = np.union1d(order[1:][is_equal], order[:-1][is_equal])
    return np.argsort(-level, kind="stable"), tied


def grow_merged(
    graph: NeighborGraph, k: int, merge_by: str, threshold: float
) -> DensityForestState:
    """Return the forest for k neighbors in which small peaks are merged into others."""
    state = compute_densities(graph, k)
    density, value = state.arrays.density, state.arrays.value
    order, tied = _rank_by_level(density)
    level, start = density, order
    if merge_by == "height":
        value[:] = np.maximum(density - threshold * density.max(), 0)
    else:
        size = threshold * (graph.n if merge_by == "area" else density.mean())
        level = np.empty_like(density)
        flatten_small_peaks(graph.near, k, density, order, float(size), merge_by == "volume", level)
        value[:] = np.maximum(level - 1, 0)
        tied, start = _rank_by_level(level)[1], np.lexsort((-density, -value))
    label = np.zeros(graph.n, np.int64)
    conquer_by_density(graph.near, k, level, tied, label, (order, start), state.arrays)
    return state


def choose_k(
    graph: NeighborGraph, k_min: int, allow_one: bool, n_jobs: int | None
) -> tuple[int, Array]:
    """Return the first k with the smallest normalized cut, and the cuts of all k tried.

    The search ends at a cut of 0. A single cluster has this cut, too; unless it is allowed, it
    neither ends the search nor wins, except when no k gives more clusters.
    """
    jobs = effective_n_jobs(n_jobs)
    cuts: list[float] = []
    best, best_k, single_k = np.inf, 0, 0
    for cut, clusters in _compute_cuts(graph, np.arange(k_min, graph.k_max + 1), jobs):
        cuts.append(cut)
        k = k_min + len(cuts) - 1
        if clusters == 1 and not allow_one:
            single_k = single_k or k
            continue
        if cut < best:
            best, best_k = cut, k
        if cut == 0:
            break
    return best_k or single_k, np.array(cuts)


def _compute_cuts(graph: NeighborGraph, ks: Array, jobs: int) -> Iterator[tuple[float, int]]:
    """Yield the normalized cut and the number of clusters for each k."""
    with np.errstate(divide="ignore"):
        weight = np.where(graph.distance > 0, 1 / graph.distance, 0.0)
    arcs = graph.near, np.ascontiguousarray(graph.near.T), weight
    label = np.zeros(graph.n, np.int64)

    def compute(part: Array) -> tuple[float, int]:
        k = int(part[0])
        (_, arrays, _), tied = _grow(graph, k, label)
        cut, clusters = find_cut(arcs, k, arrays.density, tied, arrays.root)
        return cut, clusters

    size = jobs
    while len(ks):  # growing parts, because the search may end early
        yield from map_chunks(compute, split_chunks(ks[:size], 1), jobs)
        ks, size = ks[size:], size * (2 if jobs > 1 else 1)


@dataclass(frozen=True, eq=False)
class DensityForest:
    """A forest of densities that classifies new examples."""

    metric: Metric
    rows: Array  #: as ``metric.training_rows`` returned them
    vectors: Array | None  #: the points, if the rows are a table of distances between them
    algorithm: str
    state: DensityForestState

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.rows)

    @property
    def points(self) -> Array:
        """The points that queries are measured against; for precomputed distances, those."""
        return self.rows if self.vectors is None else self.vectors

    @property
    def n_features(self) -> int:
        """The number of features, or of distances in a row of a table."""
        return self.metric.count_features(int(self.points.shape[1]))

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The precision of the examples."""
        return self.points.dtype

    @cached_property
    def _probed(self) -> Probe:
        return probe(self.rows, self.metric, self.algorithm)

    @cached_property
    def _tiles(self) -> Array:
        tiles: Array = make_tiles(self.rows, np.arange(len(self.rows)), self.metric.kernel)
        return tiles

    def nearest(self, X: Array, k: int, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the k nearest examples to each row of X, and their distances in units."""
        queries = self.metric.query_rows(X, self.points)
        kernel, kdtree = self.metric.kernel, self._probed.kdtree
        scan = specialize(scan_for_nearest, kernel)
        if self._probed.visited_fraction >= SEARCH_FRACTION:
            kdtree = None

        def search(part: Array) -> tuple[Array, Array]:
            near = np.empty((len(part), k), np.int64)
            distance = np.empty((len(part), k), self.rows.dtype)
            if kdtree is not None:
                search_for_queries(part, kdtree, near, distance, kernel)
                return kdtree.vertex[near].astype(np.int64), distance
            scan(part, len(self), self.rows, self._tiles, near, distance, kernel)
            return near, distance

        jobs = effective_n_jobs(n_jobs)
        size = QUERIES_PER_CALL if kdtree else max(1, tuning.values.work_per_call // self.rows.size)
        size = max(1, min(size, -(-len(queries) // jobs)))
        near, distance = concatenate_results(map_chunks(search, split_chunks(queries, size), jobs))
        self.metric.check_defined(distance.ravel(), lambda i: f"query {i // k} and an example")
        return near, self.metric.to_units(distance.astype(np.float64), self.n_features)

    def conquerors(self, X: Array, n_jobs: int | None = None) -> Array:
        """Return the example that conquers each row of X."""
        k, arrays, scale = self.state
        if k == 0:
            return np.zeros(len(X), np.int64)
        near, distance = self.nearest(X, k, n_jobs)
        unit, least, most = scale[UNIT], scale[LEAST], scale[MOST]
        closeness = np.exp(-distance / unit) if unit > 0 else (distance == 0).astype(float)
        density = np.full(len(X), MAX_DENSITY)
        if most > least:
            density = (MAX_DENSITY - 1) * (closeness.mean(axis=1) - least) / (most - least) + 1
        offer = np.minimum(arrays.value[near], density[:, None])
        winner: Array = near[np.arange(len(X)), offer.argmax(axis=1)]
        return winner
