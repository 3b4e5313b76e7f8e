"""The model that follows from the table: it learns and forgets by the numbers of rows."""

import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from opforest.classifier import OPFClassifier
from opforest.explanation import Explanation, explain
from opforest.learner.rows import Rows, rows_of
from opforest.learner.settings import Settings
from opforest.learner.store import Row, Snapshot
from opforest.learner.values import Array, label_array
from opforest.report import UpdateReport
from opforest.saving.model_file import load, save
from opforest.semi_supervised import OPFSemiSupervised
from opforest.updates.exact import WORTH_TRAINING

#: Examples learned at a time, so that predictions need not wait long.
SLICE = 500

#: What a forest says of its examples, all of which an audit compares.
FOREST_ARRAYS = ("points", "label", "cost", "predecessor", "root", "prototypes", "edges")


def read_examples(rows: list[Row], how: Rows, labels: str | None) -> tuple[Array, Array, Array]:
    """Return ids, rows and labels of a table; a ``ValueError`` says which row is damaged."""
    for row in rows:
        if not row.is_whole():
            raise ValueError(f"the file is damaged: its example {row.id} is not as it was written")
    y = label_array([row.y for row in rows], labels)
    return np.array([row.id for row in rows], np.int64), how.unpack([row.x for row in rows]), y


