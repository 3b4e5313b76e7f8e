"""Layer 2: the arrays of a model, and what must always be true of them."""

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from opforest._jit import specialise
from opforest.indexing import find_best, queries_per_call, rank_best, share_of_looks, span_best
from opforest.kernels.conquest import conquer, count_cuts, order_tree, trace_paths
from opforest.kernels.distances import TILE, count_tiles, fill_tiles, find_undefined
from opforest.kernels.kdsearch import RankedTree
from opforest.kernels.rooted_tree import link_children
from opforest.kernels.search import GROUP, Ranking, measure_staged, rank, unranked
from opforest.kernels.spanning_tree import WORK_PER_CALL
from opforest.kernels.state import CROSSING, PROTOTYPES, SIZE, State
from opforest.metrics import Array, Metric

#: About how many passes over all examples an insertion takes.
PASSES_PER_INSERTION = 3

#: From this many queries on, examples are ranked by cost first if they are not.
WORTH_RANKING = 256


def read_only(array: Array) -> Array:
    """Return the array after making it read-only."""
    array.flags.writeable = False
    return array


def resized(array: Array, *shape: int) -> Array:
    """Return a copy of an array in another shape; what is new in it is 0."""
    copy = np.zeros(shape, array.dtype)
    common = tuple(map(slice, map(min, array.shape, shape)))
    copy[common] = array[common]
    return copy


