"""Class probabilities from path costs, calibrated on the known examples.

The probability of class k is proportional to c_k ** −e, where c_k is its cheapest offer. The
exponent e maximizes the leave-one-out likelihood of the known examples, so there is nothing to
tune; docs/probabilities.md explains the details. With several voters, probabilities are their votes
(``votes``).

In a semi-supervised forest, only given labels are evidence, because inferred labels agree with
their neighbors by construction. There, labels are left out one at a time instead of examples.
"""

from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from opforest._utils import tuning
from opforest.core.conquest.scan import rank
from opforest.core.jit import specialize
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.metrics.types import Array
from opforest.core.probability.leave_label_out import find_offers_of_other_trees, relabel_seeds
from opforest.core.probability.leave_one_out import find_nearest_offers, offer_to_each_other
from opforest.core.probability.softmin import find_exponent, log_softmin, softmin
from opforest.core.records import DELETED, ForestArrays, copy_array
from opforest.core.select.search import KDTreeSearch, Searcher, find_in_parts, search_ranking
from opforest.forest.queries import FEW_CLASSES, ForestQueries
from opforest.forest.storage import ForestStorage
from opforest.forest.votes import find_vote_parameters

#: The exponent if the examples do not determine it.
DEFAULT_EXPONENT = 1.0

#: Bounds of the exponent: above 0, so that a smaller cost always means a larger probability, and
#: finite, even if classes differ by rounding errors only.
LEAST, MOST = 0.01, 2.0**60

#: The floor under costs is half of this quantile of the smallest positive ones.
RARE = 0.01

#: A stream recalibrates after this many changes per example judged, and after changes to this
#: fraction of the examples.
CHANGES_FOR_EACH, FRACTION_CHANGED = 5, 0.1


class CostCalibration(NamedTuple):
    """The parameters that turn costs into probabilities, and the forest they were found for.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> clf = OPFClassifier(voters=2).fit([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "b"])
    >>> clf.calibration_.voters, clf.calibration_.exponent, clf.calibration_.smoothing
    (2, 24.0, 0.02)
    """

    exponent: float
    floor: float  #: in the metric's own units; smaller costs are raised to it
    changes: int  #: to the forest until then
    size: int  #: the number of examples then
    voters: int = 1
    smoothing: float = 0.0  #: votes that are divided among all classes; for several voters
    requested: int | str = 1  #: the number of voters, or "auto"
    class_weights: tuple[float, ...] = ()  #: for "auto", where they help; others are 1

    def probabilities(self, cost: Array, winner: Array, known: Array) -> Array:
        """Return probabilities by row and class; ``winner`` has the largest of each row.

        Classes that are not ``known``, also given by row and class, get 0.
        """
        found: Array = softmin(cost, winner, known, self.exponent, self.floor)
        return found

    def log_probabilities(self, cost: Array, winner: Array, known: Array) -> Array:
        """Return the logarithms of ``probabilities``."""
        found: Array = log_softmin(cost, winner, known, self.exponent, self.floor)
        return found

    def is_of(self, storage: ForestStorage) -> bool:
        """Return whether the forest has not changed since."""
        return self.changes == count_changes(storage)

    def is_due(self, storage: ForestStorage) -> bool:
        """Return whether enough has changed for a stream to recalibrate."""
        patience = max(
            FRACTION_CHANGED * self.size,
            CHANGES_FOR_EACH * min(self.size, tuning.values.max_calibration_examples),
        )
        return count_changes(storage) - self.changes >= patience


def count_changes(storage: ForestStorage) -> int:
    """Return the number of examples learned and forgotten; every change increases it.

    In a forest of seeds, new labels count, too; a forgotten seed counts for more than its label.
    """
    learned = storage.next_id
    forgotten = learned - len(storage)
    labels = forgotten + storage.n_prototypes if storage.has_seeds else 0
    return learned + forgotten + labels


class Evidence(NamedTuple):
    """Known examples that calibrate: those that have others of their class."""

    chosen: Array  #: vertices
    own: Array  #: their classes
    cost: Array  #: by class: the cheapest offer of the others, in the metric's own units


def find_calibration(
    queries: ForestQueries, n_jobs: int | None = None, voters: int | str = 1
) -> CostCalibration:
    """Return the calibration of a forest, which no thread may change meanwhile.

    ``voters`` is their number or "auto", which is one voter unless more have a larger likelihood.
    The result does not depend on ``n_jobs``, the number of threads.
    """
    found, evidence = _calibrate_costs(queries, n_jobs)
    return found if voters == 1 else _compare_voters(queries, found, evidence, voters, n_jobs)[0]


