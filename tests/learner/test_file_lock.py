"""One writer for each file, by whatever name; and files that go away while they are open."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading

import pytest
from tests.support.children import run_python

from opforest import Learner, StoreError
from opforest.learner import file_lock


@pytest.fixture
def path(tmp_path):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0]], ["low", "high"], ["a", "b"])
    return tmp_path / "a.db"


def elsewhere(path, read_only=False):
    """Open a store in another process; return its last line of output."""
    code = f"import opforest\nprint(len(opforest.Learner({str(path)!r}, read_only={read_only})))"
    done = run_python(code)
    return (done.stdout + done.stderr).splitlines()[-1]


def ask_sqlite(path, statement):
    """Let another process execute a statement, without us."""
    code = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())"
    )
    command = [sys.executable, "-c", code, str(path), statement]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def mounted(path, tmp_path):
    """The file by another name, where it is mounted alone."""
    (tmp_path / "mounted").mkdir()
    other = tmp_path / "mounted" / "a.db"
    other.touch()
    command = ["mount", "--bind", str(path), str(other)]
    if not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    yield other
    subprocess.run(["umount", str(other)], check=True)


@pytest.fixture
def linked(path, tmp_path):
    """The file by another name, which is a hard link."""
    (tmp_path / "linked").mkdir()
    os.link(path, tmp_path / "linked" / "b.db")
    return tmp_path / "linked" / "b.db"


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_with_two_names_is_refused(path, linked, read_only):
    for name in (path, linked):
        with pytest.raises(StoreError, match=r"2 names \(hard links\).*symbolic links are fine"):
            Learner(name, read_only=read_only)
        assert "2 names (hard links)" in elsewhere(name, read_only)
    assert not list(linked.parent.glob("*-wal"))
    linked.unlink()
    with Learner(path, read_only=read_only) as learner:
        assert len(learner) == 2


def test_a_name_that_comes_later_is_refused_as_well(path, tmp_path):
    with Learner(path) as learner:
        os.link(path, tmp_path / "b.db")
        for read_only in (False, True):
            with pytest.raises(StoreError, match="hard links"):
                Learner(tmp_path / "b.db", read_only=read_only)
        assert "hard links" in elsewhere(tmp_path / "b.db")
        learner.learn([[2.0]], ["high"])  # the writer is not disturbed
        (tmp_path / "b.db").unlink()
    with Learner(path) as learner:
        assert len(learner) == 3
        assert learner.audit().ok


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_mounted_alone_is_refused(path, mounted, read_only):
    with pytest.raises(StoreError, match=r"mounted there without its folder.*Mount the folder"):
        Learner(mounted, read_only=read_only)
    assert "mounted there without its folder" in elsewhere(mounted, read_only)
    with Learner(path) as learner:
        learner.learn([[2.0]], ["high"])
        with pytest.raises(StoreError, match="mounted"):
            Learner(mounted, read_only=read_only)
        learner.learn([[3.0]], ["high"])
    assert [p.name for p in mounted.parent.iterdir() if "wal" in p.name] == []


def test_a_mounted_folder_has_the_same_writer(path, tmp_path, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    command = ["mount", "--bind", str(tmp_path), str(other)]
    if not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with Learner(path) as learner:
            learner.learn([[2.0]], ["high"])
            with pytest.raises(StoreError, match="another process is learning"):
                Learner(other / "a.db")
            assert "another process is learning" in elsewhere(other / "a.db")
            assert elsewhere(other / "a.db", read_only=True) == "3"
        assert elsewhere(other / "a.db") == "3"
    finally:
        subprocess.run(["umount", str(other)], check=True)


def test_where_mounts_are_unknown_the_lock_is_that_of_the_file(path, mounted, monkeypatch):
    monkeypatch.setattr(file_lock, "_mount_of", lambda path: None)
    with Learner(path) as learner:
        with pytest.raises(StoreError, match="another process is learning"):
            Learner(mounted)
        learner.learn([[2.0]], ["high"])
    with Learner(path) as learner:
        assert learner.audit().ok


def test_a_file_that_was_moved_has_the_same_writer(path, tmp_path):
    learner = Learner(path)
    learner.learn([[2.0]], ["high"])
    path.rename(tmp_path / "b.db")
    for _ in range(2):  # the first try closes no descriptor that holds our locks
        with pytest.raises(StoreError, match="another process is learning"):
            Learner(tmp_path / "b.db")
        assert "another process is learning" in elsewhere(tmp_path / "b.db")
    with pytest.raises(StoreError, match="moved, replaced or deleted"):
        learner.learn([[3.0]], ["high"])
    learner.close()
    (tmp_path / "b.db").rename(path)  # as the message says
    with Learner(path) as learner:
        assert len(learner) == 3
        assert learner.audit().ok


CHANGES = {
    "learn": lambda learner: learner.learn([[2.0]], ["high"]),
    "forget": lambda learner: learner.forget("a"),
    "correct": lambda learner: learner.correct("a", "high"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("how", ["delete", "move", "replace", "delete the folder"])
def test_what_is_written_to_a_file_that_is_gone_is_not_acknowledged(path, tmp_path, change, how):
    folder = tmp_path / "folder"
    folder.mkdir()
    place = folder / "a.db"
    shutil.copy(path, place)
    with Learner(place) as learner:
        learner.learn([[1.5]], ["high"])
        if how == "delete":
            place.unlink()
        elif how == "move":
            place.rename(tmp_path / "b.db")
        elif how == "replace":
            shutil.copy(path, tmp_path / "c.db")
            (tmp_path / "c.db").replace(place)
        else:
            shutil.rmtree(folder)
        for _ in range(2):
            with pytest.raises(StoreError, match="moved, replaced or deleted while it was open"):
                CHANGES[change](learner)
        assert learner.predict([[1.4]]).tolist() == ["high"]  # the model is in memory
        assert len(learner) == 3
    if how == "replace":
        for log in folder.glob("a.db-*"):  # those of the file that is gone
            log.unlink()
        with Learner(place) as learner:
            assert len(learner) == 2
            assert learner.audit().ok


def test_a_file_that_goes_while_a_change_is_written_is_not_acknowledged(path, monkeypatch):
    with Learner(path) as learner:
        check, times = file_lock.FileLock.check_location, []

        def go(self):
            check(self)
            times.append(1)
            if len(times) == 2:  # just before COMMIT
                path.rename(path.with_name("b.db"))

        monkeypatch.setattr(file_lock.FileLock, "check_location", go)
        with pytest.raises(StoreError, match="moved, replaced or deleted while it was open"):
            learner.learn([[2.0]], ["high"])
        monkeypatch.undo()
        assert learner.predict([[2.0]]).tolist() == ["high"]


@pytest.mark.parametrize("replace", [False, True])
def test_a_log_that_is_gone_is_noticed(path, replace):
    log = path.with_name("a.db-wal")
    with Learner(path) as learner:
        learner.learn([[2.0]], ["high"])
        content = log.read_bytes()
        log.unlink()
        if replace:
            log.write_bytes(content)
        with pytest.raises(StoreError, match=r"a\.db-wal was moved, replaced or deleted"):
            learner.learn([[3.0]], ["high"], ["c"])


def test_a_reader_notices_that_its_file_was_replaced(path, tmp_path):
    with Learner(path, read_only=True) as reader:
        shutil.copy(path, tmp_path / "b.db")
        (tmp_path / "b.db").replace(path)
        with pytest.raises(StoreError, match="moved, replaced or deleted while it was open"):
            reader.predict([[0.0]])


def test_readers_of_this_process_keep_their_locks_when_its_writer_leaves(path):
    """Closing a descriptor would drop SQLite's locks; then another process would delete the log."""
    with Learner(path, read_only=True) as reader:
        with Learner(path) as writer:
            writer.learn([[2.0]], ["high"])
            with pytest.raises(StoreError, match="another process is learning"):
                Learner(path)
        assert len(reader) == 3
        done = ask_sqlite(path, "PRAGMA journal_mode = DELETE")
        assert "locked" in done.stderr, done.stdout
        assert len(reader) == 3
    assert not file_lock._descriptors
    assert not file_lock._parked