class Forest:
    """An optimum-path forest over training examples, which are named by their index.

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
        The number of threads that share the work of training with a k-d tree.

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

    state: State
    _ranking: Ranking | RankedTree | None
    _share: float  #: of the points that a search in a k-d tree looks at

    #: The update that made the forest another thing than training would; "" if none did.
    grown_by = ""

    def __init__(
        self,
        points: Array,
        label: Array,
        metric: Metric,
        algorithm: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self._algorithm = algorithm
        self._n_jobs = n_jobs
        rows = metric.training_rows(points)
        self._vectors = None if rows is points else points  # beside the table measured from them
        self._train(rows, label)

    def __len__(self) -> int:
        """Return the number of examples."""
        return int(self.state.count[SIZE])

    def __repr__(self) -> str:
        """Return a summary."""
        prototypes = len(self.prototypes)
        return f"<Forest of {len(self)} examples, {prototypes} of them prototypes>"

    @property
    def label(self) -> Array:
        """The class of each example, as an integer from 0."""
        return read_only(self.state.label[: len(self)])

    @property
    def cost(self) -> Array:
        """The cost of each example, in the metric's own units."""
        return read_only(self.to_units(self.state.cost[: len(self)].copy()))

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
        return read_only(np.flatnonzero(self.state.cuts[: len(self)]))

    @property
    def edges(self) -> Array:
        """The tree: pairs (u, v), u < v, in rising order."""
        parent = self.state.parent[: len(self)]
        child = np.flatnonzero(parent >= 0)
        ends = np.sort(np.column_stack((child, parent[child])), axis=1)
        return read_only(ends[np.lexsort((ends[:, 1], ends[:, 0]))])

    @property
    def ids(self) -> Array:
        """Arrival numbers of the examples."""
        return read_only(np.arange(len(self)))

    @property
    def points(self) -> Array:
        """The examples as the metric embeds them; for precomputed distances, those."""
        if self._vectors is not None:
            return read_only(self._vectors[: len(self)])
        return read_only(self.state.rows[: len(self), : self._width(len(self))])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which examples are kept and queries are measured."""
        return self.points.dtype

    @property
    def n_features(self) -> int:
        """The number of features of the examples, or of distances in a row of a table."""
        if self._vectors is not None:
            return int(self._vectors.shape[1])
        return self._width(len(self))

    def to_units(self, reduced: Array) -> Array:
        """Convert what kernels measure to the metric's own units."""
        return self.metric.to_units(reduced, self.n_features)

    def paths(self) -> tuple[Array, Array]:
        """Return predecessors and roots."""
        n = len(self)
        parent, weight, cuts = (
            array[:n] for array in (self.state.parent, self.state.weight, self.state.cuts)
        )
        label = self.state.label[:n]
        cost, level = conquer(parent, weight, order_tree(parent), label, cuts)
        return trace_paths(parent, weight, label, cuts, cost, level)  # type: ignore[no-any-return]

    def conquerors(self, X: Array, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the conqueror of each row of ``X``, and its offer in the metric's own units."""
        winner, offer = self._search(self._queries(X), self._ranking_for(len(X)), n_jobs)
        return winner, self.to_units(offer)

    def class_costs(
        self, X: Array, n_classes: int, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Return each class's cheapest offer to each row of ``X``, and the class that wins it.

        Offers are in the metric's own units; a class without examples offers infinity.
        """
        n, queries = len(self), self._queries(X)
        offer = np.full((len(X), n_classes), np.inf, self.state.rows.dtype)
        place = np.full((len(X), n_classes), n)
        place_of = np.empty(n, np.int64)
        place_of[np.argsort(self.state.cost[:n], kind="stable")] = np.arange(n)
        for label in np.unique(self.label):
            ranking = self._rank(np.flatnonzero(self.label == label))
            winner, offer[:, label] = self._search(queries, ranking, n_jobs)
            place[:, label] = place_of[winner]
        cheapest = offer == offer.min(axis=1, keepdims=True)
        return self.to_units(offer), np.where(cheapest, place, n).argmin(axis=1)

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
        (conqueror,), _ = self._search(queries, self._ranking_for(1), None)
        free = np.zeros_like(state.cost)
        alone = rank(state.rows, np.array([conqueror]), free, self.metric.kernel)
        _, (last_step,) = self._search(queries, alone, None)
        predecessor, _ = self.paths()
        path = [conqueror]
        while predecessor[path[-1]] >= 0:
            path.append(predecessor[path[-1]])
        index = np.array(path[::-1])
        before, after = index[:-1], index[1:]
        steps = state.weight[np.where(state.parent[after] == before, after, before)]
        distance = np.concatenate(([0], steps, [last_step])).astype(state.rows.dtype)
        return index, self.to_units(distance), self.to_units(np.maximum.accumulate(distance))

    def stage(self, X: Array, label: Array) -> int:
        """Write new examples behind those that count, and return where they end.

        They become part of the forest only when an update has counted them in
        ``state.count[SIZE]``; an error in here leaves no trace.
        """
        begin, end = len(self), len(self) + len(X)
        vectors, rows = self.metric.new_rows(X, self.points)
        self._reserve(end)
        state = self.state
        if self.metric.is_table:
            state.rows[begin:end, :end] = rows
            state.rows[:end, begin:end] = rows.T
        else:
            state.rows[begin:end] = rows
        if self._vectors is not None:
            self._vectors[begin:end] = vectors
        state.label[begin:end] = label
        fill_tiles(state.rows, np.arange(begin, end), state.tiles, begin)
        self._check_new(begin, end)
        self._ranking = None
        return end

    def stage_one(self, x: Array) -> None:
        """Stage one example as ``stage`` does, in less time: for streams.

        Its label is left open, and ``measure_staged`` sees whether its distances are defined.
        """
        if self.metric.is_table:
            self.stage(x[None], np.zeros(1, np.int64))
            return
        n, (point,) = len(self), self.metric.embed(x[None])
        self._reserve(n + 1)
        self.state.rows[n] = point
        if self.metric.is_separable:
            self.state.tiles[n // TILE, :, n % TILE] = point
        self._ranking = None

    def conquerors_of_staged(self, end: int) -> Array:
        """Return the conquerors of the staged examples up to ``end``."""
        queries = self.state.rows[len(self) : end]
        return self._search(queries, self._ranking_for(len(queries)), None)[0]

    def measure_staged(self, n_classes: int) -> tuple[int, Array]:
        """Return the conqueror of the one staged example, and each class's cheapest offer to it.

        Its distances stay in the forest's scratch space for an update to use, so this is for
        streams that one thread reads: it is no mere reader.
        """
        n, kernel = len(self), self.metric.kernel
        measure = specialise(measure_staged, kernel)
        conqueror, offer = measure(self.state, n, n_classes, kernel)
        if self.metric.may_be_undefined:
            gap = self.state.gap[:n]
            self.metric.check_defined(gap, lambda v: f"training example {v} and the new one")
        return conqueror, self.to_units(offer)

    def set_width(self, n_features: int) -> None:
        """Give all examples more features, all of them 0; or take such features away.

        No distance may change by that; so it is for all named metrics but ``"correlation"``.
        """
        rows, tiles, vectors = self.state.rows, self.state.tiles, self._vectors
        if vectors is not None:
            self._vectors = resized(vectors, len(vectors), n_features)
            return
        state = self.state._replace(rows=resized(rows, len(rows), n_features))
        if self.metric.is_separable:
            state = state._replace(tiles=resized(tiles, len(tiles), n_features, TILE))
        vars(self).update(state=state, _ranking=None)

    def stops(self, begin: int, end: int) -> Iterator[int]:
        """Yield where to stop learning staged examples, so that Ctrl-C is heard in between."""
        part = max(1, WORK_PER_CALL // (PASSES_PER_INSERTION * end * self.state.rows.shape[1]))
        for stop in range(begin + part, end + part, part):
            yield min(stop, end)

    def retrain(self, end: int) -> None:
        """Train anew on all examples up to ``end``, those staged included."""
        rows = self.state.rows[:end, : self._width(end)]
        self._train(np.ascontiguousarray(rows), self.state.label[:end])

    def relabelled(self, new_code: Array) -> Self:
        """Return a copy of the forest with classes renamed."""
        twin = copy.deepcopy(self)
        twin.state.label[:] = new_code[twin.state.label]
        return twin

    def check(self) -> None:
        """Raise ``AssertionError`` if anything that must be true of a forest is not."""
        n = len(self)
        parent, weight, cost = (
            array[:n] for array in (self.state.parent, self.state.weight, self.state.cost)
        )
        label, prototypes = self.label, self.prototypes
        self._check_tree(parent, label)
        assert np.isfinite(cost).all(), "a cost is not finite"
        assert (cost[prototypes] == 0).all(), "a prototype costs something"
        predecessor, root = self.paths()
        conquered = np.flatnonzero(predecessor >= 0)
        before = predecessor[conquered]
        downwards = parent[conquered] == before
        assert (downwards | (parent[before] == conquered)).all(), "a path leaves the tree"
        step = np.where(downwards, weight[conquered], weight[before])
        assert (cost[conquered] == np.maximum(cost[before], step)).all(), "a cost is no maximum"
        assert (root[conquered] == root[before]).all(), "a path does not lead to the root"
        assert np.array_equal(np.unique(root), prototypes), "roots are not the prototypes"
        assert (label == label[root]).all(), "conquered by another class"

    def _check_tree(self, parent: Array, label: Array) -> None:
        n, count = len(self), self.state.count
        child = np.flatnonzero(parent >= 0)
        assert len(child) == n - 1, "the tree has not one root"
        assert np.array_equal(np.sort(order_tree(parent)), np.arange(n)), "the tree does not span"
        crossing = child[label[child] != label[parent[child]]]
        ends = np.unique(np.concatenate((crossing, parent[crossing]))) if len(crossing) else [0]
        assert np.array_equal(self.prototypes, ends), "prototypes are not the ends of cut edges"
        assert count[CROSSING] == len(crossing), "crossing edges are miscounted"
        assert count[PROTOTYPES] == len(ends), "prototypes are miscounted"
        assert (self.state.weight[:n] <= self.state.longest[0]).all(), "an edge is too long"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out scratch space and room to grow."""
        state = self.state
        kept = {name: state._asdict()[name][: len(self)] for name in _PER_EXAMPLE}
        kept["rows"] = state.rows[: len(self), : self._width(len(self))]
        others = {k: v for k, v in vars(self).items() if k not in ("state", "_ranking")}
        vectors = None if self._vectors is None else self._vectors[: len(self)]
        return {**others, "arrays": kept, "_vectors": vectors}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        """Restore what was left out."""
        arrays = pickled.pop("arrays")
        vars(self).update(pickled)
        order = ("rows", *_PER_EXAMPLE)
        self.state = self._make_state(
            *(np.require(arrays[name], requirements=("C", "W")) for name in order)
        )
        self._ranking = self._rank(np.arange(len(self)))

    def _train(self, rows: Array, label: Array) -> None:
        """Become the forest of these rows."""
        share = share_of_looks(rows, self.metric, self._algorithm)
        tree = span_best(rows, self.metric, share, effective_n_jobs(self._n_jobs))
        self.metric.check_defined(
            tree.weight, lambda v: f"the training examples {tree.parent[v]} and {v}"
        )
        cuts = count_cuts(tree.parent, label)
        cost, _ = conquer(tree.parent, tree.weight, tree.order, label, cuts)
        state = self._make_state(rows, label, tree.parent, tree.weight, cuts, cost)
        ranking = rank_best(rows, np.arange(len(label)), cost, self.metric, share)
        vars(self).update(state=state, _share=share, _ranking=ranking)

    def _make_state(
        self, rows: Array, label: Array, parent: Array, weight: Array, cuts: Array, cost: Array
    ) -> State:
        n, dtype = len(label), rows.dtype
        columns = rows.shape[1] if self.metric.is_separable else 0
        gap = np.zeros(n, dtype)
        crossing = (label != label[parent]) & (parent >= 0)
        state = State(
            rows=rows,
            tiles=np.zeros((count_tiles(n), columns, TILE), dtype),
            label=np.array(label, np.int64),
            parent=parent,
            weight=weight,
            child=np.empty(n, np.int64),
            after=np.empty(n, np.int64),
            before=np.empty(n, np.int64),
            cuts=cuts,
            cost=cost,
            mark=np.zeros(n, np.int64),
            gap=gap,
            gap_bits=gap.view(f"u{dtype.itemsize}"),
            count=np.array([n, 0, crossing.sum(), (cuts > 0).sum()]),
            longest=weight.max(keepdims=True),
        )
        link_children(state, n)
        fill_tiles(rows, np.arange(n), state.tiles, 0)
        return state

    def _check_new(self, begin: int, end: int) -> None:
        if self.metric.may_be_undefined:
            search = specialise(find_undefined, self.metric.kernel)
            u, v = search(self.state.rows, begin, end, self.metric.kernel)
            bad = np.array([np.nan if v >= 0 else 0.0])
            self.metric.check_defined(bad, lambda _: f"the training examples {u} and {v}")

    def _width(self, n: int) -> int:
        """Return how many columns the rows of n examples have."""
        return n if self.metric.is_table else self.state.rows.shape[1]

    def _reserve(self, size: int) -> None:
        """Make room for ``size`` examples, doubling, so that growth never copies O(n²)."""
        state = self.state
        if size <= len(state.label) and state.parent.flags.writeable:
            return
        capacity = max(size, 2 * len(self))
        arrays = {name: resized(state._asdict()[name], capacity) for name in _PER_EXAMPLE}
        for name in ("child", "after", "before", "mark", "gap"):
            arrays[name] = resized(getattr(state, name), capacity)
        arrays["gap_bits"] = arrays["gap"].view(state.gap_bits.dtype)
        rows = resized(state.rows, capacity, self._width(capacity))
        tiles = resized(state.tiles, count_tiles(capacity), *state.tiles.shape[1:])
        vectors = self._vectors
        if vectors is not None:
            vectors = resized(vectors, capacity, vectors.shape[1])
        count, longest = state.count.copy(), state.longest.copy()
        grown = state._replace(rows=rows, tiles=tiles, count=count, longest=longest, **arrays)
        vars(self).update(state=grown, _vectors=vectors)

    def _rank(self, vertex: Array) -> Ranking | RankedTree:
        return rank_best(self.state.rows, vertex, self.state.cost, self.metric, self._share)

    def _ranking_for(self, n_queries: int) -> Ranking | RankedTree:
        if self._ranking is not None:
            return self._ranking
        if n_queries >= WORTH_RANKING:
            return self._rank(np.arange(len(self)))
        return unranked(self.state, len(self))

    def _queries(self, X: Array) -> Array:
        if X.shape[1] != self.n_features:
            raise ValueError(f"queries must have {self.n_features} columns, got {X.shape[1]}.")
        return self.metric.query_rows(X, self.points)

    def _search(
        self, queries: Array, ranking: Ranking | RankedTree, n_jobs: int | None
    ) -> tuple[Array, Array]:
        """Find conquerors part by part, so that threads share the work and Ctrl-C is heard."""
        jobs = effective_n_jobs(n_jobs)
        part = queries_per_call(len(queries), ranking, self.state.rows, self.metric)
        part = max(GROUP, min(part, -(-len(queries) // jobs)))
        parts = [queries[begin : begin + part] for begin in range(0, len(queries), part)]
        arguments = self.state.rows, ranking, self.metric
        if jobs == 1 or len(parts) == 1:
            found = [find_best(queries, *arguments) for queries in parts]
        else:
            found = Parallel(n_jobs=jobs, prefer="threads")(
                delayed(find_best)(queries, *arguments) for queries in parts
            )
        winner, offer = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        self.metric.check_defined(offer, lambda i: f"query {i} and a training example")
        return winner, offer


#: Fields of ``State`` that hold the model, in the order of ``Forest._make_state``; rows aside.
_PER_EXAMPLE = ("label", "parent", "weight", "cuts", "cost")