def find_log_likelihood(
    queries: ForestQueries, n_jobs: int | None = None, voters: int | str = 1
) -> float:
    """Return the mean log-likelihood of the examples that calibrate, each judged by the others.

    If classes are weighted, it is less by what Akaike's criterion subtracts for the weights.
    """
    found, evidence = _calibrate_costs(queries, n_jobs)
    if voters == 1:
        total = _sum_log_likelihoods(found, evidence)
    else:
        total = _compare_voters(queries, found, evidence, voters, n_jobs)[1]
    return total / max(1, len(evidence.own))


def _calibrate_costs(
    queries: ForestQueries, n_jobs: int | None
) -> tuple[CostCalibration, Evidence]:
    """Return the calibration for one voter, and the examples that it was found for."""
    storage = queries.storage
    found = CostCalibration(DEFAULT_EXPONENT, 0.0, count_changes(storage), len(storage))
    chosen = _select_vertices(storage)
    own = storage.labels_of(chosen).astype(np.int64)
    if len(chosen) == 0:
        return found, Evidence(chosen, own, np.empty((0, 1)))
    find_offers = _find_offers_without_label if storage.has_seeds else _find_offers_of_others
    cost = queries.to_units(find_offers(queries, chosen, own, n_jobs)).astype(np.float64)
    has_peers = np.isfinite(cost[np.arange(len(own)), own])  # others of its class are known
    evidence = Evidence(chosen[has_peers], own[has_peers], cost[has_peers])
    exponent, floor = _fit_exponent(evidence.cost, evidence.own)
    return found._replace(exponent=exponent, floor=floor), evidence


def _compare_voters(
    queries: ForestQueries,
    found: CostCalibration,
    evidence: Evidence,
    voters: int | str,
    n_jobs: int | None,
) -> tuple[CostCalibration, float]:
    """Return the best calibration for several voters, or "auto", and its log-likelihood."""
    chosen, own, _ = evidence
    votes, likelihood = find_vote_parameters(queries, chosen, own, found.floor, voters, n_jobs)
    if voters == "auto":
        alone = _sum_log_likelihoods(found, evidence)
        if alone >= likelihood:
            return found._replace(requested=voters), alone
    return found._replace(**votes._asdict(), requested=voters), likelihood


def _sum_log_likelihoods(calibration: CostCalibration, evidence: Evidence) -> float:
    """Return the log-likelihood of the examples by costs."""
    _, own, cost = evidence
    if len(own) == 0:
        return 0.0
    logarithm = calibration.log_probabilities(cost, cost.argmin(axis=1), np.isfinite(cost))
    return float(logarithm[np.arange(len(own)), own].sum())


def _fit_exponent(cost: Array, own: Array) -> tuple[float, float]:
    """Return the exponent and the floor, given costs by example and class, and own classes.

    The costs of own classes are finite.
    """
    positive = np.where(cost > 0, cost, np.inf).min(axis=1, initial=np.inf)
    positive = np.sort(positive[np.isfinite(positive)])
    if len(positive) == 0:
        return DEFAULT_EXPONENT, 0.0
    rare = float(positive[int(RARE * len(positive))])
    floor = rare / 2 or rare  # half of the smallest positive number is 0
    raised = np.maximum(cost, floor)
    ratio = raised.min(axis=1, keepdims=True) / raised  # identical in other units, bit for bit
    with np.errstate(divide="ignore"):
        excess = -np.log(np.where(np.isfinite(raised), np.maximum(ratio, 1e-300), 0))
    if not (np.isfinite(excess) & (excess > 0)).any():
        return DEFAULT_EXPONENT, floor
    return float(find_exponent(excess, own, LEAST, MOST)), floor


