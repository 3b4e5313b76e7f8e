"""Opening a store: under which name, and in which process."""

import multiprocessing
import os
import sqlite3
import threading

import pytest
from tests.support.children import forks, in_a_child

from opforest import Learner, StoreError


@pytest.fixture
def path(tmp_path):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0]], ["low", "high"], ["a", "b"])
    return tmp_path / "a.db"


def test_a_store_by_another_name_has_the_same_writer(path, tmp_path):
    (tmp_path / "link.db").symlink_to(path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "far.db").symlink_to(path)
    with Learner(path) as learner:
        for name in ("link.db", "folder/far.db", "folder/../a.db"):
            with pytest.raises(StoreError, match="another process is learning into this store"):
                Learner(tmp_path / name)
        learner.learn([[2.0]], ["high"])
        with Learner(tmp_path / "link.db", read_only=True) as reader:
            assert len(reader) == 3
            learner.learn([[3.0]], ["high"])
            assert len(reader) == 4
            assert reader.stats()["bytes_on_disk"] == learner.stats()["bytes_on_disk"]
    with Learner(tmp_path / "folder" / "far.db") as learner:
        assert len(learner) == 4
    assert not list((tmp_path / "folder").glob("*-*"))  # nothing lies beside the link


def test_a_store_stays_where_it_is_when_the_folder_changes(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Learner("a.db") as learner:
        monkeypatch.chdir(tmp_path / "elsewhere")
        learner.learn([[2.0]], ["high"])
        assert learner.stats()["bytes_on_disk"] > 0
    assert not list((tmp_path / "elsewhere").iterdir())
    with Learner(os.fsencode(path)) as learner:
        assert len(learner) == 3


def try_all(learner, pipe):
    """Send the errors of all methods in a forked process."""
    errors = []
    for call in (lambda: learner.learn([[9.0]], ["low"]), lambda: learner.predict([[0.0]]),
                 lambda: learner.forget("a"), learner.close):  # fmt: skip
        try:
            call()
            errors.append(None)
        except StoreError as error:
            errors.append(str(error))
    pipe.send(errors)


@forks
def test_a_fork_does_not_wait_for_a_thread_that_it_does_not_have(path):
    """Another thread was at work when the process was forked."""
    is_held, stop = threading.Event(), threading.Event()
    with Learner(path) as learner:

        def work():
            with learner.session.lock:
                is_held.set()
                stop.wait(60)

        thread = threading.Thread(target=work)
        thread.start()
        is_held.wait(60)
        for call in (learner.rows, learner.audit, lambda: learner.predict([[0.0]])):
            assert "before this process was forked" in in_a_child(call)
        assert in_a_child(learner.close) == "None"
        stop.set()
        thread.join(60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_must_open_the_store_itself(path):
    fork = multiprocessing.get_context("fork")
    with Learner(path) as learner:
        ours, theirs = fork.Pipe()
        child = fork.Process(target=try_all, args=(learner, theirs))
        child.start()
        *errors, closed = ours.recv()
        child.join()
        assert all("before this process was forked" in text for text in errors)
        assert closed is None
        learner.learn([[2.0]], ["high"])
        with pytest.raises(StoreError, match="another process is learning"):
            Learner(path)  # it is still ours
        assert learner.audit().ok
    with Learner(path) as learner:
        assert learner.rows()[0] == ["a", "b", ":3"]


def test_a_store_that_is_not_made_yet_cannot_be_read(tmp_path):
    path = tmp_path / "new.db"
    path.touch()
    with pytest.raises(StoreError, match="the file is empty"):
        Learner(path, read_only=True)
    with Learner(path):  # its maker is killed before the settings are there
        database = sqlite3.connect(path)
        database.execute("DELETE FROM meta WHERE name NOT IN ('changes', 'next')")
        database.commit()
        database.close()
    with pytest.raises(StoreError, match="another process is creating it"):
        Learner(path, read_only=True)
    with Learner(path) as learner:
        learner.learn([[0.0]], ["low"])
    with Learner(path, read_only=True) as learner:
        assert len(learner) == 1


def test_files_that_are_not_stores_are_refused(tmp_path):
    (tmp_path / "text.db").write_text("a,b\n" * 1000)
    with pytest.raises(StoreError, match="nor any other SQLite database"):
        Learner(tmp_path / "text.db")
    database = sqlite3.connect(tmp_path / "other.db")
    database.execute("CREATE TABLE mine (x)")
    database.close()
    with pytest.raises(StoreError, match="but not an opforest store"):
        Learner(tmp_path / "other.db")
    with pytest.raises(StoreError, match="it is a folder"):
        Learner(tmp_path)
    with pytest.raises(StoreError, match="there is no folder"):
        Learner(tmp_path / "nowhere" / "a.db")
    with pytest.raises(StoreError, match="opforest store create"):
        Learner(tmp_path / "missing.db", read_only=True)


def test_a_pipe_is_not_a_store(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="it is not a file"):
        Learner(tmp_path / "pipe")


def test_probabilities_and_classes_are_of_one_moment(path):
    with Learner(path) as learner:
        replica, rows = learner.session.prepare_queries([[0.1], [0.9]])
        labels, classes, probabilities = replica.predict_proba(rows)
        assert labels.tolist() == learner.predict([[0.1], [0.9]]).tolist()
        assert classes.tolist() == learner.model.classes_.tolist()
        assert probabilities.tolist() == learner.predict_proba([[0.1], [0.9]]).tolist()
        assert probabilities.tolist() == learner.model.predict_proba([[0.1], [0.9]]).tolist()
