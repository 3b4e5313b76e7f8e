"""Forests in parts: cells of space that are fitted, and answer queries, one by one.

The algorithm is the same on a cluster and on one disk. An ``Executor`` decides where cells are, and
calls functions for them; only outlines of cells come to this process. The forest is that of
``Forest.train``: the same edges, costs and prototypes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.boruvka import root_tree
from opforest.core.parts.cell import (
    CellForest,
    UnderflowError,
    grow_cell,
    has_cycle,
    list_cell_examples,
    list_cell_links,
)
from opforest.core.parts.conquest import (
    Map,
    Offers,
    choose_first,
    improve_offers,
    list_others,
    no_offers,
)
from opforest.core.parts.costs import (
    CellCosts,
    Ports,
    connect_ports,
    find_cell_costs,
    label_ports,
    reduce_to_ports,
)
from opforest.core.parts.join import join_cells
from opforest.core.parts.links import Links
from opforest.core.records import Tree
from opforest.errors import ModelFileError

#: A value that an executor keeps: a future, a file, or the value itself.
Handle = Any


class Executor(Protocol):
    """Calls functions of cells, where the cells are.

    Arguments that are handles, or lists of them, are replaced by the values themselves.
    """

    def fetch(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call a function for each set of arguments, as ``map`` does, and return the results."""

    def hold(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Handle]:
        """Call a function for each set of arguments, and hold the results for a while."""

    def store(
        self, name: str, function: Callable[..., Any], *arguments: Iterable[Any]
    ) -> list[Handle]:
        """Call a function for each set of arguments, and store the results for good."""

    def share(self, value: Any) -> Handle:
        """Send a value to all places."""

    def remember(self, name: str, function: Callable[[], Any]) -> Any:
        """Return the result of a function, or the one it had before an interruption."""


class ForestParts(NamedTuple):
    """The parts of a forest."""

    forests: Sequence[Handle]  #: by cell: its ``CellForest``
    costs: Sequence[Handle]  #: by cell: its ``CellCosts``
    joined: Links  #: the edges between fragments
    map: Map


def train_parts(
    executor: Executor, cells: Sequence[Handle], boxes: Array, metric: Metric
) -> ForestParts:
    """Return the forest of the examples in cells, none of which is empty.

    ``cells`` have the ``CellExamples``, and ``boxes`` their bounding boxes.
    """
    n, shared = len(cells), _broadcast(executor, boxes, cells)
    forests = executor.store("forest", grow_cell, cells, shared, range(n), [metric.kernel] * n)
    return complete_parts(executor, forests, boxes, metric)


def complete_parts(
    executor: Executor, forests: Sequence[Handle], boxes: Array, metric: Metric
) -> ForestParts:
    """Join the forests of cells to one, and find the costs of all examples."""
    joined = join_parts(executor, forests, boxes, metric)
    ports = executor.remember("ports", lambda: _find_ports(executor, forests, joined))
    costs = executor.store("costs", find_cell_costs, forests, _broadcast(executor, ports, forests))
    tops = executor.fetch(summarize_cell, forests, costs)
    cost, ids = (np.array(values) for values in zip(*tops, strict=True))
    return ForestParts(forests, costs, joined, Map(boxes, cost.astype(boxes.dtype), ids))


def join_parts(
    executor: Executor, forests: Sequence[Handle], boxes: Array, metric: Metric
) -> Links:
    """Return the edges that join the forests of cells to one tree."""
    joined: Links = executor.remember(
        "joined", lambda: join_cells(executor, forests, boxes, metric.kernel)
    )
    if len(joined.weight) and joined.weight.min() == 0:
        raise UnderflowError
    return joined


