"""Layer 2: making, enlarging and tidying up the arrays of a forest."""

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs

from opforest._jit import specialise
from opforest.indexing import FEW_TO_GROW, SHARE_FOR_SEARCH, probe, span_best
from opforest.kernels.conquest import conquer, count_cuts
from opforest.kernels.distances import TILE, count_tiles, fill_tiles, find_undefined
from opforest.kernels.index import Flat, Index, build_index, is_full, with_room, with_width
from opforest.kernels.kdtree import KDTree, build_kdtree
from opforest.kernels.rooted_tree import link_children
from opforest.kernels.search import Ranking, rank
from opforest.kernels.spanning_tree import Tree
from opforest.kernels.state import ELDEST, FORGOTTEN, HOLES, SIZE, State, resized
from opforest.metrics import Array, Metric


def read_only(array: Array) -> Array:
    """Return the array after making it read-only."""
    array.flags.writeable = False
    return array


class Model(NamedTuple):
    """What a forest is, by example: all else in a ``State`` follows from it."""

    label: Array
    parent: Array
    weight: Array
    cuts: Array
    cost: Array


def make_state(rows: Array, model: Model, metric: Metric) -> State:
    """Return the state of a model."""
    n, dtype = len(model.label), rows.dtype
    label, parent = np.array(model.label, np.int64), model.parent
    columns: int = rows.shape[1] if metric.is_separable else 0
    gap = np.zeros(n, dtype)
    crossing = (label != label[parent]) & (parent >= 0)
    state = State(
        rows=rows,
        tiles=np.zeros((count_tiles(n), columns, TILE), dtype),
        label=label,
        parent=parent,
        weight=model.weight,
        child=np.empty(n, np.int64),
        after=np.empty(n, np.int64),
        before=np.empty(n, np.int64),
        cuts=model.cuts,
        cost=model.cost,
        mark=np.zeros(n, np.int64),
        link=np.empty(n, np.int64),
        gap=gap,
        gap_bits=gap.view(f"u{dtype.itemsize}"),
        count=np.array([n, 0, crossing.sum(), (model.cuts > 0).sum(), 0, 0]),
        longest=np.array([model.weight.max(initial=0)], dtype),
    )
    link_children(state, n)
    fill_tiles(rows, np.arange(n), state.tiles, 0)
    return state


def enlarged(state: State, capacity: int, width: int) -> State:
    """Return the state with room for ``capacity`` examples in rows of ``width`` columns."""
    arrays: dict[str, Any] = {
        name: resized(getattr(state, name), capacity)
        for name in (*Model._fields, "child", "after", "before", "mark", "link", "gap")
    }
    return state._replace(
        rows=resized(state.rows, capacity, width),
        tiles=resized(state.tiles, count_tiles(capacity), *state.tiles.shape[1:]),
        gap_bits=arrays["gap"].view(state.gap_bits.dtype),
        count=state.count.copy(),
        longest=state.longest.copy(),
        **arrays,
    )


def living(state: State) -> Array | None:
    """Return the vertices that are no holes, in their order; None if all are."""
    if state.count[HOLES] == 0:
        return None
    return np.flatnonzero(state.label[: state.count[SIZE]] != FORGOTTEN)


def model_of(state: State, chosen: Array | None) -> Model:
    """Return the model that a state holds, its examples counted without holes."""
    arrays = (getattr(state, name) for name in Model._fields)
    if chosen is None:
        return Model(*(array[: state.count[SIZE]] for array in arrays))
    model = Model(*(array[chosen] for array in arrays))
    return model._replace(parent=place_among(chosen, model.parent))


def place_among(chosen: Array | None, vertex: Array) -> Array:
    """Return the places of vertices in the order of all that are no holes; −1 stays −1."""
    if chosen is None:
        return vertex
    return np.where(vertex < 0, -1, np.searchsorted(chosen, vertex))