def test_a_finalizer_does_not_wait_for_its_own_thread(path):
    """Garbage may be collected, and a store be closed by it, while this thread holds the mutex."""
    learner = Learner(path)

    def collect():
        with file_lock._mutex:
            learner.close()

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    Learner(path).close()


def test_all_that_was_locked_is_released(path, tmp_path):
    for _ in range(3):
        with Learner(path), pytest.raises(StoreError):
            Learner(path)
        os.link(path, tmp_path / "b.db")
        with pytest.raises(StoreError):
            Learner(path)
        (tmp_path / "b.db").unlink()
        assert not file_lock._descriptors
        assert not file_lock._stores


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_lives_on_holds_no_lock(path):
    receive, send = os.pipe()
    learner = Learner(path)
    child = os.fork()
    if child == 0:
        os.close(send)
        os.read(receive, 1)  # until the parent has gone on
        os._exit(0)
    os.close(receive)
    learner.close()
    with Learner(path) as again:
        again.learn([[2.0]], ["high"])
        assert "another process is learning" in elsewhere(path)
    os.close(send)
    os.waitpid(child, 0)


def test_other_programs_may_still_look(path):
    with Learner(path) as learner:
        learner.learn([[2.0]], ["high"])
        assert ask_sqlite(path, "SELECT count(*) FROM example").stdout == "(3,)\n"
        learner.learn([[3.0]], ["high"])
        database = sqlite3.connect(path)
        assert database.execute("SELECT count(*) FROM example").fetchone() == (4,)
        database.close()
