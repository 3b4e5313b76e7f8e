"""Why an example was given its label: the path that conquered it, and the nearest rival."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from opforest import _html
from opforest._palette import hex_of
from opforest.forest import BaseForest, Path

Array = npt.NDArray[Any]

#: Longer paths are printed without their middle.
PRINTED_STEPS = 12

#: The most examples that a picture shows beside the path.
MOST_AROUND = 400

WIDTH, HEIGHT, MARGIN = 300, 230, 20


class View(NamedTuple):
    """What a notebook needs to draw a path."""

    code: int  #: of the class; colours follow it
    places: Array | None = None  #: (n_steps, 2), where examples have two features
    around: Array | None = None  #: other examples
    codes: Array | None = None  #: their classes
    names: tuple[str, ...] = ()  #: of the two features


@dataclass(frozen=True)
class Step:
    """One vertex of a path.

    Attributes
    ----------
    id : int or None
        The id of the training example, which is what ``forget`` takes; ``None`` for the explained
        example itself.
    label : object
        Its class; for the explained example the predicted one.
    distance : float
        The distance from the step before; 0 for the prototype.
    cost : float
        The largest distance on the way so far.
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
        """What to call it in a sentence."""
        if self.id is None:
            return "x"
        return f"example {self.id}" if self.key is None else repr(self.key)


