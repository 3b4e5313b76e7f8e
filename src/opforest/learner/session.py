"""An open store and its model, which is kept up to date with the table."""

import os
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from opforest._utils import tuning
from opforest._utils.interrupts import defer_interrupts
from opforest.estimators.label_issues import LabelIssue, find_label_issues
from opforest.forest.explanation import Explanation
from opforest.forest.probabilities import count_changes
from opforest.learner.database import MEMORY, Database
from opforest.learner.errors import StoreError, wrap_sqlite_errors
from opforest.learner.replica import ModelReplica
from opforest.learner.settings import Settings, choose_metric
from opforest.learner.store import Row, Snapshot, Store
from opforest.learner.validation import Array

T = TypeVar("T")

#: A snapshot is taken after changes to this fraction of the examples, if they are enough.
SNAPSHOT_FRACTION = 0.2


class _TableState(NamedTuple):
    """The contents of the tables at one moment."""

    version: int
    settings: Settings
    snapshot: Snapshot | None
    in_snapshot: int  #: number of examples that the snapshot must have
    rows: list[Row]  #: examples after the snapshot
    score: tuple[int, int]
    removals: int
    next_id: int


class Session:
    """The file, the settings and the model of an open store, changed by one thread at a time.

    ``is_stale`` is true from just before a change is on disk until the model has it, too. If it is
    true while no thread holds ``lock``, the change was interrupted, and the model is loaded again.

    A new store gets the ``wanted`` settings; an existing one must have those that are ``required``.
    """

    settings: Settings

    def __init__(
        self, path: str, wanted: Settings, metric: Any, required: Collection[str], read_only: bool
    ) -> None:
        self.path, self.settings = path, wanted
        self.lock = threading.RLock()
        self.is_closed = False
        self.unsaved = 0  #: changes since the last snapshot
        self._process = os.getpid()
        #: Those found last, for which forest, and after how many changes of it.
        self._suspects: tuple[Any, int, list[LabelIssue]] = (None, 0, [])
        try:
            self._open(read_only)
            with wrap_sqlite_errors(path):
                self._agree_on_settings(wanted, required)
                params = wanted.metric_params
                self.metric = choose_metric(path, self.settings, metric, params)
                if not isinstance(self.metric, str):
                    self.settings = replace(self.settings, metric_params=params)
                self.database.call_and_check(self._load)
                self.database.upgrade()
                if not read_only and self.database.get("scrub"):
                    self.database.scrub()
        except BaseException:
            self._close()
            raise

    @defer_interrupts
    def _open(self, read_only: bool) -> None:
        self.database = Database(self.path, read_only)
        self.store = Store(self.database)

    def _agree_on_settings(self, wanted: Settings, required: Collection[str]) -> None:
        database = self.database
        database.read(lambda _: database.check_entries())
        if database.get("metric") is None and database.next_id() == 1:
            # It is new, or the process that created it was killed here.
            if database.read_only:
                raise StoreError(
                    f"{self.path}: another process is creating it; try again in a moment."
                )
            database.upgrade()
            database.write(lambda: wanted.save(database))
            return
        self.settings = known = Settings.load(database)
        for name in required:
            given, found = getattr(wanted, name), getattr(known, name)
            if found not in (None, given):
                raise StoreError(
                    f"{self.path}: it was made with {name}={found}, which cannot be changed."
                )
        fitted = known.prepared if known.preparation == {} else None
        expected = wanted.preparation, wanted.prepared
        if wanted.preparation is not None and expected != (known.preparation, fitted):
            raise StoreError(
                f"{self.path}: its preparation is {known.preparation}, which cannot be changed. "
                "Leave preparation out to use the store's."
            )

    # Loading.

    def _load(self) -> None:
        """Rebuild the model from the last snapshot and the rows after it."""
        self.is_stale = True
        table = self.database.read(lambda _: self._read_table(self.store.snapshot()))
        replica = self.new_replica(table.settings)
        if table.snapshot is not None:
            try:
                replica.restore(table.snapshot)
                if table.in_snapshot != len(replica):
                    raise ValueError("the snapshot has other examples")
            except (ValueError, TypeError):  # a snapshot only saves time
                table = self.database.read(lambda _: self._read_table(None))
                replica = self.new_replica(table.settings)
        self.learn_rows(replica, table.rows)
        self.settings, self.replica, self.unsaved = table.settings, replica, len(table.rows)
        self._finish_loading(table)

    def _read_table(self, snapshot: Snapshot | None, start: int = 0) -> _TableState:
        database, store = self.database, self.store
        version = database.version()  # first: at worst, the tables are read once more
        start = start if snapshot is None else snapshot.next
        settings = replace(Settings.load(database), metric_params=self.settings.metric_params)
        return _TableState(
            version, settings, snapshot, 0 if snapshot is None else store.count(before=start),
            list(store.rows(start)), store.score(), database.get("removals", 0), database.next_id(),
        )  # fmt: skip

    def _finish_loading(self, table: _TableState) -> None:
        self.next_id, self.score = table.next_id, table.score
        self._version, self._removals = table.version, table.removals
        self.is_stale = False

    def new_replica(self, settings: Settings) -> ModelReplica:
        """Return a model without examples."""
        try:
            return ModelReplica(settings, self.metric)
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(f"{self.path}: the file is damaged: {error}") from error

    def learn_rows(self, replica: ModelReplica, rows: list[Row]) -> None:
        """Learn rows of the table; raise a ``StoreError`` if one is damaged."""
        if not rows:
            return
        try:
            ids, found, y = replica.decode(rows)
            if replica.rows.n_features is None:
                raise ValueError("the file is damaged: examples have no preparation")
            replica.learn(ids, replica.rows.prepare(found), y)
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(f"{self.path}: {error}.") from error

    def refresh(self) -> ModelReplica:
        """Return the model, up to date with the table."""
        self.check_open()
        if self.database.read_only:
            with self.lock:
                self._follow()
        elif self.is_stale:
            held: list[Any] = []
            try:
                self._try_lock(held)  # if this fails, another thread is finishing the change
                if held and self.is_stale:
                    self._load()
            finally:
                for lock in held:  # nothing is called before, so nothing can be interrupted
                    lock.release()
        return self.replica

    @defer_interrupts
    def _try_lock(self, held: list[Any]) -> None:
        if self.lock.acquire(blocking=False):
            held.append(self.lock)

    def _follow(self) -> None:
        """Learn and forget what another process has written."""
        self.database.lock.check_location()
        if not self.is_stale and self.database.version() == self._version:
            return
        if self.is_stale or self.replica.is_empty:
            self._load()
            return
        table = self.database.read(lambda _: self._read_table(None, self.next_id))
        if table.removals != self._removals or table.settings != self.settings:
            self._load()
            return
        self.is_stale = True
        self.learn_rows(self.replica, table.rows)
        self._finish_loading(table)

    def check_open(self) -> None:
        """Raise a ``StoreError`` if the store is closed, or belongs to the parent process."""
        if self.is_closed:
            raise StoreError(f"{self.path}: the store has been closed.")
        if self._process != os.getpid():
            raise StoreError(
                f"{self.path}: it was opened before this process was forked, and the two must not "
                "share it. Open it again here; if another process writes, with read_only=True."
            )

    # Answering.

    def prepare_queries(self, X: Any) -> tuple[ModelReplica, Array]:
        """Return the model and validated, prepared rows to predict with it."""
        replica = self.refresh()
        if replica.is_empty:
            raise ValueError("the store has no examples yet: learn some first.")
        if not replica.can_predict:
            raise ValueError("no example in the store has a label yet: correct some first.")
        rows = replica.rows.read(X)
        if len(rows) == 0:
            raise ValueError("there must be at least one row, got none.")
        return replica, replica.rows.prepare(rows)

    def explain(self, replica: ModelReplica, x: Array) -> tuple[Explanation, dict[int, Array]]:
        """Return the path to a prepared example, with keys, and the points on the path by id."""
        path, points = replica.explain(x)
        return _add_keys_to_path(path, self.store.names_of(list(points))), points

    def find_suspects(self, n: int) -> list[LabelIssue]:
        """Return the n examples whose labels are most probably wrong, with keys.

        They are found once after each change. Those that another thread forgets meanwhile are left
        out.
        """
        replica = self.refresh()
        if not replica.can_predict:
            return []
        forest = replica.model.source_forest()
        known, changes, issues = self._suspects
        if known is not forest or changes != count_changes(forest.storage):
            changes = count_changes(forest.storage)  # before: at worst, they are found once more
            issues = list(find_label_issues(replica.model))
            self._suspects = forest, changes, issues
        issues = issues[:n]
        ids = {issue.id for issue in issues}
        ids |= {voter.id for issue in issues for voter in issue.voters}
        names = self.store.names_of(sorted(ids))
        return [
            replace(issue, key=names[issue.id], voters=_add_keys(issue.voters, names))
            for issue in issues
            if issue.id in names
        ]

    # Changing.

    def prepare_change(self) -> None:
        """Bring the model up to date before a change; the caller holds ``lock``."""
        self.check_open()
        if self.database.read_only:
            raise StoreError(f"{self.path}: it was opened read-only.")
        self.database.lock.check_location()
        if self.is_stale or self.database.version() != self._version:
            self._load()  # a change was interrupted, or another program wrote

    def commit(self, write: Callable[[], None], update: Callable[[], T]) -> tuple[T, float]:
        """Write to the disk in one transaction, then update the model.

        Return the result of the update and the seconds it took.
        """
        self.is_stale = True
        self.database.write(write)
        begin = perf_counter()
        try:
            result = update()
        except MemoryError as error:
            raise MemoryError(
                f"{self.path}: the change is in the file, but there is not enough memory for the "
                "model. It is loaded again from the file when there is; do not repeat the change."
            ) from error
        seconds = perf_counter() - begin
        self.is_stale = False
        return result, seconds

    def take_snapshot_if_due(self, changes: int) -> None:
        """Take a snapshot if the model has changed enough since the last one."""
        self.unsaved += changes
        if self.unsaved >= max(tuning.values.snapshot_every, SNAPSHOT_FRACTION * len(self.replica)):
            self.take_snapshot()

    def take_snapshot(self) -> None:
        """Save the model in the file, so that opening the store takes less time."""
        if self.path != MEMORY and not self.replica.is_empty:
            with suppress(StoreError, MemoryError):  # a snapshot only saves time
                self.store.save_snapshot(self.replica.snapshot())
        self.unsaved = 0

    # Closing.

    def close(self) -> None:
        """Take a snapshot if it is worthwhile, and close the file; Ctrl-C skips the snapshot."""
        try:
            if self._process == os.getpid():
                with self.lock:
                    is_due = not (self.is_closed or self.database.read_only or self.is_stale)
                    if is_due and self.unsaved >= tuning.values.snapshot_at_end:
                        self.take_snapshot()
            self._close()
        except BaseException:
            self._close()
            raise

    @defer_interrupts
    def _close(self) -> None:
        """Close the file, including connections that an interrupt has left open."""
        if self._process != os.getpid():
            return
        with self.lock:
            self.is_closed = True
            if "database" in vars(self):
                self.database.close()


def _add_keys_to_path(path: Explanation, names: dict[int, str]) -> Explanation:
    """Return a path, and that of its rival, with the keys of their examples."""
    return replace(
        path,
        steps=_add_keys(path.steps, names),
        voters=_add_keys(path.voters, names),
        rival=None if path.rival is None else _add_keys_to_path(path.rival, names),
    )


def _add_keys(examples: tuple[Any, ...], names: dict[int, str]) -> tuple[Any, ...]:
    return tuple(replace(one, key=names.get(one.id)) for one in examples)
