"""Forests grown by approximate updates: one rooted tree for each prototype."""

import numpy as np

from opforest.core.metrics.types import Array
from opforest.core.records import PrototypeTrees, resize_array
from opforest.forest import invariants
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.queries import read_locked
from opforest.forest.state import ForestState, TreeModel, freeze
from opforest.forest.storage import ForestStorage


class ApproximateForest(BaseForest):
    """A forest of optimum-path trees, each rooted at its prototype.

    Parents are predecessors. There are no edges between trees: a prototype remembers its pair,
    the other end of the shortest cut edge when it became a prototype.
    """

    def __init__(
        self,
        storage: ForestStorage,
        prototype_trees: PrototypeTrees,
        grown_by: str,
        calibration: CostCalibration | None = None,
    ) -> None:
        super().__init__(storage, calibration)
        self.prototype_trees = prototype_trees
        self.grown_by = grown_by

    @classmethod
    def from_state(cls, state: ForestState) -> "ApproximateForest":
        """Return the forest of a state, which is not checked."""
        if state.prototype_trees is None:
            raise TypeError("the state of an approximate forest must have roots and pairs.")
        trees = (np.require(array, requirements=("C", "W")) for array in state.prototype_trees)
        storage = ForestStorage.from_state(state)
        forest = cls(storage, PrototypeTrees(*trees), state.grown_by, state.calibration)
        forest.queries.warm_up()
        return forest

    @read_locked
    def state(self) -> ForestState:
        """Return the portable form of the forest."""
        trees = (array[: self.storage.end].copy() for array in self.prototype_trees)
        return super().state()._replace(prototype_trees=PrototypeTrees(*trees))

    def make_room(self) -> None:
        """Make room for the roots and pairs of as many examples as the storage has room for."""
        capacity = len(self.storage.arrays.vertices)
        if len(self.prototype_trees.root) < capacity:
            self.prototype_trees = PrototypeTrees(
                *(resize_array(array, capacity) for array in self.prototype_trees)
            )

    @property
    @read_locked
    def n_bytes(self) -> int:
        """The memory of the model in bytes, including room to grow."""
        return super().n_bytes + sum(array.nbytes for array in self.prototype_trees)

    @property
    @read_locked
    def pair(self) -> Array:
        """The pair of each prototype; −1 for none, and for all other examples."""
        return freeze(self.prototype_trees.pair[: self.storage.end].copy())

    def is_prototype(self) -> Array:
        """Return, for each example, whether it is a prototype."""
        return self.storage.field("parent") < 0

    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        root = self.prototype_trees.root[: self.storage.end]
        return self.storage.model().parent, root.copy()

    def check_tree(self, model: TreeModel) -> None:
        """Raise ``AssertionError`` if pairs are not those of prototypes."""
        pair = self.prototype_trees.pair[: self.storage.end]
        invariants.check_pairs(model, np.flatnonzero(self.is_prototype()), pair)


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
    with forest.storage.lock.read():
        model, (predecessor, root) = forest.storage.model(), forest.paths()
        child = np.where(predecessor == model.parent, np.arange(len(root)), predecessor)
        weight = model.weight[child]
        weight[predecessor < 0] = 0
        trees = PrototypeTrees(root, _pair_prototypes(model))
        return ApproximateForest(forest.storage.relink(predecessor, weight, trees), trees, update)


def _pair_prototypes(model: TreeModel) -> Array:
    """Return the other end of the smallest cut edge of each prototype, −1 for all others."""
    label, parent, weight, _, _ = model
    cut = np.flatnonzero((parent >= 0) & (label != label[parent]))
    low, high = np.minimum(cut, parent[cut]), np.maximum(cut, parent[cut])
    pair = np.full(len(label), -1)
    order = np.lexsort((high, low, weight[cut]))[::-1]
    for edge in order:  # the smallest edge is written last, so it stays
        pair[low[edge]], pair[high[edge]] = high[edge], low[edge]
    return pair