class Memory:
    """A classifier whose examples are known by the numbers they have in the table.

    Both number examples as they come, and never give a number twice; but the classifier begins at 0
    whenever it is made anew. ``_ids`` are the numbers of its first examples in the table, and
    ``_arrivals`` those that it gave them itself. From ``_next_id`` and ``_next_arrival`` on, both
    count alike.
    """

    def __init__(self, settings: Settings, metric: str | Callable[..., float]) -> None:
        kind = OPFSemiSupervised if settings.semi_supervised else OPFClassifier
        self._make = lambda: kind(metric, metric_params=settings.metric_params)
        self._metric, self._is_supervised = metric, not settings.semi_supervised
        self.settings = settings
        self.rows = rows_of(settings)  #: how to read rows that are meant for the classifier
        self.model = self._make()
        self.counts: Counter[Any] = Counter()  #: examples by label
        self._set_numbers(np.empty(0, np.int64), np.empty(0, np.int64), 0, 0)

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.counts.total()

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been learned."""
        return "forest_" not in vars(self.model)

    @property
    def can_predict(self) -> bool:
        """Whether some example has a label."""
        return not self.is_empty and len(self.counts) > (None in self.counts)

    # Numbers.

    def _set_numbers(self, ids: Array, arrivals: Array, next_id: int, next_arrival: int) -> None:
        self._ids, self._arrivals = ids, arrivals
        self._next_id, self._next_arrival = next_id, next_arrival

    def _arrivals_of(self, ids: Array) -> Array:
        if len(self._ids) == 0:
            return ids - self._next_id + self._next_arrival
        place = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        late = ids - self._next_id + self._next_arrival
        return np.where(ids >= self._next_id, late, self._arrivals[place])

    def ids_of(self, arrivals: Array) -> Array:
        """Return the ids in the table of examples, given the numbers the classifier gave them."""
        late = arrivals - self._next_arrival + self._next_id
        if len(self._arrivals) == 0:
            return late
        place = np.minimum(np.searchsorted(self._arrivals, arrivals), len(self._arrivals) - 1)
        return np.where(arrivals >= self._next_arrival, late, self._ids[place])

    # Learning.

    def check(self, X: Array, y: Array) -> OPFClassifier | None:
        """Raise a ``ValueError`` if these examples cannot be learned; change nothing.

        Returns
        -------
        OPFClassifier or None
            What ``learn`` may be given as ``trained``, where the first examples had to be learned
            to find out.
        """
        if self.is_empty:
            return self._make().partial_fit(X, y)
        self.model.forest_.examples.stage(X, np.zeros(len(X), np.int64))
        return None

    def learn(
        self, ids: Array, X: Array, y: Array, trained: OPFClassifier | None = None
    ) -> UpdateReport:
        """Learn examples, whose ids must exceed all before, and return what changed."""
        if self.is_empty:
            model = self._make().partial_fit(X, y) if trained is None else trained
            self._set_numbers(ids, np.arange(len(X)), int(ids[-1]) + 1, len(X))
            self.model, self.counts = model, Counter(y.tolist())
            return model.update_report_
        report, ends = UpdateReport(), np.flatnonzero(np.diff(ids) != 1) + 1
        for run in np.split(np.arange(len(ids)), ends):
            self._count_from(int(ids[run[0]]))
            report = add_reports(report, self._learn_run(X[run[0] : run[-1] + 1], y[run]))
        return report

    def _count_from(self, id: int) -> None:
        """Give the next example this id: some were skipped where examples were forgotten."""
        arrival = np.array([next_arrival(self.model)])
        if self.ids_of(arrival)[0] != id:
            known = self.model.forest_.ids
            self._set_numbers(self.ids_of(known), known, id, int(arrival[0]))

    def _learn_run(self, X: Array, y: Array) -> UpdateReport:
        """Learn examples whose numbers follow one another."""
        report, begin = UpdateReport(), 0
        while begin < len(X):
            left = len(X) - begin
            end = len(X) if left >= WORTH_TRAINING * len(self) else begin + min(SLICE, left)
            self.model.partial_fit(X[begin:end], y[begin:end])
            self.counts.update(y[begin:end].tolist())
            report = add_reports(report, self.model.update_report_)
            begin = end
        return report

    def forget(self, ids: Array, y: Array) -> UpdateReport:
        """Forget examples, whose labels are y, and classes that have no examples left."""
        if len(ids) == 0:
            return UpdateReport()
        self.counts.subtract(y.tolist())
        self.counts = +self.counts
        if not self.counts:
            lost = len(self.model.forest_.prototypes)
            self.model = self._make()
            return UpdateReport(prototypes_lost=lost, forgotten=len(ids))
        self.model.forget(self._arrivals_of(np.sort(ids)))
        report = self.model.update_report_
        forest, classes = self.model.forest_, self.model.classes_
        left = np.array([label in self.counts for label in classes.tolist()])
        if not left.all():
            code = np.cumsum(left) - 1
            kept = classes[left]
            if kept.dtype.kind == "U":
                kept = kept.astype(np.str_)  # no wider than needed
            self.model._keep(forest.relabelled(code), np.array(kept.tolist(), kept.dtype.type),
                             report.as_counts())  # fmt: skip
        return report

    def label(self, ids: Array, y: Array) -> UpdateReport:
        """Label examples that have no label."""
        self.model.label(self._arrivals_of(ids), y)
        self.counts.update([*y.tolist()])
        self.counts[None] -= len(ids)
        self.counts = +self.counts
        return self.model.update_report_

    # Snapshots.

    def snapshot(self) -> Snapshot:
        """Return the model and the ids of its examples in bytes."""
        stream = io.BytesIO()
        save(self.model, stream)
        ids = self.ids_of(self.model.forest_.ids)
        next_id = int(self.ids_of(np.array([next_arrival(self.model)]))[0])
        return Snapshot(next_id, ids.astype("<i8").tobytes(), stream.getvalue())

    def restore(self, snapshot: Snapshot) -> None:
        """Load a snapshot, or raise a ``ValueError`` that says why it is invalid."""
        metric = None if isinstance(self._metric, str) else self._metric
        model = load(io.BytesIO(snapshot.model), metric=metric)
        ids = np.frombuffer(snapshot.ids, "<i8").astype(np.int64)
        fresh = self._make()
        if type(model) is not type(fresh) or model.get_params() != fresh.get_params():
            raise ValueError("the snapshot is of another model")
        forest = model.forest_
        if self.rows.n_features != model.n_features_in_:
            raise ValueError("the snapshot has other features")
        if len(ids) != len(forest) or (np.diff(ids) <= 0).any():
            raise ValueError("the snapshot has other examples")
        arrivals = forest.ids
        self.model = model
        self._set_numbers(ids, arrivals, snapshot.next, next_arrival(model))
        names = [*model.classes_.tolist(), None]  # the label −1 is none
        code = forest.label if self._is_supervised else model._seeded().given()
        times = np.bincount(code % len(names), minlength=len(names)).tolist()
        self.counts = +Counter(dict(zip(names, times, strict=True)))

    # Asking.

    def predict(self, X: Array) -> Array:
        """Return labels."""
        learned = self.model._learned()
        with learned.reading():
            labels: Array = learned.classes[learned.forest.classify(X)]
            return labels

    def predict_proba(self, X: Array) -> tuple[Array, Array, Array]:
        """Return labels, classes and the probability of each class, all of the same model."""
        learned = self.model._learned()
        with learned.reading():
            forest, classes = learned
            costs = forest.class_costs(X, len(classes))
            return classes[costs[1]], classes, forest.sharpness().shares(*costs)

    def explain(self, x: Array) -> tuple[Explanation, dict[int, int], dict[int, Array]]:
        """Return the path to one example, and id and point of each index on it."""
        learned = self.model._learned()
        with learned.reading():
            path = explain(learned.forest, learned.classes.tolist(), x[None])
            steps = path.steps if path.rival is None else path.steps + path.rival.steps
            index = sorted({step.index for step in steps} - {-1})
            ids = self.ids_of(learned.forest.ids[index]).tolist()
            points = learned.forest.points[index]
        return path, dict(zip(index, ids, strict=True)), dict(zip(index, points, strict=True))


def next_arrival(model: OPFClassifier) -> int:
    """Return the number that a classifier gives the next example."""
    examples = model.forest_.examples
    return int(examples.end + examples.body.removed)


def add_reports(first: UpdateReport, second: UpdateReport) -> UpdateReport:
    """Return what two updates did, one after the other."""
    both = zip(vars(first).values(), vars(second).values(), strict=True)
    return UpdateReport(*(a + b for a, b in both))


def differences(one: OPFClassifier, other: OPFClassifier) -> list[str]:
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
        one._seeded().given(), other._seeded().given()
    ):
        found.append("given labels")
    return found
