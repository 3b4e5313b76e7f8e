"""Damage that opening must notice: indexes, settings, snapshots, logs. See also test_faults.py."""

import os
import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from opforest import Learner, Preparation, StoreError
from opforest.learner.commit_counter import CommitCounter, read_count

X = np.random.default_rng(0).random((60, 2))
Y = np.where(X[:, 0] > 0.5, "right", "left")
KEYS = [f"key-{i:03d}" for i in range(60)]


@pytest.fixture
def path(tmp_path):
    options = {"score": True, "preparation": Preparation(scale="standard")}
    with Learner(tmp_path / "a.db", **options) as learner:
        for begin in range(0, 60, 20):
            part = slice(begin, begin + 20)
            learner.learn(X[part], Y[part], KEYS[part])
        learner.session.take_snapshot()
    return tmp_path / "a.db"


@pytest.fixture
def killed(path, tmp_path):
    """A store as a kill leaves it: three changes are in its log."""
    with Learner(path) as learner:
        for i in range(3):
            learner.learn(X[i : i + 1] + 2, ["new"], [f"new-{i}"])
        for end in ("", "-wal", "-ack"):
            shutil.copy(f"{path}{end}", f"{tmp_path / 'b.db'}{end}")
        learner.session.unsaved = 0
    return tmp_path / "b.db"


def edit(path, *statements):
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def replace_bytes(path, old, new, which):
    """Replace one occurrence of some bytes in a file: pages of an index have it, too."""
    content = path.read_bytes()
    places = [found.start() for found in re.finditer(re.escape(old), content)]
    at = places[which]
    path.write_bytes(content[:at] + new + content[at + len(old) :])
    return len(places)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_a_key_that_differs_in_table_and_index_is_noticed(path, which, read_only):
    """Otherwise the key is unknown, cannot be forgotten, and can be learned twice."""
    assert replace_bytes(path, b"key-007", b"key-p07", which) == 2
    with pytest.raises(StoreError, match="the file is damaged"):
        Learner(path, read_only=read_only)


@pytest.mark.parametrize("name", ["prepared", "precision", "removals", "changes", "next", "score"])
def test_a_damaged_setting_is_noticed(path, name):
    if name == "removals":  # this store has none
        edit(path, "INSERT INTO meta VALUES ('removals', '7', 7)")
    edit(path, f"UPDATE meta SET value = value || ' ' WHERE name = '{name}'")
    for read_only in (True, False):
        with pytest.raises(StoreError, match=f"its entry '{name}' fails its checksum"):
            Learner(path, read_only=read_only)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshot SET ids = substr(ids, 1, 472) || x'3d00000000000000'",
        "UPDATE snapshot SET next = 60",
        "UPDATE snapshot SET crc = crc + 1",
        "UPDATE snapshot SET model = substr(model, 1, 500)",
    ],
)
def test_a_damaged_snapshot_is_not_used(path, statement):
    edit(path, statement)
    with Learner(path) as learner:
        assert learner.rows()[0] == KEYS
        assert learner.forget(KEYS[59]).forgotten == 1
        assert learner.audit().ok


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE sqlite_sequence SET seq = 59", "id of the next example"),
        ("UPDATE sqlite_sequence SET seq = 70", "id of the next example"),
        ("UPDATE score SET correct = correct + 1", "a score fails its checksum"),
        ("DELETE FROM meta WHERE name = 'changes'", "has not counted its changes"),
        ("CREATE TRIGGER t AFTER INSERT ON example BEGIN DELETE FROM example; END", "triggers"),
        ("CREATE VIEW v AS SELECT 1", "triggers or views"),
    ],
)
def test_other_damage_is_noticed(path, statement, message):
    edit(path, statement)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=message):
            Learner(path, read_only=read_only)


