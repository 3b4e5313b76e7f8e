"""Comparison of a store and its model with a model refitted on the table."""

from dataclasses import dataclass

import numpy as np

from opforest._utils.text import count
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.semi_supervised import OPFSemiSupervised
from opforest.learner.errors import StoreError
from opforest.learner.rows import fit_preparation
from opforest.learner.session import Session

#: Arrays of a forest, all of which are compared.
FOREST_ARRAYS = ("ids", "points", "label", "cost", "predecessor", "root", "prototypes", "edges")


@dataclass(frozen=True)
class Audit:
    """Whether the file is intact and the model identical to one refitted on the table.

    Attributes
    ----------
    examples : int
        The number of examples.
    damage : tuple of str
        Errors in the file.
    differences : tuple of str
        Arrays of the model that differ from those of a model refitted on the table.

    Examples
    --------
    >>> import opforest
    >>> with opforest.Learner(":memory:") as learner:
    ...     _ = learner.learn([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    ...     print(learner.audit())
    3 examples: the file is intact, and the model is exactly what refitting on the table gives
    """

    examples: int
    damage: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is neither damage nor a difference."""
        return not (self.damage or self.differences)

    def __str__(self) -> str:
        """Return a sentence."""
        file = "the file is intact"
        if self.damage:
            file = f"THE FILE IS DAMAGED ({'; '.join(self.damage[:5])})"
        model = "the model is exactly what refitting on the table gives"
        if self.differences:
            model = (
                f"THE MODEL DIFFERS from refitting on the table in {', '.join(self.differences)}"
            )
        return f"{count(self.examples, 'example')}: {file}, and {model}"


def audit_store(session: Session) -> Audit:
    """Check the file, and compare the model with one refitted on the table, array by array."""
    session.check_open()
    with session.lock:
        replica, store = session.refresh(), session.store
        found, rows = session.database.read(
            lambda database: (
                [line for (line,) in database.execute("PRAGMA integrity_check(20)")],
                list(store.rows()),
            )
        )
        damage = [] if found == ["ok"] else found
        damaged = [row.id for row in rows if not row.is_intact()]
        damage += [f"example {id} fails its checksum" for id in damaged]
        if damaged:
            return Audit(len(rows), tuple(damage))
        settings, different = session.settings, []
        if settings.preparation and settings.prepared is not None:
            founders = [row for row in rows if row.id < settings.founded]
            try:
                _, X, y = replica.decode(founders)
                fitted = fit_preparation(settings, X, y, settings.founded)
            except ValueError as error:
                raise StoreError(f"{session.path}: {error}.") from error
            if fitted.prepared != settings.prepared:
                different.append("preparation")
            settings = fitted
        refitted = session.new_replica(settings)
        session.learn_rows(refitted, rows)
        different += find_differences(replica.model, refitted.model)
        if replica.counts != refitted.counts:
            different.append("counts")
        return Audit(len(rows), tuple(damage), tuple(different))


def find_differences(one: OPFClassifier, other: OPFClassifier) -> list[str]:
    """Return the names of the arrays in which two classifiers differ."""
    empty = ["forest_" not in vars(model) for model in (one, other)]
    if any(empty):
        return [] if all(empty) else ["examples"]
    found = [] if np.array_equal(one.classes_, other.classes_) else ["classes"]
    for name in FOREST_ARRAYS:
        mine, theirs = getattr(one.forest_, name), getattr(other.forest_, name)
        if mine.dtype != theirs.dtype or not np.array_equal(mine, theirs):
            found.append(name)
    if isinstance(one, OPFSemiSupervised) and not np.array_equal(
        one.source_forest().given_labels(), other.source_forest().given_labels()
    ):
        found.append("given labels")
    return found
