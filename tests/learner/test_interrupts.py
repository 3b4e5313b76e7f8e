"""Ctrl-C at the lines of opening, changing and closing a store: all is as before, or as after.

The signal is a real one, sent when a line is about to be executed, so ``defer_interrupts`` is
tested as well.
"""

import gc
import os
import shutil
import signal
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest import Learner, Preparation
from opforest._utils import chunks, tuning
from opforest.learner import file_lock
from opforest.learner import session as session_module

#: A finalizer that is interrupted cannot raise; Python prints the interrupt and goes on.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

#: The suite interrupts at every fifth line; OPFOREST_EVERY=1 does it at all of them.
EVERY = int(os.environ.get("OPFOREST_EVERY", "5"))

SOURCE = str(Path(opforest.__file__).parent)
FILES = (f"{SOURCE}/learner", f"{SOURCE}/_utils/interrupts.py", f"{SOURCE}/persistence/files.py")

RNG = np.random.default_rng(0)
X = RNG.integers(0, 8, (60, 2)).astype(float)
Y = np.where(X[:, 0] > 3, "right", "left")
KEYS = [f"k{i}" for i in range(60)]


class Interrupting:
    """Sends SIGINT when the n-th line of ours is about to be executed."""

    def __init__(self, at=-1):
        self.at, self.lines = at, []
        self.tracer = self.trace  # kept: CPython does not own the function that it calls

    def __enter__(self):
        sys.settrace(self.tracer)

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(FILES):
            return None
        if event == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
            if len(self.lines) == self.at:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return self.tracer


def positions(lines):
    """Return where to interrupt: at each line the first and the last time that it is reached."""
    first, last = {}, {}
    for at, line in enumerate(lines, 1):
        first.setdefault(line, at)
        last[line] = at
    return sorted({*first.values(), *last.values()})


def make(path, kind):
    options = {}
    if kind == "prepared":
        options = {"preparation": Preparation(scale="relevance"), "semi_supervised": True}
    with Learner(path, score=True, **options) as learner:
        y = [None if kind == "prepared" and i % 5 == 0 else label for i, label in enumerate(Y)]
        learner.learn(X[:40], y[:40], KEYS[:40])
        learner.session.take_snapshot()
        learner.learn(X[40:50], y[40:50], KEYS[40:50])
        learner.session.unsaved = 0


def table_of(learner):
    keys, X, y = learner.rows()
    return dict(zip(keys, zip(map(tuple, X.tolist()), y.tolist(), strict=True), strict=True))


#: Operations on a store of 50 examples.
CHANGES = {
    "learn": lambda learner: learner.learn(X[50:55], Y[50:55], KEYS[50:55]),
    "forget": lambda learner: learner.forget(KEYS[10:13]),
    "correct": lambda learner: learner.correct(KEYS[5], "other"),
    "snapshot": lambda learner: learner.session.take_snapshot(),
    "read": lambda learner: (learner.rows(), learner.explain(X[0]), learner.stats()),
    "refresh": lambda learner: (setattr(learner.session, "is_stale", True), learner.predict(X)),
}


def look(path):
    """Return the table of a closed store, which another thread opens."""
    assert not file_lock._descriptors
    assert not file_lock._stores
    found = []

    def open_store():
        with Learner(path) as learner:
            found.append(table_of(learner))
            found.append(learner.audit().ok)

    thread = threading.Thread(target=open_store)
    thread.start()
    thread.join()
    assert found[1:] == [True]
    return found[0]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.fixture
def original(request, tmp_path):
    """A store that is plain, unless a test asks for another kind."""
    make(tmp_path / "original.db", getattr(request, "param", "plain"))
    return tmp_path / "original.db"


def every_interrupt(original, folder, operation):
    """Yield a path, and a function that does the operation and is interrupted: at each line."""
    counter, path = Interrupting(), folder / "a.db"
    for interrupting in (Interrupting(), counter):  # the first compiles and imports
        shutil.copy(original, path)
        operation(path, interrupting)
    for at in positions(counter.lines)[::EVERY]:
        for old in folder.glob("a.db*"):
            old.unlink()
        shutil.copy(original, path)
        yield path, Interrupting(at)


@pytest.mark.parametrize(
    ("what", "original"),
    [*((what, "plain") for what in CHANGES), ("forget", "prepared"), ("correct", "prepared")],
    indirect=["original"],
)
def test_ctrl_c_while_a_store_changes(original, folder, what):
    change, results = CHANGES[what], []

    def operate(path, interrupting):
        with Learner(path) as learner:
            before = table_of(learner)
            with interrupting:
                change(learner)
            results[:] = before, table_of(learner)

    raised = 0
    for path, interrupting in every_interrupt(original, folder, operate):
        learner = Learner(path)
        try:
            with interrupting:
                change(learner)
        except KeyboardInterrupt:
            raised += 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        where = interrupting.lines[-1]
        assert table_of(learner) in results, where
        assert learner.audit().ok, where
        assert learner.learn(X[55:], Y[55:], KEYS[55:]).learned == 5
        table = table_of(learner)
        learner.close()
        assert look(path) == table, where
    assert raised >= 20 // EVERY


