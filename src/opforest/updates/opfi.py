"""OPF-Incremental, the algorithm of Ponti & Riva."""

from collections.abc import Iterator

import numpy as np

from opforest._jit import specialise
from opforest.forest import Forest
from opforest.kernels.opfi import insert_opfi
from opforest.metrics import Array
from opforest.updates.grown import GrownForest, as_grown


def prepare(forest: Forest) -> GrownForest:
    """Return the forest as one that may grow into anything."""
    return as_grown(forest, "opfi")


def grow(forest: GrownForest, X: Array, label: Array, counts: Array) -> Iterator[None]:
    """Learn examples; ``counts`` takes the numbers of an ``UpdateReport``."""
    begin, end = len(forest), forest.stage(X, label)
    # The batch is classified once, against the model as it is before it (Algorithm 1, line 1).
    conqueror = forest.conquerors_of_staged(end)
    yield
    for stop in forest.stops(begin, end):
        _insert(forest, conqueror, begin, stop, False, counts)
        yield


def learn_staged(forest: GrownForest, conqueror: int, counts: Array) -> None:
    """Learn the one example that has been staged and measured."""
    n = len(forest)
    _insert(forest, np.array([conqueror]), n, n + 1, True, counts)


def _insert(
    forest: GrownForest, conqueror: Array, begin: int, stop: int, measured: bool, counts: Array
) -> None:
    kernel = forest.metric.kernel
    insert = specialise(insert_opfi, kernel)
    insert(forest.state, forest.lines, conqueror, begin, stop, measured, kernel, counts)
