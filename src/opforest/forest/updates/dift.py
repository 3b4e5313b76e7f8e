"""The baseline of Ponti & Riva: every new example becomes a prototype; nothing else changes."""

from collections.abc import Iterator

from opforest.core.dynamic.dift import insert_prototypes
from opforest.core.metrics.types import Array
from opforest.forest.approximate import ApproximateForest, as_approximate
from opforest.forest.forest import BaseForest
from opforest.forest.state import costs_as_bound
from opforest.forest.updates.base import Update


def prepare(forest: BaseForest) -> ApproximateForest:
    """Return the forest as one that DIFT can grow."""
    return as_approximate(forest, "dift")


def grow(
    forest: ApproximateForest, X: Array, label: Array, counts: Array
) -> Iterator[ApproximateForest]:
    """Learn examples."""
    end = forest.storage.stage(X, label)
    yield forest
    _insert(forest, end, counts)
    yield forest


def insert(forest: ApproximateForest, conqueror: int, counts: Array) -> ApproximateForest:
    """Learn the staged example."""
    _insert(forest, forest.storage.end + 1, counts)
    return forest


def _insert(forest: ApproximateForest, end: int, counts: Array) -> None:
    examples = forest.storage
    while examples.end < end:
        with examples.lock.write():
            body = examples.fields
            insert_prototypes(
                body.state, body.index, costs_as_bound(body), body.prototype_trees, end, counts
            )
        examples.make_room_in_index()


DIFT = Update("dift", prepare, grow, insert)  # type: ignore[arg-type]
