"""Compute the minimum spanning tree by a sieve: bounds exclude almost all edges unmeasured.

This is for many features. Any spanning tree T of all points shows that most edges are in no minimum
spanning tree: those that come after the largest edge on T's path between their ends. This
bottleneck is no longer than the paths from both ends to a third point, a hub, allow. So for each
block of points,

- hubs are chosen among them, and a pass over T finds the bottlenecks from all points to each hub;
- matrix products, in single precision, estimate the distances to all later points, never too high
  (see ``metrics.matmul``);
- if the hubs do not exclude a pair, its own bottleneck is looked up; if that does not, either, the
  pair is measured.

Then T becomes the minimum spanning tree of T and of all edges that come before their bottlenecks.
After all blocks, no edge of the minimum spanning tree is missing. The blocks of one round are
independent, and threads share them. Few blocks make T good enough for many more, so rounds grow.
"""

from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest._utils.blas import one_blas_thread
from opforest._utils.chunks import concatenate_results, map_chunks, split_chunks
from opforest._utils.progress import advance
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.static import build_kdtree
from opforest.core.metrics.distances import distance, measure_edges
from opforest.core.metrics.matmul import (
    choose_scale,
    relative_error,
    round_points,
    to_factors,
)  # fmt: skip
from opforest.core.mst.boruvka import keep_distinct, root_places
from opforest.core.mst.bottlenecks import (
    MergeTree,
    RankedTree,
    bound_paths,
    find_bottleneck,
    make_merge_tree,
    rank_tree,
)
from opforest.core.mst.kruskal import Edges, list_edges, merge_forests, sort_edges
from opforest.core.mst.prim import span
from opforest.core.records import Tree

#: Blocks in the first round, as a fraction of all; and in another one, relative to those before.
FIRST_ROUND, GROWTH = 1 / 32, 7

#: The most hubs of a block. Another one is chosen while this fraction of its points is badly
#: served, and the last one has served this fraction better. A point is badly served if its hub
#: allows more than this multiple of its shortest edge, both squared.
MAX_HUBS, BADLY_SERVED, SERVED, SLACK = 32, 1 / 16, 1 / 64, 2

#: A block has a center of its own if rounding blurs distances of this fraction of its bounds.
BLURRED = 0.05

#: Estimates that are looked at together.
STRIDE = 16

#: A center is the mean of about this many points, and this many points are attached together.
CENTERED, ATTACHED = 1024, 4096


class Points(NamedTuple):
    """Distinct points; neighbors in space are near each other in memory."""

    rows: np.ndarray
    vertex: np.ndarray
    rounded: np.ndarray  #: as ``round_points`` writes them
    scale: float


class Hubs(NamedTuple):
    """The bottlenecks to the hubs of a block."""

    begin: int  #: the first point of the block
    choice: np.ndarray  #: by point of the block: the hub to use
    bound: np.ndarray  #: by hub and point: on the longest edge between them


class EdgeBuffer(NamedTuple):
    """Room for edges that come before their bottlenecks."""

    u: np.ndarray
    v: np.ndarray
    weight: np.ndarray
    count: np.ndarray  #: of edges, and of pairs that hubs did not exclude


class TooRoughError(Exception):
    """Prim's algorithm would be faster."""


class PairCounters:
    """What all threads have done; raises ``TooRoughError`` if too many pairs were looked at."""

    def __init__(self, n) -> None:
        self._lock = Lock()
        size = tuning.values.sieve_block
        self._n_pairs = sum(min(size, n - begin) * (n - begin) for begin in range(0, n, size))
        self._patience = tuning.values.sieve_patience * n
        self._max_found = tuning.values.sieve_found * n
        self._estimated = self._promising = self._found = 0

    def begin_round(self) -> None:
        """Forget how many edges were found."""
        self._found = 0

    def is_full(self) -> bool:
        """Return whether more edges of this round would need too much memory."""
        return self._found > self._max_found

    def add(self, estimated, promising, found) -> None:
        """Count pairs, and report progress."""
        with self._lock:
            self._estimated += estimated
            self._promising += promising
            self._found += found
        if self._promising > self._patience + tuning.values.sieve_rough * self._estimated:
            raise TooRoughError
        advance(self._estimated / self._n_pairs)


