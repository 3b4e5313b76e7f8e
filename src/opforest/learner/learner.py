"""Durable classifier: what it learned is on disk, and what it forgot is gone."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from opforest.estimators.preparation import Preparation
from opforest.forest.updates.report import UpdateReport
from opforest.learner.answering import Answering
from opforest.learner.changes import Batch, Change, Plan, make_plan
from opforest.learner.errors import RowError, UnknownKeyError
from opforest.learner.replica import Memory, add_reports, read_examples
from opforest.learner.rows import learn_preparation, rows_of
from opforest.learner.settings import Settings, check_new, name_of
from opforest.learner.store import Row
from opforest.learner.validation import GENERATED, Array, label_array, read_keys, read_labels
from opforest.persistence.pipelines import dump_steps


class Learner(Answering):
    """An optimum-path forest on a table of examples in an SQLite file.

    The model is a function of the table alone: after any crash, it is exactly the model you would
    get by refitting on the table, bit for bit. When ``learn`` returns, the examples are on disk.
    When ``forget`` returns, they are in no file of the store: not in the table, not in a snapshot,
    not in the write-ahead log.

    Parameters
    ----------
    path : path
        The file, which is made if it is not there; ``":memory:"`` for a store that is gone when it
        is closed.
    metric : str or callable, default=None
        For a new store, any metric of ``OPFClassifier`` but ``"precomputed"``; ``"euclidean"`` by
        default. A function must be passed each time. Of a store that is there, the metric may be
        left out; another one is an error.
    metric_params : dict, default=None
        Parameters of the metric.
    feature_names : sequence of str, default=None
        For a new store, the names of the features; by default those of the columns of the first
        data frame, or none.
    precision : {"float64", "float32"}, default=None
        For a new store, how features are kept; by default as the first ones come.
    score : bool, default=False
        For a new store, whether to predict each example just before it is learned, and to count.
    semi_supervised : bool, default=False
        For a new store, whether examples may come without a label, as for ``OPFSemiSupervised``.
        ``correct``, or ``learn`` with the same key and content, gives them one.
    preparation : Preparation or fitted transformer, default=None
        For a new store, what is done to rows before the model learns them. A ``Preparation`` that
        is not fitted learns categories, medians and scales from the first batch. A fitted one, and
        a fitted transformer or ``Pipeline`` of the kinds that ``opforest.save`` takes, stays as it
        is. The table keeps the rows as they came.
    read_only : bool, default=False
        Whether to follow what another process writes: any number may. Only one writes.

    Notes
    -----
    The file is an ordinary SQLite database in WAL mode with ``synchronous=FULL``; ``FILE-lock``,
    which is empty, stays beside it. ``FILE-ack`` is there while it is in use, and after a kill: it
    says how many changes were acknowledged. Threads may share a learner: those that predict never
    wait for the disk. Processes may not: after a fork, open the store again.

    ``forget``, ``correct`` and ``learn`` with ``replace=True`` rewrite the file, so that no trace
    is left: forget many examples in one call. What a file system, a disk or a backup keeps of
    files as they were is beyond a program's reach.

    What a preparation has learned from an example is forgotten as well: when one of the examples
    that it was learned from goes, or is corrected, it is learned anew from all that are left, and
    the model is refitted. That takes as long as ``fit``.

    Examples
    --------
    >>> import opforest
    >>> with opforest.Learner(":memory:") as learner:
    ...     X, y = [[0.0], [1.0], [3.0]], ["low", "low", "high"]
    ...     change = learner.learn(X, y, keys=["a", "b", "c"])
    ...     print(learner.predict([[1.4], [2.5]]))
    ...     change = learner.correct("b", "high")
    ...     change = learner.forget(["c"])
    ...     print(learner.predict([[1.4], [2.5]]), learner.audit().ok)
    ['low' 'high']
    ['high' 'high'] True
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        metric: str | Callable[..., float] | None = None,
        metric_params: Mapping[str, Any] | None = None,
        feature_names: Sequence[str] | None = None,
        precision: str | None = None,
        score: bool | None = None,
        semi_supervised: bool | None = None,
        preparation: Any = None,
        read_only: bool = False,
    ) -> None:
        names = None if feature_names is None else tuple(map(str, feature_names))
        wanted = Settings(
            name_of("euclidean" if metric is None else metric),
            None if metric_params is None else dict(metric_params),
            precision,
            None if names is None else len(names),
            names,
            None,
            bool(score),
            bool(semi_supervised),
        )
        wanted = _with_preparation(wanted, preparation)
        check_new(wanted, "euclidean" if metric is None else metric)
        told = {"score": score, "semi_supervised": semi_supervised}
        super().__init__(os.fsdecode(path), wanted, metric, told, read_only)

    # Learning.

    def learn(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        keys: Sequence[str] | None = None,
        *,
        replace: bool = False,
    ) -> Change:
        """Learn examples; when it returns, they are on disk.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a data frame
            The examples. Columns of a data frame are found by name where the store has names.
        y : array-like of shape (n_samples,)
            Their labels: text, whole numbers or booleans, of one kind in a store. In a
            semi-supervised store ``None``, NaN or −1 is no label.
        keys : sequence of str, default=None
            What they are called, to be corrected or forgotten by. An example whose key is known
            and whose content is the same changes nothing, so a batch may be sent again. Without
            keys, some are made up: ``Change.keys`` has them.
        replace : bool, default=False
            Whether an example takes the place of another one with the same key. If not, that is
            an error.

        Returns
        -------
        Change
            What was done: all of the batch, or, after an error, nothing.
        """
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        return self.learn_named(X, y, keys, replace, names)

    def learn_named(
        self, X: Any, y: Any, keys: Any, replace: bool, names: tuple[str, ...] | None,
        cells: dict[str, Any] | None = None,
    ) -> Change:  # fmt: skip
        """Learn examples as ``learn`` does; names, and how cells were read, come separately."""
        with self._lock:
            self._get_ready()
            batch = self._check(X, y, keys, names, cells)
            return self._carry_out(batch, self._plan(batch, replace))

    def _check(
        self, X: Any, y: Any, keys: Any, names: tuple[str, ...] | None,
        cells: dict[str, Any] | None = None,
    ) -> Batch:  # fmt: skip
        """Check a batch, and note the settings that follow from it if it is the first."""
        known = self._settings.reading(cells)
        if known.n_features is None and names is not None:
            known = known.named(names)
            check_new(known, self._metric)
        if known.precision is None:
            is_single = getattr(X, "dtype", None) == np.float32 and known.preparation is None
            known = replace(known, precision="float32" if is_single else "float64")
        how = rows_of(known)
        rows = how.read(X)
        labels, kind = read_labels(y, known.labels, known.semi_supervised)
        if len(labels) != len(rows):
            raise ValueError(
                f"there must be a label for each row, got {len(labels)} for {len(rows)} rows."
            )
        own = None if keys is None else read_keys(keys, len(rows))
        if len(rows):
            self._proposed = replace(known, n_features=rows.shape[1], labels=kind)
        return Batch(rows, how.pack(rows), labels, own)

    def _plan(self, batch: Batch, replace: bool) -> Plan:
        known = {} if batch.keys is None else self._store.find(batch.keys)
        return make_plan(batch, known, replace)

    def _carry_out(self, batch: Batch, plan: Plan) -> Change:
        """Write a batch to the disk, then learn it."""
        if not plan.new and not plan.labeled:
            return Change(unchanged=plan.unchanged, keys=tuple(batch.keys or ()))
        store, new, n = self._store, plan.new, len(plan.new)
        begin = perf_counter()
        added = self._prepared(batch, plan)
        trained, is_anew = None, added.memory is not None
        if n and not is_anew:
            trained = self._memory.check(added.X, added.y)
        checked = perf_counter() - begin
        correct, total = self._correct, self._total
        judged = [i for i in range(n) if added.y[i] is not None]
        if self._settings.score and self._memory.can_predict and judged and not is_anew:
            correct += int((self._memory.predict(added.X[judged]) == added.y[judged]).sum())
            total += len(judged)
        keys = [None] * n if batch.keys is None else [batch.keys[i] for i in new]
        blobs, labels = [batch.content[i] for i in new], [batch.y[i] for i in new]
        self._is_stale = True

        def change() -> None:
            if plan.gone:
                store.remove([row.id for row in plan.gone])
            if plan.labeled:
                store.relabel(plan.labeled)
            if added.settings != self._settings:
                added.settings.save(store)
            store.add(zip(added.ids.tolist(), keys, blobs, labels, strict=True))
            if total != self._total:
                store.add_score(correct, total)

        store.write(change)
        self._settings, self._correct, self._total = added.settings, correct, total
        self._next += n
        begin = perf_counter()
        with self._on_disk():
            report = self._change_model(added, plan, trained)
        seconds = perf_counter() - begin + (checked if is_anew else 0.0)
        self._is_stale = False
        if plan.gone or plan.labeled:
            self._removals = store.get("removals", 0)
        if plan.gone:
            store.scrub()
        self._note_changes(n + len(plan.gone) + len(plan.labeled))
        names = batch.keys or [f"{GENERATED}{id}" for id in added.ids.tolist()]
        replaced = len(plan.gone)
        return Change(n - replaced, plan.unchanged, replaced, 0, tuple(names), report, seconds,
                      len(plan.labeled))  # fmt: skip

    def _change_model(self, added: "_Added", plan: Plan, trained: Any) -> UpdateReport:
        """Change the model as the table has been changed."""
        if added.memory is not None:
            self._memory = added.memory
            return added.memory.model.update_report_
        memory, kind, report = self._memory, self._settings.labels, UpdateReport()
        memory.rows = rows_of(self._settings) if memory.is_empty else memory.rows
        if plan.gone:
            gone_y = label_array([row.y for row in plan.gone], kind)
            report = memory.forget(np.array([row.id for row in plan.gone]), gone_y)
            trained = None
        if plan.labeled:
            ids = np.array([row.id for row, _ in plan.labeled])
            y = label_array([label for _, label in plan.labeled], kind)
            report = add_reports(report, memory.label(ids, y))
        if len(added.ids):
            report = add_reports(report, memory.learn(added.ids, added.X, added.y, trained))
        return report

    # Preparing.

    def _prepared(self, batch: Batch, plan: Plan) -> "_Added":
        """Return what the model learns of a batch; the first one is what a preparation learns from.

        Where examples go that it was learned from, it is learned anew from all others.
        """
        settings, new = self._proposed, plan.new
        rows = batch.rows if len(new) == len(batch.rows) else batch.rows[new]
        ids = np.arange(self._next, self._next + len(new))
        y = label_array([batch.y[i] for i in new], settings.labels)
        if self._is_founder(plan.gone):
            memory = self._trained_anew(settings, plan.gone, ids, rows, y)
            return _Added(memory.settings, ids, np.empty((len(ids), 0)), y, memory)
        if settings.preparation and settings.prepared is None:
            settings = _founded(settings, rows, self._next + len(new))
        try:
            return _Added(settings, ids, rows_of(settings).prepare(rows), y, None)
        except RowError as error:
            if error.row is None:
                raise
            reason = str(error).replace(f"row {error.row}", f"row {new[error.row]}", 1)
            raise RowError(reason, new[error.row], error.column) from None

    def _is_founder(self, gone: list[Row]) -> bool:
        """Tell whether the preparation was learned from any of these examples."""
        return any(row.id < self._settings.founded for row in gone)

    def _trained_anew(
        self, settings: Settings, gone: list[Row], ids: Array, rows: Array, y: Array
    ) -> Memory:
        """Return the model refitted without some examples and with others; change nothing."""
        how, leaving = self._memory.rows, {row.id for row in gone}
        stay = [row for row in self._store.rows() if row.id not in leaving]
        old_ids, old_rows, _ = read_examples(stay, how, settings.labels)
        all_y = label_array([row.y for row in stay] + y.tolist(), settings.labels)
        all_rows = np.concatenate([old_rows, rows]) if len(rows) else old_rows
        if len(all_rows):
            settings = _founded(settings, all_rows, self._next + len(ids))
        else:
            settings = replace(settings, prepared=None, founded=0)
        memory = Memory(settings, self._metric)
        if len(all_rows):
            X = memory.rows.prepare(all_rows)
            memory.learn(np.concatenate([old_ids, ids]), X, all_y)
        return memory

    def correct(self, key: str | Sequence[str], label: Any) -> Change:
        """Give examples other labels: they are forgotten and learned again in one transaction.

        Parameters
        ----------
        key : str or sequence of str
            The key of an example, or several.
        label : label or sequence of labels
            Its label, or one for each key.

        Returns
        -------
        Change
            What was done. Examples that have this label already are unchanged.
        """
        with self._lock:
            self._get_ready()
            rows = self._require(read_keys(key))
            labels = [label] if isinstance(key, str) else label
            y, kind = read_labels(labels, self._settings.labels)
            if len(y) != len(rows):
                raise ValueError(
                    f"there must be a label for each key, got {len(y)} for {len(rows)} keys."
                )
            self._proposed = replace(self._settings, labels=kind)
            _, found, _ = read_examples(rows, self._memory.rows, self._settings.labels)
            batch = Batch(found, [row.x for row in rows], y, [row.name for row in rows])
            return self._carry_out(batch, self._plan(batch, replace=True))

    def forget(self, keys: str | Sequence[str], *, missing_ok: bool = False) -> Change:
        """Forget examples: they leave the model, the table and every byte of the files.

        Parameters
        ----------
        keys : str or sequence of str
            The keys of the examples.
        missing_ok : bool, default=False
            Whether keys may be unknown, for a request that is sent again. If not, that is an error,
            and nothing is forgotten.

        Returns
        -------
        Change
            How many were forgotten.
        """
        with self._lock:
            self._get_ready()
            names = list(dict.fromkeys(read_keys(keys)))
            found = self._store.find(names)
            rows = list(found.values()) if missing_ok else self._require(names)
            if not rows:
                return Change()
            ids = np.array([row.id for row in rows])
            y = label_array([row.y for row in rows], self._settings.labels)
            anew = None
            if self._is_founder(rows):
                nothing = np.empty(0, np.int64)
                anew = self._trained_anew(self._settings, rows, nothing, nothing, nothing)
            self._is_stale = True

            def change() -> None:
                self._store.remove(ids.tolist())
                if anew is not None:
                    anew.settings.save(self._store)

            self._store.write(change)
            self._removals += 1
            begin = perf_counter()
            if anew is None:
                with self._on_disk():
                    report = self._memory.forget(ids, y)
            else:
                self._settings, self._memory = anew.settings, anew
                report = UpdateReport(forgotten=len(ids))
            seconds = perf_counter() - begin
            self._is_stale = False
            self._store.scrub()
            self._note_changes(len(rows))
            forgotten = tuple(row.name for row in rows)
            return Change(forgotten=len(rows), keys=forgotten, report=report, seconds=seconds)

    def _require(self, keys: list[str]) -> list[Row]:
        """Return the examples that have these keys, or say which key none has."""
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"keys must be named once each, got {twice!r} repeatedly.")
        found = self._store.find(keys)
        missing = [key for key in keys if key not in found]
        if missing:
            raise UnknownKeyError(
                f"there is no example with the key {missing[0]!r}"
                f"{f', nor with {len(missing) - 1} others of those given' if missing[1:] else ''}. "
                "Nothing was changed."
            )
        return [found[key] for key in keys]