class Storage:
    """Examples, the model of them and an index where one pays, all ready to change."""

    state: State
    index: Index | Flat
    _ranking: Ranking | None  #: of the examples as they are now, where there is no index
    _share: float  #: of the points that a search in a k-d tree looks at
    _probed: int  #: how many examples there were when this was found out
    _arrival: Array  #: by vertex: its arrival number

    #: The update that made the forest another thing than training would; "" if none did.
    grown_by = ""

    def __init__(
        self,
        points: Array,
        label: Array,
        metric: Metric,
        algorithm: str = "auto",
        n_jobs: int | None = None,
        tree: Tree | None = None,
    ) -> None:
        self.metric = metric
        self._algorithm = algorithm
        self._n_jobs = n_jobs
        rows = metric.training_rows(points)
        self._vectors = None if rows is points else points  # beside the table measured from them
        self._arrival = np.arange(len(label))
        self._removed = 0  # vertices that went, holes aside: what vertices lag behind arrivals
        self._train(rows, label, tree)

    def __len__(self) -> int:
        """Return the number of examples."""
        return int(self.state.count[SIZE] - self.state.count[HOLES])

    @property
    def points(self) -> Array:
        """The examples as the metric embeds them; for precomputed distances, those."""
        if self._vectors is not None:
            return read_only(self._chosen(self._vectors))
        return read_only(self._chosen_rows())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which examples are kept and queries are measured."""
        return (self.state.rows if self._vectors is None else self._vectors).dtype

    @property
    def n_features(self) -> int:
        """The number of features of the examples, or of distances in a row of a table."""
        if self._vectors is not None:
            return int(self._vectors.shape[1])
        return self._width(len(self))

    def _measured_against(self) -> Array:
        """Return the points if new ones must be measured against them here, to fill a table."""
        return self.points if self.metric.is_table else self.state.rows

    @property
    def end(self) -> int:
        """The number of vertices, holes included: where the next one goes."""
        return int(self.state.count[SIZE])

    def _chosen(self, array: Array) -> Array:
        """Return what an array says of the examples; a view if there are no holes."""
        chosen = living(self.state)
        return array[: self.end] if chosen is None else array[chosen]

    def _chosen_rows(self) -> Array:
        """Return the rows of the examples; a view if there are no holes."""
        rows, chosen = self._chosen(self.state.rows), living(self.state)
        if not self.metric.is_table:
            return rows
        return rows[:, : self.end] if chosen is None else rows[:, chosen]

    @property
    def measure(self) -> Any:
        """What the kernels of exact updates measure with, which depends on the index."""
        return self.metric.minkowski_power if isinstance(self.index, Index) else self.metric.kernel

    def model(self) -> Model:
        """Return labels, tree and costs, the latter two in reduced units; not to be changed."""
        return model_of(self.state, living(self.state))

    def stage(self, X: Array, label: Array) -> int:
        """Write new examples behind those that count, and return where they end.

        They become part of the forest only when an update has counted them in
        ``state.count[SIZE]``; an error in here leaves no trace.
        """
        vectors, rows = self.metric.new_rows(X, self._measured_against())
        self.make_room(len(X))
        state, begin, end = self.state, self.end, self.end + len(X)
        if self.metric.is_table:
            new, chosen = np.arange(begin, end), living(state)
            known = np.arange(begin) if chosen is None else chosen
            columns = np.concatenate((known, new))
            state.rows[np.ix_(new, columns)] = rows
            state.rows[np.ix_(columns, new)] = rows.T
        else:
            state.rows[begin:end] = rows
        if self._vectors is not None:
            self._vectors[begin:end] = vectors
        state.label[begin:end] = label
        self._arrival[begin:end] = np.arange(begin, end) + self._removed
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
        (point,) = self.metric.embed(x[None])
        self.make_room(1)
        end = self.end
        self.state.rows[end] = point
        if self.metric.is_separable:
            self.state.tiles[end // TILE, :, end % TILE] = point
        self._arrival[end] = end + self._removed
        self._ranking = None

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
        index = self.index
        if isinstance(index, Index):
            index = with_width(index, n_features)
        vars(self).update(state=state, index=index, _ranking=None)

    def vertices_of(self, ids: Array) -> Array:
        """Return the vertices with these arrival numbers, −1 for those that are not here."""
        arrival, label = self._arrival[: self.end], self.state.label[: self.end]
        if len(arrival) == 0:
            return np.full(len(ids), -1)
        vertex = np.minimum(np.searchsorted(arrival, ids), len(arrival) - 1)
        return np.where((arrival[vertex] == ids) & (label[vertex] != FORGOTTEN), vertex, -1)

    def oldest(self, count: int) -> Array:
        """Return the arrival numbers of the oldest examples."""
        begin, count = self.state.count[ELDEST], min(count, len(self))
        if (self.state.label[begin : begin + count] != FORGOTTEN).all():
            return self._arrival[begin : begin + count]
        return self._chosen(self._arrival)[:count]

    def retrain(self, vertex: Array) -> None:
        """Become the forest of these vertices, named in rising order, staged ones included."""
        rows = self.state.rows[vertex]
        if self.metric.is_table:
            rows = np.ascontiguousarray(rows[:, vertex])
        label, arrival = self.state.label[vertex], self._arrival[vertex]
        vectors = None if self._vectors is None else self._vectors[vertex]
        removed = self._removed + vertex.max(initial=self.end - 1) + 1 - len(vertex)
        self._train(rows, label)
        vars(self).update(_arrival=arrival, _vectors=vectors, _removed=removed)

    def tidy(self) -> None:
        """Close the holes."""
        chosen = living(self.state)
        if chosen is None:
            return
        rows = np.ascontiguousarray(self._chosen_rows())
        state = make_state(rows, model_of(self.state, chosen), self.metric)
        vectors = None if self._vectors is None else self._vectors[chosen]
        vars(self).update(
            state=state,
            index=self._index_for(state),
            _ranking=None,
            _vectors=vectors,
            _arrival=self._arrival[chosen],
            _removed=self._removed + self.end - len(chosen),
        )

    def has_changed(self) -> None:
        """Take note that an update has changed the model in place."""
        self._ranking = None
        if isinstance(self.index, Index) and is_full(self.index):
            self.index = with_room(self.index)

    def relabelled(self, new_code: Array) -> Self:
        """Return a copy of the forest with classes renamed."""
        pickled = copy.deepcopy(self.__getstate__())
        pickled["model"] = pickled["model"]._replace(label=new_code[pickled["model"].label])
        twin = object.__new__(type(self))
        twin.__setstate__(pickled)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Leave out scratch space, holes and room to grow."""
        chosen, left_out = living(self.state), ("state", "index", "_ranking", "_probed")
        removed = self._removed + self.end - len(self)
        return {
            **{name: value for name, value in vars(self).items() if name not in left_out},
            "model": model_of(self.state, chosen),
            "rows": self._chosen_rows(),
            "_arrival": self._chosen(self._arrival),
            "_removed": removed,
            "_vectors": None if self._vectors is None else self._chosen(self._vectors),
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        """Restore what was left out."""
        model, rows = pickled.pop("model"), pickled.pop("rows")
        vars(self).update(pickled)
        rows, *arrays = (np.require(a, requirements=("C", "W")) for a in (rows, *model))
        self.state = make_state(rows, Model(*arrays), self.metric)
        self._probed = len(self)
        self.index = self._index_for(self.state)
        self._ranking = self._rank_all()

    def _train(self, rows: Array, label: Array, tree: Tree | None = None) -> None:
        """Become the forest of these rows, whose minimum spanning tree may be known."""
        probed = probe(rows, self.metric, self._algorithm)
        if len(label):
            if tree is None:
                tree = span_best(rows, self.metric, probed, effective_n_jobs(self._n_jobs))
            self.metric.check_defined(
                tree.weight, lambda v: f"the training examples {tree.parent[v]} and {v}"
            )
            cuts = count_cuts(tree.parent, label)
            cost, _ = conquer(tree.parent, tree.weight, tree.order, label, cuts)
            model = Model(label, tree.parent, tree.weight, cuts, cost)
        else:
            none, nothing = np.empty(0, np.int64), np.empty(0, rows.dtype)
            model = Model(none, none.copy(), nothing, none.copy(), nothing.copy())
        state = make_state(rows, model, self.metric)
        vars(self).update(state=state, _share=probed.share, _probed=len(label))
        self.index = self._index_for(state, probed.tree)
        self._ranking = self._rank_all()

    def _check_new(self, begin: int, end: int) -> None:
        if self.metric.may_be_undefined:
            search = specialise(find_undefined, self.metric.kernel)
            u, v = search(self.state.rows, begin, end, self.metric.kernel)
            bad = np.array([np.nan if v >= 0 else 0.0])
            self.metric.check_defined(bad, lambda _: f"the training examples {u} and {v}")

    def _width(self, n: int) -> int:
        """Return how many columns the rows of n examples have."""
        return n if self.metric.is_table else self.state.rows.shape[1]

    def make_room(self, extra: int) -> None:
        """Make room for more examples: close holes or double, so that growth never copies O(n²).

        This is also where to ask from time to time whether an index pays.
        """
        if self._algorithm == "auto" and not self.grown_by:
            if self.end < FEW_TO_GROW:
                self.index, self._probed = Flat(), 0
            elif self.end >= max(FEW_TO_GROW, 2 * self._probed):
                self._probe()
        state, size = self.state, self.end + extra
        if size <= len(state.label) and state.parent.flags.writeable:
            return
        if 4 * state.count[HOLES] >= self.end:
            self.tidy()
            size = self.end + extra
        capacity = max(size, 2 * len(self))
        grown = enlarged(self.state, capacity, self._width(capacity))
        vectors, index = self._vectors, self.index
        if vectors is not None:
            vectors = resized(vectors, capacity, vectors.shape[1])
        if isinstance(index, Index):
            index = index._replace(home=resized(index.home, capacity))
        arrival = resized(self._arrival, capacity)
        vars(self).update(state=grown, _vectors=vectors, index=index, _arrival=arrival)

    def _probe(self) -> None:
        self.tidy()
        probed = probe(self.state.rows[: self.end], self.metric, self._algorithm)
        self._share, self._probed = probed.share, self.end
        self.index = self._index_for(self.state, probed.tree)

    def _index_for(self, state: State, tree: KDTree | None = None) -> Index | Flat:
        """Return what finds neighbours in a forest without holes, given its k-d tree or not."""
        n = state.count[SIZE]
        if self._share < SHARE_FOR_SEARCH and n > 0 and not self.grown_by:
            return build_index(state, tree or build_kdtree(state.rows, np.arange(n)))
        return Flat()

    def _rank(self, vertex: Array) -> Ranking:
        return rank(self.state.rows, vertex, self.state.cost, self.metric.kernel)

    def _rank_all(self) -> Ranking | None:
        """Rank all examples of a forest without holes, unless an index does better."""
        if isinstance(self.index, Index) or len(self) == 0:
            return None
        return self._rank(np.arange(self.end))
