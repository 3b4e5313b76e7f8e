"""Forests grown by approximate updates: one rooted tree for each prototype."""

from typing import Any

import numpy as np

from opforest.core.metrics.types import Array
from opforest.core.records import PrototypeTrees
from opforest.forest import invariants
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.queries import read_locked
from opforest.forest.state import ForestState, TreeModel, read_only
from opforest.forest.storage import ForestStorage


class ApproximateForest(BaseForest):
    """A forest of optimum-path trees, each rooted at its prototype.

    Parents are predecessors. There are no edges between trees: a prototype remembers its pair,
    the other end of the shortest cut edge when it became a prototype.

    Parameters
    ----------
    examples : Examples
        The examples, linked by their predecessors, with roots and pairs.
    grown_by : str
        The update that made it.
    calibration : CostCalibration, default=None
        What has been found.
    """

    def __init__(
        self, storage: ForestStorage, grown_by: str, calibration: CostCalibration | None = None
    ) -> None:
        super().__init__(storage, calibration)
        self.grown_by = grown_by

    @classmethod
    def from_state(cls, parts: ForestState) -> "ApproximateForest":
        """Return the forest that consists of these parts, which are not checked."""
        return cls(ForestStorage.from_state(parts), parts.grown_by, parts.calibration)

    @property
    def lines(self) -> PrototypeTrees:
        """The root of each example, and the pair of each prototype, with room to grow."""
        lines = self.storage.fields.prototype_trees
        if lines is None:
            raise TypeError("these examples have no roots and pairs.")
        return lines

    @property
    @read_locked
    def pair(self) -> Array:
        """The pair of each prototype; −1 for none, and for all other examples."""
        return read_only(self.lines.pair[: self.storage.end].copy())

    def is_prototype(self) -> Array:
        """Return, for each example, whether it is a prototype."""
        return self.storage.field("parent") < 0

    @read_locked
    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        return self.storage.model().parent, self.lines.root[: self.storage.end].copy()

    def check_tree(self, model: TreeModel) -> None:
        """Raise ``AssertionError`` if pairs are not those of prototypes."""
        invariants.check_pairs(model, self.prototypes, self.pair)


def forest_of(parts: ForestState) -> BaseForest:
    """Return the forest that consists of these parts, which are not checked."""
    kind: Any = ApproximateForest if parts.grown_by else Forest
    forest: BaseForest = kind.from_state(parts)
    return forest


def as_approximate(forest: BaseForest, update: str) -> ApproximateForest:
    """Return a forest to be grown by ``update``; the given one does not change."""
    if isinstance(forest, ApproximateForest):
        if forest.grown_by != update:
            raise ValueError(
                f"update={update!r} cannot continue a model grown by "
                f"update={forest.grown_by!r}. Train a new model first."
            )
        return forest
    if len(forest) == 0:
        raise ValueError(
            f"update={update!r} cannot start from a model that has forgotten all its examples. "
            "Train a new model first."
        )
    model, (predecessor, root) = forest.storage.model(), forest.paths()
    weight = model.weight[np.where(predecessor == model.parent, np.arange(len(root)), predecessor)]
    weight[predecessor < 0] = 0
    lines = PrototypeTrees(root, _pairs(model))
    return ApproximateForest(forest.storage.relinked(predecessor, weight, lines), update)


def _pairs(model: TreeModel) -> Array:
    """Return the other end of the smallest cut edge of each prototype, −1 for all others."""
    label, parent, weight, _, _ = model
    cut = np.flatnonzero((parent >= 0) & (label != label[parent]))
    low, high = np.minimum(cut, parent[cut]), np.maximum(cut, parent[cut])
    pair = np.full(len(label), -1)
    for edge in np.lexsort((high, low, weight[cut]))[
        ::-1
    ]:  # the smallest edge is written last, so it stays
        pair[low[edge]], pair[high[edge]] = high[edge], low[edge]
    return pair
