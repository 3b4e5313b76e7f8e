"""Changes of a store: learning, correcting and forgetting examples."""

import dataclasses
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from opforest._utils.text import count
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.updates.report import UpdateReport
from opforest.learner.changes import Batch, Change, Plan, make_plan
from opforest.learner.errors import RowError, UnknownKeyError
from opforest.learner.replica import ModelReplica, add_reports
from opforest.learner.rows import fit_preparation, rows_of
from opforest.learner.session import Session
from opforest.learner.settings import Settings, check_new
from opforest.learner.store import Row
from opforest.learner.validation import GENERATED, Array, label_array, read_keys, read_labels


class _Additions(NamedTuple):
    """New examples, prepared for the model."""

    settings: Settings
    ids: Array
    X: Array
    y: Array
    refitted: ModelReplica | None  #: the new model, if an update is not enough


class Writer:
    """Changes the table of a store, and then its model."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def learn(
        self, X: Any, y: Any, keys: Any, replace: bool, names: tuple[str, ...] | None,
        cells: dict[str, Any] | None,
    ) -> Change:  # fmt: skip
        """Learn examples, as ``Learner.learn_named`` does."""
        session = self._session
        with session.lock:
            session.prepare_change()
            is_single = getattr(X, "dtype", None) == np.float32
            settings = session.settings.with_first_batch(names, cells, is_single)
            if settings.feature_names != session.settings.feature_names:
                check_new(settings, session.metric)
            conversion = rows_of(settings)
            rows = conversion.read(X)
            labels, kind = read_labels(y, settings.labels, settings.semi_supervised)
            if len(labels) != len(rows):
                raise ValueError(
                    f"there must be a label for each row, got {len(labels)} for {len(rows)} rows."
                )
            own = None if keys is None else read_keys(keys, len(rows))
            if len(rows):
                settings = dataclasses.replace(settings, n_features=rows.shape[1], labels=kind)
            batch = Batch(settings, rows, conversion.pack(rows), labels, own)
            return self._apply_batch(batch, {} if own is None else session.store.find(own), replace)

    def correct(self, key: Any, label: Any) -> Change:
        """Relabel examples, as ``Learner.correct`` does."""
        session = self._session
        with session.lock:
            session.prepare_change()
            rows = [*self._find_all(read_keys(key)).values()]
            labels = [label] if isinstance(key, str) else label
            y, kind = read_labels(labels, session.settings.labels)
            if len(y) != len(rows):
                raise ValueError(
                    f"there must be a label for each key, got {len(y)} for {len(rows)} keys."
                )
            settings = dataclasses.replace(session.settings, labels=kind)
            _, cells, _ = session.replica.decode(rows)
            names = [row.name for row in rows]
            batch = Batch(settings, cells, [row.x for row in rows], y, names)
            known = dict(zip(names, rows, strict=True))
            return self._apply_batch(batch, known, replace=True)

    def forget(self, keys: Any, missing_ok: bool) -> Change:
        """Forget examples, as ``Learner.forget`` does."""
        session = self._session
        with session.lock:
            session.prepare_change()
            names = list(dict.fromkeys(read_keys(keys)))
            found = session.store.find(names) if missing_ok else self._find_all(names)
            rows = [*{row.id: row for row in found.values()}.values()]
            if not rows:
                return Change()
            nothing = Batch(session.settings, np.empty(0, np.int64), [], [], None)
            _, report, seconds = self._apply(nothing, Plan([], rows, []))
            forgotten = tuple(row.name for row in rows)
            return Change(forgotten=len(rows), keys=forgotten, report=report, seconds=seconds)

    def _find_all(self, keys: list[str]) -> dict[str, Row]:
        """Return the examples with these keys; raise an error if a key is unknown or repeated."""
        found = self._session.store.find(keys)
        names = [found[key].name if key in found else key for key in keys]
        if len(set(names)) < len(keys):
            repeated = next(key for key in names if names.count(key) > 1)
            raise ValueError(f"keys must be unique, got {repeated!r} more than once.")
        missing = [key for key in keys if key not in found]
        if missing:
            others = f", nor with {count(len(missing) - 1, 'other key')}" if missing[1:] else ""
            raise UnknownKeyError(
                f"there is no example with the key {missing[0]!r}{others}. Nothing was changed."
            )
        return found

    def _apply_batch(self, batch: Batch, known: dict[str, Row], replace: bool) -> Change:
        """Add examples, replace known ones, which are given by key, and label unlabeled ones."""
        if batch.keys is not None:  # in one spelling
            names = [known[key].name if key in known else key for key in batch.keys]
            batch = batch._replace(keys=names)
        plan = make_plan(batch, {row.name: row for row in known.values()}, replace)
        if not (plan.new or plan.labeled):
            return Change(unchanged=plan.unchanged, keys=tuple(batch.keys or ()))
        ids, report, seconds = self._apply(batch, plan)
        replaced = len(plan.removed)
        return Change(
            learned=len(ids) - replaced,
            unchanged=plan.unchanged,
            replaced=replaced,
            keys=tuple(batch.keys or (f"{GENERATED}{id}" for id in ids)),
            report=report,
            seconds=seconds,
            labeled=len(plan.labeled),
        )

    def _apply(self, batch: Batch, plan: Plan) -> tuple[list[int], UpdateReport, float]:
        """Change the table, then the model; return new ids, a report and the model's seconds."""
        session, store, n = self._session, self._session.store, len(plan.new)
        begin = perf_counter()
        additions = self._prepare(batch, plan)
        refit_seconds = perf_counter() - begin if additions.refitted is not None else 0.0
        trained, score = None, session.score
        if n and additions.refitted is None:
            trained = session.replica.check(additions.X, additions.y)
            removed = {row.name for row in plan.removed}
            is_new = [batch.keys is None or batch.keys[i] not in removed for i in plan.new]
            score = self._score(additions, np.array(is_new))
        keys = [None] * n if batch.keys is None else [batch.keys[i] for i in plan.new]
        content, labels = [batch.content[i] for i in plan.new], [batch.y[i] for i in plan.new]
        ids: list[int] = additions.ids.tolist()

        def write() -> None:
            if plan.removed:
                store.remove([row.id for row in plan.removed])
            if plan.labeled:
                store.relabel(plan.labeled)
            if additions.settings != session.settings:
                additions.settings.save(session.database)
            store.add(zip(ids, keys, content, labels, strict=True))
            if score != session.score:
                store.add_score(*score)

        def update() -> UpdateReport:
            session.settings, session.score = additions.settings, score
            session.next_id += n
            return self._update_model(additions, plan, trained)

        report, seconds = session.commit(write, update)
        if plan.removed:
            session.database.scrub()
        session.take_snapshot_if_due(n + len(plan.removed) + len(plan.labeled))
        return ids, report, seconds + refit_seconds

    def _score(self, additions: _Additions, is_new: Array) -> tuple[int, int]:
        """Return the score after predicting examples that replace no others.

        All are predicted before any is learned. If nothing is known, the first one is learned, then
        as many as are known are predicted and learned, until none is left.
        """
        session, settings = self._session, additions.settings
        X, y, ids = additions.X[is_new], additions.y[is_new], additions.ids[is_new]
        if not settings.score or not len(X):
            return session.score
        if session.replica.can_predict:
            parts, replica = [slice(None)], session.replica
        else:
            ends = [2**k for k in range(len(X).bit_length())]
            parts = [slice(*pair) for pair in zip([0, *ends], [*ends, len(X)], strict=True)]
            replica = ModelReplica(settings, session.metric)
        correct, total = session.score
        for part in parts:
            labeled = [i for i in range(len(X))[part] if y[i] is not None]
            if replica.can_predict and labeled:
                correct += int((replica.predict(X[labeled]) == y[labeled]).sum())
                total += len(labeled)
            if replica is not session.replica and len(y[part]):
                replica.learn(ids[part], X[part], y[part])
        return correct, total

    def _update_model(
        self, additions: _Additions, plan: Plan, trained: OPFClassifier | None
    ) -> UpdateReport:
        """Change the model as the table was changed."""
        session, report = self._session, UpdateReport()
        if additions.refitted is not None:
            session.replica = additions.refitted
            if len(additions.ids):
                return session.replica.model.update_report_
            return UpdateReport(forgotten=len(plan.removed))
        replica, kind = session.replica, additions.settings.labels
        replica.adopt(additions.settings)
        if plan.removed:
            y = label_array([row.y for row in plan.removed], kind)
            report = replica.forget(np.array([row.id for row in plan.removed]), y)
            trained = None
        if plan.labeled:
            ids = np.array([row.id for row, _ in plan.labeled])
            y = label_array([label for _, label in plan.labeled], kind)
            report = add_reports(report, replica.label(ids, y))
        if len(additions.ids):
            learned = replica.learn(additions.ids, additions.X, additions.y, trained)
            report = add_reports(report, learned)
        return report

    # Preparation.

    def _prepare(self, batch: Batch, plan: Plan) -> _Additions:
        """Prepare new examples; the preparation is fitted on the first batch.

        If examples are removed on which it was fitted, it is refitted on all others. If it depends
        on labels, it is also refitted when one of these examples is labeled.
        """
        session, settings, new = self._session, batch.settings, plan.new
        rows = batch.rows if len(new) == len(batch.rows) else batch.rows[new]
        ids = np.arange(session.next_id, session.next_id + len(new))
        y = label_array([batch.y[i] for i in new], settings.labels)
        if self._needs_refit(plan):
            refitted = self._refit(settings, plan, ids, rows, y)
            return _Additions(refitted.settings, ids, np.empty((len(ids), 0)), y, refitted)
        if not len(new):
            return _Additions(settings, ids, np.empty((0, 0)), y, None)
        if settings.preparation and settings.prepared is None:
            settings = fit_preparation(settings, rows, y, session.next_id + len(new))
        try:
            return _Additions(settings, ids, rows_of(settings).prepare(rows), y, None)
        except RowError as error:
            if error.row is None:
                raise
            reason = str(error).replace(f"row {error.row}", f"row {new[error.row]}", 1)
            raise RowError(reason, new[error.row], error.column) from None

    def _needs_refit(self, plan: Plan) -> bool:
        """Return whether a change affects examples on which the preparation was fitted."""
        known, changed = self._session.settings, [row.id for row in plan.removed]
        if known.learns_from_labels:
            changed += [row.id for row, _ in plan.labeled]
        return any(id < known.founded for id in changed)

    def _refit(
        self, settings: Settings, plan: Plan, ids: Array, rows: Array, y: Array
    ) -> ModelReplica:
        """Return a model refitted after a change of the table; change nothing."""
        session, to_remove = self._session, {row.id for row in plan.removed}
        new_label = {row.id: label for row, label in plan.labeled}
        rest = [row for row in session.store.rows() if row.id not in to_remove]
        old_ids, old_rows, _ = session.replica.decode(rest)
        old_y = [new_label.get(row.id, row.y) for row in rest]
        all_y = label_array(old_y + y.tolist(), settings.labels)
        all_rows = np.concatenate([old_rows, rows]) if len(rows) else old_rows
        if not len(all_rows):
            return ModelReplica(
                dataclasses.replace(settings, prepared=None, founded=0), session.metric
            )
        settings = fit_preparation(settings, all_rows, all_y, session.next_id + len(ids))
        replica = ModelReplica(settings, session.metric)
        X = replica.rows.prepare(all_rows)
        replica.learn(np.concatenate([old_ids, ids]), X, all_y)
        return replica
