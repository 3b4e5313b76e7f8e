"""Growing a forest into the very one that training on all examples would give."""

from collections.abc import Iterator

from opforest._jit import specialise
from opforest.forest import Forest, resized
from opforest.kernels.insertion import GAINED, LEARNED, LOST, RECONQUERED, insert_exactly
from opforest.metrics import Array

#: A batch of at least this share of the examples known is learned by training anew.
WORTH_TRAINING = 0.2


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
    begin, end = len(forest), forest.stage(X, label)
    yield
    if len(X) >= WORTH_TRAINING * begin:
        _train(forest, begin, end, counts)
        return
    for stop in forest.stops(begin, end):
        _insert(forest, stop, False, counts)
        yield


def learn_staged(forest: Forest, conqueror: int, counts: Array) -> None:
    """Learn the one example that has been staged and measured."""
    _insert(forest, len(forest) + 1, True, counts)


def _insert(forest: Forest, stop: int, measured: bool, counts: Array) -> None:
    kernel = forest.metric.kernel
    specialise(insert_exactly, kernel)(forest.state, stop, measured, kernel, counts)


def _train(forest: Forest, begin: int, end: int, counts: Array) -> None:
    was_prototype = resized(forest.state.cuts[:begin] > 0, end)
    old_cost = forest.state.cost[:begin].copy()
    forest.retrain(end)
    is_prototype = forest.state.cuts > 0
    counts[LEARNED] += end - begin
    counts[GAINED] += (is_prototype & ~was_prototype).sum()
    counts[LOST] += (was_prototype & ~is_prototype).sum()
    counts[RECONQUERED] += end - begin + (forest.state.cost[:begin] != old_cost).sum()