def gather_parts(
    executor: Executor, forests: Sequence[Handle], joined: Links, n_examples: int
) -> tuple[Array, Array, Tree]:
    """Return the points and labels of all examples, and their minimum spanning tree."""
    links, rows, label = [joined[:3]], np.empty((0, 0)), np.empty(n_examples, np.int64)
    for forest in forests:  # one at a time, to save memory
        ((examples, edges),) = executor.fetch(list_cell, [forest])
        if not rows.size:
            rows = np.empty((n_examples, examples.points.shape[1]), examples.points.dtype)
        rows[examples.id], label[examples.id] = examples.points, examples.label
        links.append(edges)
    u, v, weight = (np.concatenate(arrays) for arrays in zip(*links, strict=True))
    if len(u) != n_examples - 1 or has_cycle(n_examples, u, v):
        raise ModelFileError("the parts of the model do not form a tree: a file is forged.")
    return rows, label, root_tree(n_examples, u, v, weight)


def list_cell(forest: CellForest) -> tuple[Any, Any]:
    """Return the examples of a cell, and its certain edges between ids."""
    return list_cell_examples(forest), list_cell_links(forest)


def _broadcast(executor: Executor, value: Any, cells: Sequence[Handle]) -> list[Handle]:
    """Send a value to all places, and return a handle of it for each cell."""
    return [executor.share(value)] * len(cells)


def _find_ports(executor: Executor, forests: Sequence[Handle], joined: Links) -> Ports:
    """Return the ports of all cells and their costs.

    The first example is one of them: it is the prototype if there is only one class.
    """
    ids = np.unique(np.append(0, (joined.u, joined.v)))
    label = np.empty(len(ids), np.int32)
    for here, labels in executor.fetch(label_ports, forests, _broadcast(executor, ids, forests)):
        label[here] = labels
    ends = np.searchsorted(ids, joined.u), np.searchsorted(ids, joined.v)
    is_cut = label[ends[0]] != label[ends[1]]
    is_prototype = np.zeros(len(ids), np.bool_)
    for end in ends:
        is_prototype[end[is_cut]] = True
    ports = Ports(ids, label, is_prototype, np.empty(0))
    reduced = executor.fetch(reduce_to_ports, forests, _broadcast(executor, ports, forests))
    return connect_ports(ports, joined, reduced)


def summarize_cell(forest: CellForest, costs: CellCosts) -> tuple[float, int]:
    """Return the smallest cost of a cell, and the smallest id with it."""
    place = costs.first[0]
    return float(costs.cost[place]), int(forest.tree.vertex[place])


def find_conquerors(
    executor: Executor, parts: ForestParts, queries: Array, metric: Metric
) -> Offers:
    """Return the offers of the conquerors of queries, as the metric embeds them."""
    offers = no_offers(queries)
    first = choose_first(queries, parts.map, metric.kernel)
    pairs = np.arange(len(queries)), first
    for _ in range(2):
        offers = _ask(executor, parts, queries, offers, pairs, metric)
        pairs = list_others(queries, first, offers, parts.map, metric.kernel)
    return offers


def _ask(
    executor: Executor,
    parts: ForestParts,
    queries: Array,
    offers: Offers,
    pairs: tuple[Array, Array],
    metric: Metric,
) -> Offers:
    """Return the best offers after queries have asked cells, given as pairs."""
    query, cell = pairs
    asked = [(j, query[cell == j]) for j in np.unique(cell)]
    improved = executor.fetch(
        improve_offers,
        [queries[chosen] for _, chosen in asked],
        [offers.select(chosen) for _, chosen in asked],
        [parts.forests[j] for j, _ in asked],
        [parts.costs[j] for j, _ in asked],
        [metric.kernel] * len(asked),
    )
    for (_, chosen), better in zip(asked, improved, strict=True):
        merge_offers(offers, chosen, better)
    return offers


def merge_offers(offers: Offers, chosen: Array, others: Offers) -> None:
    """Replace offers to the chosen queries by others that precede them."""
    known = offers.select(chosen)
    keys = [(known.offer, others.offer), (known.cost, others.cost), (known.id, others.id)]
    is_better, is_tie = known.id < 0, known.id >= 0
    for old, new in keys:
        is_better = is_better | (is_tie & (new < old))
        is_tie = is_tie & (new == old)
    for array, other in zip(offers, others, strict=True):
        array[chosen[is_better]] = other[is_better]
