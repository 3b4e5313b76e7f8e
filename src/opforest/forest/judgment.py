"""Votes of the other examples on each known one, to find labels that are probably wrong."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from opforest._utils import tuning
from opforest._utils.chunks import split_chunks
from opforest.core.label_spread.batch import UNLABELED
from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.probabilities import CostCalibration, find_calibration
from opforest.forest.storage import ForestStorage
from opforest.forest.updates import EXACT
from opforest.forest.updates.report import no_counts
from opforest.forest.votes import Election, elect, elect_among_others

#: One voter is as often wrong as its own label; this many find nearly all wrong ones.
LEAST_VOTERS = 10


class Judgment(NamedTuple):
    """The votes of the others on some examples, by row; voters are in order of their offers."""

    id: Array  #: of the examples
    own: Array  #: their given classes
    voter: Array  #: ids, by voter; −1 if there are fewer
    election: Election
    probability: Array  #: by class

    def own_probability(self) -> Array:
        """Return the probability of the given class, by row."""
        found: Array = self.probability[np.arange(len(self.own)), self.own]
        return found

    def take(self, chosen: Array) -> "Judgment":
        """Return some of the rows."""
        election = Election(*(array[chosen] for array in self.election))
        own, voter, probability = (a[chosen] for a in (self.own, self.voter, self.probability))
        return Judgment(self.id[chosen], own, voter, election, probability)


def find_judging_rules(
    forest: BaseForest, voters: int | str, n_jobs: int | None = None
) -> CostCalibration:
    """Return how many voters judge known examples, and with which weights.

    They are those of predictions, if a number above one is given. For one voter and for "auto", the
    likelihood determines their number, but it is at least 10. Callers hold a read lock.
    """
    if voters not in (1, "auto"):
        return forest.calibration(n_jobs, voters)
    # The calibration of predictions, which the forest keeps, may be another one.
    found = find_calibration(forest.queries, n_jobs, "auto")
    if found.voters >= LEAST_VOTERS:
        return found
    return find_calibration(forest.queries, n_jobs, LEAST_VOTERS)


def judge(
    forest: BaseForest, n_classes: int, rules: CostCalibration, n_jobs: int | None = None
) -> Iterator[Judgment]:
    """Yield the votes on all examples with a given label, in blocks, in order of ids.

    Each is judged by the offers of the others, with the costs of the whole forest; in a forest of
    seeds, by the examples of other trees. Examples that no other one can judge are left out.
    Callers hold a read lock until the last block.
    """
    storage = forest.storage
    n_voters = min(rules.voters, len(storage))
    widest = max(storage.arrays.rows.shape[1], n_voters + 1, n_classes)
    size = max(1, tuning.values.judged_cells // widest)
    for vertex in split_chunks(_find_labeled(forest), size):
        election = elect_among_others(forest.queries, vertex, rules, n_jobs)
        yield _describe(forest, vertex, election, forest, n_classes, rules)


def judge_exactly(forest: BaseForest, n_classes: int, rules: CostCalibration) -> Iterator[Judgment]:
    """Yield the votes on each example with a given label in the forest refitted without it.

    Each takes a copy of the forest, so that ties are decided in the same order as by refitting.
    Callers hold a read lock until the last one.
    """
    if not isinstance(forest, Forest):
        raise ValueError(
            "exact=True needs a forest that can forget, but this one was grown by "
            f"update={forest.grown_by!r}. Use exact=False, or train with update='exact'."
        )
    storage, state = forest.storage, forest.state()
    alive = storage.vertices()
    for vertex in _find_labeled(forest):
        copy, counts = type(forest).from_state(state.copy_rows()), no_counts()
        *_, rest = EXACT.shrink(copy, storage.fields.arrival[[vertex]], counts)
        if len(rest) == 0 or (rest.storage.has_seeds and rest.storage.n_prototypes == 0):
            continue
        row = _take_row(storage, rest.storage, vertex, alive)
        election = elect(rest.queries, *rest.queries.find_best(row, rules.voters), rules)
        yield _describe(forest, np.array([vertex]), election, rest, n_classes, rules)


def _find_labeled(forest: BaseForest) -> Array:
    """Return the vertices of the examples that were given a label."""
    labeled: Array = forest.storage.vertices()[forest.given_labels() != UNLABELED]
    return labeled


def _take_row(storage: ForestStorage, rest: ForestStorage, vertex: int, alive: Array) -> Array:
    """Return the row of a vertex as kernels measure it against a forest without it."""
    row: Array = storage.arrays.rows[[vertex]]
    if not storage.metric.is_table:
        return row
    by_vertex = np.zeros((1, rest.arrays.rows.shape[1]), row.dtype)
    by_vertex[:, rest.vertices()] = row[:, alive[alive != vertex]]
    return by_vertex


def _describe(
    forest: BaseForest,
    vertex: Array,
    election: Election,
    judges: BaseForest,
    n_classes: int,
    rules: CostCalibration,
) -> Judgment:
    """Return the result of an election of voters of the forest ``judges``."""
    arrival, known_by = forest.storage.fields.arrival, judges.storage.fields.arrival
    found = Judgment(
        arrival[vertex],
        forest.storage.labels_of(vertex).astype(np.int64),
        np.where(election.voter >= 0, known_by[election.voter], -1),
        election,
        judges.vote_probabilities(election, n_classes, rules),
    )
    has_voters = election.voter[:, 0] >= 0
    return found if has_voters.all() else found.take(has_voters)
