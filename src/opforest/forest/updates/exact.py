"""Exact learning, forgetting and labeling: the result is the forest of a refit."""

from collections.abc import Iterator

import numpy as np

from opforest._utils import tuning
from opforest.core.dynamic.insert import insert_exactly
from opforest.core.dynamic.remove import remove_exactly
from opforest.core.jit import specialize
from opforest.core.label_spread.batch import UNLABELED
from opforest.core.label_spread.insert import insert_seeded, label_exactly
from opforest.core.label_spread.remove import remove_seeded
from opforest.core.metrics.types import Array
from opforest.core.tree_costs import as_tree
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.seeded import SeededForest
from opforest.forest.state import TreeModel
from opforest.forest.updates.base import Update


class ExactUpdate(Update):
    """``update="exact"``, for supervised and semi-supervised forests."""

    name = "exact"
    can_forget = True

    def prepare(self, forest: BaseForest) -> Forest:
        """Return the forest itself, if it is exact."""
        if not isinstance(forest, Forest):
            raise ValueError(
                f"update='exact' cannot continue a model grown by update={forest.grown_by!r}, "
                "which is an approximation. Train a new model first."
            )
        return forest

    def grow(self, forest: Forest, X: Array, label: Array, counts: Array) -> Iterator[Forest]:
        """Learn examples."""
        storage, known = forest.storage, len(forest.storage)
        end = storage.stage(X, label)
        if known == 0 or len(X) >= tuning.values.refit_fraction * known:
            vertex = np.concatenate((storage.vertices(), np.arange(end - len(X), end)))
            trained = _retrain(forest, vertex, known, counts)
            counts["learned"] += len(X)
            yield trained
            return
        storage.update_bound()
        yield forest
        for stop in storage.stops(end):
            _insert(forest, stop, False, counts)
            yield forest

    def insert(self, forest: Forest, conqueror: int, counts: Array) -> Forest:
        """Learn the staged example, which has been measured unless ``conqueror`` is −1."""
        end = forest.storage.end + 1
        if len(forest.storage) == 0:
            forest = _retrain(forest, np.array([end - 1]), 0, counts)
            counts["learned"] += 1
        else:
            forest.storage.update_bound()
            _insert(forest, end, conqueror >= 0, counts)
        return forest

    def shrink(self, forest: Forest, ids: Array, counts: Array) -> Iterator[Forest]:
        """Forget examples."""
        storage, metric = forest.storage, forest.metric.kernel
        storage.make_room(0)
        vertex = storage.vertices_of(ids)
        left = len(storage) - len(vertex)
        if left == 0 or len(vertex) > max(1, tuning.values.refit_fraction_to_forget * left):
            yield _retrain_without(forest, vertex, counts)
            return
        storage.update_bound()
        yield forest
        remove = remove_seeded if isinstance(forest, SeededForest) else remove_exactly
        kernel = specialize(remove, metric)
        while len(vertex):
            part = vertex[: tuning.values.removals_per_call]
            with storage.lock.write():
                fields = storage.fields
                done = kernel(fields.arrays, fields.index, fields.bound, part, metric, counts)
            vertex = vertex[done:]
            storage.make_room_in_index()
            yield forest
        if 2 * storage.fields.n_deleted[0] > storage.end:
            storage.compact()


def give_labels(forest: SeededForest, ids: Array, label: Array, counts: Array) -> SeededForest:
    """Label known examples that have no given label.

    Returns
    -------
    SeededForest
        The forest itself, changed by one call of a kernel; or a new forest, and the old one does
        not change.
    """
    storage = forest.storage
    if len(ids) < max(2, tuning.values.spread_fraction * len(storage)):
        vertex = storage.vertices_of(ids)
        with storage.lock.write():
            label_exactly(storage.arrays, storage.fields.index, vertex, label, counts)
        return forest
    state, given = forest.state().copy_rows(), forest.given_labels()
    given[forest.index_of(ids)] = label
    before, tree = state.model.cost, as_tree(state.model.parent, state.model.weight)
    state = state._replace(model=TreeModel.of_labels(given, state.rows.dtype))
    spread = SeededForest.from_state(SeededForest.complete(state, tree))
    counts["prototypes_gained"] += (given != UNLABELED).sum() - forest.n_seeds
    counts["reconquered"] += (spread.storage.costs() != before).sum()
    return spread


def _insert(forest: Forest, stop: int, measured: bool, counts: Array) -> None:
    storage, metric = forest.storage, forest.metric.kernel
    insert = insert_seeded if isinstance(forest, SeededForest) else insert_exactly
    kernel = specialize(insert, metric)
    while storage.end < stop:
        with storage.lock.write():
            fields = storage.fields
            kernel(fields.arrays, fields.index, fields.bound, stop, measured, metric, counts)
        storage.make_room_in_index()


def _retrain_without(forest: Forest, vertex: Array, counts: Array) -> Forest:
    known = forest.storage.vertices()
    stays = ~np.isin(known, vertex)
    was_prototype = forest.is_prototype()
    trained = _retrain(forest, known[stays], int(stays.sum()), counts)
    counts["prototypes_lost"] += (was_prototype & ~stays).sum()
    counts["forgotten"] += len(vertex)
    return trained


def _retrain(forest: Forest, vertex: Array, known: int, counts: Array) -> Forest:
    """Return a new forest of these vertices, and count what changed.

    The first ``known`` of them are in the forest, the others are staged.
    """
    arrays = forest.storage.arrays
    model = TreeModel.of_labels(forest.training_labels(vertex, known), arrays.rows.dtype)
    trained = type(forest).retrain(forest.storage.state_of(vertex, model))
    was_prototype, is_prototype = arrays.vertices["cuts"][vertex] > 0, trained.is_prototype()
    was_prototype[known:] = False
    is_other = trained.storage.costs()[:known] != arrays.cost[vertex[:known]]
    counts["prototypes_gained"] += (is_prototype & ~was_prototype).sum()
    counts["prototypes_lost"] += (was_prototype & ~is_prototype).sum()
    counts["reconquered"] += len(vertex) - known + is_other.sum()
    return trained