@pytest.mark.parametrize("column", ["x = zeroblob(16)", "y = 'left!'", "time = time + 1"])
def test_a_damaged_example_is_not_used(path, column):
    """The snapshot has it, so the model is right; reading the example raises an error."""
    edit(path, f"UPDATE example SET {column} WHERE id = 8")
    with Learner(path) as learner:
        for call in (
            lambda: learner.forget(KEYS[7], missing_ok=True),
            lambda: learner.learn(X[7:8], Y[7:8], KEYS[7:8]),
            lambda: learner.correct(KEYS[7], "left"),
            learner.rows,
        ):
            with pytest.raises(StoreError, match="its example 8 fails its checksum"):
                call()
        assert "example 8 fails its checksum" in str(learner.audit())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"key TEXT UNIQUE", b"key TEXU UNIQUE"),  # numbers in keys would be numbers
        (b"CREATE TABLE score", b"CREATE TABLE \xffcore"),
        (b"time INTEGER NOT NULL, crc", b"time INTEGER NOT NULL, \xffrc"),
    ],
)
def test_tables_that_are_not_as_they_were_made_are_noticed(path, old, new):
    replace_bytes(path, old, new, 0)
    for read_only in (True, False):
        with pytest.raises(StoreError, match="the file is damaged"):
            Learner(path, read_only=read_only)


def test_an_added_index_is_not_damage(path):
    edit(path, "CREATE INDEX mine ON example (y)", "ANALYZE")
    with Learner(path) as learner:
        assert len(learner) == 60


# Logs.


def test_a_log_is_read_after_a_kill(killed):
    with Learner(killed, read_only=True) as learner:
        assert len(learner) == 63
    with Learner(killed) as learner:
        assert len(learner) == 63
        assert learner.audit().ok
    assert not Path(f"{killed}-ack").exists()
    assert not Path(f"{killed}-wal").exists()


def frames(log):
    """Return where the frames of a log begin."""
    content = log.read_bytes()
    size = int.from_bytes(content[8:12], "big")
    return range(32, len(content), size + 24)


@pytest.mark.parametrize("how", ["delete", "empty", "half", "last", "header", "bit"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_log_that_lacks_what_was_acknowledged_is_noticed(killed, how, read_only):
    log = Path(f"{killed}-wal")
    begins = frames(log)
    if how == "delete":
        log.unlink()
    elif how in ("empty", "half", "last"):
        os.truncate(log, {"empty": 0, "half": begins[len(begins) // 2], "last": begins[-1]}[how])
    else:
        content = bytearray(log.read_bytes())
        content[16 if how == "header" else begins[-1] + 100] ^= 4
        log.write_bytes(content)
    before = killed.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"changes that were acknowledged are missing.*-wal"):
            Learner(killed, read_only=read_only)
    assert killed.read_bytes() == before  # nothing was made worse
    Path(f"{killed}-ack").unlink()  # as the message says
    with Learner(killed) as learner:
        assert 60 <= len(learner) < 63
        assert learner.audit().ok


def test_a_store_that_was_cut_to_nothing_is_not_a_new_one(killed):
    os.truncate(killed, 0)
    with pytest.raises(StoreError, match="acknowledged are missing"):
        Learner(killed)


@pytest.mark.parametrize("content", [b"", b"x" * 20, b"OPFL-ack" + b"\xff" * 12, b"\0" * 100])
def test_a_damaged_counter_is_left_out(killed, content):
    Path(f"{killed}-ack").write_bytes(content)
    assert read_count(f"{killed}-ack") == 0
    with Learner(killed) as learner:
        assert len(learner) == 63


def test_a_change_that_was_not_acknowledged_may_be_missing(killed):
    """A kill between the log and the counter, and one before the log was written."""
    for count, cut in ((1, 0), (1, 1)):
        copy = killed.with_name(f"c{cut}.db")
        for end in ("", "-wal", "-ack"):
            shutil.copy(f"{killed}{end}", f"{copy}{end}")
        counter = CommitCounter(f"{copy}-ack")
        counter.write(read_count(counter.path) - count)
        counter.close(delete=False)
        if cut:
            os.truncate(f"{copy}-wal", frames(Path(f"{copy}-wal"))[-1])
        with Learner(copy) as learner:
            assert len(learner) == 63 - cut
            assert learner.audit().ok


def test_copies_need_no_counter(killed, tmp_path):
    with Learner(killed) as learner:
        learner.learn(X[:1], ["new"], ["more"])
        source, target = sqlite3.connect(killed), sqlite3.connect(tmp_path / "copy.db")
        source.backup(target)  # as sqlite3's .backup does
        source.close()
        target.close()
        with Learner(tmp_path / "copy.db") as copy:
            assert len(copy) == 64
            assert copy.audit().ok
