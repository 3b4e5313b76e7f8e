"""Growing a forest into the very one that training on all examples would give, and back."""

from collections.abc import Iterator

import numpy as np

from opforest._jit import specialise
from opforest.forest import Forest
from opforest.kernels.insertion import (
    GAINED,
    LEARNED,
    LOST,
    RECONQUERED,
    REMOVED,
    insert_exactly,
)  # fmt: skip
from opforest.kernels.removal import remove_exactly
from opforest.kernels.state import HOLES
from opforest.metrics import Array
from opforest.storage import living

#: A batch of at least this share of the examples known is learned by training anew.
WORTH_TRAINING = 0.2

#: So is forgetting at least this share of the examples that stay; a removal takes longer.
WORTH_TRAINING_TO_FORGET = 0.02

#: Removals in one call of a kernel, so that Ctrl-C is heard.
REMOVALS_PER_CALL = 100


def prepare(forest: Forest) -> Forest:
    """Return the forest itself, if it still is what training would give."""
    if forest.grown_by:
        raise ValueError(
            f"update='exact' cannot go on with a model grown by update={forest.grown_by!r}, which "
            "is not what training would give. Train a new model first."
        )
    return forest


def grow(forest: Forest, X: Array, label: Array, counts: Array) -> Iterator[None]:
    """Learn examples; ``counts`` takes the numbers of an ``UpdateReport``."""
    known = len(forest)
    end = forest.stage(X, label)
    begin = end - len(X)
    yield
    if known == 0 or len(X) >= WORTH_TRAINING * known:
        chosen = living(forest.state)
        old = np.arange(begin) if chosen is None else chosen
        _train(forest, np.concatenate((old, np.arange(begin, end))), known, counts)
        counts[LEARNED] += len(X)
        return
    for stop in forest.stops(begin, end):
        _insert(forest, stop, False, counts)
        yield


def learn_staged(forest: Forest, conqueror: int, counts: Array) -> None:
    """Learn the one example that has been staged; and measured, unless ``conqueror`` is −1."""
    end = forest.end + 1
    if len(forest) == 0:
        _train(forest, np.array([end - 1]), 0, counts)
        counts[LEARNED] += 1
    else:
        _insert(forest, end, conqueror >= 0, counts)


def shrink(forest: Forest, ids: Array, counts: Array) -> Iterator[None]:
    """Forget examples; the forest is valid whenever this yields."""
    forest.make_room(0)
    vertex = forest.vertices_of(ids)
    left = len(forest) - len(vertex)
    if left == 0 or len(vertex) > max(1, WORTH_TRAINING_TO_FORGET * left):
        _train_without(forest, vertex, counts)
        yield
        return
    remove = specialise(remove_exactly, forest.metric.kernel)
    done = 0
    while done < len(vertex):
        part = vertex[: done + REMOVALS_PER_CALL]
        done = remove(forest.state, forest.index, part, done, forest.measure, counts)
        forest.has_changed()
        yield
    if 2 * forest.state.count[HOLES] > forest.end:
        forest.tidy()


def _insert(forest: Forest, stop: int, measured: bool, counts: Array) -> None:
    insert = specialise(insert_exactly, forest.metric.kernel)
    while forest.end < stop:
        insert(forest.state, forest.index, stop, measured, forest.measure, counts)
        forest.has_changed()


def _train_without(forest: Forest, vertex: Array, counts: Array) -> None:
    stays = np.ones(forest.end, bool)
    stays[vertex] = False
    chosen = living(forest.state)
    vertices = np.arange(len(stays)) if chosen is None else chosen
    is_prototype = forest.state.cuts[vertices] > 0
    kept = stays[vertices]
    counts[LOST] += (is_prototype & ~kept).sum()
    _train(forest, vertices[kept], int(kept.sum()), counts)
    counts[REMOVED] += len(vertex)


def _train(forest: Forest, vertex: Array, old: int, counts: Array) -> None:
    """Train on these vertices, the first ``old`` of which are known, and compare."""
    state = forest.state
    was_prototype = state.cuts[vertex] > 0
    was_prototype[old:] = False
    old_cost = state.cost[vertex[:old]]
    forest.retrain(vertex)
    is_prototype = forest.state.cuts > 0
    counts[GAINED] += (is_prototype & ~was_prototype).sum()
    counts[LOST] += (was_prototype & ~is_prototype).sum()
    counts[RECONQUERED] += len(vertex) - old + (forest.state.cost[:old] != old_cost).sum()
