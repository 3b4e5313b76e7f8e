"""In-memory model of a store, which learns and forgets examples by their row numbers."""

import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.semi_supervised import OPFSemiSupervised
from opforest.forest.explanation import Explanation, explain
from opforest.forest.updates.exact import WORTH_TRAINING
from opforest.forest.updates.report import UpdateReport
from opforest.learner.rows import Rows, rows_of
from opforest.learner.settings import Settings
from opforest.learner.store import Row, Snapshot
from opforest.learner.validation import Array, label_array
from opforest.persistence.files import load, save

#: Examples learned at a time, so that predictions need not wait long.
SLICE = 500

#: What a forest says of its examples, all of which an audit compares.
FOREST_ARRAYS = ("ids", "points", "label", "cost", "predecessor", "root", "prototypes", "edges")


def read_examples(rows: list[Row], how: Rows, labels: str | None) -> tuple[Array, Array, Array]:
    """Return ids, rows and labels of a table; a ``ValueError`` says which row is damaged."""
    for row in rows:
        if not row.is_whole():
            raise ValueError(f"the file is damaged: its example {row.id} is not as it was written")
    y = label_array([row.y for row in rows], labels)
    return np.array([row.id for row in rows], np.int64), how.unpack([row.x for row in rows]), y


class Memory:
    """A classifier whose examples have the ids that they have in the table.

    Both number examples as they come, and never give a number twice; but a classifier begins at 0
    whenever it is made anew, and skips no number. So it is told where to count from.
    """

    def __init__(self, settings: Settings, metric: str | Callable[..., float]) -> None:
        kind = OPFSemiSupervised if settings.semi_supervised else OPFClassifier
        self._make = lambda: kind(metric, metric_params=settings.metric_params)
        self._metric, self._is_supervised = metric, not settings.semi_supervised
        self.settings = settings
        self.rows = rows_of(settings)  #: how to read rows that are meant for the classifier
        self.model = self._make()
        self.counts: Counter[Any] = Counter()  #: examples by label

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
        self.model.forest_.check_batch(X)
        return None

    def learn(
        self, ids: Array, X: Array, y: Array, trained: OPFClassifier | None = None
    ) -> UpdateReport:
        """Learn examples, whose ids must exceed all before, and return what changed."""
        if self.is_empty:
            model = self._make().partial_fit(X, y) if trained is None else trained
            model.forest_.renumber(int(ids[-1]) + 1, ids)
            self.model, self.counts = model, Counter(y.tolist())
            return model.update_report_
        report, ends = UpdateReport(), np.flatnonzero(np.diff(ids) != 1) + 1
        for run in np.split(np.arange(len(ids)), ends):
            self.model.forest_.renumber(int(ids[run[0]]))  # some may be skipped
            report = add_reports(report, self._learn_run(X[run[0] : run[-1] + 1], y[run]))
        return report

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
        self.model.forget(ids)
        report = self.model.update_report_
        forest, classes = self.model.forest_, self.model.classes_
        left = np.array([label in self.counts for label in classes.tolist()])
        if not left.all():
            code = np.cumsum(left) - 1
            kept = classes[left]
            if kept.dtype.kind == "U":
                kept = kept.astype(np.str_)  # no wider than needed
            self.model.set_forest(forest.relabel(code), np.array(kept.tolist(), kept.dtype.type),
                             report.as_counts())  # fmt: skip
        return report

    def label(self, ids: Array, y: Array) -> UpdateReport:
        """Label examples that have no label."""
        self.model.label(ids, y)
        self.counts.update([*y.tolist()])
        self.counts[None] -= len(ids)
        self.counts = +self.counts
        return self.model.update_report_

    # Snapshots.

    def snapshot(self) -> Snapshot:
        """Return the model and the ids of its examples in bytes."""
        stream = io.BytesIO()
        save(self.model, stream)
        forest = self.model.forest_
        ids = forest.ids.astype("<i8").tobytes()
        return Snapshot(forest.next_id, ids, stream.getvalue())

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
        forest.renumber(snapshot.next, ids)  # version 0.2 did not save them in the model
        self.model = model
        names = [*model.classes_.tolist(), None]  # the label −1 is none
        code = forest.label if self._is_supervised else model.source_forest().given_labels()
        times = np.bincount(code % len(names), minlength=len(names)).tolist()
        self.counts = +Counter(dict(zip(names, times, strict=True)))

    # Asking.

    def predict(self, X: Array) -> Array:
        """Return labels."""
        learned = self.model.fitted_forest()
        with learned.read():
            labels: Array = learned.classes[learned.forest.classify(X)]
            return labels

    def predict_proba(self, X: Array) -> tuple[Array, Array, Array]:
        """Return labels, classes and the probability of each class, all of the same model."""
        learned = self.model.fitted_forest()
        with learned.read():
            forest, classes = learned
            costs = forest.class_costs(X, len(classes))
            return classes[costs[1]], classes, forest.calibration().probabilities(*costs)

    def explain(self, x: Array) -> tuple[Explanation, dict[int, Array]]:
        """Return the path to one example, and the points on it, by id."""
        learned = self.model.fitted_forest()
        with learned.read():
            path = explain(learned.forest, learned.classes.tolist(), x[None])
            steps = path.steps if path.rival is None else path.steps + path.rival.steps
            ids = sorted({step.id for step in steps if step.id is not None})
            points = learned.forest.points[learned.forest.index_of(ids)]
        return path, dict(zip(ids, points, strict=True))


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
        one.source_forest().given_labels(), other.source_forest().given_labels()
    ):
        found.append("given labels")
    return found
