"""Optimum-path forests and the queries they answer."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from opforest._utils.progress import begin_phase
from opforest._utils.text import join_first
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.records import Tree
from opforest.core.select.mst import Probe, probe, span_best
from opforest.core.tree_costs import as_tree, conquer, count_cuts, trace_paths
from opforest.forest import invariants
from opforest.forest.probabilities import CostCalibration, find_calibration, find_log_likelihood
from opforest.forest.queries import ForestQueries, read_locked
from opforest.forest.state import ForestState, TreeModel, freeze
from opforest.forest.storage import ForestStorage
from opforest.forest.votes import Election, elect


class BaseForest(ABC):
    """The base of all forests of training examples.

    Any number of threads may query the forest while one changes it: each answer is that of the
    forest before or after a whole example. Public queries hold one read lock while they run.
    """

    #: The approximate update that grew the forest; "" if it is exact.
    grown_by = ""

    #: What an example that conquers others is called.
    seed_name = "prototype"

    #: The labels of an estimator's classes, for notebooks; None if there is no estimator.
    class_names: Array | None = None

    def __init__(self, storage: ForestStorage, calibration: CostCalibration | None = None) -> None:
        self.storage = storage
        self.queries = ForestQueries(storage)
        self.found_calibration = calibration  # found last; any reader may replace it

    # What differs between kinds of forests. Callers hold a read lock.

    @abstractmethod
    def is_prototype(self) -> Array:
        """Return, for each example, whether it is a prototype."""

    @abstractmethod
    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""

    @abstractmethod
    def check_tree(self, model: TreeModel) -> None:
        """Raise ``AssertionError`` if the tree of a model is invalid for this kind of forest."""

    # Attributes.

    @read_locked
    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.storage)

    @read_locked
    def __repr__(self) -> str:
        """Return a summary."""
        n, prototypes = len(self.storage), self.is_prototype().sum()
        return f"<Forest of {n} examples, {prototypes} of them prototypes>"

    @read_locked
    def _repr_html_(self) -> str:
        from opforest.display.notebook import forest_html

        return forest_html(self)

    @property
    def metric(self) -> Metric:
        """The metric."""
        return self.storage.metric

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which examples are kept and queries are measured."""
        return self.storage.dtype

    @property
    def n_features(self) -> int:
        """The number of features of the examples, or of distances in a row of a table."""
        return self.storage.n_features  # no lock: each query checks it again under one

    @property
    @read_locked
    def n_bytes(self) -> int:
        """The memory of the model in bytes, including room to grow."""
        return self.storage.n_bytes + self.queries.n_bytes

    @property
    @read_locked
    def points(self) -> Array:
        """The examples as the metric embeds them; for precomputed distances, those."""
        return self.storage.points

    @property
    @read_locked
    def label(self) -> Array:
        """The class of each example, as an integer from 0."""
        return freeze(self.storage.field("label").astype(np.int64))

    def given_labels(self) -> Array:
        """Return the label given to each example; −1 if it was given none."""
        return self.label

    @property
    @read_locked
    def cost(self) -> Array:
        """The largest step on the path from its prototype, in the metric's own units."""
        return freeze(self.to_units(self.storage.costs()))

    @property
    @read_locked
    def predecessor(self) -> Array:
        """The index of the example before each one on its path; −1 for prototypes."""
        return freeze(self.paths()[0])

    @property
    @read_locked
    def root(self) -> Array:
        """The index of the prototype that conquered each example."""
        return freeze(self.paths()[1])

    @property
    @read_locked
    def prototypes(self) -> Array:
        """The indices of all prototypes, in ascending order."""
        return freeze(np.flatnonzero(self.is_prototype()))

    @property
    @read_locked
    def edges(self) -> Array:
        """The tree: pairs of indices (u, v), u < v, in ascending order."""
        return freeze(self.storage.model().sort_edges()[0])

    @read_locked
    def edge_lengths(self) -> Array:
        """Return the length of each of the ``edges``, in the metric's own units."""
        model = self.storage.model()
        return freeze(self.to_units(model.weight[model.sort_edges()[1]]))

    @property
    @read_locked
    def ids(self) -> Array:
        """The ids of the examples, in ascending order; an id never changes."""
        return self.storage.ids

    @read_locked
    def index_of(self, ids: npt.ArrayLike) -> Array:
        """Return where known examples are in the arrays of this forest, given their ids.

        For an id or an array of ids, ``forest.ids[forest.index_of(ids)]`` equals ``ids``.
        """
        wanted = np.asarray(ids)
        if wanted.dtype.kind not in "iu" and wanted.size:
            raise ValueError(f"ids must be integers, as in forest_.ids, got type {wanted.dtype}.")
        vertex = self.find_vertices(wanted.astype(np.int64).ravel())
        return self.storage.indices_of(vertex).reshape(wanted.shape)[()]

    def find_vertices(self, ids: Array) -> Array:
        """Return the vertices with these ids, or raise a ``ValueError`` if one is unknown."""
        vertex = self.storage.vertices_of(ids)
        if (vertex < 0).any():
            unknown = join_first(ids[vertex < 0].tolist(), 5)
            raise ValueError(f"the model has no example {unknown}: forgotten, or never learned. "
                             "forest_.ids has the ids of all that it knows.")  # fmt: skip
        return vertex

    @property
    def next_id(self) -> int:
        """The id that the next example gets."""
        return self.storage.next_id

    # Queries.

    def to_units(self, reduced: Array) -> Array:
        """Convert distances as kernels measure them to the metric's own units."""
        return self.queries.to_units(reduced)

    @read_locked
    def conquerors(
        self, X: Array, n_jobs: int | None = None, k: int | None = None
    ) -> tuple[Array, Array]:
        """Return the id of each row's conqueror, and its offer in the metric's own units.

        With k, return those of the k cheapest offers, by column; −1 and infinity follow if there
        are fewer.
        """
        queries = self.queries.prepare(X)
        if k is None:
            winner, offer = self.queries.find(queries, n_jobs=n_jobs)
        else:
            winner, offer = self.queries.find_best(queries, k, n_jobs)
            missing = (0, 0), (0, k - winner.shape[1])
            winner = np.pad(winner, missing, constant_values=-1)
            offer = np.pad(offer, missing, constant_values=np.inf)
        ids = self.storage.fields.arrival[winner]
        return np.where(winner >= 0, ids, -1), self.to_units(offer)

    @read_locked
    def classify(
        self, X: Array, n_jobs: int | None = None, calibration: CostCalibration | None = None
    ) -> Array:
        """Return the class of each row of ``X``, as an integer from 0.

        It is the class of the conqueror, unless the calibration has several voters.
        """
        if calibration is not None and calibration.voters > 1:
            return self.elect(X, calibration, n_jobs).winner
        winner, _ = self.queries.find(self.queries.prepare(X), n_jobs=n_jobs)
        return self.storage.labels_of(winner)

    def elect(self, X: Array, calibration: CostCalibration, n_jobs: int | None = None) -> Election:
        """Let the cheapest offers to each row of ``X`` vote. Callers hold a read lock."""
        rows = self.queries.prepare(X)
        voter, offer = self.queries.find_best(rows, calibration.voters, n_jobs)
        return elect(self.queries, voter, offer, calibration)

    @read_locked
    def probabilities(
        self,
        X: Array,
        n_classes: int,
        calibration: CostCalibration,
        n_jobs: int | None = None,
        log: bool = False,
    ) -> tuple[Array, Array]:
        """Return the probability of each class for each row, or its logarithm, and the class."""
        if calibration.voters == 1:
            costs = self.class_costs(X, n_classes, n_jobs)
            found = calibration.log_probabilities if log else calibration.probabilities
            return found(*costs), costs[1]
        election = self.elect(X, calibration, n_jobs)
        probabilities = self.vote_probabilities(election, n_classes, calibration)
        with np.errstate(divide="ignore"):
            return np.log(probabilities) if log else probabilities, election.winner

    def vote_probabilities(
        self, election: Election, n_classes: int, calibration: CostCalibration
    ) -> Array:
        """Return the probability of each class after an election. Callers hold a read lock."""
        is_known = np.isin(np.arange(n_classes), self.storage.classes())
        return election.probabilities(is_known, calibration.smoothing)

    @read_locked
    def class_costs(
        self, X: Array, n_classes: int, n_jobs: int | None = None
    ) -> tuple[Array, Array, Array]:
        """Return each class's cheapest offer to each row of ``X``, and the class that wins it.

        Offers are in the metric's own units; a class without examples offers infinity. Some metrics
        are infinite for known examples, too, so a third array is true, by row and class, where
        there was an offer.
        """
        queries, storage = self.queries, self.storage
        winner, offer = queries.find_by_class(queries.prepare(X), n_classes, n_jobs)
        is_cheapest = offer == offer.min(axis=1, keepdims=True)
        cost = np.where(is_cheapest, storage.arrays.cost[winner], np.inf)
        first = np.where(cost == cost.min(axis=1, keepdims=True), winner, storage.end)
        return self.to_units(offer), first.argmin(axis=1), np.isfinite(offer)

    @read_locked
    def calibration(self, n_jobs: int | None = None, voters: int | str = 1) -> CostCalibration:
        """Return how probabilities follow from offers, found again after each change."""
        found = self.current_calibration()
        if found is None or found.requested != voters:
            found = find_calibration(self.queries, n_jobs, voters)
            self.found_calibration = found
        return found

    @read_locked
    def log_likelihood(self, n_jobs: int | None = None, voters: int | str = 1) -> float:
        """Return the mean log-likelihood of known examples, each judged by the others.

        They are those that the calibration is found for.
        """
        return find_log_likelihood(self.queries, n_jobs, voters)

    def current_calibration(self) -> CostCalibration | None:
        """Return the calibration found last, or None if the forest has changed since."""
        found = self.found_calibration
        return found if found is not None and found.is_of(self.storage) else None

    # State.

    @read_locked
    def state(self) -> ForestState:
        """Return the portable form of the forest."""
        return self.storage.state()._replace(
            grown_by=self.grown_by, calibration=self.current_calibration()
        )

    @classmethod
    def from_state(cls, state: ForestState) -> Self:
        """Return the forest of a state, which is not checked."""
        return cls._of_storage(ForestStorage.from_state(state), state.calibration)

    @classmethod
    def _of_storage(cls, storage: ForestStorage, known: CostCalibration | None = None) -> Self:
        forest = cls(storage, known)
        forest.queries.warm_up()
        return forest

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the state."""
        return type(self).from_state, (self.state(),)

    def relabel(self, new_code: Array) -> Self:
        """Return a copy with classes renamed, without the calibration, which may list classes."""
        state = self.state().copy_rows()
        model = state.model._replace(label=new_code[state.model.label])
        return self.from_state(state._replace(model=model, calibration=None))

    def check_batch(self, X: Array) -> None:
        """Raise a ``ValueError`` if these examples cannot be learned; nothing is learned."""
        self.storage.stage(X, np.zeros(len(X), np.int64))

    def renumber(self, next_id: int, ids: Array | None = None) -> None:
        """Give the next example this id and, if given, all known examples these ids.

        Ids must ascend, and ``next_id`` must not be less than before.
        """
        self.storage.renumber(next_id, ids)

    @read_locked
    def check(self) -> None:
        """Raise ``AssertionError`` if any invariant of the forest is broken."""
        self.check_model()
        invariants.check_storage(self.storage)
        fault = self.queries.find_search_error()
        invariants.require(not fault, fault)

    @read_locked
    def check_model(self) -> None:
        """Raise ``AssertionError`` if labels, tree and costs are not those of a forest.

        Parents must lead to a root.
        """
        model = self.storage.model()
        if len(model.label) == 0:
            return
        prototypes = np.flatnonzero(self.is_prototype())
        self.check_tree(model)
        invariants.check_costs(model.cost, prototypes)
        invariants.check_paths(model, prototypes, *self.paths())


class Forest(BaseForest):
    """An optimum-path forest over training examples.

    The arrays of a forest have an entry for each known example, and name examples by their index
    in these arrays: 0 for the oldest one that is known. An index changes when an older example is
    forgotten. Everything else, such as ``forget``, ``explain`` and ``conquerors``, names examples
    by their ids, which never change. ``ids[index]`` is the id of an index, and ``index_of(id)``
    the index of an id. ``ids`` ascend, so indices and ids are in the same order.

    The model is a minimum spanning tree and a cost for each example. Everything else is derived
    from these when it is needed. ``partial_fit`` changes a forest in place or replaces it; use
    ``copy.deepcopy`` to keep one.

    ``Forest.train`` makes a forest of examples, ``Forest.from_state`` of a saved state.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> forest = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]).forest_
    >>> forest.prototypes
    array([1, 2])
    >>> forest.cost
    array([1. , 0. , 0. , 1.5])
    >>> forest.edges.tolist()
    [[0, 1], [1, 2], [2, 3]]

    Indices and ids differ once examples have been forgotten:

    >>> forest = OPFClassifier().fit([[0.0], [1.0], [3.0]], [0, 0, 1]).forget([0]).forest_
    >>> forest.prototypes, forest.ids[forest.prototypes]
    (array([0, 1]), array([1, 2]))
    >>> forest.index_of([2, 1])
    array([1, 0])
    """

    @classmethod
    def train(
        cls,
        points: Array,
        label: Array,
        metric: Metric,
        algorithm: str = "auto",
        n_jobs: int | None = None,
        tree: Tree | None = None,
    ) -> Self:
        """Learn the forest of examples.

        Points are as ``metric.embed`` returned them, and are kept, not copied; labels are integers
        from 0. ``tree`` is their minimum spanning tree in reduced units, rooted at 0, if it is
        already known.
        """
        rows, n = metric.training_rows(points), len(label)
        vectors = None if rows is points else points  # beside the table measured from them
        state = ForestState(metric, rows, TreeModel.of_labels(label, rows.dtype), np.arange(n), 0,
                            vectors, algorithm=algorithm, n_jobs=n_jobs)  # fmt: skip
        return cls.retrain(state, tree)

    @classmethod
    def retrain(cls, state: ForestState, tree: Tree | None = None) -> Self:
        """Learn the forest of a state whose model holds only labels."""
        label = state.model.label.astype(np.int32, copy=False)
        state = state._replace(
            rows=np.ascontiguousarray(state.rows), model=state.model._replace(label=label)
        )
        probed = probe(state.rows, state.metric, state.algorithm, effective_n_jobs(state.n_jobs))
        state, probed = cls._span(state, probed, tree), probed.without_points()
        storage = ForestStorage.without_index(state)
        del state, tree  # the storage has copies, and the index needs memory
        begin_phase("index", len(storage))
        storage.add_index(*probed)
        del probed
        storage.fill_tiles()
        return cls._of_storage(storage)

    @classmethod
    def _span(cls, state: ForestState, probed: Probe, tree: Tree | None) -> ForestState:
        rows, metric = state.rows, state.metric
        if len(rows) == 0:
            return state
        if tree is None:
            begin_phase("spanning tree", len(rows))
            tree = span_best(rows, metric, probed, effective_n_jobs(state.n_jobs))
        parent, arrival = tree.parent, state.arrival
        pair = "the training examples {} and {}"
        metric.check_defined(tree.weight, lambda v: pair.format(*arrival[[parent[v], v]]))
        return cls.complete(state, tree)

    @staticmethod
    def complete(state: ForestState, tree: Tree) -> ForestState:
        """Return a state whose model held only labels, with a spanning tree and its costs."""
        label = state.model.label
        cuts = count_cuts(tree.parent, label)
        cost = conquer(tree, cuts > 0, label).cost
        return state._replace(model=TreeModel(label, tree.parent, tree.weight, cuts, cost))

    def training_labels(self, vertex: Array, known: int) -> Array:
        """Return the given labels of vertices; the first ``known`` of them are in the forest."""
        return self.storage.labels_of(vertex).astype(np.int64)

    def is_prototype(self) -> Array:
        """Return, for each example, whether it is a prototype."""
        return self.storage.field("cuts") > 0

    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        label, parent, weight, cuts, _ = self.storage.model()
        if len(label) == 0:
            return parent, parent
        tree, seeds = as_tree(parent, weight), cuts > 0
        predecessor, root = trace_paths(tree, seeds, conquer(tree, seeds, label), label)
        return predecessor, root

    def check_tree(self, model: TreeModel) -> None:
        """Raise ``AssertionError`` if the tree of a model does not span, or is miscounted."""
        invariants.check_tree(self.storage, model)
