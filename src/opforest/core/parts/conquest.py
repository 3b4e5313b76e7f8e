"""Find the conquerors of queries in a forest in cells.

A query asks the cell that can make the cheapest offer first, and then all cells that can make an
offer as cheap as the best one so far.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.jit import borrow, helper, kernel
from opforest.core.kdtree.boxes import distance_to_box
from opforest.core.kdtree.static import STACK, push_pair
from opforest.core.metrics.distances import distance


class Map(NamedTuple):
    """What must be known of all cells to decide which ones a query asks."""

    box: np.ndarray  #: by cell
    cost: np.ndarray  #: by cell: its smallest cost
    id: np.ndarray  #: by cell: the smallest id with this cost


class Offers(NamedTuple):
    """The best offer to each query so far."""

    offer: np.ndarray
    cost: np.ndarray  #: of the example that makes it
    id: np.ndarray
    label: np.ndarray

    def select(self, chosen):
        """Return the offers to some queries."""
        return Offers(*(array[chosen] for array in self))


def no_offers(queries) -> Offers:
    """Return the offers to queries before any cell is asked."""
    n = len(queries)
    nothing = np.full(n, np.inf, queries.dtype)
    return Offers(nothing, nothing.copy(), np.full(n, -1), np.full(n, -1, np.int32))


@kernel
def choose_first(queries, cells, metric):
    """Return the cell that each query asks first."""
    box, cost, _ = borrow(cells)
    chosen = np.empty(queries.shape[0], np.int64)
    for i in range(queries.shape[0]):
        best = best_distance = np.inf
        for j in range(box.shape[0]):
            away = distance_to_box(queries[i], box, j, metric)
            bound = max(away, cost[j])
            if j == 0 or bound < best or (bound == best and away < best_distance):
                chosen[i], best, best_distance = j, bound, away
    return chosen


def list_others(queries, asked, offers, cells, metric):
    """Return the queries and the other cells that can make an offer that precedes the best."""
    size = len(queries) + len(cells.cost)
    query, cell = np.empty(size, np.int64), np.empty(size, np.int64)
    parts, begin = [(query[:0], cell[:0])], 0
    while begin < len(queries):
        end, m = _add_others(queries, begin, asked, offers, cells, (query, cell), metric)
        parts.append((query[:m].copy(), cell[:m].copy()))
        begin = end
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


@kernel
def _add_others(queries, begin, asked, offers, cells, room, metric):
    """Write pairs while there is room; return the next query, and how many pairs there are."""
    box, cost, ids = borrow(cells)
    offer, its_cost, its_id, _ = borrow(offers)
    query, cell = borrow(room)
    m = 0
    for i in range(begin, queries.shape[0]):
        if m + cost.shape[0] > query.shape[0]:
            return i, m
        for j in range(cost.shape[0]):
            if j == asked[i] or cost[j] > offer[i]:
                continue
            bound = max(cost[j], distance_to_box(queries[i], box, j, metric))
            if _is_better(bound, cost[j], ids[j], offer[i], its_cost[i], its_id[i]):
                query[m], cell[m] = i, j
                m += 1
    return queries.shape[0], m


@helper
def _is_better(offer, cost, name, other_offer, other_cost, other_name):
    """Compare two offers by (offer, cost, id); any is better than that of id −1."""
    if offer != other_offer:
        return offer < other_offer
    if cost != other_cost:
        return cost < other_cost
    return name < other_name or other_name < 0


def improve_offers(queries, offers, forest, costs, metric) -> Offers:
    """Return the better ones of these offers and those of a cell."""
    improved = Offers(*(array.copy() for array in offers))
    _search(queries, forest.tree, costs.cost, costs.first, forest.label, improved, metric)
    return improved


@kernel
def _search(queries, tree, costs, first, labels, offers, metric):
    nodes, box, vertex, points = borrow(tree)
    costs, first, labels = borrow((costs, first, labels))
    offer, cost, ids, label = borrow(offers)
    stack, bound = np.empty(STACK, np.int64), np.empty(STACK, points.dtype)
    for i in range(queries.shape[0]):
        x = queries[i]
        stack[0], bound[0] = 0, costs[first[0]]
        m = 1
        while m > 0:
            m -= 1
            node = stack[m]
            best = first[node]
            if not _is_better(bound[m], costs[best], vertex[best], offer[i], cost[i], ids[i]):
                continue
            below = nodes[node].child
            if below >= 0:
                m = _push_children(below, box, costs, first, x, stack, bound, m, metric)
                continue
            for j in range(nodes[node].begin, nodes[node].end):
                if costs[j] > offer[i]:
                    continue
                value = max(costs[j], distance(x, points[j], metric))
                if _is_better(value, costs[j], vertex[j], offer[i], cost[i], ids[i]):
                    offer[i], cost[i], ids[i], label[i] = value, costs[j], vertex[j], labels[j]


@helper
def _push_children(below, box, cost, first, x, stack, bound, m, metric):
    """Push two children, the better one on top; return the new size of the stack."""
    box_left = distance_to_box(x, box, below, metric)
    box_right = distance_to_box(x, box, below + 1, metric)
    left = max(box_left, cost[first[below]])
    right = max(box_right, cost[first[below + 1]])
    is_right_first = right < left or (right == left and box_right < box_left)
    return push_pair(below, left, right, is_right_first, stack, bound, m)
