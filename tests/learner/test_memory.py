"""A learner without memory: what is in the file stays there, and the error says so."""

import numpy as np
import pytest
from tests.support.shortage import no_memory

from opforest import Learner
from opforest.learner import replica as memory
from opforest.learner import session as opened


@pytest.fixture
def learner(tmp_path):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"], list("pqrs"))
        yield learner


def test_nothing_is_written_if_there_is_no_memory_to_check(learner, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(memory.Memory, "check", no_memory)
        with pytest.raises(MemoryError):
            learner.learn([[0.4]], ["c"], ["t"])
    assert len(learner) == 4
    assert learner.audit().ok


@pytest.mark.parametrize("what", ["learn", "forget"])
def test_a_change_that_is_in_the_file(learner, monkeypatch, what):
    with monkeypatch.context() as patch:
        patch.setattr(memory.Memory, what, no_memory)
        with pytest.raises(MemoryError, match="the change is in the file") as error:
            learner.learn([[0.4]], ["c"], ["t"]) if what == "learn" else learner.forget("p")
        assert type(error.value) is MemoryError
    assert learner.predict([[0.4]]) == ["c" if what == "learn" else "a"]
    assert len(learner) == (5 if what == "learn" else 3)
    assert learner.audit().ok


def test_a_snapshot_is_never_needed(learner, monkeypatch):
    monkeypatch.setattr(opened, "SNAPSHOT_EVERY", 1)
    monkeypatch.setattr(memory, "save", no_memory)
    X = np.arange(20.0)[:, None]
    assert learner.learn(X, ["a"] * 20).learned == 20
    assert len(learner) == 24
