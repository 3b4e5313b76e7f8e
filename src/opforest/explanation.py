"""Why an example was given its label: the path that conquered it."""

from dataclasses import dataclass
from typing import Any

#: Longer paths are printed without their middle.
PRINTED_STEPS = 12


@dataclass(frozen=True)
class Step:
    """One vertex of a path.

    Attributes
    ----------
    index : int
        The index of the training example, its id being ``forest_.ids[index]``; −1 for the
        explained example itself.
    label : object
        Its class; for the explained example the predicted one.
    distance : float
        The distance from the step before; 0 for the prototype.
    cost : float
        The largest distance on the way so far.
    key : str or None
        What a ``Learner`` calls the example.
    """

    index: int
    label: Any
    distance: float
    cost: float
    key: str | None = None

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        if self.index < 0:
            return "x"
        return f"example {self.index}" if self.key is None else repr(self.key)


@dataclass(frozen=True)
class Explanation:
    """The path prototype → … → conqueror → x.

    Attributes
    ----------
    steps : tuple of Step
        The path. The first step is the prototype, the last one the explained example.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], ["low", "low", "high", "high"])
    >>> print(clf.explain([5.0]))
    'high' at cost 1.5: conquered by example 3, on the path of prototype 2
      prototype  example 2   'high'
                 example 3   'high'  distance 1.5  cost 1.5
             ->  x           'high'  distance 0.5  cost 1.5
    """

    steps: tuple[Step, ...]

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
        """The index of the prototype."""
        return self.steps[0].index

    @property
    def conqueror(self) -> int:
        """The index of the training example that conquered the explained one."""
        return self.steps[-2].index

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
        return "\n".join([title, *rows])

    def _row(self, i: int) -> str:
        step = self.steps[i]
        width = max(len(step.name) for step in self.steps)
        mark = "prototype" if i == 0 else "->" if step.index < 0 else ""
        row = f"  {mark:>9}  {step.name:<{width}}  {step.label!r}"
        return row if i == 0 else f"{row}  distance {step.distance:.6g}  cost {step.cost:.6g}"
