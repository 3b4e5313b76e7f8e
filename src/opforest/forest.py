"""Layer 2: the arrays of a model, and what must always be true of them."""

from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs

from opforest.kernels.conquest import conquer, count_cuts, order_tree, trace_paths
from opforest.kernels.search import GROUP, Ranking, find_conquerors, rank
from opforest.kernels.spanning_tree import WORK_PER_CALL, span
from opforest.metrics import Metric

Array = npt.NDArray[Any]


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


class Forest:
    """An optimum-path forest over training examples, which are named by their index.

    The model is a spanning tree and a cost for each example. Everything else that describes a
    forest follows from these and is derived when asked for.

    Parameters
    ----------
    points : array of shape (n, d)
        The examples as ``metric.embed`` returned them; kept, not copied.
    label : array of shape (n,)
        Their classes, as integers from 0.
    metric : Metric
        Measures them.

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
    edges : array of shape (n − 1, 2)
        The minimum spanning tree: pairs (u, v), u < v, in rising order.
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

    def __init__(self, points: Array, label: Array, metric: Metric) -> None:
        self._points = points
        self.label = _read_only(label)
        self._metric = metric
        self._rows = metric.training_rows(points)
        tree = span(self._rows, metric.kernel)
        metric.check_defined(
            tree.weight, lambda v: f"the training examples {tree.parent[v]} and {v}"
        )
        self._parent, self._weight = tree.parent, tree.weight
        self._cuts = count_cuts(tree.parent, label)
        self._cost, _ = conquer(tree.parent, tree.weight, tree.order, label, self._cuts)
        self._ranking = self._rank(np.arange(len(label)))

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.label)

    def __repr__(self) -> str:
        """Return a summary."""
        prototypes = int((self._cuts > 0).sum())
        return f"<Forest of {len(self)} examples, {prototypes} of them prototypes>"

    @property
    def cost(self) -> Array:
        """The cost of each example, in the metric's own units."""
        return _read_only(self.to_units(self._cost).copy())

    @property
    def predecessor(self) -> Array:
        """The example before each one on its way from its prototype; −1 for prototypes."""
        return _read_only(self._paths()[0])

    @property
    def root(self) -> Array:
        """The prototype that conquered each example."""
        return _read_only(self._paths()[1])

    @property
    def prototypes(self) -> Array:
        """The indices of all prototypes, in rising order."""
        return _read_only(np.flatnonzero(self._cuts))

    @property
    def edges(self) -> Array:
        """The minimum spanning tree: pairs (u, v), u < v, in rising order."""
        child = np.flatnonzero(self._parent >= 0)
        ends = np.sort(np.column_stack((child, self._parent[child])), axis=1)
        return _read_only(ends[np.lexsort((ends[:, 1], ends[:, 0]))])

    @property
    def ids(self) -> Array:
        """Arrival numbers of the examples."""
        return _read_only(np.arange(len(self)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which examples are kept and queries are measured."""
        return self._points.dtype

    def to_units(self, reduced: Array) -> Array:
        """Convert what kernels measure to the metric's own units."""
        return self._metric.to_units(reduced, self._points.shape[1])

    def conquerors(self, X: Array, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the conqueror of each row of ``X``, and its offer in the metric's own units."""
        queries = self._metric.query_rows(X, self._points)
        winner, offer = self._search(queries, self._ranking, n_jobs)
        return winner, self.to_units(offer)

    def class_costs(
        self, X: Array, n_classes: int, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return each class's cheapest offer to each row of ``X``, and the class that wins it.

        Offers are in the metric's own units; a class without examples offers infinity.
        """
        queries = self._metric.query_rows(X, self._points)
        offer = np.full((len(X), n_classes), np.inf, self._rows.dtype)
        place = np.full((len(X), n_classes), len(self))
        place_of = np.empty(len(self), np.int64)
        place_of[self._ranking.vertex] = np.arange(len(self))
        for label in np.unique(self.label):
            ranking = self._rank(np.flatnonzero(self.label == label))
            winner, offer[:, label] = self._search(queries, ranking, n_jobs)
            place[:, label] = place_of[winner]
        cheapest = offer == offer.min(axis=1, keepdims=True)
        return self.to_units(offer), np.where(cheapest, place, len(self)).argmin(axis=1)

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
        queries = self._metric.query_rows(X, self._points)
        (conqueror,), _ = self._search(queries, self._ranking, None)
        alone = rank(
            self._rows, np.array([conqueror]), np.zeros_like(self._cost), self._metric.kernel
        )
        _, (last_step,) = self._search(queries, alone, None)
        predecessor, _ = self._paths()
        path = [conqueror]
        while predecessor[path[-1]] >= 0:
            path.append(predecessor[path[-1]])
        index = np.array(path[::-1])
        before, after = index[:-1], index[1:]
        steps = self._weight[np.where(self._parent[after] == before, after, before)]
        distance = np.concatenate(([0], steps, [last_step])).astype(self._rows.dtype)
        return index, self.to_units(distance), self.to_units(np.maximum.accumulate(distance))

    def check(self) -> None:
        """Raise ``AssertionError`` if anything that must be true of a forest is not."""
        parent, weight, cost, label = self._parent, self._weight, self._cost, self.label
        assert sorted(order_tree(parent)) == list(range(len(self))), "the tree does not span"
        child = np.flatnonzero(parent >= 0)
        assert len(child) == len(self) - 1, "the tree has not one root"
        crossing = child[label[child] != label[parent[child]]]
        ends = np.unique(np.concatenate((crossing, parent[crossing]))) if len(crossing) else [0]
        assert np.array_equal(self.prototypes, ends), "prototypes are not the ends of cut edges"
        assert np.isfinite(cost).all(), "a cost is not finite"
        assert (cost[self.prototypes] == 0).all(), "a prototype costs something"

        predecessor, root = self._paths()
        conquered = np.flatnonzero(predecessor >= 0)
        before = predecessor[conquered]
        downwards = parent[conquered] == before
        assert (downwards | (parent[before] == conquered)).all(), "a path leaves the tree"
        step = np.where(downwards, weight[conquered], weight[before])
        assert (cost[conquered] == np.maximum(cost[before], step)).all(), "a cost is no maximum"
        assert (root[conquered] == root[before]).all(), "a path does not lead to the root"
        assert np.array_equal(np.unique(root), self.prototypes), "roots are not the prototypes"
        assert (label == label[root]).all(), "conquered by another class"

    def _rank(self, vertex: Array) -> Ranking:
        return rank(self._rows, vertex, self._cost, self._metric.kernel)

    def _paths(self) -> tuple[Array, Array]:
        order = order_tree(self._parent)
        tree = self._parent, self._weight
        cost, level = conquer(*tree, order, self.label, self._cuts)
        return trace_paths(*tree, self.label, self._cuts, cost, level)  # type: ignore[no-any-return]

    def _search(self, queries: Array, ranking: Ranking, n_jobs: int | None) -> tuple[Array, Array]:
        """Find conquerors part by part, so that threads share the work and Ctrl-C is heard."""
        jobs = effective_n_jobs(n_jobs)
        work_per_query = max(1, len(ranking.vertex) * self._points.shape[1])
        part = min(WORK_PER_CALL // work_per_query, -(-len(queries) // jobs))
        part = max(GROUP, part)
        parts = [queries[begin : begin + part] for begin in range(0, len(queries), part)]
        arguments = self._rows, ranking, self._metric.kernel
        if jobs == 1 or len(parts) == 1:
            found = [find_conquerors(queries, *arguments) for queries in parts]
        else:
            found = Parallel(n_jobs=jobs, prefer="threads")(
                delayed(find_conquerors)(queries, *arguments) for queries in parts
            )
        winner, offer = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        self._metric.check_defined(offer, lambda i: f"query {i} and a training example")
        return winner, offer
