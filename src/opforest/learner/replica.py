"""The model of a store in memory, which learns and forgets examples by their ids."""

import io
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opforest._utils import tuning
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.semi_supervised import OPFSemiSupervised
from opforest.forest.explanation import Explanation, explain
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.updates.report import UpdateReport
from opforest.learner.rows import rows_of
from opforest.learner.settings import Settings
from opforest.learner.store import Row, Snapshot
from opforest.learner.validation import Array, label_array
from opforest.persistence.files import load, save

#: Examples learned in one call, so that predictions need not wait long.
SLICE = 500


class ModelReplica:
    """A classifier whose examples have the same ids as in the table.

    Neither reuses ids, but a classifier counts from 0 and skips none, so ``renumber`` sets its ids.
    """

    def __init__(self, settings: Settings, metric: str | Callable[..., float]) -> None:
        kind = OPFSemiSupervised if settings.semi_supervised else OPFClassifier
        self._new_model = lambda: kind(
            metric, metric_params=settings.metric_params, voters=settings.voters
        )
        self._metric = metric
        self.settings = settings
        self.rows = rows_of(settings)  #: conversion of rows
        self.model = self._new_model()
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

    def adopt(self, settings: Settings) -> None:
        """Use the settings of the store, which the first examples complete."""
        self.settings = settings
        if self.is_empty:
            self.rows = rows_of(settings)

    def decode(self, rows: Sequence[Row]) -> tuple[Array, Array, Array]:
        """Return ids, rows and labels of a table; raise a ``ValueError`` if one is damaged."""
        for row in rows:
            if not row.is_intact():
                raise ValueError(f"the file is damaged: its example {row.id} fails its checksum")
        ids = np.array([row.id for row in rows], np.int64)
        y = label_array([row.y for row in rows], self.settings.labels)
        return ids, self.rows.unpack([row.x for row in rows]), y

    # Learning.

    def check(self, X: Array, y: Array) -> OPFClassifier | None:
        """Raise a ``ValueError`` if these examples cannot be learned; change nothing.

        Return the model to pass to ``learn`` if the first examples had to be learned for this.
        """
        if self.is_empty:
            return self._new_model().partial_fit(X, y)
        self.model.forest_.check_batch(X)
        return None

    def learn(
        self, ids: Array, X: Array, y: Array, trained: OPFClassifier | None = None
    ) -> UpdateReport:
        """Learn examples with ids larger than all before."""
        if self.is_empty:
            model = self._new_model().partial_fit(X, y) if trained is None else trained
            model.forest_.renumber(int(ids[-1]) + 1, ids)
            self.model, self.counts = model, Counter(y.tolist())
            return model.update_report_
        report, ends = UpdateReport(), np.flatnonzero(np.diff(ids) != 1) + 1
        for run in np.split(np.arange(len(ids)), ends):
            self.model.forest_.renumber(int(ids[run[0]]))  # ids may have gaps
            report = add_reports(report, self._learn_run(X[run[0] : run[-1] + 1], y[run]))
        return report

    def _learn_run(self, X: Array, y: Array) -> UpdateReport:
        """Learn examples with consecutive ids."""
        report, begin = UpdateReport(), 0
        while begin < len(X):
            left = len(X) - begin
            refit = left >= tuning.values.refit_fraction * len(self)
            end = len(X) if refit else begin + min(SLICE, left)
            self.model.partial_fit(X[begin:end], y[begin:end])
            self.counts.update(y[begin:end].tolist())
            report = add_reports(report, self.model.update_report_)
            begin = end
        return report

    def forget(self, ids: Array, y: Array) -> UpdateReport:
        """Forget examples with labels y, and classes without examples."""
        self.counts.subtract(y.tolist())
        self.counts = +self.counts
        if not self.counts:
            lost = len(self.model.forest_.prototypes)
            self.model = self._new_model()
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
        """Label unlabeled examples."""
        self.model.label(ids, y)
        self.counts.update(y.tolist())
        self.counts[None] -= len(ids)
        self.counts = +self.counts
        return self.model.update_report_

    # Snapshots.

    def snapshot(self) -> Snapshot:
        """Return the saved model and the ids of its examples."""
        stream = io.BytesIO()
        save(self.model, stream)
        forest = self.model.forest_
        ids = forest.ids.astype("<i8").tobytes()
        return Snapshot(forest.next_id, ids, stream.getvalue())

    def restore(self, snapshot: Snapshot) -> None:
        """Load a snapshot; raise a ``ValueError`` if it is invalid."""
        metric = None if isinstance(self._metric, str) else self._metric
        model = load(io.BytesIO(snapshot.model), metric=metric)
        ids = np.frombuffer(snapshot.ids, "<i8").astype(np.int64)
        fresh = self._new_model()
        if type(model) is not type(fresh) or model.get_params() != fresh.get_params():
            raise ValueError("the snapshot contains another model")
        forest = model.forest_
        if self.rows.n_features != model.n_features_in_:
            raise ValueError("the snapshot has other features")
        if len(ids) != len(forest) or (np.diff(ids) <= 0).any():
            raise ValueError("the snapshot has other examples")
        forest.renumber(snapshot.next, ids)  # version 0.2 did not save them in the model
        self.model = model
        names = [*model.classes_.tolist(), None]  # the code −1 means no label
        code = model.source_forest().given_labels()
        times = np.bincount(code % len(names), minlength=len(names)).tolist()
        self.counts = +Counter(dict(zip(names, times, strict=True)))

    # Predicting.

    def predict(self, X: Array) -> Array:
        """Return labels."""
        learned = self.model.fitted_forest()
        with learned.read():
            forest, classes = learned
            labels: Array = classes[forest.classify(X, calibration=self._find_calibration(forest))]
            return labels

    def predict_proba(self, X: Array) -> tuple[Array, Array, Array]:
        """Return labels, classes and probabilities of the same moment."""
        learned = self.model.fitted_forest()
        with learned.read():
            forest, classes = learned
            calibration = forest.calibration(voters=self.settings.voters)
            found, code = forest.probabilities(X, len(classes), calibration)
            return classes[code], classes, found

    def explain(self, x: Array) -> tuple[Explanation, dict[int, Array]]:
        """Return the path to one example, and the points on it and of the voters by id."""
        learned = self.model.fitted_forest()
        with learned.read():
            calibration = self._find_calibration(learned.forest)
            names = learned.classes.tolist()
            (path,) = explain(learned.forest, names, x[None], calibration=calibration)
            steps = path.steps if path.rival is None else path.steps + path.rival.steps
            on_paths = {step.id for step in steps if step.id is not None}
            ids = sorted(on_paths | {voter.id for voter in path.voters})
            points = learned.forest.points[learned.forest.index_of(ids)]
        return path, dict(zip(ids, points, strict=True))

    def _find_calibration(self, forest: BaseForest) -> CostCalibration | None:
        """Return the calibration if labels depend on it."""
        voters = self.settings.voters
        return None if voters == 1 else forest.calibration(voters=voters)


def add_reports(first: UpdateReport, second: UpdateReport) -> UpdateReport:
    """Return the sum of two reports."""
    both = zip(vars(first).values(), vars(second).values(), strict=True)
    return UpdateReport(*(a + b for a, b in both))
