"""Semi-supervised forests, in which labels spread from seeds to all other examples."""

from typing import Self

import numpy as np

from opforest.core.label_spread.batch import UNLABELED, spread_labels
from opforest.core.metrics.types import Array
from opforest.core.records import Tree
from opforest.core.tree_costs import as_tree
from opforest.forest import invariants
from opforest.forest.forest import Forest
from opforest.forest.queries import read_locked
from opforest.forest.state import ForestState, TreeModel


class SeededForest(Forest):
    """An optimum-path forest over examples, only some of which have a given label.

    The labeled examples are its seeds, and its prototypes. The minimum spanning tree spans all
    examples. Each example is joined to the seed whose path to it has the smallest maximum edge;
    the order of edges decides all ties. The attributes are those of ``Forest``; ``label`` of an
    unlabeled example is the label of its seed. Without any seed, labels and costs are 0 and mean
    nothing.
    """

    grown_by = "seeds"
    seed_name = "labeled example"

    @staticmethod
    def complete(state: ForestState, tree: Tree) -> ForestState:
        """Return a state whose model held only the labels of seeds, with tree, labels and costs."""
        seeds = (state.model.label != UNLABELED).astype(np.int64)
        spread = spread_labels(tree, state.model.label)
        model = TreeModel(spread.label, tree.parent, tree.weight, seeds, spread.cost)
        return state._replace(model=model, seed_parent=spread.seed_parent)

    @classmethod
    def from_state(cls, state: ForestState) -> Self:
        """Return the forest of a state, which is not checked."""
        if state.seed_parent is None and len(state.rows):
            state = state._replace(seed_parent=cls._spread_again(state).seed_parent)
        return super().from_state(state)

    @classmethod
    def _spread_again(cls, state: ForestState) -> ForestState:
        """Return the state that follows from the tree and the seeds of another one."""
        model = state.model
        label = np.where(model.cuts > 0, model.label, UNLABELED)
        given = state._replace(model=model._replace(label=label))
        return cls.complete(given, as_tree(model.parent, model.weight))

    @property
    def n_seeds(self) -> int:
        """The number of examples with a given label."""
        return self.storage.n_prototypes

    def training_labels(self, vertex: Array, known: int) -> Array:
        """Return the labels given to vertices, the first ``known`` of which are in the forest."""
        label = super().training_labels(vertex, known)
        label[:known][self.storage.arrays.vertices["cuts"][vertex[:known]] == 0] = UNLABELED
        return label

    @read_locked
    def given_labels(self, ids: Array | None = None) -> Array:
        """Return the label given to each example, or to those with these ids, or ``UNLABELED``."""
        storage = self.storage
        record = storage.arrays.vertices[
            storage.alive() if ids is None else storage.vertices_of(ids)
        ]
        return np.where(record["cuts"] > 0, record["label"], UNLABELED).astype(np.int64)

    def copy(self) -> Self:
        """Return a copy that shares nothing with the forest."""
        return self.from_state(self.state().copy_rows())

    def relabel(self, new_code: Array) -> Self:
        """Return a copy of the forest with classes renamed."""
        return super().relabel(new_code) if self.n_seeds else self.copy()

    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        before = self.storage.seed_parents()
        if before is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.n_seeds == 0:
            return before, before
        root = np.where(before < 0, np.arange(len(before)), before)
        while (before[root] >= 0).any():
            root = root[root]
        return before, root

    @read_locked
    def check_model(self) -> None:
        """Raise ``AssertionError`` unless labels, costs and paths follow from tree and seeds."""
        state = self.storage.state()
        if len(state.rows):
            self.check_tree(state.model)
            invariants.check_seeded_model(state, self._spread_again(state))

    def check_tree(self, model: TreeModel) -> None:
        """Raise ``AssertionError`` if the tree of a model does not span, or is miscounted."""
        invariants.check_seeded_tree(self.storage, model)