def _select_vertices(storage: ForestStorage) -> Array:
    """Return the vertices to judge: all of them, all seeds, or some evenly spread ones."""
    vertex = storage.vertices()
    if storage.has_seeds:
        vertex = vertex[storage.field("cuts") > 0]
    n, count = len(vertex), min(len(vertex), tuning.values.max_calibration_examples)
    return vertex[np.arange(count) * n // max(count, 1)]


def _find_offers_of_others(
    queries: ForestQueries, chosen: Array, own: Array, n_jobs: int | None = None
) -> Array:
    """Return the offer of each class to vertices, themselves left out, in reduced units.

    The costs of the others are those of the forest. Unless an example is a prototype, its cost
    comes from another example of its class. So its own class need not be searched, and only
    prototypes need a second search.
    """
    place, cost = np.arange(len(chosen)), queries.storage.arrays.cost[chosen]
    winner, offer = _find_offers_by_class(queries, chosen, own, n_jobs)
    itself = cost == 0
    if winner is None:
        offer[place, own] = cost
    else:
        itself &= winner[place, own] == chosen
    offer[itself, own[itself]] = _find_offers_to_prototypes(queries, chosen[itself], n_jobs)
    return offer


def _find_offers_without_label(
    queries: ForestQueries, chosen: Array, own: Array, n_jobs: int | None = None
) -> Array:
    """Return the offer of each class to seeds as if their labels were unknown, in reduced units.

    The tree of such a seed would become part of another tree, and the seed get the label of that
    tree. All other costs and labels stay as they are.
    """
    storage, kernel = queries.storage, queries.storage.metric.kernel
    _, offer = _find_offers_by_class(queries, chosen, own, n_jobs)
    tree = np.full(storage.end, -1, np.int32)
    label, cost = own.copy(), np.full(len(chosen), np.inf, offer.dtype)
    relabel_seeds(storage.arrays, chosen, tree, label, cost)
    place = np.arange(len(chosen))
    offer[place, own] = np.inf
    offer[place, label] = cost
    wrong = np.flatnonzero(label != own)
    found = np.empty(len(wrong), offer.dtype)
    search = specialize(find_offers_of_other_trees, kernel)
    search(storage.arrays, chosen[wrong], wrong, tree, found, kernel)
    offer[wrong, own[wrong]] = found
    return offer


def _find_offers_by_class(
    queries: ForestQueries, chosen: Array, own: Array, n_jobs: int | None
) -> tuple[Array | None, Array]:
    """Return the offer of each class to vertices, and by whom if own classes were searched."""
    storage = queries.storage
    rows, classes = storage.arrays.rows[chosen], storage.classes()
    if not storage.fields.has_spanning_tree or len(classes) > FEW_CLASSES:
        return queries.find_by_class(rows, classes[-1] + 1, n_jobs)
    offer = np.full((len(chosen), classes[-1] + 1), np.inf, rows.dtype)
    for code in classes.tolist():
        other = np.flatnonzero(own != code)
        if len(other):
            offer[other, code] = queries.find(rows[other], code, n_jobs)[1]
    return None, offer


def _find_offers_to_prototypes(queries: ForestQueries, vertex: Array, n_jobs: int | None) -> Array:
    """Return the offers of other examples of their classes to prototypes, or infinity."""
    storage, arrays = queries.storage, queries.storage.arrays
    offer = np.full(len(vertex), np.inf, arrays.rows.dtype)
    if storage.fields.has_spanning_tree:
        find_nearest_offers(arrays.vertices, vertex, offer)
    unknown = np.flatnonzero(np.isinf(offer))
    label = storage.labels_of(vertex[unknown])
    if len(unknown):  # a label that no search looks for hides them
        arrays = arrays._replace(vertices=copy_array(arrays.vertices))
        arrays.vertices["label"][vertex[unknown]] = DELETED
    for code in np.unique(label).tolist():
        some = unknown[label == code]
        offer[some] = _find_offers_of_class(storage, arrays, code, vertex[some], n_jobs)
    return offer


def _find_offers_of_class(
    storage: ForestStorage, arrays: ForestArrays, code: int, vertex: Array, n_jobs: int | None
) -> Array:
    """Return the offers of a class to prototypes of it, which are hidden in the arrays."""
    metric, rows = storage.metric, arrays.rows
    offer = np.full(len(vertex), np.inf, rows.dtype)
    others = np.flatnonzero(arrays.vertices["label"][: storage.end] == code)
    if len(others):
        searcher: Searcher
        if isinstance(storage.fields.index, DynamicKDTree):
            searcher = KDTreeSearch(arrays, metric, storage.fields.index, code)
        else:
            ranking = rank(rows, others, arrays.cost, metric.kernel)
            searcher = search_ranking(len(vertex), arrays, ranking, metric)
        offer = find_in_parts(searcher, rows[vertex], effective_n_jobs(n_jobs), 1)[1][:, 0]
    specialize(offer_to_each_other, metric.kernel)(vertex, rows, offer, metric.kernel)
    return offer
