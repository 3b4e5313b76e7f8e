"""Forests that are no longer what training would give: one rooted tree for each prototype."""

import copy
from typing import Any

import numpy as np

from opforest.forest import Forest, demand
from opforest.kernels.index import Flat
from opforest.kernels.opfi import Lines
from opforest.kernels.rooted_tree import link_children
from opforest.kernels.state import HOLES, resized
from opforest.metrics import Array
from opforest.storage import read_only


class GrownForest(Forest):
    """A forest of optimum-path trees, each rooted at its prototype.

    Parents are predecessors. There are no edges between trees: a prototype remembers its pair,
    the other end of the shortest edge to another class that was cut when it became one.

    Attributes
    ----------
    lines : Lines
        The root of each example, and the pair of each prototype, −1 if it has none.
    """

    lines: Lines

    @property
    def prototypes(self) -> Array:
        """The indices of all prototypes, in rising order."""
        return read_only(np.flatnonzero(self.state.parent[: len(self)] < 0))

    @property
    def pair(self) -> Array:
        """The pair of each prototype; −1 for none, and for all other examples."""
        return read_only(self.lines.pair[: len(self)].copy())

    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        n = len(self)
        return self.state.parent[:n].copy(), self.lines.root[:n].copy()

    def _check_tree(self, parent: Array, label: Array) -> None:
        prototypes, pair = self.prototypes, self.pair
        demand((pair[parent >= 0] == -1).all(), "an ordinary example has a pair")
        paired = prototypes[pair[prototypes] >= 0]
        demand(np.isin(pair[paired], prototypes).all(), "a pair is no prototype")
        demand((label[pair[paired]] != label[paired]).all(), "a pair is of the same class")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out scratch space and room to grow."""
        lines = Lines(*(array[: len(self)] for array in self.lines))
        return {**super().__getstate__(), "lines": lines}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        """Restore what was left out."""
        lines = (np.require(array, requirements=("C", "W")) for array in pickled.pop("lines"))
        super().__setstate__(pickled)
        self.lines = Lines(*lines)

    def make_room(self, extra: int) -> None:
        """Make room for more examples."""
        super().make_room(extra)
        capacity = len(self.state.label)
        if len(self.lines.root) < capacity:
            self.lines = Lines(*(resized(array, capacity) for array in self.lines))


#: What a grown forest changes for examples it has taken over.
COPIED = ("child", "after", "before", "cost", "count")


def as_grown(forest: Forest, update: str) -> GrownForest:
    """Return the forest as one grown by ``update``; the other one stays as it is."""
    if isinstance(forest, GrownForest):
        if forest.grown_by != update:
            raise ValueError(
                f"update={update!r} cannot go on with a model grown by "
                f"update={forest.grown_by!r}. Train a new model first."
            )
        return forest
    if len(forest) == 0:
        raise ValueError(
            f"update={update!r} cannot begin with a model that has forgotten all its examples. "
            "Train a new model first."
        )
    if forest.state.count[HOLES] > 0:
        forest = copy.deepcopy(forest)  # has none
    grown = object.__new__(GrownForest)
    vars(grown).update(vars(forest), grown_by=update, index=Flat())
    predecessor, root = forest.paths()
    state, n = forest.state, len(forest)
    from_parent = predecessor == state.parent[:n]
    weight = np.where(from_parent, state.weight[:n], state.weight[predecessor])
    weight[predecessor < 0] = 0
    grown.state = state._replace(
        parent=resized(predecessor, len(state.parent)),
        weight=resized(weight, len(state.parent)),
        **{name: getattr(state, name).copy() for name in COPIED},
    )
    link_children(grown.state, n)
    grown.lines = Lines(root, _pairs(forest))
    return grown


def _pairs(forest: Forest) -> Array:
    """Return the other end of the smallest cut edge of each prototype, −1 for all others."""
    n = len(forest)
    parent, weight, label = forest.state.parent[:n], forest.state.weight[:n], forest.label
    cut = np.flatnonzero((parent >= 0) & (label != label[parent]))
    low, high = np.minimum(cut, parent[cut]), np.maximum(cut, parent[cut])
    pair = np.full(len(forest.state.label), -1)
    for edge in np.lexsort((high, low, weight[cut]))[::-1]:  # the smallest comes last and stays
        pair[low[edge]], pair[high[edge]] = high[edge], low[edge]
    return pair
