"""A classifier that lasts: what it was told is on disk, and what it was told to forget is gone."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from opforest.classifier import OPFClassifier
from opforest.explanation import Explanation
from opforest.learner.audit import Audit
from opforest.learner.changes import Batch, Change, Plan, make_plan
from opforest.learner.errors import StoreError, UnknownKeyError
from opforest.learner.memory import Memory, add_reports, differences, read_examples
from opforest.learner.opened import OpenStore
from opforest.learner.settings import Settings, check_new, name_of
from opforest.learner.store import MEMORY, Row
from opforest.learner.values import (
    GENERATED,
    Array,
    label_array,
    read_keys,
    read_labels,
    read_rows,
)
from opforest.report import UpdateReport


class Learner(OpenStore):
    """An optimum-path forest on a table of examples in an SQLite file.

    The model is a function of the table alone: after any crash, it is the one that training on the
    table gives, bit for bit. What ``learn`` has returned from is on disk. What ``forget`` has
    returned from is in no file of the store, neither in the table nor in a snapshot, nor in the
    write-ahead log.

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
    read_only : bool, default=False
        Whether to follow what another process writes: any number may. Only one writes.

    Notes
    -----
    The file is an ordinary SQLite database in WAL mode with ``synchronous=FULL``; ``FILE-lock``,
    which is empty, stays beside it. Threads may share a learner: those that predict never wait for
    the disk.

    ``forget``, ``correct`` and ``learn`` with ``replace=True`` rewrite the file, so that no trace
    is left: forget many examples in one call. What a file system, a disk or a backup keeps of
    files as they were is beyond a program's reach.

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
        )
        check_new(wanted, "euclidean" if metric is None else metric)
        super().__init__(os.fspath(path), wanted, metric, score, read_only)

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
            Their labels: text, whole numbers or booleans, of one kind in a store.
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
        self, X: Any, y: Any, keys: Any, replace: bool, names: tuple[str, ...] | None
    ) -> Change:
        """Learn examples as ``learn`` does, whose features have names that no data frame tells."""
        with self._changing():
            batch = self._check(X, y, keys, names)
            return self._carry_out(batch, self._plan(batch, replace))

    def _check(self, X: Any, y: Any, keys: Any, names: tuple[str, ...] | None) -> Batch:
        """Return a batch, if it can be learned, and settle what is not settled yet."""
        known = self._settings
        if known.n_features is None and names is not None:
            known = known.named(names)
            check_new(known, self._metric)
        precision = known.precision
        if precision is None:
            precision = "float32" if getattr(X, "dtype", None) == np.float32 else "float64"
        rows = read_rows(X, known.feature_names, known.n_features, np.dtype(precision))
        labels, kind = read_labels(y, known.labels)
        if len(labels) != len(rows):
            raise ValueError(
                f"there must be a label for each row, got {len(labels)} for {len(rows)} rows."
            )
        own = None
        if keys is not None:
            own = read_keys(keys, len(rows))
        if len(rows):
            self._proposed = _settled(known, precision, rows.shape[1], kind)
        return Batch(rows, labels, own)

    def _plan(self, batch: Batch, replace: bool) -> Plan:
        known = {} if batch.keys is None else self._store.find(batch.keys)
        return make_plan(batch, known, replace)

    def _carry_out(self, batch: Batch, plan: Plan) -> Change:
        """Write a batch to the disk, then learn it."""
        store, memory = self._store, self._memory
        new, n = plan.new, len(plan.new)
        ids = np.arange(self._next, self._next + n)
        chosen = batch.X if n == len(batch.X) else batch.X[new]
        keys = [None] * n if batch.keys is None else [batch.keys[i] for i in new]
        trained = correct = None
        if n:
            y = label_array([batch.y[i] for i in new], str(self._proposed.labels))
            trained = memory.check(chosen, y)
            if self._settings.score and not memory.is_empty:
                correct = int((memory.predict(chosen) == y).sum())
            little = chosen.astype(chosen.dtype.newbyteorder("<"), copy=False)
            self._is_stale = True
            with store.writing():
                if plan.gone:
                    store.remove([row.id for row in plan.gone])
                if self._proposed != self._settings:
                    self._proposed.save(store)
                blobs = [x.tobytes() for x in little]
                store.add(zip(ids.tolist(), keys, blobs, [batch.y[i] for i in new], strict=True))
                if correct is not None:
                    store.add_score(self._correct + correct, self._total + n)
            self._settings = self._proposed
            self._next += n
            if correct is not None:
                self._correct, self._total = self._correct + correct, self._total + n
        begin = perf_counter()
        report = UpdateReport()
        if plan.gone:
            gone_ids = np.array([row.id for row in plan.gone])
            gone_y = label_array([row.y for row in plan.gone], str(self._settings.labels))
            report = memory.forget(gone_ids, gone_y)
            trained = None
        if n:
            report = add_reports(report, memory.learn(ids, chosen, y, trained))
        seconds = perf_counter() - begin
        self._is_stale = False
        if plan.gone:
            self._removals += 1
            store.scrub()
        self._note_changes(n + len(plan.gone))
        names = batch.keys or [f"{GENERATED}{id}" for id in ids.tolist()]
        replaced = len(plan.gone)
        return Change(n - replaced, plan.unchanged, replaced, 0, tuple(names), report, seconds)

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
        with self._changing():
            rows = self._require(read_keys(key))
            labels = [label] if isinstance(key, str) else label
            y, _ = read_labels(labels, self._settings.labels)
            if len(y) != len(rows):
                raise ValueError(
                    f"there must be a label for each key, got {len(y)} for {len(rows)} keys."
                )
            _, X, _ = read_examples(rows, self._settings.dtype, str(self._settings.labels))
            self._proposed = self._settings
            batch = Batch(X, y, [row.name for row in rows])
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
        with self._changing():
            names = list(dict.fromkeys(read_keys(keys)))
            found = self._store.find(names)
            rows = list(found.values()) if missing_ok else self._require(names)
            if not rows:
                return Change()
            ids = np.array([row.id for row in rows])
            y = label_array([row.y for row in rows], str(self._settings.labels))
            self._is_stale = True
            with self._store.writing():
                self._store.remove(ids.tolist())
            self._removals += 1
            begin = perf_counter()
            report = self._memory.forget(ids, y)
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

    # Asking.

    @property
    def model(self) -> OPFClassifier:
        """The classifier, to look at: what it learns here, no store knows."""
        return self._fresh().model

    @property
    def settings(self) -> Settings:
        """What is true of all examples."""
        self._fresh()
        return self._settings

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self._fresh())

    def __repr__(self) -> str:
        """Return a summary."""
        state = "closed" if self._is_closed else f"{len(self)} examples"
        return f"<Learner {self.path}: {state}>"

    def _queries(self, X: Any) -> tuple[Memory, Array]:
        memory, known = self._fresh(), self._settings
        if memory.is_empty:
            raise ValueError("the store has no examples yet: learn some first.")
        return memory, read_rows(X, known.feature_names, known.n_features, known.dtype)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the label of each example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a data frame
            The examples.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        memory, rows = self._queries(X)
        return memory.predict(rows)

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, as ``OPFClassifier.predict_proba`` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a data frame
            The examples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of ``model.classes_``: of the classes that have examples.
        """
        memory, rows = self._queries(X)
        return memory.model.predict_proba(rows)

    def explain(self, x: npt.ArrayLike) -> Explanation:
        """Return the path that gives an example its label, with the keys of those on it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The example.

        Returns
        -------
        Explanation
            The path. It prints as a table.
        """
        one = x if hasattr(x, "columns") or np.ndim(x) == 2 else [x]
        memory, rows = self._queries(one)
        if len(rows) != 1:
            raise ValueError(f"explain takes one example at a time, got {len(rows)}.")
        path, number = memory.explain(rows[0])
        names = self._store.names_of(list(number.values()))

        def named(path: Explanation) -> Explanation:
            steps = [
                replace(step, key=names.get(number.get(step.index, -1))) for step in path.steps
            ]
            return replace(path, steps=tuple(steps))

        path = named(path)
        return path if path.rival is None else replace(path, rival=named(path.rival))

    # Looking.

    def rows(self) -> tuple[list[str], Array, Array]:
        """Return keys, features and labels of all examples, in the order they were learned."""
        with self._lock:
            self._fresh()
            with self._store.reading():
                rows = list(self._store.rows())
            try:
                _, X, y = read_examples(rows, self._settings.dtype, self._settings.labels or "text")
            except ValueError as error:
                raise StoreError(f"{self.path}: {error}.") from error
        return [row.name for row in rows], X, y

    def stats(self) -> dict[str, Any]:
        """Return what there is to say about the store, in values that JSON has."""
        memory, known = self._fresh(), self._settings
        prototypes = 0 if memory.is_empty else len(memory.model.forest_.prototypes)
        files = [self.path, f"{self.path}-wal"] if self.path != MEMORY else []
        return {
            "store": self.path,
            "examples": len(memory),
            "prototypes": prototypes,
            "classes": {str(label): n for label, n in sorted(memory.counts.items())},
            "features": known.n_features,
            "feature_names": None if known.feature_names is None else list(known.feature_names),
            "metric": known.metric,
            "metric_params": known.metric_params,
            "precision": known.precision,
            "labels": known.labels,
            "score": None if not known.score else {
                "correct": self._correct,
                "total": self._total,
                "accuracy": self._correct / self._total if self._total else None,
            },
            "bytes_on_disk": sum(os.path.getsize(name) for name in files if os.path.exists(name)),
            "bytes_in_memory": 0 if memory.is_empty else memory.model.forest_.n_bytes,
            "commits": self._store.commits,
            "commit_seconds": self._store.commit_seconds,
        }  # fmt: skip

    def audit(self) -> Audit:
        """Train on the table and compare the model with the result, array by array.

        Returns
        -------
        Audit
            What is wrong with the file or the model: nothing, if ``ok``.
        """
        with self._lock:
            memory, store = self._fresh(), self._store
            with store.reading() as database:
                found = [line for (line,) in database.execute("PRAGMA integrity_check(20)")]
                damage = [] if found == ["ok"] else found
                rows = list(store.rows())
            bad = [row.id for row in rows if not row.is_whole()]
            damage += [f"example {id} is not as it was written" for id in bad]
            if bad:
                return Audit(len(rows), tuple(damage), ())
            fresh = Memory(self._metric, self._settings.metric_params)
            self._unsaved, unsaved = 0, self._unsaved
            self._learn_rows(fresh, rows)
            self._unsaved = unsaved
            different = differences(memory.model, fresh.model)
            if memory.counts != fresh.counts:
                different.append("counts")
            return Audit(len(rows), tuple(damage), tuple(different))

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write all examples to a data file, or the model to a model file.

        Parameters
        ----------
        path : path
            The file. One that ends with ``.opforest`` gets the model, as ``opforest.save`` writes
            it; any other all examples, with their keys as ids.
        format : str, default=None
            One of ``opforest.io.tables.FORMATS``; by default what the name says.
        """
        target = os.fspath(path)
        if format is None and target.endswith(".opforest"):
            from opforest.io.model_file import save

            memory = self._fresh()
            if memory.is_empty:
                raise ValueError("the store has no examples yet: there is no model to export.")
            save(memory.model, target)
            return
        from opforest.io.data import Data
        from opforest.io.tables import write_table

        keys, X, y = self.rows()
        if y.dtype.kind in "bf":
            y = y.astype(np.int64)
        names = self._settings.feature_names
        write_table(target, Data(X, y, np.array(keys, np.str_), names, "label"), format)


def _settled(known: Settings, precision: str, n_features: int, labels: str | None) -> Settings:
    return replace(known, precision=precision, n_features=n_features, labels=labels)
