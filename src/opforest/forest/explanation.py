"""Explanations of predictions: the path that conquered an example, and the nearest rival."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from opforest.core.metrics.types import Array
from opforest.forest.feature_table import (
    ROLES,
    FeatureTable,
    measure_differences,
    print_cell,
    round_cell,
)
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.votes import Election

#: Longer paths are printed without their middle.
PRINTED_STEPS = 12

#: The width that the printed table of features may take, if one column fits.
PRINTED_WIDTH = 80

#: The most examples that a picture shows beside the path.
MOST_AROUND = 400


class Path(NamedTuple):
    """A path from a prototype to a query."""

    code: int  #: the class
    example: Array  #: the indices of the m examples, from the prototype to the conqueror
    distance: Array  #: of the m + 1 steps: 0 for the prototype, the last one to the query
    cost: Array  #: the largest step so far


class View(NamedTuple):
    """The data that a notebook needs to draw a path."""

    code: int  #: of the class; colors follow it
    places: Array | None = None  #: (n_steps, 2), where examples have two features
    around: Array | None = None  #: other examples
    codes: Array | None = None  #: their classes
    names: tuple[str, ...] = ()  #: of the two features


def _name(id: int, key: str | None) -> str:
    """Return how a sentence names a training example."""
    return f"example {id}" if key is None else repr(key)


@dataclass(frozen=True)
class Step:
    """One vertex of a path.

    Attributes
    ----------
    id : int or None
        The id of the training example; ``None`` for the explained example itself.
    label : object
        Its class; for the explained example the predicted one.
    distance : float
        The distance from the step before; 0 for the prototype.
    cost : float
        The largest distance on the path so far.
    key : str or None
        The key of the example in a ``Learner``.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> X = [[0.0], [1.0], [3.0], [4.5]]
    >>> clf = OPFClassifier().fit(X, ["low", "low", "high", "high"]).forget([0])
    >>> [step.id for step in clf.explain([5.0]).steps]
    [2, 3, None]
    >>> clf.explain([5.0]).steps[1]
    Step(id=3, label='high', distance=1.5, cost=1.5, key=None)
    """

    id: int | None
    label: Any
    distance: float
    cost: float
    key: str | None = None

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return "x" if self.id is None else _name(self.id, self.key)


@dataclass(frozen=True)
class Voter:
    """One of the training examples that vote on a label.

    Attributes
    ----------
    id : int
        The id of the training example.
    label : object
        Its class.
    offer : float
        Its offer: the larger one of its cost and its distance.
    weight : float
        The weight of its vote: 1 for the cheapest offer, times the weight of its class, if
        ``voters="auto"`` has found weights of classes.
    key : str or None
        The key of the example in a ``Learner``.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> X = [[0.0], [1.0], [3.0], [4.5]]
    >>> clf = OPFClassifier(voters=2).fit(X, ["low", "low", "high", "high"])
    >>> clf.explain([1.5]).voters[0]
    Voter(id=1, label='low', offer=0.5, weight=1.0, key=None)
    """

    id: int
    label: Any
    offer: float
    weight: float
    key: str | None = None

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return _name(self.id, self.key)


@dataclass(frozen=True)
class Explanation:
    """The path prototype → … → conqueror → x.

    Training examples are named by their ids, as in ``OPFClassifier.forget``.

    Attributes
    ----------
    steps : tuple of Step
        The path. The first step is the prototype, the last one the explained example.
    rival : Explanation or None
        The cheapest path by which any other class would have conquered the example: its ``label``,
        ``cost`` and ``steps``. ``None`` where there is one class only.
    voters : tuple of Voter
        All voters, the cheapest offer first, if there are several. The path is then that of the
        best voter of the class that won.
    table : FeatureTable or None
        The features of prototype, conqueror, rival and x, those that differ most first. An
        ``opforest.Pipeline`` shows them before its scalers and its ``Preparation``. It is printed
        if the features have names; ``None`` for metrics that do not keep them: precomputed ones,
        cosine and correlation.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], ["low", "low", "high", "high"])
    >>> print(clf.explain([5.0]))
    'high' at cost 1.5: conquered by example 3, on the path of prototype 2
      prototype  example 2   'high'
                 example 3   'high'  distance 1.5  cost 1.5
             ->  x           'high'  distance 0.5  cost 1.5
    nearest rival: 'low' at cost 4, from example 1

    The number of an example is its id, so ``forget`` removes the one that was named:

    >>> conqueror = clf.explain([5.0]).conqueror
    >>> clf.forget([conqueror]).forest_.ids
    array([0, 1, 2])
    """

    steps: tuple[Step, ...]
    rival: "Explanation | None" = None
    voters: tuple[Voter, ...] = ()
    table: FeatureTable | None = field(default=None, repr=False, compare=False)
    view: View | None = field(default=None, repr=False, compare=False)

    @property
    def label(self) -> Any:
        """The predicted class."""
        return self.steps[-1].label

    @property
    def cost(self) -> float:
        """The cost of the whole path."""
        return self.steps[-1].cost

    @property
    def prototype(self) -> int:
        """The id of the prototype."""
        return cast(int, self.steps[0].id)

    @property
    def conqueror(self) -> int:
        """The id of the training example that conquered the explained one."""
        return cast(int, self.steps[-2].id)

    @property
    def votes(self) -> dict[Any, float]:
        """The votes for each class, the winner's first; empty if there is one voter."""
        votes = {self.label: 0.0} if self.voters else {}
        for voter in self.voters:
            votes[voter.label] = votes.get(voter.label, 0.0) + voter.weight
        return dict(sorted(votes.items(), key=lambda item: -item[1]))

    def find_step(self, role: str) -> Step:
        """Return the step that a row of ``table`` is about."""
        path, rival = self.steps, () if self.rival is None else self.rival.steps
        return (*path, *rival)[{"prototype": 0, "conqueror": len(path) - 2, "x": len(path) - 1,
                                "rival": -2}[role]]  # fmt: skip

    def __str__(self) -> str:
        """Return the path as a small table, and the features if they have names."""
        title = f"{self.label!r} at cost {self.cost:.6g}: conquered by"
        if self.voters:
            won, total = self.votes[self.label], sum(self.votes.values())
            title = f"{self.label!r} by {won:.3g} of {total:.3g} votes; its best voter is"
        prototype = self.steps[0].name.removeprefix("example ")
        title += f" {self.steps[-2].name}, on the path of prototype {prototype}"
        rows = [self._describe_step(i) for i in range(len(self.steps))]
        if len(rows) > PRINTED_STEPS:
            half = PRINTED_STEPS // 2
            between = f"  {'':9}  ... {len(rows) - 2 * half} more steps ..."
            rows = [*rows[:half], between, *rows[-half:]]
        if (rival := self.rival) is not None:
            rows.append(f"nearest rival: {rival.label!r} at cost {rival.cost:.6g}, "
                        f"from {rival.steps[-2].name}")  # fmt: skip
        return "\n".join([title, *rows, *self._describe_voters(), *self._describe_features()])

    def _describe_features(self) -> list[str]:
        """Return the table of features in lines, with as many columns as fit."""
        table = self.table
        if table is None or not table.has_names:
            return []
        steps = [self.find_step(role) for role in table.roles]
        names = ["" if step.id is None else step.name for step in steps]
        labels = [repr(step.label) for step in steps]
        columns = [["", *column] for column in (table.roles, names, labels)]
        lines = ["  ".join(cells) for cells in zip(*map(_align, columns), strict=True)]
        shown = 0
        for k, name in enumerate(table.names):
            cells = _align([name, *(print_cell(row[k]) for row in table.values)], right=True)
            if k and len(lines[0]) + len(cells[0]) + 4 > PRINTED_WIDTH:
                break
            lines = [f"{line}  {cell}" for line, cell in zip(lines, cells, strict=True)]
            shown += 1
        more = len(table.names) - shown
        rest = [f"  and {more} more {'feature' if more == 1 else 'features'}"] if more else []
        title = "features, those that differ most first:"
        return [title, *(f"  {line}".rstrip() for line in lines), *rest]

    def _describe_voters(self) -> list[str]:
        """Return a line for each voter, and one for those that are too many to print."""
        lines = ["voters:"] if self.voters else []
        width = max((len(voter.name) for voter in self.voters), default=0)
        lines += [
            f"  {voter.name:<{width}}  {voter.label!r}  offer {voter.offer:.6g}  "
            f"weight {voter.weight:.3g}"
            for voter in self.voters[:PRINTED_STEPS]
        ]
        if len(self.voters) > PRINTED_STEPS:
            lines.append(f"  ... {len(self.voters) - PRINTED_STEPS} more ...")
        return lines

    def _describe_step(self, i: int) -> str:
        step = self.steps[i]
        width = max(len(step.name) for step in self.steps)
        mark = "prototype" if i == 0 else "->" if step.id is None else ""
        row = f"  {mark:>9}  {step.name:<{width}}  {step.label!r}"
        far = max(len(f"{step.distance:.6g}") for step in self.steps[1:])
        distance = f"{step.distance:.6g}".ljust(far)
        return row if i == 0 else f"{row}  distance {distance}  cost {step.cost:.6g}"

    def _repr_html_(self) -> str:
        from opforest.display.notebook import explanation_html

        return explanation_html(self)


