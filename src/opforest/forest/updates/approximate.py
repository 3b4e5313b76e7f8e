"""The approximate updates of Ponti & Riva."""

from collections.abc import Iterator

import numpy as np

from opforest.core.dynamic.dift import insert_prototypes
from opforest.core.dynamic.opfi import insert_opfi
from opforest.core.jit import specialize
from opforest.core.metrics.types import Array
from opforest.forest.approximate import ApproximateForest, as_approximate
from opforest.forest.forest import BaseForest
from opforest.forest.updates.base import Update


class ApproximateUpdate(Update):
    """An update of approximate forests."""

    def prepare(self, forest: BaseForest) -> ApproximateForest:
        """Return an approximate forest to grow."""
        return as_approximate(forest, self.name)


class DIFTUpdate(ApproximateUpdate):
    """Their baseline: every new example becomes a prototype; nothing else changes."""

    name = "dift"

    def grow(
        self, forest: ApproximateForest, X: Array, label: Array, counts: Array
    ) -> Iterator[ApproximateForest]:
        """Learn examples."""
        end = forest.storage.stage(X, label)
        forest.make_room()
        yield forest
        self._insert(forest, end, counts)
        yield forest

    def insert(self, forest: ApproximateForest, conqueror: int, counts: Array) -> ApproximateForest:
        """Learn the staged example."""
        forest.make_room()
        self._insert(forest, forest.storage.end + 1, counts)
        return forest

    def _insert(self, forest: ApproximateForest, end: int, counts: Array) -> None:
        storage, trees = forest.storage, forest.prototype_trees
        while storage.end < end:
            with storage.lock.write():
                fields = storage.fields
                bound = fields.index_bound()
                insert_prototypes(fields.arrays, fields.index, bound, trees, end, counts)
            storage.make_room_in_index()


class OPFIUpdate(ApproximateUpdate):
    """OPF-Incremental, their algorithm."""

    name = "opfi"
    classifies_first = True

    def grow(
        self, forest: ApproximateForest, X: Array, label: Array, counts: Array
    ) -> Iterator[ApproximateForest]:
        """Learn examples."""
        end = forest.storage.stage(X, label)
        forest.make_room()
        # The whole batch is classified first, by the model before the update (Algorithm 1, line 1).
        conqueror = forest.queries.find_staged(end)
        yield forest
        for stop in forest.storage.stops(end):
            part = stop - forest.storage.end
            self._insert(forest, conqueror[:part], False, counts)
            conqueror = conqueror[part:]
            yield forest

    def insert(self, forest: ApproximateForest, conqueror: int, counts: Array) -> ApproximateForest:
        """Learn the example that has been staged and measured."""
        forest.make_room()
        self._insert(forest, np.array([conqueror]), True, counts)
        return forest

    def _insert(
        self, forest: ApproximateForest, conqueror: Array, measured: bool, counts: Array
    ) -> None:
        """Learn the first staged examples, given their conquerors."""
        storage, trees, metric = forest.storage, forest.prototype_trees, forest.metric.kernel
        kernel, begin = specialize(insert_opfi, metric), storage.end
        while (done := storage.end - begin) < len(conqueror):
            with storage.lock.write():
                fields, left = storage.fields, conqueror[done:]
                bound = fields.index_bound()
                kernel(fields.arrays, fields.index, bound, trees, left, measured, metric, counts)
            storage.make_room_in_index()
