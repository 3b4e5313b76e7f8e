"""Stores written by versions 0.1.0 and 0.2.0: they open, and go on as they did."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from opforest import Learner, StoreError

FOLDER = Path(__file__).parents[1] / "golden" / "stores"
NAMES = sorted(path.stem for path in FOLDER.glob("*.db"))
ARRAYS = ("points", "label", "cost", "predecessor", "root", "prototypes", "edges", "ids")


@pytest.fixture(params=NAMES)
def store(request, tmp_path):
    for file in FOLDER.glob(f"{request.param}.db*"):
        shutil.copy(file, tmp_path)
    with np.load(FOLDER / f"{request.param}.npz") as golden:
        return tmp_path / f"{request.param}.db", dict(golden)


def check(learner, golden, when):
    model = learner.model
    forest = (model.steps[-1][1] if hasattr(model, "steps") else model).forest_
    for name in ARRAYS:
        if name != "ids":  # models of older versions counted from 0
            assert np.array_equal(getattr(forest, name), golden[f"{when}_{name}"]), name
    # Generated keys began with # in older versions.
    keys = [key.replace("#", ":") for key in learner.rows()[0]]
    assert keys == [key.replace("#", ":") for key in golden[f"{when}_keys"].tolist()]
    predicted = learner.predict(golden["Q"]).astype(str)
    assert predicted.tolist() == golden[f"{when}_predicted"].tolist()
    assert learner.audit().ok


def test_there_are_stores_of_both_versions():
    assert len(NAMES) == 5


def test_an_older_store_continues_identically(store):
    path, golden = store
    with Learner(path, read_only=True) as learner:  # changes nothing
        check(learner, golden, "before")
    with Learner(path) as learner:
        check(learner, golden, "before")
        learner.learn(golden["X"], golden["y"], golden["keys"].tolist())
        learner.forget(["k1", "k82"])
        learner.correct("k5", golden["later"].item())
        check(learner, golden, "after")
        score = learner.stats()["score"]
    with Learner(path) as learner:
        check(learner, golden, "after")
        assert learner.stats()["score"] == score
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)
    database.close()


def test_a_reader_continues_when_its_store_is_upgraded(store):
    path, golden = store
    with Learner(path, read_only=True) as reader, Learner(path) as writer:
        check(reader, golden, "before")
        writer.forget("k1")
        assert len(reader) == len(writer)
        assert reader.audit().ok


def test_ids_of_a_snapshot_without_checksum_are_compared(store):
    path, golden = store
    Learner(path, read_only=True).close()
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT ids FROM snapshot").fetchone()
        if found is None:
            pytest.skip("there is no snapshot")
        ids = np.frombuffer(found[0], "<i8").copy()
        ids[-1] += 1  # still in order, and as many
        database.execute("UPDATE snapshot SET ids = ?", (ids.tobytes(),))
    database.close()
    for _ in range(2):
        with Learner(path) as learner:
            check(learner, golden, "before")
            learner.session.unsaved = 0


def test_an_older_version_refuses_a_newer_store(store, monkeypatch):
    path, _ = store
    Learner(path).close()
    from opforest.learner import schema

    monkeypatch.setattr(schema, "FORMATS", (1,))  # as that version had it
    with pytest.raises(StoreError, match="written by a newer version"):
        Learner(path)