def explain(
    forest: BaseForest,
    classes: Sequence[Any],
    X: Array,
    names: Sequence[object] = (),
    calibration: CostCalibration | None = None,
) -> list[Explanation]:
    """Return, for each row of ``X``, the path that gives its label, and that of the nearest rival.

    ``classes`` are the labels that the integers in the forest stand for; ``names`` are those of
    the features, for a picture. If the calibration has several voters, they are listed.
    """
    with forest.storage.lock.read():
        return [_explain(forest, classes, X[i : i + 1], names, calibration) for i in range(len(X))]


def _explain(
    forest: BaseForest,
    classes: Sequence[Any],
    X: Array,
    names: Sequence[object],
    calibration: CostCalibration | None,
) -> Explanation:
    """Return the explanation of the one row of ``X``."""
    storage = forest.storage
    ids, points, election = storage.ids, None, None
    if calibration is not None and calibration.voters > 1:
        election = forest.elect(X, calibration)
    if storage.n_features == 2 and forest.metric.keeps_points:
        points = storage.points
    paths = [_describe(path, classes, X, ids, points) for path in _trace(forest, X, election)]
    voters: tuple[Voter, ...] = ()
    if election is not None:
        voters = list_voters(storage.fields.arrival[election.voter], election, classes)
    first, rival = paths[0], paths[1] if len(paths) > 1 else None
    table = _compare_features(forest, X, first, rival, names)
    view = cast(View, first.view)
    if points is not None:
        drawn = np.concatenate([cast(View, path.view).places for path in paths])
        view = _add_surroundings(view, drawn, points, storage.field("label"))
    if view.around is not None:
        view = view._replace(names=tuple(map(str, names)) or ("feature 0", "feature 1"))
    return Explanation(first.steps, rival, voters, table, view)


