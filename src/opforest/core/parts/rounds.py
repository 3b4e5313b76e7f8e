"""Questions and answers of cells that join their fragments to one tree.

In each round, points ask other cells for the smallest edge that leaves their cluster of fragments.
A point asks another cell only if a bound on the distance to it, which the cell's boxes give, does
not exceed the smallest outgoing edge of its cluster that is known.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.edge_order import precedes
from opforest.core.jit import borrow, kernel
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.static import STACK, push_children
from opforest.core.metrics.distances import distance
from opforest.core.mst.boruvka import label_nodes
from opforest.core.parts.fragments import order_cells
from opforest.core.parts.links import Links

#: A cluster with more than MANY questions in a cell asks the SCOUTS most promising ones first; with
#: the edges that they find, most of the others need not be asked.
SCOUTS, MANY = 16, 512


class Boxes(NamedTuple):
    """What all cells know of each other in a round."""

    box: np.ndarray  #: by cell
    cluster: np.ndarray  #: by cell: the cluster of all its points, or −1
    begin: np.ndarray  #: by cell: its first coarse box
    coarse: np.ndarray  #: coarse boxes
    coarse_cluster: np.ndarray  #: by coarse box: the cluster of all its points, or −1


class Announcement(NamedTuple):
    """What cells are told at the beginning of a round."""

    cluster: np.ndarray  #: by fragment, counted over all cells
    limit: np.ndarray  #: by cluster: its smallest known outgoing edge; −1 if it does not ask
    begin: np.ndarray  #: by cell: its first fragment
    boxes: Boxes
    sends_scouts: bool


class Routes(NamedTuple):
    """Points and the cells that they ask."""

    place: np.ndarray
    cell: np.ndarray
    bound: np.ndarray  #: a lower bound on the edges that they may find there


class Questions(NamedTuple):
    """Points that ask for outgoing edges, sorted by the cells they ask."""

    begin: np.ndarray  #: by cell: its first question
    points: np.ndarray
    id: np.ndarray
    fragment: np.ndarray
    cluster: np.ndarray
    waiting: np.ndarray  #: the clusters that have questions left

    def ask(self, cell):
        """Return the points, ids, fragments and clusters that ask a cell."""
        chosen = slice(*self.begin[cell : cell + 2])
        return tuple(array[chosen] for array in self[1:5])


def ask_cells(forest, me, news, metric) -> Questions:
    """Return the questions of cell ``me`` in a round."""
    cluster = news.cluster[news.begin[me] + forest.fragment]
    asking = _list_asking(cluster, forest.border, news.limit)
    others = order_cells(news.boxes.box, me, metric)
    place, cell, bound = _route(forest.tree.points, asking, cluster, news, others, metric)
    waiting = np.empty(0, np.int64)
    if news.sends_scouts:
        chosen, waiting = _choose_scouts(cluster[place], bound)
        place, cell = place[chosen], cell[chosen]
    order = np.argsort(cell, kind="stable")
    place = place[order]
    begin = np.searchsorted(cell[order], np.arange(len(news.boxes.box) + 1))
    fragment = forest.fragment[place] + news.begin[me]
    return Questions(begin, forest.tree.points[place], forest.tree.vertex[place], fragment,
                     cluster[place], waiting)  # fmt: skip


@kernel
def _list_asking(cluster, border, limit):
    """Return the places whose distance to other cells may be within the limit of their cluster."""
    asking = np.empty(cluster.shape[0], np.int64)
    m = 0
    for i in range(cluster.shape[0]):
        if border[i] <= limit[cluster[i]]:
            asking[m] = i
            m += 1
    return asking[:m].copy()


def _route(points, asking, cluster, news, others, metric) -> Routes:
    """Return the routes of all questions."""
    size = 2 * len(asking) + len(others[0]) + 1
    room = Routes(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, points.dtype))
    parts = [[array[:0] for array in room]]
    while len(asking):
        n_routed, m = _add_routes(
            points, asking, cluster, news.limit, news.boxes, others, room, metric
        )
        parts.append([array[:m].copy() for array in room])
        asking = asking[n_routed:]
    return Routes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


@kernel
def _add_routes(points, asking, cluster, limit, boxes, others, room, metric):
    """Write routes while there is room; return how many points are done, and how many routes."""
    box, cluster_of_cell, begin, coarse, coarse_cluster = borrow(boxes)
    cells, separation = borrow(others)
    place, cell, bound = borrow(room)
    m = 0
    for k in range(asking.shape[0]):
        if m + cells.shape[0] > place.shape[0]:
            return k, m
        i = asking[k]
        c = cluster[i]
        for o in range(cells.shape[0]):
            j = cells[o]
            if separation[o] > limit[c]:
                break
            if cluster_of_cell[j] == c or distance_to_box(points[i], box, j, metric) > limit[c]:
                continue
            best = np.inf
            for b in range(begin[j], begin[j + 1]):
                if coarse_cluster[b] != c:
                    best = min(best, distance_to_box(points[i], coarse, b, metric))
            if best <= limit[c]:
                place[m], cell[m], bound[m] = i, j, best
                m += 1
    return asking.shape[0], m


def _choose_scouts(cluster, bound):
    """Return which questions are asked at once, and the clusters with other ones."""
    order = np.lexsort((bound, cluster))
    first = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    size = np.diff(np.append(first, len(order)))
    rank = np.arange(len(order)) - np.repeat(first, size)
    has_many = size > MANY
    is_asked = (rank < SCOUTS) | ~np.repeat(has_many, size)
    return np.sort(order[is_asked]), cluster[order[first[has_many]]].astype(np.int64)


def answer_questions(forest, me, news, questions, metric) -> Links:
    """Return the smallest edge within its limit from each asking cluster to cell ``me``."""
    points, ids, fragment, cluster = (
        np.concatenate(arrays) for arrays in zip(*(q.ask(me) for q in questions), strict=True)
    )
    names, rank = np.unique(cluster, return_inverse=True)
    best = news.limit[names].astype(points.dtype)
    own = news.cluster[news.begin[me] + forest.fragment]
    query, place = np.full(len(best), -1), np.full(len(best), -1)
    _find_smallest(forest.tree, own, (points, ids, cluster, rank), (query, place, best), metric)
    found = place >= 0
    query, place = query[found], place[found]
    here = forest.fragment[place] + news.begin[me]
    return Links(ids[query], forest.tree.vertex[place], best[found], fragment[query], here)


@kernel
def _find_smallest(tree, own, queries, found, metric):
    """Write the query, the place and the weight of the smallest edge of each cluster.

    The weight is at first the largest one to search for.
    """
    nodes, box, vertex, points = borrow(tree)
    asking, ids, cluster, rank = borrow(queries)
    query, place, best = borrow(found)
    cluster_of_node = np.empty(nodes.shape[0], np.int32)
    label_nodes(nodes, own, cluster_of_node)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, points.dtype)
    for i in range(asking.shape[0]):
        x, c, r = asking[i], cluster[i], rank[i]
        stack[0], bound[0] = 0, 0
        m = 1
        while m > 0:
            m -= 1
            node = stack[m]
            if bound[m] > best[r] or cluster_of_node[node] == c:
                continue
            if nodes[node].child >= 0:
                m = push_children(nodes[node].child, box, x, stack, bound, m, metric)
                continue
            for j in range(nodes[node].begin, nodes[node].end):
                if own[j] == c:
                    continue
                weight = distance(x, points[j], metric)
                q, p = query[r], place[r]
                if weight < best[r] or (
                    weight == best[r]
                    and (p < 0 or precedes(weight, ids[i], vertex[j], weight, ids[q], vertex[p]))
                ):
                    query[r], place[r], best[r] = i, j, weight
