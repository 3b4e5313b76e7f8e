"""A learner without memory: changes in the file stay there, and the error reports it."""

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.support.shortage import no_memory
from tests.support.tuning import tune

from opforest import Learner, StoreError
from opforest._utils import chunks
from opforest.learner import replica


@pytest.fixture
def learner(tmp_path):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"], list("pqrs"))
        yield learner


def test_nothing_is_written_if_there_is_no_memory_to_check(learner, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(replica.ModelReplica, "check", no_memory)
        with pytest.raises(MemoryError):
            learner.learn([[0.4]], ["c"], ["t"])
    assert len(learner) == 4
    assert learner.audit().ok


@pytest.mark.parametrize("what", ["learn", "forget"])
def test_a_change_that_is_in_the_file(learner, monkeypatch, what):
    with monkeypatch.context() as patch:
        patch.setattr(replica.ModelReplica, what, no_memory)
        with pytest.raises(MemoryError, match="the change is in the file") as error:
            learner.learn([[0.4]], ["c"], ["t"]) if what == "learn" else learner.forget("p")
        assert type(error.value) is MemoryError
    assert learner.predict([[0.4]]) == ["c" if what == "learn" else "a"]
    assert len(learner) == (5 if what == "learn" else 3)
    assert learner.audit().ok


def test_a_snapshot_is_never_needed(learner, monkeypatch):
    tune(snapshot_every=1)
    monkeypatch.setattr(replica, "save", no_memory)
    X = np.arange(20.0)[:, None]
    assert learner.learn(X, ["a"] * 20).learned == 20
    assert len(learner) == 24


@pytest.mark.parametrize("start", ["refused", "no memory", "dead"])
def test_opening_waits_for_no_thread_that_does_not_start(learner, monkeypatch, start):
    """Without memory a thread may die while it starts, and ``Thread.start`` waits forever."""
    starts = []

    def fail(*_):
        starts.append(1)
        if start == "refused":
            raise RuntimeError("can't start new thread")
        if start == "no memory":
            no_memory()

    learner.close()
    monkeypatch.setattr(chunks, "start_new_thread", fail)
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("it would wait forever"))
    with Learner(learner.path) as again:
        assert starts
        assert len(again) == 4
    content = bytearray(Path(learner.path).read_bytes())
    at = content.rindex(b"p")  # a key, in the index
    content[at] = ord("x")
    Path(learner.path).write_bytes(content)
    with pytest.raises(StoreError, match="the file is damaged"):
        Learner(learner.path)
