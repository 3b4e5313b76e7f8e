"""Updates of the forest of a stream: parameters, learning, late labels, forgetting."""

from collections.abc import Callable, Iterator
from typing import TypeGuard

import numpy as np

from opforest.core.label_spread.batch import UNLABELED
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.estimators.validation import require_count
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.seeded import SeededForest
from opforest.forest.updates import Update, find_update
from opforest.forest.updates.late_labels import give_labels
from opforest.forest.updates.report import no_counts


def check_update(
    name: str, semi_supervised: bool, window_size: int | None, forest: BaseForest | None
) -> Update:
    """Return the update of this name; raise an error if other parameters do not match."""
    update = find_update(name)
    if semi_supervised and update.name != "exact":
        raise ValueError(f"semi_supervised needs update='exact', got update={name!r}.")
    if forest is not None and semi_supervised != isinstance(forest, SeededForest):
        raise ValueError("semi_supervised must not be changed after learning.")
    if window_size is not None:
        require_count("window_size", window_size, 1)
        if not update.can_forget:
            raise ValueError(f"window_size needs update='exact': update={name!r} cannot forget.")
    return update


def check_restored(forest: BaseForest, semi_supervised: bool, n_features: int) -> None:
    """Raise a ``ValueError`` if a saved forest does not fit the parameters or the features."""
    if semi_supervised != isinstance(forest, SeededForest):
        raise ValueError("semi_supervised does not match the forest.")
    if forest.n_features != max(1, n_features):
        raise ValueError(f"the forest has {forest.n_features} features, but {n_features} names.")


def start_forest(
    update: Update, X: Array, label: Array, metric: Metric, semi_supervised: bool
) -> BaseForest:
    """Return the forest of the first row alone, ready for the update."""
    kind = SeededForest if semi_supervised else Forest
    return update.prepare(kind.train(metric.embed(X[:1]), label[:1], metric))


def grow(update: Update, forest: BaseForest, X: Array, label: Array) -> Iterator[BaseForest]:
    """Learn rows one after another; nothing changes before the first ``yield``."""
    counts = no_counts()
    if len(X) == 0:
        yield forest
    elif not update.classifies_first:
        yield from update.grow(forest, X, label, counts)
    else:  # classify each example just before learning it
        forest.storage.stage(X, label)
        yield forest
        for _ in range(len(X)):
            yield update.insert(forest, forest.queries.measure_staged(), counts)


def shrink(
    update: Update, forest: BaseForest | None, choose: Callable[[BaseForest], Array]
) -> Iterator[BaseForest]:
    """Return an iterator that forgets the examples that ``choose`` returns, called at once."""
    update.require_forgetting()
    if forest is None:
        raise ValueError("the model has not learned any examples to forget.")
    return update.shrink(forest, choose(forest), no_counts())


def is_known(forest: BaseForest | None, number: int) -> TypeGuard[SeededForest]:
    """Return whether a semi-supervised forest still has an example that it learned."""
    seen = 0 if forest is None else forest.next_id
    if number >= seen:
        raise ValueError(
            f"number must be the id of a learned example, less than {seen}, got {number}."
        )
    if not isinstance(forest, SeededForest):
        raise TypeError("this forest has no seeds.")
    return bool(forest.storage.vertices_of(np.array([number]))[0] >= 0)


def find_label(forest: SeededForest, number: int) -> int | None:
    """Return the given label of an example, or ``None``."""
    code = int(forest.given_labels(np.array([number]))[0])
    return None if code == UNLABELED else code


def set_label(forest: SeededForest, number: int, code: int) -> SeededForest:
    """Label an example that had no label, and return the forest."""
    return give_labels(forest, np.array([number]), np.array([code]), no_counts())
