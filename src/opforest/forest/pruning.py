"""Selection of the examples that a set of queries needs."""

import numpy as np

from opforest.core.conquest.complete_graph import UNCONQUERED, trace_arcs
from opforest.core.conquest.scan import Ranking
from opforest.core.jit import specialize
from opforest.core.metrics.distances import make_tiles
from opforest.core.metrics.types import Array
from opforest.core.select.search import search_ranking
from opforest.forest.forest import Forest


def find_needed(forest: Forest, queries: Array, conqueror: Array) -> Array:
    """Return which examples conquer queries, or are on the path to one that does.

    Paths are those on the complete graph, which have fewer steps than paths along the tree. If
    several examples make the same offer, the first on a path counts.
    """
    storage, kernel = forest.storage, forest.metric.kernel
    rows, cost, label = storage.arrays.rows, storage.costs(), forest.label
    before, order = np.where(forest.is_prototype(), -1, UNCONQUERED), np.empty(len(cost), np.int64)
    specialize(trace_arcs, kernel)(rows, cost, label, before, order, kernel)
    ranking = Ranking(order, cost[order], make_tiles(rows, order, kernel), True)
    searcher = search_ranking(len(queries), storage.arrays, ranking, forest.metric)
    first, _ = searcher.find(queries)
    needed = np.zeros(len(before), bool)
    reached = np.unique(np.where(label[first] == label[conqueror], first, conqueror))
    while len(reached):
        needed[reached] = True
        reached = np.unique(before[reached])
        reached = reached[reached >= 0]
        reached = reached[~needed[reached]]
    return needed
