"""Queries to a stream classifier, answered one at a time."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeGuard, TypeVar

import numpy as np

from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.seeded import SeededForest
from opforest.forest.votes import Election, elect
from opforest.river.features import make_row

Method = TypeVar("Method", bound=Callable[..., Any])


def write_locked(method: Method) -> Method:
    """Let only one thread at a time call a method: even predictions change the object."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.lock():
            return method(self, *args, **kwargs)

    return call  # type: ignore[return-value]


class StagedQuery:
    """The last example predicted: staged in the forest and measured, but not learned.

    A copy is empty, because a copy of the forest has no staged example.
    """

    def __init__(self) -> None:
        self.values: tuple[float, ...] | None = None
        self.conqueror = -1

    def __reduce__(self) -> tuple[type["StagedQuery"], tuple[()]]:
        """Copy to an empty one."""
        return type(self), ()

    def clear(self) -> None:
        """Discard the example: it is no longer staged, or the forest changes."""
        self.values = None

    def set_width(self, forest: BaseForest, n_features: int) -> None:
        """Change the number of columns of the forest."""
        self.clear()
        forest.storage.set_width(n_features)

    def make_room(self, forest: BaseForest, n_features: int) -> None:
        """Give the forest enough columns, but at most twice as many, which would slow queries."""
        n_features = max(1, n_features)
        if not n_features <= forest.storage.n_features <= 2 * n_features:
            self.set_width(forest, n_features)

    def stage(self, forest: BaseForest, values: tuple[float, ...]) -> None:
        """Stage an example without measuring its distances."""
        self.clear()
        self.make_room(forest, len(values))
        forest.storage.stage_one(make_row(values, forest))

    def measure(self, forest: BaseForest, values: tuple[float, ...]) -> int:
        """Stage and measure an example, unless it was the last one; return its conqueror."""
        if self.values != values:
            self.stage(forest, values)
            self.conqueror = forest.queries.measure_staged()
            self.values = values
        return self.conqueror


def can_predict(forest: BaseForest | None) -> TypeGuard[BaseForest]:
    """Return whether there are examples with labels to predict with."""
    if forest is None or len(forest.storage) == 0:
        return False
    return not isinstance(forest, SeededForest) or forest.n_seeds > 0


def elect_staged(forest: BaseForest, calibration: CostCalibration) -> Election:
    """Let the cheapest offers to the staged example vote."""
    voter, offer = forest.queries.find_best_staged(calibration.voters)
    return elect(forest.queries, voter, offer, calibration)


def staged_probabilities(
    forest: BaseForest, conqueror: int, n_classes: int, calibration: CostCalibration
) -> Array:
    """Return the probability of each class for the staged example."""
    if calibration.voters > 1:
        election = elect_staged(forest, calibration)
        by_votes: Array = forest.vote_probabilities(election, n_classes, calibration)[0]
        return by_votes
    offer = forest.queries.offers_to_staged(n_classes)[None]
    winner = forest.storage.labels_of(slice(conqueror, conqueror + 1))
    cost, known = forest.to_units(offer), np.isfinite(offer)
    probabilities: Array = calibration.probabilities(cost, winner.astype(np.int64), known)[0]
    return probabilities
