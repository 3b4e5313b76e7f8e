"""Votes among the cheapest offers, and how their number and weights are found.

With K voters, whose offers are o_1 ≤ … ≤ o_K, a voter has the weight (o_i / o_1) ** −e. The number
of voters K, the exponent e and the smoothing a maximize the leave-one-out likelihood of the known
examples over a grid, so there is nothing to tune.

Examples of a narrow class are near to those of every class, and examples of a widely spread class
to none, so that offers favor narrow classes. Therefore "auto" also tries a weight for each class,
by which the weights of its voters are multiplied.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from opforest._utils.chunks import map_chunks, split_chunks
from opforest.core.conquest.kdtree import ANY
from opforest.core.jit import specialize
from opforest.core.metrics.types import Array
from opforest.core.probability.leave_label_out import find_voters_of_other_trees, relabel_seeds
from opforest.core.probability.votes import (
    EXPONENTS,
    SMOOTHING,
    count_votes,
    find_labels,
    fit_class_weights,
    remove_itself,
    smooth_votes,
    vote_likelihoods,
    weigh_voters,
)
from opforest.core.select.search import ScanSearch
from opforest.forest.queries import ForestQueries

if TYPE_CHECKING:
    from opforest.forest.probabilities import CostCalibration

#: The numbers of voters that ``"auto"`` tries, beside one.
VOTERS = (2, 3, 5, 7, 10, 15, 22, 33, 50)

#: Seeds whose voters one task finds.
SEEDS_PER_TASK = 32


class VoteParameters(NamedTuple):
    """The parameters that the likelihood determines."""

    voters: int
    exponent: float
    smoothing: float
    class_weights: tuple[float, ...] = ()


class Election(NamedTuple):
    """The votes on some queries, by row; voters are in order of their offers."""

    voter: Array  #: vertices, by voter; −1 if there are fewer
    label: Array  #: their classes
    offer: Array  #: in the metric's own units
    weight: Array
    votes: Array  #: by class, up to the last one that has any
    winner: Array  #: the class

    def best_voters(self) -> Array:
        """Return the best voter of the class that won, by row."""
        best = (self.label == self.winner[:, None]).argmax(axis=1)
        voters: Array = self.voter[np.arange(len(best)), best]
        return voters

    def probabilities(self, is_known: Array, smoothing: float) -> Array:
        """Return probabilities by row and class; ``is_known`` tells which have examples."""
        votes = np.zeros((len(self.votes), len(is_known)))
        votes[:, : self.votes.shape[1]] = self.votes
        found: Array = smooth_votes(votes, self.winner, is_known, smoothing)
        return found


def elect(queries: ForestQueries, voter: Array, offer: Array, rules: "CostCalibration") -> Election:
    """Let voters, given in order with their offers in reduced units, vote on queries."""
    offer, class_weights = queries.to_units(offer), np.array(rules.class_weights, np.float64)
    label = find_labels(queries.storage.arrays.vertices, voter)
    weight, winner = np.empty(offer.shape), np.empty(len(offer), np.int64)
    votes = np.zeros((len(offer), int(label.max(initial=0)) + 1))
    count_votes(offer, label, rules.exponent, rules.floor, class_weights, weight, votes, winner)
    return Election(voter, label, offer, weight, votes, winner)


def elect_among_others(
    queries: ForestQueries, chosen: Array, rules: "CostCalibration", n_jobs: int | None = None
) -> Election:
    """Let the others vote on vertices; in a forest of seeds, examples of other trees.

    Their costs are those of the whole forest.
    """
    return elect(queries, *_find_others(queries, chosen, rules.voters, n_jobs), rules)


def find_vote_parameters(
    queries: ForestQueries,
    chosen: Array,
    own: Array,
    floor: float,
    voters: int | str,
    n_jobs: int | None = None,
) -> tuple[VoteParameters, float]:
    """Return the parameters of largest likelihood for some vertices, and its logarithm.

    ``voters`` is their number or "auto"; ``own`` are the classes of the vertices. Each is judged by
    the offers of the others, with the costs of the forest. In a forest of seeds, the vertices are
    seeds, and only examples of other trees vote: the labels in its own tree follow from its label.
    """
    sizes: Sequence[int] = VOTERS if isinstance(voters, str) else (voters,)
    if len(chosen) == 0:  # nothing to judge by
        return VoteParameters(sizes[0], EXPONENTS[0], SMOOTHING[0]), 0.0
    voter, offer = _find_others(queries, chosen, sizes[-1], n_jobs)
    offer = queries.to_units(offer)
    label: Array = find_labels(queries.storage.arrays.vertices, voter)
    n_classes = len(queries.storage.classes())
    possible = np.array([min(size, len(queries.storage)) for size in sizes])
    likelihood = vote_likelihoods(offer, label, own, n_classes, floor, possible)
    found, best = _find_largest(likelihood, sizes)
    if voters == "auto" and n_classes > 1:
        all_vote, _ = _find_largest(likelihood[-1:], sizes[-1:])
        class_weight = np.ones(max(own.max(), label.max()) + 1)
        weight = weigh_voters(offer, label, all_vote.exponent, floor, class_weight)
        fitted = fit_class_weights(weight, label, own, class_weight, n_classes, all_vote.smoothing)
        fitted -= n_classes - 1  # by Akaike's criterion: as many parameters were fitted
        if fitted > best:
            return all_vote._replace(class_weights=tuple(class_weight.tolist())), fitted
    return found, best


def _find_largest(likelihood: Array, sizes: Sequence[int]) -> tuple[VoteParameters, float]:
    """Return the parameters of the largest likelihood in a grid, and its logarithm."""
    size, exponent, smoothing = np.unravel_index(likelihood.argmax(), likelihood.shape)
    found = VoteParameters(sizes[int(size)], EXPONENTS[exponent], SMOOTHING[smoothing])
    return found, float(likelihood.max())


def _find_others(
    queries: ForestQueries, chosen: Array, k: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """Return the k best offers that the others make to vertices; fewer if there are fewer."""
    k = min(k, len(queries.storage))
    find = _find_voters_in_other_trees if queries.storage.has_seeds else _find_other_voters
    return find(queries, chosen, k, n_jobs)


def _find_other_voters(
    queries: ForestQueries, chosen: Array, k: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """Return the k best offers to vertices, in ascending order, from the others."""
    if len(chosen) == len(queries.storage) and effective_n_jobs(n_jobs) == 1:
        searcher = queries.choose_searcher(len(chosen), ANY)
        if isinstance(searcher, ScanSearch) and searcher.can_pair:
            return searcher.find_of_others(k)
    voter, offer = queries.find_best(queries.storage.arrays.rows[chosen], k + 1, n_jobs)
    remove_itself(voter, offer, chosen)
    return np.ascontiguousarray(voter[:, :k]), np.ascontiguousarray(offer[:, :k])


def _find_voters_in_other_trees(
    queries: ForestQueries, chosen: Array, k: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """Return the k best offers to seeds from the examples in other trees."""
    storage, kernel = queries.storage, queries.storage.metric.kernel
    voter = np.full((len(chosen), k), -1, np.int64)
    offer = np.full((len(chosen), k), np.inf, storage.arrays.rows.dtype)
    tree = np.full(storage.end, -1, np.int32)
    label, cost = np.zeros(len(chosen), np.int64), offer[:, 0].copy()
    relabel_seeds(storage.arrays, chosen, tree, label, cost)
    search = specialize(find_voters_of_other_trees, kernel)

    def find(part: Array) -> None:
        some = slice(part[0], part[-1] + 1)
        search(storage.arrays, chosen[some], part, tree, voter[some], offer[some], kernel)

    parts = split_chunks(np.arange(len(chosen)), SEEDS_PER_TASK)
    map_chunks(find, parts, effective_n_jobs(n_jobs))
    return voter, offer