def _compare_features(
    forest: BaseForest,
    X: Array,
    first: Explanation,
    rival: Explanation | None,
    names: Sequence[object],
) -> FeatureTable | None:
    """Return the features of the examples that decide the label of the one row of ``X``."""
    ids = {"prototype": first.prototype, "conqueror": first.conqueror}
    if first.prototype == first.conqueror:
        del ids["prototype"]
    if rival is not None:
        ids["rival"] = rival.conqueror
    metric, storage = forest.metric, forest.storage
    if metric.is_precomputed:
        return None
    vertex = forest.find_vertices(np.array([*ids.values()]))
    is_table = metric.is_table  # a Python function's: points are kept beside it
    known = storage.points[storage.indices_of(vertex)] if is_table else storage.arrays.rows[vertex]
    features = metric.restore(known)
    if features is None:
        return None
    width = min(X.shape[1], len(names)) if len(names) else X.shape[1]  # a stream has spare columns
    points = np.concatenate((known, metric.embed(X)))
    if points.shape[1] != X.shape[1]:
        points = np.concatenate((features, X))
    differences = measure_differences(points[:, :width], metric.name == "hamming")
    digits = 12 if X.dtype == np.float64 else 7
    rows = [row[:width].tolist() for row in (*features, *X)]
    values = [[round_cell(cell, digits) for cell in row] for row in rows]
    titles = names if len(names) else [f"feature {k}" for k in range(width)]
    roles = [role for role in ROLES if role in ids or role == "x"]
    return FeatureTable.build(roles, titles, values, differences.tolist(), bool(len(names)))