def test_ctrl_c_while_a_store_is_closed(original, folder):
    def close(path, interrupting):
        learner = Learner(path)
        learner.learn(X[50:], Y[50:], KEYS[50:])
        learner.session.unsaved = tuning.values.snapshot_at_end
        try:
            with interrupting:
                learner.close()
        finally:
            if not learner.session.is_closed:
                begun.append(interrupting.lines[-1])
                learner.close()

    raised, begun = 0, []
    for path, interrupting in every_interrupt(original, folder, close):
        try:
            close(path, interrupting)
        except KeyboardInterrupt:
            raised += 1
        assert len(look(path)) == 60
    assert raised >= 20 // EVERY
    assert len(begun) <= 1, begun  # an interrupt before the first line came before it was closed


def test_closing_again_closes_what_was_left_open(original, monkeypatch):
    """Even if interrupts come so often that closing fails twice."""
    learner = Learner(original)
    shut = learner.session.database.close

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(learner.session.database, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.close()
    monkeypatch.setattr(learner.session.database, "close", shut)
    learner.close()
    look(original)
    learner.close()


@pytest.mark.parametrize("how", ["open", "make", "read", "upgrade", "dirty"])
def test_ctrl_c_while_a_store_is_opened(original, folder, how):
    if how == "upgrade":
        golden = Path(__file__).parents[1] / "golden" / "stores" / "plain-0.1.0.db"
        shutil.copy(golden, original)
    if how == "dirty":  # what was forgotten has still to be wiped out
        with Learner(original) as learner:
            learner.session.database.write(lambda: learner.session.database.put(scrub=True))

    def open_store(path, interrupting):
        if how == "make":
            path.unlink()
        with interrupting:
            learner = Learner(path, read_only=how == "read")
        return learner

    def operate(path, interrupting):
        open_store(path, interrupting).close()

    raised = 0
    with Learner(original) as learner:
        n = 0 if how == "make" else len(learner)
    if how == "upgrade":
        shutil.copy(golden, original)
    for path, interrupting in every_interrupt(original, folder, operate):
        try:
            operate(path, interrupting)
        except KeyboardInterrupt:
            raised += 1
        assert len(look(path)) == n
    assert raised >= 20 // EVERY


def test_an_interrupted_opening_leaves_no_garbage(original, monkeypatch):
    """Otherwise cursors of the interrupted frames keep the file locked until it is collected."""
    databases = []

    def interrupted(self, *_):
        databases.append(weakref.ref(self.database))
        raise KeyboardInterrupt

    monkeypatch.setattr(session_module.Session, "learn_rows", interrupted)
    gc.disable()
    try:
        with suppress(KeyboardInterrupt):
            Learner(original)
        assert databases
        assert databases[0]() is None
    finally:
        gc.enable()


def test_a_thread_that_has_not_begun_keeps_no_store_open(original, monkeypatch):
    """An interrupt may come before anything can be closed; then the last reference must go."""
    waiting = []
    monkeypatch.setattr(chunks, "start_new_thread", lambda *work: waiting.append(work))
    gc.disable()
    try:
        database = weakref.ref(Learner(original).session.database)
        assert waiting
        assert database() is None
    finally:
        gc.enable()
    look(original)


def test_ctrl_c_while_a_reader_follows(original, folder):
    def follow(path, interrupting):
        with Learner(path) as writer, Learner(path, read_only=True) as reader:
            writer.learn(X[50:], Y[50:], KEYS[50:])
            try:
                with interrupting:
                    reader.predict(X)
            finally:
                assert len(reader) == 60
                assert reader.audit().ok
                writer.forget(KEYS[:3])
                assert len(reader) == 57
                assert reader.audit().ok

    raised = 0
    for path, interrupting in every_interrupt(original, folder, follow):
        try:
            follow(path, interrupting)
        except KeyboardInterrupt:
            raised += 1
    assert raised >= 20 // EVERY


def test_other_threads_go_on_after_an_interrupt(original):
    """No lock is held by a traceback that somebody keeps, as an interactive session does."""
    learner, kept = Learner(original), []
    counter = Interrupting()
    with counter:
        learner.predict(X)
        learner.explain(X[0])
    for at in positions(counter.lines)[::EVERY]:
        try:
            with Interrupting(at):
                learner.predict(X)
                learner.explain(X[0])
        except KeyboardInterrupt as error:
            kept.append(error)
    thread = threading.Thread(target=lambda: kept.append(learner.explain(X[0])))
    thread.start()
    thread.join(60)
    assert isinstance(kept[-1], opforest.Explanation)
    learner.close()