@dataclass(frozen=True)
class Explanation:
    """The path prototype → … → conqueror → x.

    Training examples are named by their ids, which are what ``forget`` takes. An id counts the
    examples in the order they were learned, from 0; it never changes, and is never used again.

    Attributes
    ----------
    steps : tuple of Step
        The path. The first step is the prototype, the last one the explained example.
    rival : Explanation or None
        The cheapest path by which any other class would have conquered the example: its ``label``,
        ``cost`` and ``steps``. ``None`` where there is one class only.

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

    def __str__(self) -> str:
        """Return the path as a small table."""
        title = (
            f"{self.label!r} at cost {self.cost:.6g}: conquered by {self.steps[-2].name}, "
            f"on the path of prototype {self.steps[0].name.removeprefix('example ')}"
        )
        rows = [self._row(i) for i in range(len(self.steps))]
        if len(rows) > PRINTED_STEPS:
            half = PRINTED_STEPS // 2
            between = f"  {'':9}  ... {len(rows) - 2 * half} more steps ..."
            rows = [*rows[:half], between, *rows[-half:]]
        if self.rival is not None:
            rival = self.rival
            rows.append(f"nearest rival: {rival.label!r} at cost {rival.cost:.6g}, "
                        f"from {rival.steps[-2].name}")  # fmt: skip
        return "\n".join([title, *rows])

    def _row(self, i: int) -> str:
        step = self.steps[i]
        width = max(len(step.name) for step in self.steps)
        mark = "prototype" if i == 0 else "->" if step.id is None else ""
        row = f"  {mark:>9}  {step.name:<{width}}  {step.label!r}"
        far = max(len(f"{step.distance:.6g}") for step in self.steps[1:])
        distance = f"{step.distance:.6g}".ljust(far)
        return row if i == 0 else f"{row}  distance {distance}  cost {step.cost:.6g}"

    def _repr_html_(self) -> str:
        """Return the path as a table, the rival, and a picture if there are two features."""
        title = (
            f"<b>{_html.chip(repr(self.label), self._color)}</b> at cost <b>{self.cost:.4g}</b>: "
            f"conquered by {_html.text(self.steps[-2].name)}, on the path of "
            f"{_html.text(self.steps[0].name.replace('example', 'prototype'))}"
        )
        rows = [self._cells(i) for i in range(len(self.steps))]
        if len(rows) > PRINTED_STEPS:
            half = PRINTED_STEPS // 2
            rows[half:-half] = [["", f"… {len(rows) - 2 * half} more steps …", "", "", ""]]
        head = ("", "example", "class", "distance", "cost")
        steps = _html.table(head, rows, left=3) + self._rival_html()
        return _html.frame(title, steps, self._picture())

    @property
    def _color(self) -> str | None:
        return None if self.view is None else hex_of(self.view.code)

    def _cells(self, i: int) -> list[str]:
        step = self.steps[i]
        mark = "prototype" if i == 0 else "→" if step.id is None else ""
        numbers = ["", ""] if i == 0 else [f"{step.distance:.4g}", f"{step.cost:.4g}"]
        return [mark, _html.text(step.name), _html.chip(repr(step.label), self._color), *numbers]

    def _rival_html(self) -> str:
        rival = self.rival
        if rival is None:
            return ""
        if rival.cost == self.cost:
            more = ", which is a tie; the cheaper conqueror wins, then the older one"
        else:
            more = f", {rival.cost / self.cost:.3g} times as much" if self.cost > 0 else ""
        name, who = _html.chip(repr(rival.label), rival._color), _html.text(rival.steps[-2].name)
        said = f"Nearest rival: {name} would have cost <b>{rival.cost:.4g}</b>, from {who}{more}."
        return f'<div style="margin-top:6px">{said}</div>'

    def _picture(self) -> str:
        view, rival = self.view, self.rival
        if view is None or view.places is None or view.around is None or view.codes is None:
            return ""
        paths = [(view.places, view.code, False)]
        if rival is not None and rival.view is not None and rival.view.places is not None:
            paths.insert(0, (rival.view.places, rival.view.code, True))
        place = _html.fit_into(np.concatenate((view.around, view.places)), WIDTH, HEIGHT, MARGIN)
        parts = [
            f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="4" fill="none" '
            'stroke="currentColor" stroke-opacity=".3"/>'
        ]
        parts += [
            _html.dots(place(view.around[view.codes == code]), hex_of(code), 2, 0.4)
            for code in np.unique(view.codes).tolist()
        ]
        for points, code, is_rival in paths:
            at, color = place(points), hex_of(code)
            parts.append(_html.polyline(at, color, 2, is_rival))
            parts += [_html.dots(at[1:-1], color, 3), _html.star(at[0], color, 8)]
        x, y = place(view.places[-1:])[0]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="currentColor" '
                     'stroke-width="2"/>')  # fmt: skip
        parts += [_html.words(WIDTH - 6, HEIGHT - 6, view.names[0], "end"),
                  _html.words(6, 14, view.names[1])]  # fmt: skip
        return _html.svg(WIDTH, HEIGHT, parts, "the path to x, and that of the nearest rival")


def explain(
    forest: BaseForest, classes: Sequence[Any], X: Array, names: Sequence[object] = ()
) -> Explanation:
    """Return the path that gives the one row of ``X`` its label, and that of the nearest rival.

    Parameters
    ----------
    forest : BaseForest
        The forest.
    classes : sequence
        The labels that the integers in the forest stand for.
    X : array of shape (1, n_features)
        The example.
    names : sequence, default=()
        Names of the features, for a picture.

    Returns
    -------
    Explanation
        The path.
    """
    with forest.examples.lock.reading():
        first, *others = [_describe(forest, classes, X, path) for path in forest.trace(X)]
        rival = others[0] if others else None
        view = first.view
        if view is not None and view.places is not None:
            view = _with_surroundings(view, rival, forest, names)
    return Explanation(first.steps, rival, view)


def _describe(forest: BaseForest, classes: Sequence[Any], X: Array, path: Path) -> Explanation:
    """Return a path as an explanation without a rival."""
    code, index, distance, cost = path
    ids = [*forest.ids[index].tolist(), None]
    numbers = zip(ids, distance.tolist(), cost.tolist(), strict=True)
    steps = tuple(Step(id, classes[code], far, so_far) for id, far, so_far in numbers)
    places = None
    if forest.n_features == 2 and forest.metric.keeps_points:
        places = np.concatenate((forest.points[index], X)).astype(np.float64)
    return Explanation(steps, view=View(code, places))


def _with_surroundings(
    view: View, rival: Explanation | None, forest: BaseForest, names: Sequence[object]
) -> View:
    """Add the examples around two paths, or some of them if there are many."""
    paths = [view.places, None if rival is None or rival.view is None else rival.view.places]
    places = np.concatenate([path for path in paths if path is not None])
    columns = np.ascontiguousarray(forest.points.T, np.float64)  # NumPy reduces rows far faster
    with np.errstate(over="ignore"):
        span = np.ptp(np.hstack((columns, places.T)), axis=1)
    if not np.isfinite(span).all():  # too large to draw, which only a function can measure
        return view._replace(places=None)
    low, high = places.min(axis=0), places.max(axis=0)
    reach = np.maximum(0.6 * (high - low), 0.12 * span)
    middle = (low / 2 + high / 2)[:, None]
    near = np.flatnonzero((abs(columns - middle) <= reach[:, None]).all(axis=0))
    near = near[:: max(1, -(-len(near) // MOST_AROUND))]
    called = tuple(map(str, names)) or ("feature 0", "feature 1")
    return view._replace(around=columns[:, near].T, codes=forest.label[near], names=called)
