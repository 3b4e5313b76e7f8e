"""Join fragments of the minimum spanning tree, which lie in cells of space, to one tree.

In rounds, as in ``boruvka``, each cluster of fragments finds its smallest outgoing edge under
(weight, smaller vertex, larger vertex). Within a cell, it is in the tree of the cell, so it is
known. To another cell, only points can have one whose distance to other cells does not exceed the
smallest outgoing edge known so far. The cluster with most fragments waits for the others to choose
it.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from opforest._utils.chunks import run_parallel, split_chunks
from opforest.core.disjoint_set import find_group
from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, kernel
from opforest.core.mst.boruvka import POINTS_PER_CALL, Rounds, label_nodes, search_foreign

#: The points of each cell that search first, so that others have less to search.
SCOUTS = 64


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


class Fragments(NamedTuple):
    """The fragments of the tree, by place."""

    fragment: np.ndarray  #: the number of its fragment
    border: np.ndarray  #: a lower bound on the distances to points of other cells


def join_fragments(kdtree, cells, fragments, pool, metric, n_jobs):
    """Return pools of the edges that join all fragments to one tree.

    ``pool`` has the edges of the trees of cells that join fragments. The borders are overwritten.
    """
    n, dtype = len(kdtree.vertex), kdtree.points.dtype
    n_clusters = int(fragments.fragment.max(initial=-1)) + 1
    group, label = np.arange(n_clusters), np.arange(n_clusters, dtype=np.int32)
    rounds = Rounds(
        component=fragments.fragment.copy(),
        component_of_node=np.full(len(kdtree.nodes), -1, np.int32),
        near=np.empty((0, 0), np.int32),
        n_passed=np.empty(0, np.uint8),
        foreign=np.full(n, -1, np.int32),
        weight=np.empty(n, dtype),
        lower_bound=fragments.border,
        best=np.empty(n_clusters, dtype),
    )
    joined = []
    while n_clusters > 1:
        _relabel(kdtree, fragments.fragment, label, rounds, cells, n_jobs)
        largest = np.bincount(label).argmax()
        rounds.best[:] = np.inf
        for ends in pool[:2]:
            np.minimum.at(rounds.best, rounds.component[ends], pool.weight)
        rounds.best[largest] = -1
        found = _search_all(kdtree, rounds, cells, metric, n_jobs)
        pool = Pool.concatenate((pool, found))
        edges = kdtree.vertex[pool.u], kdtree.vertex[pool.v], pool.weight
        clusters = rounds.component[pool.u], rounds.component[pool.v]
        chosen = choose_edges(edges, clusters, np.arange(len(label)) != largest)
        ends = fragments.fragment[pool.u], fragments.fragment[pool.v]
        taken = unite_clusters(ends, chosen, group, label)
        joined.append(pool.select(taken))
        n_clusters -= len(taken)
        is_open = label[fragments.fragment[pool.u]] != label[fragments.fragment[pool.v]]
        pool = pool.select(is_open)
    return joined


def _list_ranges(kdtree, cells):
    """Return where the places of each cell begin and end."""
    return [kdtree.nodes[cell].tolist()[:2] for cell in cells]


def _relabel(kdtree, fragment, label, rounds, cells, n_jobs):
    """Write the cluster of each place, and of the nodes that are in one cluster."""

    def relabel(begin, end):
        rounds.component[begin:end] = label[fragment[begin:end]]

    ranges = _list_ranges(kdtree, cells)
    run_parallel(*(partial(relabel, *places) for places in ranges), n_jobs=n_jobs)
    _label_nodes(kdtree.nodes, rounds.component, rounds.component_of_node)


@kernel
def _label_nodes(nodes, component, component_of_node):
    label_nodes(nodes, component, component_of_node)


def _search_all(kdtree, rounds, cells, metric, n_jobs):
    """Return the edges that points find to other cells, up to the best edge of their cluster."""
    ranges = _list_ranges(kdtree, cells)
    calls = [partial(_list_waiting, rounds, *places) for places in ranges]
    waiting = run_parallel(*calls, n_jobs=n_jobs)
    scouts, others = [], []
    for cell, places in zip(cells, waiting, strict=True):
        rest = places
        if len(places) > 2 * SCOUTS:
            order = np.argpartition(rounds.lower_bound[places], SCOUTS)
            scouts.append(
                partial(search_foreign, kdtree, rounds, places[order[:SCOUTS]], cell, metric)
            )
            rest = np.sort(places[order[SCOUTS:]])
        others += [
            partial(search_foreign, kdtree, rounds, part, cell, metric)
            for part in split_chunks(rest, POINTS_PER_CALL)
        ]
    run_parallel(*scouts, n_jobs=n_jobs)
    run_parallel(*others, n_jobs=n_jobs)
    asked = np.concatenate(waiting)
    found = asked[rounds.foreign[asked] >= 0]
    return Pool(found.astype(np.int32), rounds.foreign[found], rounds.weight[found])


@kernel
def _list_waiting(rounds, begin, end):
    """Return the places in this range that may have an edge within the best of their cluster."""
    component, _, _, _, foreign, _, lower_bound, best = borrow(rounds)
    waiting = np.empty(end - begin, np.int64)
    m = 0
    for i in range(begin, end):
        c = component[i]
        if foreign[i] >= 0 and component[foreign[i]] == c:
            foreign[i] = -1
        if foreign[i] < 0 and lower_bound[i] <= best[c]:
            waiting[m] = i
            m += 1
    return waiting[:m].copy()


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
