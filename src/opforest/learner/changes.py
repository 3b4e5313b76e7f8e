"""Plans for batches of examples, and the results of changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opforest.forest.updates.report import UpdateReport
from opforest.learner.errors import KeyConflictError
from opforest.learner.settings import Settings
from opforest.learner.store import Row
from opforest.learner.validation import Array, check_new_keys


@dataclass(frozen=True)
class Change:
    """Result of a call of ``learn``, ``correct`` or ``forget``, which is on disk.

    Attributes
    ----------
    learned, unchanged, replaced, forgotten, labeled : int
        Numbers of examples that are new; were known with the same key and content; changed their
        content or label; were forgotten; were unlabeled and got a label.
    keys : tuple of str
        The keys of the given examples, in their order; generated for those without one.
    report : UpdateReport
        Changes of the forest.
    seconds : float
        Time spent on the model, without the disk.
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
    """Valid examples to learn."""

    settings: Settings  #: of the store once it has learned them
    rows: Array  #: as they were given
    content: list[bytes]  #: as they are stored
    y: list[Any]
    keys: list[str] | None


class Plan(NamedTuple):
    """Changes of the table that a batch causes."""

    new: list[int]  #: indices in the batch of examples to add
    removed: list[Row]  #: examples to remove
    labeled: list[tuple[Row, Any]]  #: unlabeled examples and their new labels
    unchanged: int = 0


def make_plan(batch: Batch, known: Mapping[str, Row], replace: bool) -> Plan:
    """Return which examples of a batch are new, are known, or replace others."""
    if batch.keys is None:
        return Plan(list(range(len(batch.content))), [], [])
    check_new_keys(batch.keys, known)
    latest = {key: (row.x, row.y) for key, row in known.items()}
    place: dict[str, int] = {}  # of the last example with a key
    removed: dict[str, Row] = {}
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
                removed[key] = known[key]
        else:
            raise KeyConflictError(i, key)
        latest[key] = x, y
    return Plan(sorted(place.values()), list(removed.values()), list(labeled.values()), unchanged)
