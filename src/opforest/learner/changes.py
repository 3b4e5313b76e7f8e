"""Plans for batches of examples, and the results of changes and audits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opforest.forest.updates.report import UpdateReport
from opforest.learner.errors import KeyConflictError
from opforest.learner.store import Row
from opforest.learner.validation import Array, check_own


@dataclass(frozen=True)
class Change:
    """What a call of ``learn``, ``correct`` or ``forget`` did, which is on disk.

    Attributes
    ----------
    learned, unchanged, replaced, forgotten, labeled : int
        Examples that are new; that were known already, with the same key and content; whose
        content or label was replaced; that were forgotten; that had no label and got one.
    keys : tuple of str
        The keys of the examples given, in their order; made up for those without one.
    report : UpdateReport
        What it did to the forest.
    seconds : float
        How long the model took, without the disk.
    """

    learned: int = 0
    unchanged: int = 0
    replaced: int = 0
    forgotten: int = 0
    keys: tuple[str, ...] = ()
    report: UpdateReport = field(default_factory=UpdateReport)
    seconds: float = 0.0
    labeled: int = 0


class Batch(NamedTuple):
    """Examples to learn, all of which are valid."""

    rows: Array  #: as they came
    content: list[bytes]  #: as the table has them
    y: list[Any]
    keys: list[str] | None


class Plan(NamedTuple):
    """What is to be done with a batch."""

    new: list[int]  #: places in the batch of those to add
    gone: list[Row]  #: examples that others replace
    labeled: list[tuple[Row, Any]]  #: examples without a label, and the one that has come
    unchanged: int


def make_plan(batch: Batch, known: Mapping[str, Row], replace: bool) -> Plan:
    """Find out which examples of a batch are new, which known, and which take another's place."""
    if batch.keys is None:
        return Plan(list(range(len(batch.content))), [], [], 0)
    check_own(batch.keys, known)
    latest = {key: (row.x, row.y) for key, row in known.items()}
    place: dict[str, int] = {}  # of the last example with a key
    gone: dict[str, Row] = {}
    labeled: dict[str, tuple[Row, Any]] = {}
    unchanged = 0
    for i, key in enumerate(batch.keys):
        x, y = batch.content[i], batch.y[i]
        before_x, before_y = latest.get(key, (None, None))
        if before_x == x and (before_y == y or (y is None and not replace)):
            unchanged += 1
            continue
        if before_x == x and before_y is None and key not in place:
            labeled[key] = known[key], y
        elif before_x is None or replace or (before_x == x and before_y is None):
            place[key] = i
            labeled.pop(key, None)
            if key in known:
                gone[key] = known[key]
        else:
            raise KeyConflictError(
                f"row {i}: there is another example with the key {key!r}. Pass replace=True to "
                "replace it, or choose another key."
            )
        latest[key] = x, y
    return Plan(sorted(place.values()), list(gone.values()), list(labeled.values()), unchanged)


@dataclass(frozen=True)
class Audit:
    """Whether a store is whole, and its model exactly what refitting on the table gives.

    Attributes
    ----------
    examples : int
        How many examples were looked at.
    damage : tuple of str
        What is wrong with the file.
    differences : tuple of str
        Arrays of the model that differ from those of a model trained on the table.

    Examples
    --------
    >>> import opforest
    >>> with opforest.Learner(":memory:") as learner:
    ...     _ = learner.learn([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    ...     print(learner.audit())
    3 examples: the file is whole, and the model is exactly what refitting on the table gives
    """

    examples: int
    damage: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damage or self.differences)

    def __str__(self) -> str:
        """Return it in a sentence."""
        file = "the file is whole"
        if self.damage:
            file = f"THE FILE IS DAMAGED ({'; '.join(self.damage[:5])})"
        model = "the model is exactly what refitting on the table gives"
        if self.differences:
            model = (
                f"THE MODEL DIFFERS from refitting on the table in {', '.join(self.differences)}"
            )
        return f"{self.examples} examples: {file}, and {model}"
