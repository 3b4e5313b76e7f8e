"""What is to be done with a batch of examples, and what was done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opforest.learner.errors import KeyConflictError
from opforest.learner.store import Row
from opforest.learner.values import Array, check_own
from opforest.report import UpdateReport


@dataclass(frozen=True)
class Change:
    """What a call of ``learn``, ``correct`` or ``forget`` did, which is on disk.

    Attributes
    ----------
    learned, unchanged, replaced, forgotten : int
        Examples that are new; that were known already, with the same key and content; whose
        content or label was replaced; that were forgotten.
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


class Batch(NamedTuple):
    """Examples to learn, all of which are valid."""

    X: Array
    y: list[Any]
    keys: list[str] | None


class Plan(NamedTuple):
    """What is to be done with a batch."""

    new: list[int]  #: places in the batch of those to add
    gone: list[Row]  #: examples that others replace
    unchanged: int


def make_plan(batch: Batch, known: Mapping[str, Row], replace: bool) -> Plan:
    """Find out which examples of a batch are new, which known, and which take another's place."""
    if batch.keys is None:
        return Plan(list(range(len(batch.X))), [], 0)
    gone: dict[str, Row] = {}
    check_own([key for key in batch.keys if key not in known])
    place: dict[str, int] = {}  # of the last example with a key
    unchanged = 0
    for i, key in enumerate(batch.keys):
        content = batch.X[i].tobytes(), batch.y[i]
        if key in place:
            j = place[key]
            before = batch.X[j].tobytes(), batch.y[j]
        elif key in known:
            before = known[key].x, known[key].y
        else:
            place[key] = i
            continue
        if before == content:
            unchanged += 1
            continue
        if not replace:
            raise KeyConflictError(
                f"row {i}: there is another example with the key {key!r}. Pass replace=True to "
                "replace it, or choose another key."
            )
        place[key] = i
        if key in known:
            gone[key] = known[key]
    return Plan(sorted(place.values()), list(gone.values()), unchanged)
