"""Layer 2: what a forest is, what it answers, and what must always be true of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from opforest._jit import specialise
from opforest.indexing import SHARE_FOR_SEARCH, find_best, queries_per_call
from opforest.kernels.conquest import conquer, count_cuts, order_tree, trace_paths
from opforest.kernels.index import Index, build_index, check_index
from opforest.kernels.kdsearch import ANY
from opforest.kernels.kdtree import build_kdtree
from opforest.kernels.search import GROUP, Ranking, measure_staged, rank, unranked
from opforest.kernels.spanning_tree import WORK_PER_CALL
from opforest.kernels.state import CROSSING, FORGOTTEN, PROTOTYPES
from opforest.metrics import Array
from opforest.storage import Storage, living, place_among, read_only

#: About how many passes over all examples an insertion takes.
PASSES_PER_INSERTION = 3

#: Insertions with an index in one call of a kernel, so that Ctrl-C is heard.
INSERTIONS_PER_CALL = 2000

#: From this many queries on, examples are ranked by cost first if they are not.
WORTH_RANKING = 256


def demand(condition: object, complaint: str) -> None:
    """Raise an ``AssertionError`` unless the condition holds; ``python -O`` does not silence it."""
    if not condition:
        raise AssertionError(complaint)


class Forest(Storage):
    """An optimum-path forest over training examples, which are named by their index.

    Indices count the examples that are known; ``ids`` are their names for life, which ``forget``
    wants.

    The model is a minimum spanning tree and a cost for each example. Everything else that
    describes a forest follows from these and is derived when asked for. ``partial_fit`` changes
    it in place: ``copy.deepcopy`` keeps it as it is.

    Parameters
    ----------
    points : array of shape (n, d)
        The examples as ``metric.embed`` returned them; kept, not copied.
    label : array of shape (n,)
        Their classes, as integers from 0.
    metric : Metric
        Measures them.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to search; the forest is the same.
    n_jobs : int, default=None
        The number of threads that share the work of training, unless by Prim's algorithm.
    tree : Tree, default=None
        Their minimum spanning tree in reduced units, rooted at 0, where it is known already.

    Attributes
    ----------
    label : array of shape (n,)
        The classes.
    cost : array of shape (n,)
        The cost of each example, in the metric's own units: the largest step on the way from its
        prototype.
    predecessor : array of shape (n,)
        The example before it on that way; −1 for prototypes.
    root : array of shape (n,)
        The prototype at the beginning of that way.
    prototypes : array
        The indices of all prototypes, in rising order.
    edges : array of shape (m, 2)
        The tree: pairs (u, v), u < v, in rising order.
    ids : array of shape (n,)
        Arrival numbers of the examples.

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
    """

    def __repr__(self) -> str:
        """Return a summary."""
        prototypes = len(self.prototypes)
        return f"<Forest of {len(self)} examples, {prototypes} of them prototypes>"

    @property
    def label(self) -> Array:
        """The class of each example, as an integer from 0."""
        return read_only(self._chosen(self.state.label).copy())  # forgetting writes into it

    @property
    def cost(self) -> Array:
        """The cost of each example, in the metric's own units."""
        return read_only(self.to_units(self._chosen(self.state.cost).copy()))

    @property
    def predecessor(self) -> Array:
        """The example before each one on its way from its prototype; −1 for prototypes."""
        return read_only(self.paths()[0])

    @property
    def root(self) -> Array:
        """The prototype that conquered each example."""
        return read_only(self.paths()[1])

    @property
    def prototypes(self) -> Array:
        """The indices of all prototypes, in rising order."""
        return read_only(np.flatnonzero(self._chosen(self.state.cuts)))

    @property
    def edges(self) -> Array:
        """The tree: pairs (u, v), u < v, in rising order."""
        parent = self.model().parent
        child = np.flatnonzero(parent >= 0)
        ends = np.sort(np.column_stack((child, parent[child])), axis=1)
        return read_only(ends[np.lexsort((ends[:, 1], ends[:, 0]))])

    @property
    def ids(self) -> Array:
        """Arrival numbers of the examples: theirs for life, whoever else is forgotten."""
        return read_only(self._chosen(self._arrival))

    @property
    def n_bytes(self) -> int:
        """The memory that the model takes, with the room it has to grow."""
        arrays: list[Any] = [*self.state, *self.index, *(self._ranking or ())]
        arrays += [self._arrival, self._vectors]
        shared = self.state.gap_bits.nbytes  # the same memory as another one
        return sum(getattr(array, "nbytes", 0) for array in arrays) - shared

    def to_units(self, reduced: Array) -> Array:
        """Convert what kernels measure to the metric's own units."""
        return self.metric.to_units(reduced, self.n_features)

    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        label, parent, weight, cuts, _ = self.model()
        if len(label) == 0:
            return parent, parent
        cost, level = conquer(parent, weight, order_tree(parent), label, cuts)
        return trace_paths(parent, weight, label, cuts, cost, level)  # type: ignore[no-any-return]

    def conquerors(self, X: Array, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the conqueror of each row of ``X``, and its offer in the metric's own units."""
        winner, offer = self._search(self._queries(X), self._ranking_for(len(X)), ANY, n_jobs)
        return place_among(living(self.state), winner), self.to_units(offer)

    def class_costs(
        self, X: Array, n_classes: int, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return each class's cheapest offer to each row of ``X``, and the class that wins it.

        Offers are in the metric's own units; a class without examples offers infinity.
        """
        queries, ranking = self._queries(X), self._ranking_for(len(X))
        offer = np.full((len(X), n_classes), np.inf, self.state.rows.dtype)
        winner = np.zeros((len(X), n_classes), np.int64)
        label = self.state.label[: self.end]
        for code in np.unique(label[label != FORGOTTEN]):
            if not isinstance(ranking, Index):
                ranking = self._rank(np.flatnonzero(label == code))
            winner[:, code], offer[:, code] = self._search(queries, ranking, code, n_jobs)
        cheapest = offer == offer.min(axis=1, keepdims=True)
        cost = np.where(cheapest, self.state.cost[winner], np.inf)
        first = np.where(cost == cost.min(axis=1, keepdims=True), winner, self.end)
        return self.to_units(offer), first.argmin(axis=1)

    def trace(self, X: Array) -> tuple[Array, Array, Array]:
        """Return the path that conquers the one row of ``X``.

        Returns
        -------
        index : array of length m
            The examples on the path, from the prototype to the conqueror.
        distance : array of length m + 1
            The length of each step, 0 for the prototype, the last one to the row of ``X``.
        cost : array of length m + 1
            The largest step so far.
        """
        state, queries = self.state, self._queries(X)
        conqueror, _ = self._search(queries, self._ranking_for(1), ANY, None)
        free = np.zeros_like(state.cost)
        alone = rank(state.rows, conqueror, free, self.metric.kernel)
        _, (last_step,) = self._search(queries, alone, ANY, None)
        predecessor, _ = self.paths()
        path = place_among(living(state), conqueror).tolist()
        while predecessor[path[-1]] >= 0:
            path.append(predecessor[path[-1]])
        index, model = np.array(path[::-1]), self.model()
        before, after = index[:-1], index[1:]
        steps = model.weight[np.where(model.parent[after] == before, after, before)]
        distance = np.concatenate(([0], steps, [last_step])).astype(state.rows.dtype)
        return index, self.to_units(distance), self.to_units(np.maximum.accumulate(distance))

    def conquerors_of_staged(self, end: int) -> Array:
        """Return the vertices that conquer the staged examples up to ``end``."""
        queries = self.state.rows[self.end : end]
        return self._search(queries, self._ranking_for(len(queries)), ANY, None)[0]

    def measure_staged(self, n_classes: int) -> tuple[int, Array | None]:
        """Return the vertex that conquers the one staged example, and each class's best offer.

        With an index, offers are not found on the way, and None is returned. Without, distances
        stay in the forest's scratch space for an update to use. So this is for streams that one
        thread reads: it is no mere reader.
        """
        if isinstance(self.index, Index):
            return self.conquerors_of_staged(self.end + 1)[0], None
        measure = specialise(measure_staged, self.metric.kernel)
        conqueror, offer = measure(self.state, self.end, n_classes, self.metric.kernel)
        if self.metric.may_be_undefined:
            gap = self._chosen(self.state.gap)
            self.metric.check_defined(gap, lambda v: f"training example {v} and the new one")
        return conqueror, self.to_units(offer)

    def offers_to_staged(self, n_classes: int) -> Array:
        """Return what each class offers the one staged example, with an index."""
        query, ranking = self.state.rows[self.end : self.end + 1], self._ranking_for(1)
        found = [
            find_best(query, self.state, ranking, code, self.metric)[1] for code in range(n_classes)
        ]
        return self.to_units(np.concatenate(found))

    def stops(self, begin: int, end: int) -> Iterator[int]:
        """Yield where to stop learning staged examples, so that Ctrl-C is heard in between."""
        part = max(1, WORK_PER_CALL // (PASSES_PER_INSERTION * end * self.state.rows.shape[1]))
        if isinstance(self.index, Index):
            part = INSERTIONS_PER_CALL
        for stop in range(begin + part, end + part, part):
            yield min(stop, end)

    def check(self) -> None:
        """Raise ``AssertionError`` if anything that must be true of a forest is not."""
        self.check_model()
        if isinstance(self.index, Index):
            check_index(self.index, self.state)

    def check_model(self) -> None:
        """Raise ``AssertionError`` if labels, tree, costs and arrival numbers are no forest's.

        Parents must lead to a root.
        """
        label, parent, weight, _, cost = self.model()
        if len(label) == 0:
            return
        prototypes = self.prototypes
        self._check_tree(parent, label)
        demand(np.isfinite(cost).all(), "a cost is not finite")
        demand((cost[prototypes] == 0).all(), "a prototype costs something")
        predecessor, root = self.paths()
        conquered = np.flatnonzero(predecessor >= 0)
        before = predecessor[conquered]
        downwards = parent[conquered] == before
        demand((downwards | (parent[before] == conquered)).all(), "a path leaves the tree")
        step = np.where(downwards, weight[conquered], weight[before])
        demand((cost[conquered] == np.maximum(cost[before], step)).all(), "a cost is no maximum")
        demand((root[conquered] == root[before]).all(), "a path does not lead to the root")
        demand(np.array_equal(np.unique(root), prototypes), "roots are not the prototypes")
        demand((label == label[root]).all(), "conquered by another class")
        demand((np.diff(self.ids) > 0).all(), "arrival numbers are out of order")

    def _check_tree(self, parent: Array, label: Array) -> None:
        n, count = len(self), self.state.count
        child = np.flatnonzero(parent >= 0)
        demand(len(child) == n - 1, "the tree has not one root")
        demand(np.array_equal(np.sort(order_tree(parent)), np.arange(n)), "the tree does not span")
        crossing = label[child] != label[parent[child]]
        model = self.model()
        demand(np.array_equal(model.cuts, count_cuts(parent, label)), "cut edges are miscounted")
        demand(count[CROSSING] == crossing.sum(), "crossing edges are miscounted")
        demand(count[PROTOTYPES] == (model.cuts > 0).sum(), "prototypes are miscounted")
        demand((model.weight <= self.state.longest[0]).all(), "an edge is too long")

    def _ranking_for(self, n_queries: int) -> Ranking | Index:
        ranking = self.index if isinstance(self.index, Index) else self._ranking
        if ranking is not None:
            return ranking
        if n_queries < WORTH_RANKING:
            return unranked(self.state, self.end)
        chosen = living(self.state)
        vertex = np.arange(self.end) if chosen is None else chosen
        if self._share < SHARE_FOR_SEARCH:
            return build_index(self.state, build_kdtree(self.state.rows, vertex))
        return self._rank(vertex)

    def _queries(self, X: Array) -> Array:
        if len(self) == 0:
            raise ValueError(
                "there is nothing left to predict with: all examples have been forgotten. Learn "
                "some first."
            )
        if X.shape[1] != self.n_features:
            raise ValueError(f"queries must have {self.n_features} columns, got {X.shape[1]}.")
        rows, chosen = self.metric.query_rows(X, self._measured_against()), living(self.state)
        if chosen is None or not self.metric.is_table:
            return rows
        by_vertex = np.zeros((len(X), self.end), rows.dtype)
        by_vertex[:, chosen] = rows
        return by_vertex

    def _search(
        self, queries: Array, ranking: Ranking | Index, wanted: int, n_jobs: int | None
    ) -> tuple[Array, Array]:
        """Find conquerors part by part, so that threads share the work and Ctrl-C is heard."""
        jobs = effective_n_jobs(n_jobs)
        part = queries_per_call(len(queries), ranking, self.state.rows, self.metric)
        part = max(GROUP, min(part, -(-len(queries) // jobs)))
        parts = [queries[begin : begin + part] for begin in range(0, len(queries), part)]
        arguments = self.state, ranking, wanted, self.metric
        if jobs == 1 or len(parts) == 1:
            found = [find_best(queries, *arguments) for queries in parts]
        else:
            found = Parallel(n_jobs=jobs, prefer="threads")(
                delayed(find_best)(queries, *arguments) for queries in parts
            )
        winner, offer = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        self.metric.check_defined(offer, lambda i: f"query {i} and a training example")
        return winner, offer
