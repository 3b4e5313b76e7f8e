"""Kills, traces, locks, disks and damage: nothing acknowledged is lost, nothing forgotten stays."""

import itertools
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.support.children import run_python
from tests.support.tuning import tune

from opforest import Learner, StoreError
from opforest.learner import database as database_module
from opforest.learner import replica

KILLS = Path(__file__).parents[1] / "support" / "kills.py"


def files_of(path):
    """Return the bytes of all files of a store."""
    found = [p for p in Path(path).parent.iterdir() if p.name.startswith(Path(path).name)]
    return b"".join(p.read_bytes() for p in found)


def some(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.where(X[:, 0] > 0.5, "right", "left"), [f"key-{seed}-{v:x}" for v in
                                                        rng.integers(2**60, size=n)]  # fmt: skip


def test_a_hundred_kills_lose_nothing_and_bring_nothing_back(tmp_path):
    done = subprocess.run(
        [sys.executable, str(KILLS), str(tmp_path / "a.db"), "100", "1"],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    facts = json.loads(done.stdout)
    assert facts["kills"] == 100
    assert facts["acknowledged"] >= sum(life % 12 for life in range(100))  # each waits for that


@pytest.mark.parametrize("snapshots", [False, True])
def test_no_byte_of_what_was_forgotten_is_left(tmp_path, snapshots):
    """Neither features nor keys nor labels, however the pages of the file were filled before."""
    path = tmp_path / "a.db"
    tune(snapshot_every=100 if snapshots else 10**9)
    rng = random.Random(0)
    with Learner(path) as learner:
        known = {}
        for seed in range(6):
            X, y, keys = some(300, seed)
            y[:3] = f"secret-{seed}"
            learner.learn(X, y, keys)
            known |= dict(zip(keys, zip(X, y, strict=True), strict=True))
            gone = rng.sample(sorted(known), 250) + [k for k in keys[:3] if k in known]
            gone = list(dict.fromkeys(gone))
            learner.forget(gone)
            raw = files_of(path)
            for key in gone:
                x, _ = known.pop(key)
                assert key.encode() not in raw
                assert x.tobytes() not in raw
                assert all(value.tobytes() not in raw for value in x)
            assert f"secret-{seed}".encode() not in raw
            assert all(key.encode() in raw for key in known)
        corrected = next(iter(known))
        learner.correct(corrected, "a-slip")
        learner.correct(corrected, "mended")
        assert b"a-slip" not in files_of(path)
        assert learner.audit().ok
    raw = files_of(path)
    assert b"secret" not in raw
    with Learner(path) as learner:
        assert learner.audit().ok


def test_secure_delete_alone_would_leave_traces(tmp_path, monkeypatch):
    """Without the rewriting of the file, the test of traces fails."""
    monkeypatch.setattr(database_module.Database, "scrub", lambda self: self._empty_log())

    def traces(gone):
        return set(gone) & {
            key.decode() for key in re.findall(rb"key-[0-9]+-[0-9a-f]{13,15}", files_of(path))
        }

    for seed in range(50):  # in one store of two or three
        path = tmp_path / f"{seed}-a.db"
        with Learner(path) as learner:
            X, y, keys = some(2000, seed)
            learner.learn(X, y, keys)
            gone = random.Random(0).sample(keys, 1500)
            learner.forget(gone)
            if traces(gone):
                break
    else:
        pytest.fail("no trace was left")
    monkeypatch.undo()
    with Learner(path):  # an entry in the table records that wiping is due
        assert not traces(gone)


def test_a_kill_between_forgetting_and_wiping_is_repaired(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    X, y, keys = some(50)

    class Killed(BaseException):
        pass

    def killed(self):
        raise Killed

    learner = Learner(path)
    learner.learn(X, y, keys)
    monkeypatch.setattr(database_module.Database, "scrub", killed)
    with pytest.raises(Killed):
        learner.forget(keys[:10])
    for name in ("", "-wal"):  # the files as a kill would leave them
        shutil.copy(f"{path}{name}", f"{tmp_path / 'b.db'}{name}")
    monkeypatch.undo()
    with Learner(tmp_path / "b.db") as again:
        raw = files_of(tmp_path / "b.db")
        assert not any(key.encode() in raw for key in keys[:10])
        assert len(again) == 40
        assert again.audit().ok
    learner.close()


def test_an_interrupt_between_disk_and_model_is_repaired(tmp_path, monkeypatch):
    X, y, keys = some(60)
    with Learner(tmp_path / "a.db") as learner:
        learner.learn(X[:50], y[:50], keys[:50])

        def interrupted(*_):
            raise KeyboardInterrupt

        for method, arguments in (("learn", (X[50:], y[50:], keys[50:])), ("forget", (keys[:5],))):
            monkeypatch.setattr(replica.ModelReplica, method, interrupted)
            with pytest.raises(KeyboardInterrupt):
                getattr(learner, method)(*arguments)
            monkeypatch.undo()
            assert learner.predict(X[:1]).tolist() == [y[0]]  # loaded again
            assert learner.audit().ok
        assert len(learner) == 55


def test_there_is_one_writer(tmp_path):
    path = tmp_path / "a.db"
    with Learner(path) as learner:
        learner.learn([[0.0]], [1])
        with pytest.raises(StoreError, match="another process is learning into this store"):
            Learner(path)
        code = f"import opforest; opforest.Learner({str(path)!r})"
        assert "another process is learning into this store" in run_python(code).stderr
        learner.learn([[1.0]], [1])
    Learner(path).close()


def test_readers_follow_the_writer(tmp_path):
    path = tmp_path / "a.db"
    X, y, keys = some(300)
    with Learner(path) as writer, Learner(path, read_only=True) as reader:
        for begin in range(0, 300, 60):
            writer.learn(X[begin : begin + 60], y[begin : begin + 60], keys[begin : begin + 60])
            assert len(reader) == begin + 60
            assert reader.predict(X).tolist() == writer.predict(X).tolist()
            assert reader.audit().ok
        writer.forget(keys[10:50])
        writer.correct(keys[0], "new")
        assert len(reader) == 260
        assert reader.predict(X).tolist() == writer.predict(X).tolist()
        assert reader.audit().ok
        with pytest.raises(StoreError, match="opened read-only"):
            reader.learn([[0.0, 0.0]], ["left"])


def test_readers_in_other_threads_see_whole_models(tmp_path):
    X, y, keys = some(600)
    y[:300:2] = "odd"
    faults, stop = [], threading.Event()

    def ask(learner):
        try:
            while not stop.is_set():
                learner.predict(X[:20])
                learner.explain(X[0])
                learner.stats()
        except Exception as error:
            faults.append(error)

    with Learner(tmp_path / "a.db") as learner:
        learner.learn(X[:10], y[:10], keys[:10])
        threads = [threading.Thread(target=ask, args=(learner,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for begin in range(10, 600, 20):
            learner.learn(X[begin : begin + 20], y[begin : begin + 20], keys[begin : begin + 20])
            if begin % 100 == 10:
                learner.forget(keys[begin : begin + 5])
        stop.set()
        for thread in threads:
            thread.join()
        assert faults == []
        assert learner.audit().ok


def test_a_reader_that_keeps_reading_delays_wiping_with_a_warning(tmp_path):
    """While somebody reads an old state of the file, the log that has it cannot be emptied."""
    tune(database_timeout=0.05)
    path = tmp_path / "a.db"
    X, y, keys = some(50)
    with Learner(path) as learner:
        learner.learn(X, y, keys)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM example").fetchone()
        with pytest.warns(RuntimeWarning, match="another program is reading"):
            learner.forget(keys[:5])
        assert len(learner) == 45
        other.close()
        learner.learn([[0.0, 0.0]], ["left"])  # tries again
        raw = files_of(path)
        assert not any(key.encode() in raw for key in keys[:5])


def test_a_full_disk_changes_nothing(tmp_path):
    X, y, keys = some(3000)
    with Learner(tmp_path / "a.db") as learner:
        learner.learn(X[:500], y[:500], keys[:500])
        database = learner.session.database.writer
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match=r"the disk is full.*Nothing was changed"):
            learner.learn(X[500:], y[500:], keys[500:])
        assert len(learner) == 500
        assert learner.audit().ok
        database.execute("PRAGMA max_page_count = 1000000")
        learner.learn(X[500:], y[500:], keys[500:])
        assert learner.audit().ok


def test_a_disk_that_fills_up_on_the_way_changes_nothing(tmp_path):
    """The system itself refuses to write on, as a full disk does."""
    code = f"""
import json, resource, signal
import numpy as np, opforest
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
X = np.random.default_rng(0).random((20000, 2))
y = (X[:, 0] > 0.5).astype(int)
learner = opforest.Learner({str(tmp_path / "a.db")!r})
learner.learn(X[:100], y[:100])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
errors = []
for begin in range(100, 20000, 3000):
    try:
        learner.learn(X[begin : begin + 3000], y[begin : begin + 3000])
    except opforest.StoreError as error:
        errors.append(str(error))
known = len(learner)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
learner.learn(X[:1] + 2, y[:1])
print(json.dumps([known, len(learner), learner.audit().ok, errors[0]]))
"""
    known, later, ok, error = json.loads(run_python(code).stdout)
    assert ok
    assert later == known + 1
    assert "Nothing was changed" in error
    with Learner(tmp_path / "a.db") as learner:
        assert len(learner) == later
        assert learner.audit().ok


def test_a_disk_too_full_to_wipe_is_an_error_and_wiped_later(tmp_path):
    """What was forgotten is out of the table; the file is rewritten when there is room again."""
    tune(snapshot_every=10**9, snapshot_at_end=10**9)  # deleting one would fill the disk before
    path = tmp_path / "a.db"
    X, y, keys = some(3000)
    code = f"""
import json, os, resource, signal
import opforest
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
learner = opforest.Learner({str(path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, resource.RLIM_INFINITY))
try:
    learner.forget({keys[:20]!r})
except opforest.StoreError as error:
    print(json.dumps([str(error), len(learner)]), flush=True)
os._exit(0)
"""
    with Learner(path) as learner:
        learner.learn(X, y, keys)
    error, known = json.loads(run_python(code).stdout)
    assert "gone from the model and from the table, but traces may be left" in error
    assert known == 2980
    with Learner(path) as learner:
        assert len(learner) == 2980
        raw = files_of(path)
        assert not any(key.encode() in raw for key in keys[:20])
        assert not any(x.tobytes() in raw for x in X[:20])
        assert learner.audit().ok


def run_as_nobody(code):
    """Run code as a user without write permission, after the imports."""
    first = "import os\nimport numpy, opforest, opforest.learner\n"
    drop = "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" if os.getuid() == 0 else ""
    return run_python(first + drop + code)


def test_a_read_only_folder_can_be_read():
    folder = Path("/tmp") / f"opforest-{os.getpid()}-read-only"
    folder.mkdir()
    path = folder / "a.db"
    try:
        with Learner(path) as learner:
            learner.learn([[0.0], [1.0]], ["low", "high"])
        (folder / "a.db-lock").unlink()
        path.chmod(0o444)
        folder.chmod(0o555)
        done = run_as_nobody(f"""
print(len(opforest.Learner({str(path)!r}, read_only=True)))
for name in ("a.db", "new.db"):
    try:
        opforest.Learner({str(folder)!r} + "/" + name)
    except opforest.StoreError as error:
        print(error)
""")
        first, second, third = done.stdout.splitlines()
        assert first == "2", done.stderr
        assert "permission to write there?" in second
        assert "permission to write there?" in third
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_damaged_file_is_never_a_wrong_model(tmp_path):
    """Any wrong byte is an error, or changes nothing in the model."""
    path = tmp_path / "a.db"
    X, y, keys = some(400)
    with Learner(path) as learner:
        learner.learn(X, y, keys)
        learner.session.take_snapshot()
        before = learner.model.forest_.cost.tolist(), learner.predict(X).tolist()
    whole = path.read_bytes()
    rng = random.Random(0)
    outcomes = {"error": 0, "same": 0}
    for i, kind in enumerate(itertools.chain(["cut", "zeros"] * 8, ["bit"] * 120)):
        content = bytearray(whole)
        at = rng.randrange(len(content))
        if kind == "cut":
            content = content[:at]
        elif kind == "zeros":
            content[at : at + 4096] = bytes(len(content[at : at + 4096]))
        else:
            content[at] ^= 1 << rng.randrange(8)
        other = tmp_path / f"{i}.db"
        other.write_bytes(content)
        try:
            with Learner(other) as learner:
                if len(learner) == 0 and not content:
                    continue  # an empty file is a new store
                found = learner.model.forest_.cost.tolist(), learner.predict(X).tolist()
                assert found == before, (kind, at)
                outcomes["same"] += 1
        except StoreError as error:
            outcomes["error"] += str(other) in str(error)
    assert outcomes["error"] > 15
    assert outcomes["same"] > 15


def test_an_audit_finds_rows_that_are_not_as_they_were_written(tmp_path):
    path = tmp_path / "a.db"
    X, y, keys = some(1500)
    with Learner(path) as learner:
        learner.learn(X, y, keys)
        assert learner.session.store.snapshot() is not None
    database = sqlite3.connect(path)
    database.execute(
        "UPDATE example SET y = 'left' WHERE id = (SELECT min(id) FROM example WHERE y = 'right')"
    )
    database.commit()
    database.close()
    with Learner(path) as learner:  # the snapshot is right
        audit = learner.audit()
        assert not audit.ok
        assert "fails its checksum" in str(audit)


def test_what_others_write_into_the_table_is_seen(tmp_path):
    """A row that somebody deleted by hand is out of the model at the next change."""
    path = tmp_path / "a.db"
    X, y, keys = some(100)
    with Learner(path) as learner:
        learner.learn(X, y, keys)
        database = sqlite3.connect(path)
        database.execute("DELETE FROM example WHERE id <= 10")
        database.commit()
        database.close()
        learner.learn([[0.0, 0.0]], ["left"])
        assert len(learner) == 91
        assert learner.audit().ok


def test_a_store_of_a_newer_version_is_left_alone(tmp_path):
    path = tmp_path / "a.db"
    with Learner(path) as learner:
        learner.learn([[0.0]], [1])
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 3")
    database.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"format 3.*newer version: install that one"):
            Learner(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_clock_that_goes_back_changes_nothing(tmp_path, monkeypatch):
    X, y, keys = some(40)
    moments = itertools.count(2 * 10**18, -(10**15))
    monkeypatch.setattr(time, "time_ns", lambda: next(moments))
    with Learner(tmp_path / "a.db", score=True) as learner:
        for begin in range(0, 40, 10):
            learner.learn(X[begin : begin + 10], y[begin : begin + 10], keys[begin : begin + 10])
        assert learner.rows()[0] == keys
        assert [row.name for row in learner.session.store.last(3)] == keys[:-4:-1]
    with Learner(tmp_path / "a.db") as learner:
        assert learner.rows()[0] == keys
        assert learner.audit().ok


def test_a_model_larger_than_the_limit_goes_without_a_snapshot(tmp_path):
    tune(snapshot_every=10)
    X, y, keys = some(2000)
    with Learner(tmp_path / "a.db") as learner:
        learner.session.database.writer.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 50_000)
        learner.learn(X, y, keys)
        assert learner.session.store.snapshot() is None
        learner.learn(X[:5] + 1, y[:5])
    with Learner(tmp_path / "a.db") as learner:
        assert len(learner) == 2005
        assert learner.audit().ok
        learner.learn(X[:20] + 2, y[:20])
        learner.session.take_snapshot()
        assert learner.session.store.snapshot() is not None


def test_a_snapshot_and_the_rows_after_it_are_the_table(tmp_path):
    X, y, keys = some(500)
    with Learner(tmp_path / "a.db") as learner:
        learner.learn(X[:200], y[:200], keys[:200])
        learner.forget(keys[20:40])
        learner.session.take_snapshot()
        learner.learn(X[200:], y[200:], keys[200:])
        learner.correct(keys[300], "third")
        learner.session.unsaved = 0  # no other snapshot at the end
    with Learner(tmp_path / "a.db") as learner:
        assert learner.audit().ok
        learner.forget(keys[:10] + keys[300:310])
        assert learner.audit().ok
