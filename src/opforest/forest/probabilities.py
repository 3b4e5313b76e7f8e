"""Class probabilities from path costs, calibrated on the known examples.

The probability of class k is proportional to c_k ** −e, where c_k is its cheapest offer. The
exponent e maximizes the leave-one-out likelihood of the known examples, so there is nothing to
tune; docs/probabilities.md explains the details.

In a semi-supervised forest, only given labels are evidence, because inferred labels agree with
their neighbors by construction. There, labels are left out one at a time instead of examples.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from opforest.core.conquest.scan import rank
from opforest.core.jit import specialize
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.metrics.types import Array
from opforest.core.probability.leave_label_out import find_offers_of_other_trees, relabel_seeds
from opforest.core.probability.leave_one_out import find_nearest_offers, offer_to_each_other
from opforest.core.probability.softmin import find_exponent, log_softmin, softmin
from opforest.core.records import DELETED, copy_array
from opforest.core.select.search import KDTreeSearch, Searcher, find_in_parts, search_ranking
from opforest.forest.queries import FEW_CLASSES, ForestQueries
from opforest.forest.state import alive

#: At most this many examples are judged, evenly spread over the order of arrival.
JUDGED = 1000

#: The exponent if the examples say nothing about it.
UNTOLD = 1.0

#: Bounds of the exponent: above 0, so that a smaller cost always means a larger probability, and
#: finite, even if classes differ by rounding errors only.
LEAST, MOST = 0.01, 2.0**60

#: The floor under costs is half of this quantile of the smallest positive ones.
RARE = 0.01

#: A stream finds it anew after this many changes per example judged, and after changes to this
#: share of the examples.
CHANGES_FOR_EACH, SHARE_CHANGED = 5, 0.1


class CostCalibration(NamedTuple):
    """How costs become probabilities, and when that was found."""

    exponent: float
    floor: float  #: in the metric's own units; smaller costs are raised to it
    changes: int  #: to the forest until then
    size: int  #: the number of examples then

    def shares(self, cost: Array, winner: Array, known: Array) -> Array:
        """Return probabilities by row and class; ``winner`` has the largest of each row.

        Classes that are not ``known``, which is given by row and class, too, have none.
        """
        shares: Array = softmin(cost, winner, known, self.exponent, self.floor)
        return shares

    def log_shares(self, cost: Array, winner: Array, known: Array) -> Array:
        """Return their logarithms."""
        shares: Array = log_softmin(cost, winner, known, self.exponent, self.floor)
        return shares

    def is_of(self, examples: ForestQueries) -> bool:
        """Tell whether the forest has not changed since."""
        return self.changes == count_changes(examples)

    def is_due(self, examples: ForestQueries) -> bool:
        """Tell whether enough has changed for a stream to find it anew."""
        patience = max(SHARE_CHANGED * self.size, CHANGES_FOR_EACH * min(self.size, JUDGED))
        return count_changes(examples) - self.changes >= patience


def count_changes(examples: ForestQueries) -> int:
    """Return how many examples have come and gone; every change increases this number.

    In a forest of seeds, labels come, too; a seed that goes counts for more than its label did.
    """
    came = examples.end + examples.body.removed
    gone = came - len(examples)
    labels = 0
    if has_seeds(examples):
        labels = gone + int(examples.state.counters[0]["prototypes"])
    return came + gone + labels


def find_calibration(
    examples: ForestQueries, to_units: Callable[[Array], Array], n_jobs: int | None = None
) -> CostCalibration:
    """Find the calibration of a forest, which no thread may change meanwhile.

    Parameters
    ----------
    examples : ForestQueries
        Those of the forest.
    to_units : callable
        Converts reduced distances to the metric's own units.
    n_jobs : int, default=None
        The number of threads that share the work; the result does not depend on it.

    Returns
    -------
    CostCalibration
        The calibration of the forest as it is now.
    """
    exponent, floor = UNTOLD, 0.0
    chosen = choose(examples)
    if len(chosen):
        own = examples.state.vertices["label"][chosen].astype(np.int64)
        offers_left = offers_without_label if has_seeds(examples) else offers_of_others
        cost = to_units(offers_left(examples, chosen, own, n_jobs)).astype(np.float64)
        exponent, floor = fit_exponent(cost, own)
    return CostCalibration(exponent, floor, count_changes(examples), len(examples))


def fit_exponent(cost: Array, own: Array) -> tuple[float, float]:
    """Return the exponent and the floor, given costs by example and class, and own classes."""
    is_told = np.isfinite(cost[np.arange(len(own)), own])  # others of its class are known
    cost, own = cost[is_told], own[is_told]
    positive = np.where(cost > 0, cost, np.inf).min(axis=1, initial=np.inf)
    positive = np.sort(positive[np.isfinite(positive)])
    if len(positive) == 0:
        return UNTOLD, 0.0
    rare = float(positive[int(RARE * len(positive))])
    floor = rare / 2 or rare  # half of the smallest number is none
    raised = np.maximum(cost, floor)
    ratio = raised.min(axis=1, keepdims=True) / raised  # a power of 2 as unit changes no bit of it
    with np.errstate(divide="ignore"):
        apart = -np.log(np.where(np.isfinite(raised), np.maximum(ratio, 1e-300), 0))
    if not (np.isfinite(apart) & (apart > 0)).any():
        return UNTOLD, floor
    return float(find_exponent(apart, own, LEAST, MOST)), floor


def has_seeds(examples: ForestQueries) -> bool:
    """Tell whether labels have spread from seeds."""
    return len(examples.state.seed_parent) > 0


def choose(examples: ForestQueries) -> Array:
    """Return the vertices to judge: all, or all seeds, or ``JUDGED`` of them, evenly spread."""
    n, vertex = len(examples), alive(examples.state)
    if has_seeds(examples):
        vertex = np.flatnonzero(examples.state.vertices["cuts"][: examples.end] > 0)
        n = len(vertex)
    count = min(n, JUDGED)
    place = np.arange(count) * n // max(count, 1)
    return place if vertex is None else vertex[place]


def offers_of_others(
    examples: ForestQueries, chosen: Array, own: Array, n_jobs: int | None = None
) -> Array:
    """Return what each class offers to vertices, themselves left out, in reduced units.

    The costs of the others are those of the forest. Unless an example is a prototype, its cost
    comes from another example of its class. So its own class need not be searched, and only
    prototypes need a second look.
    """
    place, cost = np.arange(len(chosen)), examples.state.cost[chosen]
    winner, offer = _offers_by_class(examples, chosen, own, n_jobs)
    if winner is None:
        offer[place, own] = cost
        itself = np.flatnonzero(cost == 0)
    else:
        itself = np.flatnonzero((winner[place, own] == chosen) & (cost == 0))
    offer[itself, own[itself]] = _offers_to_prototypes(examples, chosen[itself], n_jobs)
    return offer


def offers_without_label(
    examples: ForestQueries, chosen: Array, own: Array, n_jobs: int | None = None
) -> Array:
    """Return what each class would offer to seeds whose own label were unknown, in reduced units.

    The tree of such a seed would be part of another one, the label of which it would get. All
    other costs and labels stay as they are.
    """
    state, kernel = examples.state, examples.metric.kernel
    _, offer = _offers_by_class(examples, chosen, own, n_jobs)
    tree = np.full(examples.end, -1, np.int32)
    label, cost = own.copy(), np.full(len(chosen), np.inf, offer.dtype)
    relabel_seeds(state, chosen, tree, label, cost)
    place = np.arange(len(chosen))
    offer[place, own] = np.inf
    offer[place, label] = cost
    wrong = np.flatnonzero(label != own)
    found = np.empty(len(wrong), offer.dtype)
    search = specialize(find_offers_of_other_trees, kernel)
    search(state, chosen[wrong], wrong, tree, found, kernel)
    offer[wrong, own[wrong]] = found
    return offer


def _offers_by_class(
    examples: ForestQueries, chosen: Array, own: Array, n_jobs: int | None
) -> tuple[Array | None, Array]:
    """Return what each class offers to vertices, and who, if own classes were searched, too."""
    state, queries = examples.state, examples.state.rows[chosen]
    label = state.vertices["label"][: examples.end]
    classes = np.unique(label[label != DELETED])
    if examples.body.lines is not None or len(classes) > FEW_CLASSES:
        return examples.find_by_class(queries, classes[-1] + 1, n_jobs)
    offer = np.full((len(chosen), classes[-1] + 1), np.inf, state.rows.dtype)
    for code in classes.tolist():
        other = np.flatnonzero(own != code)
        if len(other):
            offer[other, code] = examples.find(queries[other], code, n_jobs)[1]
    return None, offer


def _offers_to_prototypes(examples: ForestQueries, vertex: Array, n_jobs: int | None) -> Array:
    """Return what the others of their classes offer prototypes; infinity if there are none."""
    state = examples.state
    offer = np.full(len(vertex), np.inf, state.rows.dtype)
    if examples.body.lines is None:  # else there is no spanning tree to tell
        find_nearest_offers(state.vertices, vertex, offer)
    unknown = np.flatnonzero(np.isinf(offer))
    label = state.vertices["label"][vertex]
    search = _SearchWithout(examples, vertex[unknown])
    for code in np.unique(label[unknown]).tolist():
        some = unknown[label[unknown] == code]
        offer[some] = search.offers(code, vertex[some], n_jobs)
    return offer


class _SearchWithout:
    """Searches a class as if some vertices were not there."""

    def __init__(self, examples: ForestQueries, left_out: Array) -> None:
        self.examples = examples
        self.state = examples.state
        if len(left_out):  # a label that nobody looks for hides them
            self.state = self.state._replace(vertices=copy_array(self.state.vertices))
            self.state.vertices["label"][left_out] = DELETED

    def offers(self, code: int, vertex: Array, n_jobs: int | None) -> Array:
        """Return the offers of a class to prototypes of it, all of which have been left out."""
        state, kernel = self.state, self.examples.metric.kernel
        offer = np.full(len(vertex), np.inf, state.rows.dtype)
        searcher = self._searcher(code, len(vertex))
        if searcher is not None:
            _, offer = find_in_parts(searcher, state.rows[vertex], effective_n_jobs(n_jobs))
        specialize(offer_to_each_other, kernel)(vertex, state.rows, offer, kernel)
        return offer

    def _searcher(self, code: int, n_queries: int) -> Searcher | None:
        examples, state, metric = self.examples, self.state, self.examples.metric
        others = np.flatnonzero(state.vertices["label"][: examples.end] == code)
        if len(others) == 0:
            return None
        if isinstance(examples.body.index, DynamicKDTree):
            return KDTreeSearch(state, metric, examples.body.index, code)
        ranking = rank(state.rows, others, state.cost, metric.kernel)
        return search_ranking(n_queries, state, ranking, metric)
