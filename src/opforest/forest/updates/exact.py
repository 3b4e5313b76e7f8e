"""Exact learning and forgetting: the result equals the forest obtained by refitting."""

from collections.abc import Iterator

import numpy as np

from opforest.core.dynamic.insert import insert_exactly
from opforest.core.dynamic.remove import remove_exactly
from opforest.core.jit import specialize
from opforest.core.label_spread.insert import insert_seeded
from opforest.core.label_spread.remove import remove_seeded
from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.seeded import SeededForest
from opforest.forest.state import ForestState, label_only
from opforest.forest.updates.base import Update

#: A batch of at least this share of the known examples is learned by refitting.
WORTH_TRAINING = 0.2

#: Forgetting more than this share of the remaining examples is done by refitting, too: a removal
#: takes longer than an insertion.
WORTH_TRAINING_TO_FORGET = 0.02

#: Removals in one call of a kernel: few enough for Ctrl-C to be noticed.
REMOVALS_PER_CALL = 100


def prepare(forest: BaseForest) -> Forest:
    """Return the forest itself, if it is exact."""
    if not isinstance(forest, Forest):
        raise ValueError(
            f"update='exact' cannot continue a model grown by update={forest.grown_by!r}, which "
            "is an approximation. Train a new model first."
        )
    return forest


def grow(forest: Forest, X: Array, label: Array, counts: Array) -> Iterator[Forest]:
    """Learn examples."""
    examples, known = forest.storage, len(forest.storage)
    end = examples.stage(X, label)
    if known == 0 or len(X) >= WORTH_TRAINING * known:
        staged = np.arange(end - len(X), end)
        trained = _retrain(forest, np.concatenate((_known(forest), staged)), known, counts)
        counts["learned"] += len(X)
        yield trained
        return
    examples.need_bound()
    yield forest
    for stop in examples.stops(end):
        _insert(forest, stop, False, counts)
        yield forest


def insert(forest: Forest, conqueror: int, counts: Array) -> Forest:
    """Learn the staged example, which has been measured unless ``conqueror`` is −1."""
    end = forest.storage.end + 1
    if len(forest.storage) == 0:
        forest = _retrain(forest, np.array([end - 1]), 0, counts)
        counts["learned"] += 1
    else:
        forest.storage.need_bound()
        _insert(forest, end, conqueror >= 0, counts)
    return forest


def _insert(forest: Forest, stop: int, measured: bool, counts: Array) -> None:
    examples = forest.storage
    insert_all = insert_seeded if isinstance(forest, SeededForest) else insert_exactly
    kernel = specialize(insert_all, forest.metric.kernel)
    while examples.end < stop:
        with examples.lock.write():
            body = examples.fields
            kernel(body.state, body.index, body.bound, stop, measured, forest.metric.kernel, counts)
        examples.make_room_in_index()


def shrink(forest: Forest, ids: Array, counts: Array) -> Iterator[Forest]:
    """Forget examples."""
    examples = forest.storage
    examples.make_room(0)
    vertex = examples.vertices_of(ids)
    left = len(examples) - len(vertex)
    if left == 0 or len(vertex) > max(1, WORTH_TRAINING_TO_FORGET * left):
        yield _retrain_without(forest, vertex, counts)
        return
    examples.need_bound()
    yield forest
    remove_all = remove_seeded if isinstance(forest, SeededForest) else remove_exactly
    kernel = specialize(remove_all, forest.metric.kernel)
    while len(vertex):
        part = vertex[:REMOVALS_PER_CALL]
        with examples.lock.write():
            body = examples.fields
            done = kernel(body.state, body.index, body.bound, part, forest.metric.kernel, counts)
        vertex = vertex[done:]
        examples.make_room_in_index()
        yield forest
    if 2 * examples.fields.n_deleted[0] > examples.end:
        examples.compact()


def _known(forest: Forest) -> Array:
    """Return the vertices of all examples."""
    return forest.storage.vertices_of(forest.storage.ids)


def _retrain_without(forest: Forest, vertex: Array, counts: Array) -> Forest:
    known = _known(forest)
    stays = ~np.isin(known, vertex)
    was_prototype = forest.is_prototype()
    trained = _retrain(forest, known[stays], int(stays.sum()), counts)
    counts["prototypes_lost"] += (was_prototype & ~stays).sum()
    counts["forgotten"] += len(vertex)
    return trained


def _retrain(forest: Forest, vertex: Array, old: int, counts: Array) -> Forest:
    """Train on these vertices, the first ``old`` of which are known, and count what changed.

    Returns
    -------
    Forest
        A new forest; the old one does not change.
    """
    examples, body, state = forest.storage, forest.storage.fields, forest.storage.arrays
    rows, records = state.rows[vertex], state.vertices[vertex]
    if forest.metric.is_table:
        rows = np.ascontiguousarray(rows[:, vertex])
    parts = ForestState(
        metric=forest.metric,
        rows=rows,
        model=label_only(forest.labels_given(records, old), rows.dtype),
        arrival=body.arrival[vertex],
        removed=body.removed + int(vertex.max(initial=examples.end - 1)) + 1 - len(vertex),
        vectors=None if body.vectors is None else body.vectors[vertex],
        algorithm=examples.algorithm,
        n_jobs=examples.n_jobs,
    )
    trained = type(forest).retrain(parts)
    was_prototype, is_prototype = records["cuts"] > 0, trained.is_prototype()
    was_prototype[old:] = False
    is_other = trained.storage.costs()[:old] != state.cost[vertex[:old]]
    counts["prototypes_gained"] += (is_prototype & ~was_prototype).sum()
    counts["prototypes_lost"] += (was_prototype & ~is_prototype).sum()
    counts["reconquered"] += len(vertex) - old + is_other.sum()
    return trained


EXACT = Update("exact", prepare, grow, insert, shrink=shrink)  # type: ignore[arg-type]
