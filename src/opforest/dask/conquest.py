"""Tasks that find the conquerors of blocks of queries in a forest whose cells are on the workers.

For each block of queries there are a task that decides which cell each query asks first, a task for
each cell, one that decides which others can make a better offer, again one for each cell, and one
that takes the best offers. Queries travel to cells, and cells stay where they are.
"""

from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import CellForest
from opforest.core.parts.conquest import (
    Map,
    Offers,
    choose_first,
    improve_offers,
    list_others,
    no_offers,
)
from opforest.core.parts.costs import CellCosts
from opforest.dask.cluster import send
from opforest.dask.executor import DaskExecutor
from opforest.forest.parts import ForestParts, merge_offers


class Inquiry(NamedTuple):
    """Queries, the best offers to them so far, and the pairs of queries and cells to ask next."""

    queries: Array
    offers: Offers
    query: Array
    cell: Array


def plan_conquest(
    executor: DaskExecutor, parts: ForestParts, queries: list[Delayed], metric: Metric
) -> list[Delayed]:
    """Return tasks whose results are the offers to blocks of queries."""
    n, kernel = len(parts.forests), metric.kernel
    shared = send(parts.map)
    begun = executor.plan(begin_inquiry, queries, [shared] * len(queries), [kernel] * len(queries))
    answers = []
    for inquiry in begun:
        for step in (continue_inquiry, end_inquiry):
            found = executor.plan(
                ask_cell, [inquiry] * n, range(n), parts.forests, parts.costs, [kernel] * n
            )
            (inquiry,) = executor.plan(step, [inquiry], [found], [shared], [kernel])
        answers.append(inquiry)
    return answers


def begin_inquiry(queries: Array, cells: Map, kernel: Any) -> Inquiry:
    """Return which cell each query asks first."""
    first = choose_first(queries, cells, kernel)
    return Inquiry(queries, no_offers(queries), np.arange(len(queries)), first)


def ask_cell(
    inquiry: Inquiry, cell: int, forest: CellForest, costs: CellCosts, kernel: Any
) -> tuple[Array, Offers]:
    """Return the queries that ask a cell, and the better of their offers and those of the cell."""
    chosen = inquiry.query[inquiry.cell == cell]
    offers = inquiry.offers.select(chosen)
    if len(chosen):
        offers = improve_offers(inquiry.queries[chosen], offers, forest, costs, kernel)
    return chosen, offers


def continue_inquiry(
    inquiry: Inquiry, found: list[tuple[Array, Offers]], cells: Map, kernel: Any
) -> Inquiry:
    """Return the best offers, and which other cells each query asks."""
    offers = end_inquiry(inquiry, found, cells, kernel)
    query, cell = list_others(inquiry.queries, inquiry.cell, offers, cells, kernel)
    return Inquiry(inquiry.queries, offers, query, cell)


def end_inquiry(
    inquiry: Inquiry, found: list[tuple[Array, Offers]], cells: Map, kernel: Any
) -> Offers:
    """Return the best offers."""
    offers = Offers(*(array.copy() for array in inquiry.offers))
    for chosen, others in found:
        merge_offers(offers, chosen, others)
    return offers
