"""The baseline of Ponti & Riva: every new example becomes a prototype, nothing else changes."""

from collections.abc import Iterator

import numpy as np

from opforest.forest import Forest
from opforest.kernels.insertion import GAINED, LEARNED
from opforest.kernels.state import SIZE
from opforest.metrics import Array
from opforest.updates.grown import GrownForest, as_grown


def prepare(forest: Forest) -> GrownForest:
    """Return the forest as one that may grow into anything."""
    return as_grown(forest, "dift")


def grow(forest: GrownForest, X: Array, label: Array, counts: Array) -> Iterator[None]:
    """Learn examples; ``counts`` takes the numbers of an ``UpdateReport``."""
    end = forest.stage(X, label)
    yield
    _append(forest, end, counts)


def learn_staged(forest: GrownForest, conqueror: int, counts: Array) -> None:
    """Learn the one example that has been staged and measured."""
    _append(forest, forest.end + 1, counts)


def _append(forest: GrownForest, end: int, counts: Array) -> None:
    state, new = forest.state, slice(forest.end, end)
    for links in (state.parent, state.child, state.after, state.before, forest.lines.pair):
        links[new] = -1
    state.cost[new] = 0
    state.weight[new] = 0
    forest.lines.root[new] = np.arange(new.start, end)
    state.count[SIZE] = end
    counts[[LEARNED, GAINED]] += end - new.start