def describe_features(why: Explanation, most: int | None = None) -> dict[str, Any] | None:
    """Return the table of features as JSON values: names, and a row for each example.

    At most the given number of features are in it; ``more`` counts the others.
    """
    if why.table is None:
        return None
    rows = []
    for role, values in zip(why.table.roles, why.table.values, strict=True):
        step = why.find_step(role)
        rows.append({"role": role, "id": step.id, "key": step.key, "label": step.label,
                     "values": list(values[:most])})  # fmt: skip
    names = list(why.table.names[:most])
    more = len(why.table.names) - len(names)
    return {"names": names, "has_names": why.table.has_names, "more": more, "rows": rows}


def _align(cells: Sequence[str], right: bool = False) -> list[str]:
    """Return cells of equal width."""
    width = max(map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


def list_voters(
    ids: Array, election: Election, classes: Sequence[Any], row: int = 0
) -> tuple[Voter, ...]:
    """Return the voters of one row of an election, given the ids of all."""
    columns = ids[row], election.label[row], election.offer[row], election.weight[row]
    return tuple(
        Voter(id, classes[code], offer, weight)
        for id, code, offer, weight in zip(*(c.tolist() for c in columns), strict=True)
        if code >= 0
    )


def _trace(forest: BaseForest, X: Array, election: Election | None) -> list[Path]:
    """Return the path that conquers the one row of ``X``, and the best one of another class.

    After an election, the first path is that of the best voter of the class that won. The second
    one is missing where all examples are of one class. Callers hold a read lock.
    """
    storage, rows = forest.storage, forest.queries.prepare(X)
    first = forest.queries.find(rows)[0] if election is None else election.best_voters()
    rival = forest.queries.find_rival(rows, int(storage.labels_of(first[0])))
    (predecessor, _), model = forest.paths(), storage.model()
    paths = []
    for winner in (first,) if rival is None else (first, rival):
        last_step = forest.queries.distances_to(winner[0], rows)
        path = storage.indices_of(winner).tolist()
        while predecessor[path[-1]] >= 0:
            path.append(predecessor[path[-1]])
        index = np.array(path[::-1])
        before, after = index[:-1], index[1:]
        steps = model.weight[np.where(model.parent[after] == before, after, before)]
        distance = np.concatenate(([0], steps, last_step)).astype(model.weight.dtype)
        cost = np.maximum.accumulate(distance)
        code = int(storage.labels_of(winner[0]))
        paths.append(Path(code, index, forest.to_units(distance), forest.to_units(cost)))
    return paths


def _describe(
    path: Path, classes: Sequence[Any], X: Array, ids: Array, points: Array | None
) -> Explanation:
    """Return a path as an explanation without a rival; its view needs points of two features."""
    code, index, distance, cost = path
    columns = [*ids[index].tolist(), None], distance.tolist(), cost.tolist()
    steps = tuple(Step(id, classes[code], *far) for id, *far in zip(*columns, strict=True))
    places = None
    if points is not None:
        places = np.concatenate((points[index], X)).astype(np.float64)
    return Explanation(steps, view=View(code, places))


def _add_surroundings(view: View, drawn: Array, points: Array, label: Array) -> View:
    """Add the examples around the points drawn, or some of them if there are many."""
    columns = np.ascontiguousarray(points.T, np.float64)  # NumPy reduces rows far faster
    with np.errstate(over="ignore"):
        span = np.ptp(np.hstack((columns, drawn.T)), axis=1)
    if not np.isfinite(span).all():  # too large to draw, which only a function can measure
        return view._replace(places=None)
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    reach = np.maximum(0.6 * (high - low), 0.12 * span)
    middle = (low / 2 + high / 2)[:, None]
    near = np.flatnonzero((abs(columns - middle) <= reach[:, None]).all(axis=0))
    near = near[:: max(1, -(-len(near) // MOST_AROUND))]
    return view._replace(around=columns[:, near].T, codes=label[near].astype(np.int64))
