"""An open store and its model, which is kept up to date with the table."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple, Self

from opforest._utils.interrupts import defer_interrupts
from opforest.learner.errors import StoreError, explaining
from opforest.learner.replica import Memory, read_examples
from opforest.learner.settings import Settings, choose_metric
from opforest.learner.store import MEMORY, Row, Snapshot, Store

#: A snapshot is taken after this many changes, or a fifth of the examples if that is more.
SNAPSHOT_EVERY, SNAPSHOT_SHARE = 1000, 0.2

#: When a store is closed, fewer will do.
SNAPSHOT_AT_END = 100


def _is_same(wanted: Settings, known: Settings) -> bool:
    """Tell whether the preparation that somebody asks for is that of the store."""
    fixed = known.prepared if known.preparation == {} else None
    return wanted.preparation == known.preparation and wanted.prepared == fixed


class _Table(NamedTuple):
    """What a model is made of, all of one moment."""

    version: int
    settings: Settings
    snapshot: Snapshot | None
    in_snapshot: int  #: examples that the snapshot must have
    rows: list[Row]  #: those after it
    score: tuple[int, int]
    removals: int
    next: int


class OpenStore:
    """The file, the settings and the model, which are changed by one thread at a time.

    ``_is_stale`` is true from just before a change is on disk until the model has it, too. Whoever
    finds it true while nobody is changing anything makes the model again from the table.
    """

    def __init__(
        self, path: str, wanted: Settings, metric: Any, told: dict[str, bool | None],
        read_only: bool,
    ) -> None:  # fmt: skip
        self.path = path
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._is_closed = False
        try:
            self._begin(read_only)
            with explaining(self.path):
                self._settle(wanted, metric, told)
                self._store.call_and_check(self._load)
                self._store.upgrade()
                if not read_only and self._store.get("scrub"):
                    self._store.scrub()
        except BaseException:
            self._shut()
            raise

    @defer_interrupts
    def _begin(self, read_only: bool) -> None:
        self._store = Store(self.path, read_only, make=True)

    def _settle(self, wanted: Settings, metric: Any, told_again: dict[str, bool | None]) -> None:
        """Agree on the settings with the store."""
        self._store.read(lambda _: self._store.check_entries())
        is_blank = self._store.get("metric") is None and self._store.next_id() == 1
        if is_blank:  # it is new, or its maker was killed before this
            if self._store.read_only:
                raise StoreError(f"{self.path}: it is just being made: open it again in a moment.")
            self._store.upgrade()
            self._store.write(lambda: wanted.save(self._store))
            self._settings = wanted
        else:
            self._settings = known = Settings.load(self._store)
            for name in ("feature_names", "precision"):
                given, found = getattr(wanted, name), getattr(known, name)
                if given is not None and found is not None and given != found:
                    raise StoreError(f"{self.path}: its {name} are {found}, and not {given}.")
            for name, told in told_again.items():
                if told is not None and getattr(wanted, name) != getattr(known, name):
                    raise StoreError(
                        f"{self.path}: it was made with {name}={getattr(known, name)}, which "
                        "cannot be changed."
                    )
            if wanted.preparation is not None and not _is_same(wanted, known):
                raise StoreError(
                    f"{self.path}: its preparation is {known.preparation}, which cannot be "
                    "changed. Leave preparation out to take the store's."
                )
        given_params = wanted.metric_params
        self._metric = choose_metric(self.path, self._settings, metric, given_params)
        if not isinstance(self._metric, str):
            self._settings = replace(self._settings, metric_params=given_params)

    # The model.

    def _load(self) -> None:
        """Make the model of the table, from the last snapshot and the rows after it."""
        self._is_stale = True
        table = self._store.read(lambda _: self._read_table(with_snapshot=True))
        memory = self._new_memory(table.settings)
        if table.snapshot is not None:
            try:
                memory.restore(table.snapshot)
                if table.in_snapshot != len(memory):
                    raise ValueError("the snapshot has other examples")
            except (ValueError, TypeError):  # a snapshot is never needed
                table = self._store.read(lambda _: self._read_table(with_snapshot=False))
                memory = self._new_memory(table.settings)
        self._settings, self._unsaved = table.settings, 0
        self._learn_rows(memory, table.rows)
        self._memory, self._next = memory, table.next
        (self._correct, self._total), self._removals = table.score, table.removals
        self._version = table.version
        self._is_stale = False

    def _read_table(self, with_snapshot: bool) -> _Table:
        store = self._store
        version = store.version()  # before anything is read: at worst we look once more
        snapshot = store.snapshot() if with_snapshot else None
        start = 0 if snapshot is None else snapshot.next
        return _Table(
            version, self._read_settings(), snapshot, store.count(before=start),
            list(store.rows(start)), store.score(), store.get("removals", 0), store.next_id(),
        )  # fmt: skip

    def _read_settings(self) -> Settings:
        params = self._settings.metric_params
        return replace(Settings.load(self._store), metric_params=params)

    def _new_memory(self, settings: Settings) -> Memory:
        """Return a model that has learned nothing."""
        try:
            return Memory(settings, self._metric)
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(f"{self.path}: the file is damaged: {error}") from error

    def _learn_rows(self, memory: Memory, rows: list[Row]) -> None:
        if rows:
            try:
                ids, found, y = read_examples(rows, memory.rows, self._settings.labels)
                if memory.rows.n_features is None:
                    raise ValueError("the file is damaged: examples have no preparation")
                memory.learn(ids, memory.rows.prepare(found), y)
            except (ValueError, TypeError, OverflowError) as error:
                raise StoreError(f"{self.path}: {error}.") from error
        self._unsaved += len(rows)

    def _fresh(self) -> Memory:
        """Return the current model; make it again if the last change was interrupted."""
        self._check_open()
        if self._store.read_only:
            with self._lock:
                self._follow()
        elif self._is_stale:
            held: list[Any] = []
            try:
                self._try_lock(held)  # if it fails, somebody is about to finish the change
                if held and self._is_stale:
                    self._load()
            finally:
                for lock in held:  # nothing is called before, so nothing can be interrupted
                    lock.release()
        return self._memory

    @defer_interrupts
    def _try_lock(self, held: list[Any]) -> None:
        if self._lock.acquire(blocking=False):
            held.append(self._lock)

    def _follow(self) -> None:
        """Learn and forget what another process has written."""
        self._store.check_place()
        if not self._is_stale and self._store.version() == self._version:
            return
        grown = None if self._is_stale else self._store.read(lambda _: self._read_growth())
        if grown is None:
            self._load()
            return
        self._is_stale = True
        self._learn_rows(self._memory, grown.rows)
        self._version, self._next = grown.version, grown.next
        self._correct, self._total = grown.score
        self._is_stale = False

    def _read_growth(self) -> _Table | None:
        """Return what came after the model; None if anything else has changed."""
        store = self._store
        version, removals = store.version(), store.get("removals", 0)
        is_grown = removals == self._removals and not self._memory.is_empty
        if not is_grown or self._read_settings() != self._settings:
            return None
        return _Table(version, self._settings, None, 0, list(store.rows(self._next)),
                      store.score(), removals, store.next_id())  # fmt: skip

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"{self.path}: the store has been closed.")
        if self._process != os.getpid():
            raise StoreError(
                f"{self.path}: it was opened before this process was forked, and the two must not "
                "share it. Open it again here; if another process writes, with read_only=True."
            )

    def _get_ready(self) -> None:
        """Bring the model up to date before a change; with ``_lock``."""
        self._check_open()
        if self._store.read_only:
            raise StoreError(f"{self.path}: it was opened to read only.")
        self._store.check_place()
        if self._is_stale or self._store.version() != self._version:
            self._load()  # a change was interrupted, or somebody wrote behind our back

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        """Say, if there is no memory to change the model, that the change is in the file."""
        try:
            yield
        except MemoryError as error:
            raise MemoryError(
                f"{self.path}: the change is in the file, but there is not enough memory for the "
                "model. It is made again from the file when there is; do not repeat the change."
            ) from error

    # Leaving.

    def _note_changes(self, changes: int) -> None:
        """Take a snapshot if the model has changed enough since the last one."""
        self._unsaved += changes
        if self._unsaved >= max(SNAPSHOT_EVERY, SNAPSHOT_SHARE * len(self._memory)):
            self._take_snapshot()

    def _take_snapshot(self) -> None:
        """Write the model to the file, too, so that opening the store takes less time."""
        if self.path != MEMORY and not self._memory.is_empty:
            # A snapshot is never needed, and all else is on disk.
            with suppress(StoreError, MemoryError):
                self._store.take_snapshot(self._memory.snapshot())
        self._unsaved = 0

    def close(self) -> None:
        """Take a snapshot if that is worthwhile, and close the file.

        Ctrl-C closes it without a snapshot.
        """
        try:
            if self._process == os.getpid():
                with self._lock:
                    is_due = not (self._is_closed or self._store.read_only or self._is_stale)
                    if is_due and self._unsaved >= SNAPSHOT_AT_END:
                        self._take_snapshot()
            self._shut()
        except BaseException:
            self._shut()
            raise

    @defer_interrupts
    def _shut(self) -> None:
        """Close the file, or what an interrupt has left open of it."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            store = vars(self).get("_store")
            if store is not None:
                store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
