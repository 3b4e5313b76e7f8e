"""Models in parts on the workers: lazy answers, and models that are loaded from elsewhere.

For each block of queries there are a task that decides which cell each query asks first, a task for
each cell, one that decides which others can make a better offer, again one for each cell, and one
that takes the best offers. Queries travel to cells, and cells stay where they are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import dask.array as da
import distributed
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
from opforest.dask.blocks import embed_blocks
from opforest.dask.cluster import send
from opforest.dask.executor import DaskExecutor
from opforest.estimators.parts import PartsClassifier
from opforest.forest.parts import Executor, ForestParts, merge_offers


class Inquiry(NamedTuple):
    """Queries, the best offers to them so far, and the pairs of queries and cells to ask next."""

    queries: Array
    offers: Offers
    query: Array
    cell: Array


def map_offers(
    queries: da.Array,
    model: PartsClassifier,
    function: Callable[..., Array],
    empty: Array,
    *arguments: Any,
) -> da.Array:
    """Return a lazy array: the results of a function of the offers to each block of queries.

    ``empty`` is its first argument after the offers, and has the type of the result.
    """
    executor = cast(DaskExecutor, model.executor_)
    metric, parts = model.resolve_metric(), model.fitted_parts()
    points = embed_blocks(queries, metric, parts.map.box.dtype)
    offers = _plan_offers(executor, parts, points, metric)
    given = [[value] * len(offers) for value in (empty, *arguments)]
    answers = executor.plan(function, offers, *given)
    blocks = [
        da.from_delayed(answer, (size,), meta=empty[:0])
        for answer, size in zip(answers, queries.chunks[0], strict=True)
    ]
    whole: da.Array = da.concatenate(blocks, allow_unknown_chunksizes=True)
    return whole


def _plan_offers(
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


def name_labels(offers: Offers, classes: Array) -> Array:
    """Return the labels of conquerors."""
    labels: Array = classes[offers.label]
    return labels


def name_conquerors(offers: Offers, empty: Array) -> Array:
    """Return the ids of conquerors."""
    return offers.id


def measure_offers(offers: Offers, empty: Array, metric: Metric, n_features: int) -> Array:
    """Return offers in the metric's own units."""
    return metric.to_units(offers.offer, n_features)


def move_parts(model: PartsClassifier, client: distributed.Client | None) -> PartsClassifier:
    """Return a model in parts whose parts the workers have loaded from where they were."""
    executor, parts = DaskExecutor(client), model.fitted_parts()
    forests, costs = (
        executor.store("parts", load_part, [model.executor_] * len(kept), kept)
        for kept in (parts.forests, parts.costs)
    )
    moved = PartsClassifier(model.metric, metric_params=model.metric_params)
    moved.__dict__.update(
        vars(model), executor_=executor, parts_=parts._replace(forests=forests, costs=costs)
    )
    return moved


def load_part(executor: Executor, part: Any) -> Any:
    """Return a part of a model from where it is kept."""
    (loaded,) = executor.fetch(return_part, [part])
    return loaded


def return_part(part: Any) -> Any:
    """Return a part of a model."""
    return part
