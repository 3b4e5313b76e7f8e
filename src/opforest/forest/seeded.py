"""Semi-supervised forests, in which labels spread from seeds to all other examples."""

from typing import Self

import numpy as np

from opforest.core.label_spread.batch import UNLabeled, spread_labels
from opforest.core.metrics.types import Array
from opforest.core.records import Tree
from opforest.core.tree_costs import as_tree
from opforest.forest import invariants
from opforest.forest.forest import Forest
from opforest.forest.queries import read_locked
from opforest.forest.state import ForestState, TreeModel
from opforest.forest.storage import ForestStorage


class SeededForest(Forest):
    """An optimum-path forest over examples, only some of which have a given label.

    The labeled examples are its seeds, and its prototypes. The minimum spanning tree spans all
    examples. Each example is joined to the seed that it reaches by the smallest largest edge; the
    order of edges decides all ties. The attributes are those of ``Forest``; ``label`` of an
    unlabeled example is the label of its seed. Without any seed, labels and costs are 0 and mean
    nothing.
    """

    grown_by = "seeds"
    seed_name = "labeled example"

    @staticmethod
    def conquered(parts: ForestState, tree: Tree) -> ForestState:
        """Complete parts of which only the labels of seeds are known, by a spanning tree."""
        seeds = parts.model.label != UNLabeled
        spread = spread_labels(tree, parts.model.label)
        model = TreeModel(
            spread.label, tree.parent, tree.weight, seeds.astype(np.int64), spread.cost
        )
        return parts._replace(model=model, seed_parent=spread.way)

    @classmethod
    def from_state(cls, parts: ForestState) -> Self:
        """Return the forest that consists of these parts, without checking them."""
        if parts.seed_parent is None and len(parts.rows):
            model = parts.model
            given = parts._replace(model=model._replace(label=_given(model)))
            way = cls.conquered(given, as_tree(model.parent, model.weight)).seed_parent
            parts = parts._replace(seed_parent=way)
        return cls(ForestStorage.from_state(parts), parts.calibration)

    @property
    def n_seeds(self) -> int:
        """The number of examples with a given label."""
        return int(self.storage.arrays.counters[0]["prototypes"])

    def labels_given(self, records: Array, known: int) -> Array:
        """Return the labels given to vertices, the first ``known`` of which are in the forest."""
        label: Array = records["label"].astype(np.int64)
        label[:known][records["cuts"][:known] == 0] = UNLabeled
        return label

    @read_locked
    def given(self) -> Array:
        """Return the label given to each example, or ``UNLabeled``."""
        return _given(self.storage.model())

    def relabeled(self, new_code: Array) -> Self:
        """Return a copy of the forest with classes renamed."""
        parts = self.state()
        label = new_code[parts.model.label] if self.n_seeds else parts.model.label
        rows = parts.rows.copy()
        return self.from_state(parts._replace(rows=rows, model=parts.model._replace(label=label)))

    @read_locked
    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        way = self.storage.state().seed_parent
        if way is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.n_seeds == 0:
            return way, way
        root = np.where(way < 0, np.arange(len(way)), way)
        while (way[root] >= 0).any():
            root = root[root]
        return way, root

    @read_locked
    def check_model(self) -> None:
        """Raise ``AssertionError`` unless labels, costs and ways follow from tree and seeds."""
        model = self.storage.model()
        if len(model.label) == 0:
            return
        self.check_tree(model)
        found = self.storage.state()._replace(model=model)
        seeds = found._replace(model=model._replace(label=_given(model)))
        expected = self.conquered(seeds, as_tree(model.parent, model.weight))
        invariants.check_seeded_model(found, expected)

    def check_tree(self, model: TreeModel) -> None:
        """Raise ``AssertionError`` if the tree of a model does not span, or is miscounted."""
        invariants.check_seeded_tree(self.storage, model)


def _given(model: TreeModel) -> Array:
    return np.where(model.cuts > 0, model.label, UNLabeled)