def span_by_sieve(rows, kdtree, metric, n_jobs=1) -> Tree | None:
    """Return the minimum spanning tree, or None if Prim's algorithm would be faster.

    The result is also None if rounding has merged distinct points (see ``span_sparse``). The k-d
    tree of all rows may be None.
    """
    if kdtree is None:
        kdtree = build_kdtree(rows, np.arange(len(rows)))
    kdtree, first = keep_distinct(rows, kdtree, n_jobs)
    place = np.empty(len(rows), np.int32)
    place[kdtree.vertex] = np.arange(len(kdtree.vertex), dtype=np.int32)
    with one_blas_thread():
        try:
            tree = _sift_all(_round(kdtree), place, metric, n_jobs)
        except TooRoughError:
            return None
    return root_places(kdtree, (place[tree.u], place[tree.v], tree.weight), first)


def _round(kdtree) -> Points:
    rows = kdtree.points
    center = rows[:: 1 + len(rows) // CENTERED].mean(axis=0, dtype=np.float64)
    scale = choose_scale(rows, center)
    rounded = np.empty((len(rows), rows.shape[1] + 2), np.float32)
    round_points(rows, center, scale, rounded)
    return Points(rows, kdtree.vertex, rounded, scale)


def _sift_all(points, place, metric, n_jobs) -> Edges:
    """Return the minimum spanning tree of the points."""
    n = len(points.rows)
    tree = _span_roughly(points, metric, n_jobs)
    starts = np.arange(0, n, tuning.values.sieve_block)
    waiting = np.random.default_rng(0).permutation(starts)
    counters = PairCounters(n)
    size = max(n_jobs, round(FIRST_ROUND * len(starts)))
    while len(waiting):
        counters.begin_round()
        ends = place[tree.u], place[tree.v]
        paths = rank_tree(n, *ends, tree.weight, points.scale)
        merges = make_merge_tree(n, *ends, tree, points.scale)
        chosen = np.sort(waiting[:size])  # earlier blocks, which take longer, first
        sift = partial(_sift, points, paths, merges, counters, metric)
        found = map_chunks(sift, chosen, n_jobs)
        edges = sort_edges(*concatenate_results([part for part in found if part is not None]))
        tree = merge_forests([tree, edges])
        postponed = chosen[[part is None for part in found]]
        waiting = np.append(postponed, waiting[size:])
        size = GROWTH * (len(starts) - len(waiting))
    return tree


def _span_roughly(points, metric, n_jobs) -> Edges:
    """Return some spanning tree, not much longer than the minimum one.

    It is the minimum one of edges between points of a sample, from other points to near ones of the
    sample, and between neighbors in memory.
    """
    rows, vertex, rounded, _ = points
    n, size = len(rows), tuning.values.sieve_sample
    sample = np.sort(np.random.default_rng(1).permutation(n)[: max(1, min(size, n // 8))])
    factors = to_factors(rounded[sample])

    def find_near(part):
        with np.errstate(all="ignore"):  # each thread has its own setting
            return sample[(part @ factors.T).argmin(axis=1)]

    def span_part(part):
        return list_edges(span(rows[part], metric), vertex[part])

    near = np.concatenate(map_chunks(find_near, split_chunks(rounded, ATTACHED), n_jobs))
    near[sample] = -1
    attached = Tree(near, measure_edges(rows, near, metric), near)
    parts = split_chunks(np.arange(n), tuning.values.sieve_neighbors)
    edges = map_chunks(span_part, [sample, *parts], n_jobs)
    return merge_forests([list_edges(attached, vertex), sort_edges(*concatenate_results(edges))])


def _sift(points, paths: RankedTree, merges: MergeTree, counters, metric, begin):
    """Return the edges from a block to later points that come before their bottlenecks.

    Return None if enough edges were found in this round.
    """
    if counters.is_full():
        return None
    rows, vertex, rounded, scale = points
    n, d = rows.shape
    end, width = min(begin + tuning.values.sieve_block, n), tuning.values.sieve_columns
    hubs = _choose_hubs(paths, begin, end)
    own, center = rounded[begin:end], None
    if _is_blurred(own, hubs):
        center = rows[begin:end].mean(axis=0, dtype=np.float64)
        own = np.empty((end - begin, d + 2), rounded.dtype)
        round_points(rows[begin:end], center, scale, own)
    factors, product = to_factors(own), np.empty((end - begin) * width, rounded.dtype)
    size = tuning.values.sieve_room
    ends = np.empty(size, np.int64), np.empty(size, np.int64)
    found = EdgeBuffer(*ends, np.empty(size, rows.dtype), np.zeros(2, np.int64))
    for first in range(begin, n, width):
        others = rounded[first : first + width]
        if center is not None:
            others = np.empty_like(others)
            round_points(rows[first : first + width], center, scale, others)
        estimates = product[: len(own) * len(others)].reshape(len(own), len(others))
        with np.errstate(all="ignore"):  # each thread has its own setting
            np.matmul(factors, others.T, out=estimates)
        before = found.count.copy()
        if not _measure_promising(estimates, first, hubs, rows, vertex, merges, found, metric):
            raise TooRoughError
        n_found, n_promising = found.count - before
        counters.add(estimates.size, int(n_promising), int(n_found))
    m = found.count[0]
    return found.u[:m].copy(), found.v[:m].copy(), found.weight[:m].copy()


def _choose_hubs(paths, begin, end) -> Hubs:
    """Choose hubs from a block: points with short edges, as long as many points need one."""
    shortest = paths.shortest[begin:end]
    choice = np.zeros(end - begin, np.int64)
    bounds: list[np.ndarray] = []
    best = np.full(end - begin, np.inf, np.float32)
    while len(bounds) < MAX_HUBS:
        bad = np.flatnonzero(best > SLACK * shortest)
        if bounds and len(bad) <= BADLY_SERVED * (end - begin):
            break
        hub = int(bad[shortest[bad].argmin()]) if len(bad) else 0
        bounds.append(np.empty(len(paths.rank), np.float32))
        bound_paths(paths, begin + hub, bounds[-1])
        own = bounds[-1][begin:end]
        is_better = own < best
        choice[is_better], best[is_better] = len(bounds) - 1, own[is_better]
        if np.count_nonzero(is_better) < SERVED * (end - begin):
            break
    return Hubs(begin, choice, np.stack(bounds))


def _is_blurred(rounded, hubs):
    """Return whether rounding blurs distances to points of a block."""
    d = rounded.shape[1] - 2
    error = relative_error(d) * 2 * float(rounded[:, d].max())
    bound = hubs.bound[hubs.choice, hubs.begin + np.arange(len(rounded))]
    return error > BLURRED * float(np.median(bound))


@helper
def _count_promising(estimates, own, others):
    """Count estimates below the bound of either point."""
    count = np.int32(0)
    for j in range(estimates.shape[0]):
        bound = own if own > others[j] else others[j]
        count = np.int32(count + np.int32(estimates[j] < bound))
    return count


@kernel
def _measure_promising(estimates, first, hubs, rows, vertex, merges, found, metric):
    """Find edges between a block and points from ``first`` on; return whether there was room."""
    begin, choice, bounds = hubs
    estimates, choice, bounds = borrow((estimates, choice, bounds))
    link, limit, known_u, known_v, known = borrow(merges)
    u, v, weight, count = borrow(found)
    rows, vertex = borrow((rows, vertex))
    width = estimates.shape[1]
    for i in range(estimates.shape[0]):
        p = begin + i
        later = max(0, p + 1 - first)
        bound, row = bounds[choice[i]], estimates[i]
        own, others = bound[p], bound[first : first + width]
        if later >= width or _count_promising(row[later:], own, others[later:]) == 0:
            continue
        if count[0] + width > u.shape[0]:
            return False
        for left in range(later, width, STRIDE):
            right = min(left + STRIDE, width)
            if _count_promising(row[left:right], own, others[left:right]) == 0:
                continue
            for j in range(left, right):
                if row[j] >= max(own, others[j]):
                    continue
                q = first + j
                edge = find_bottleneck(link, p, q)
                count[1] += 1
                if row[j] >= limit[edge]:
                    continue
                found_weight, a, b = distance(rows[p], rows[q], metric), vertex[p], vertex[q]
                if precedes(found_weight, a, b, known[edge], known_u[edge], known_v[edge]):
                    m = count[0]
                    u[m], v[m], weight[m] = min(a, b), max(a, b), found_weight
                    count[0] = m + 1
    return True