class _Added(NamedTuple):
    """What a batch adds to a store."""

    settings: Settings
    ids: Array
    X: Array
    y: Array
    memory: Memory | None  #: the model, if it was refitted


def _founded(settings: Settings, rows: Array, until: int) -> Settings:
    """Return settings with a preparation that was learned from rows."""
    learned = learn_preparation(settings.preparation or {}, rows, settings.feature_names)
    return replace(settings, prepared=learned, founded=until)


def _with_preparation(settings: Settings, preparation: Any) -> Settings:
    """Return settings with what is to be done to rows."""
    if preparation is None:
        return settings
    if isinstance(preparation, Preparation) and not hasattr(preparation, "transformer_"):
        if preparation.missing == "drop":
            raise ValueError(
                "missing='drop' leaves rows out, and a store keeps all: leave them out before, or "
                "use missing='median'."
            )
        preparation.check_parameters()
        asked = preparation.get_params() if preparation.is_needed else None
        return replace(settings, preparation=asked)
    steps = getattr(preparation, "steps", [("prepare", preparation)])
    try:
        prepared = dump_steps(steps)
    except NotFittedError:
        raise ValueError(
            "preparation must be fitted, unless it is an opforest.Preparation, which learns from "
            "the first examples."
        ) from None
    first = steps[0][1]
    names = getattr(first, "columns_", getattr(first, "feature_names_in_", None))
    names = settings.feature_names if names is None else tuple(map(str, names))
    width = first.n_features_in_
    return replace(settings, preparation={}, prepared=prepared, n_features=width,
                   feature_names=names)  # fmt: skip
