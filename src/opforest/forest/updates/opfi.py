"""OPF-Incremental, the algorithm of Ponti & Riva."""

from collections.abc import Iterator

import numpy as np

from opforest.core.dynamic.opfi import insert_opfi
from opforest.core.jit import specialize
from opforest.core.metrics.types import Array
from opforest.forest.approximate import ApproximateForest, as_approximate
from opforest.forest.forest import BaseForest
from opforest.forest.state import costs_as_bound
from opforest.forest.updates.base import Update


def prepare(forest: BaseForest) -> ApproximateForest:
    """Return the forest as one that OPFI can grow."""
    return as_approximate(forest, "opfi")


def grow(
    forest: ApproximateForest, X: Array, label: Array, counts: Array
) -> Iterator[ApproximateForest]:
    """Learn examples."""
    examples = forest.storage
    end = examples.stage(X, label)
    # The whole batch is classified first, by the model before the update (Algorithm 1, line 1).
    conqueror = examples.find_staged(end)
    yield forest
    for stop in examples.stops(end):
        _insert(forest, conqueror, stop, False, counts)
        conqueror = conqueror[len(conqueror) - (end - stop) :]
        yield forest


def insert(forest: ApproximateForest, conqueror: int, counts: Array) -> ApproximateForest:
    """Learn the example that has been staged and measured."""
    _insert(forest, np.array([conqueror]), forest.storage.end + 1, True, counts)
    return forest


def _insert(
    forest: ApproximateForest, conqueror: Array, stop: int, measured: bool, counts: Array
) -> None:
    """Learn examples up to ``stop``; the list starts with their conquerors."""
    examples, metric = forest.storage, forest.metric.kernel
    kernel, begin = specialize(insert_opfi, metric), examples.end
    while (done := examples.end - begin) < stop - begin:
        some = conqueror[done : stop - begin]
        with examples.lock.write():
            body = examples.fields
            bound = costs_as_bound(body)
            kernel(
                body.state, body.index, bound, body.prototype_trees, some, measured, metric, counts
            )
        examples.make_room_in_index()


OPFI = Update("opfi", prepare, grow, insert, classifies_first=True)  # type: ignore[arg-type]
