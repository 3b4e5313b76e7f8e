"""Models in parts on the workers: lazy answers, and models that are loaded from elsewhere."""

from collections.abc import Callable
from typing import Any, cast

import dask.array as da
import distributed

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.parts.conquest import Offers
from opforest.dask.blocks import embed_blocks
from opforest.dask.conquest import plan_conquest
from opforest.dask.executor import DaskExecutor
from opforest.estimators.parts import PartsClassifier
from opforest.forest.parts import Executor


def map_offers(
    queries: da.Array,
    model: PartsClassifier,
    function: Callable[..., Array],
    empty: Array,
    *arguments: Any,
) -> da.Array:
    """Return the lazy array of what a function makes of the offers to each block of queries.

    ``empty`` is its first argument after the offers, and has the type of the result.
    """
    executor = cast(DaskExecutor, model.executor_)
    metric, parts = model.resolve_metric(), model.fitted_parts()
    points = embed_blocks(queries, metric, parts.map.box.dtype)
    offers = plan_conquest(executor, parts, points, metric)
    given = [[value] * len(offers) for value in (empty, *arguments)]
    answers = executor.plan(function, offers, *given)
    blocks = [
        da.from_delayed(answer, (size,), meta=empty[:0])
        for answer, size in zip(answers, queries.chunks[0], strict=True)
    ]
    whole: da.Array = da.concatenate(blocks, allow_unknown_chunksizes=True)
    return whole


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
