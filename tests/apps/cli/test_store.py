"""A learner from the shell."""

import subprocess
import sys

import numpy as np
import pytest
from tests.support.commands import run, run_json

import opforest
from opforest._utils.extras import install_command
from opforest.io.tables import read_table

COMMAND = (sys.executable, "-c", "from opforest.apps.cli.main import main; main()")


@pytest.fixture
def store(folder):
    run("store", "create", "a.db", "--score")
    run("store", "learn", "a.db", "train.csv")
    return "a.db"


def test_a_store_learns_and_predicts_like_a_model(store, folder):
    facts = run_json("store", "learn", store, "test.csv")
    assert (facts["learned"], facts["examples"]) == (75, 150)
    run("train", "iris.csv", "all.opforest")
    expected = run("predict", "all.opforest", "test.csv", "--proba").stdout
    assert run("store", "predict", store, "test.csv", "--proba").stdout == expected
    assert len(run("store", "predict", store, "iris.csv").stdout.splitlines()) == 150
    assert "the file is intact, and the model is" in run("store", "audit", store).stdout
    assert run_json("store", "audit", store)["ok"] is True


def test_examples_are_corrected_and_forgotten_by_key(store, folder):
    assert run_json("store", "correct", store, ":3", "virginica")["corrected"] == 1
    assert run_json("store", "forget", store, ":3", ":4")["examples"] == 73
    (folder / "keys.txt").write_text(":5\n#6\n\n")
    assert run_json("store", "forget", store, "--keys-from", "keys.txt")["forgotten"] == 2
    assert run_json("store", "forget", store, "--keys-from", "-", stdin=":7\n")["forgotten"] == 1
    assert "no example with the key ':3'" in run("store", "forget", store, ":3", code=2).stderr
    assert run_json("store", "forget", store, ":3", "--missing-ok")["forgotten"] == 0
    assert "--keys-from" in run("store", "forget", store, code=2).stderr
    assert "no example" in run("store", "correct", store, "#3", "virginica", code=2).stderr
    assert run_json("store", "audit", store)["examples"] == 70


def test_a_file_with_ids_is_learned_once(folder, iris):
    from dataclasses import replace

    from opforest.io.tables import write_table

    named = replace(iris, ids=np.array([f"flower-{i}" for i in range(150)]))
    write_table("named.csv", named)
    run("store", "create", "b.db")
    assert run_json("store", "learn", "b.db", "named.csv")["learned"] == 150
    again = run_json("store", "learn", "b.db", "named.csv")
    assert (again["learned"], again["unchanged"], again["examples"]) == (0, 150, 150)
    run("store", "correct", "b.db", "flower-7", "another")
    said = run("store", "learn", "b.db", "named.csv", code=3).stderr
    assert "named.csv, line 9: another example has the key 'flower-7': --replace replaces" in said
    assert "replace=True" not in said
    assert run_json("store", "learn", "b.db", "named.csv", "--replace")["replaced"] == 1


def test_a_file_without_ids_is_not_learned_twice(store, folder):
    said = run("store", "learn", store, "train.csv", code=2).stderr
    assert "a.db holds all 75 examples that train.csv begins with" in said
    assert run_json("store", "stats", store)["examples"] == 75
    rows = (folder / "train.csv").read_text().splitlines()
    (folder / "one.csv").write_text("\n".join(rows[:2]))
    assert "holds the example that" in run("store", "learn", store, "one.csv", code=2).stderr
    (folder / "some.csv").write_text("\n".join([*rows[:3], "9,9,9,9,setosa"]))
    result = run("store", "learn", store, "some.csv", "--json")
    assert "2 of the first 3 examples are in the store already" in result.stderr
    assert '"learned": 3' in result.stdout
    assert run_json("store", "learn", store, "train.csv", "--again")["learned"] == 75


def test_stats(store, folder):
    told = run_json("store", "stats", store)
    assert (told["examples"], told["classes"], told["tested"]) == (75, 3, 74)
    assert sum(told["examples_by_class"].values()) == 75
    shown = run("store", "stats", store).stdout
    assert "accuracy\t" in shown
    assert "error" not in shown
    assert not [line for line in shown.splitlines() if line.endswith("\t")]
    run("store", "create", "empty.db")
    assert run_json("store", "stats", "empty.db")["examples"] == 0


def test_export(store, folder):
    run("store", "export", store, "out.csv")
    data = read_table("out.csv")
    fitted = opforest.OPFClassifier().fit(data.X, data.y)
    run("store", "export", store, "out.opforest")
    model = opforest.load("out.opforest")
    assert np.array_equal(model.forest_.cost, fitted.forest_.cost)
    assert data.ids.tolist()[:2] == [":1", ":2"]


def test_errors_about_stores(store, folder):
    for command in (("learn", "x.db", "iris.csv"), ("predict", "x.db", "iris.csv"),
                    ("forget", "x.db", "k"), ("audit", "x.db"),
                    ("export", "x.db", "o.csv")):  # fmt: skip
        assert "store create x.db" in run("store", *command, code=4).stderr
    assert not (folder / "x.db").exists()
    assert "exists already" in run("store", "create", store, code=4).stderr
    assert "nor any other SQLite database" in run("store", "audit", "iris.csv", code=4).stderr
    assert "metric" in run("store", "create", "c.db", "--metric", "eucliden", code=2).stderr
    run("store", "create", "d.db")
    assert "no examples yet" in run("store", "predict", "d.db", "iris.csv", code=2).stderr
    with opforest.Learner(store):
        said = run("store", "learn", store, "test.csv", code=4).stderr
        assert "one writer" in said
        assert "read_only=" not in said
        run("store", "predict", store, "test.csv")  # readers are welcome


@pytest.mark.parametrize("command", [
    ("predict", "a.db", "iris.csv"), ("update", "a.db", "iris.csv"), ("plot", "a.db", "a.png"),
    ("forget", "a.db", "--ids", "1"), ("evaluate", "a.db", "iris.csv"),
    ("stream", "a.db", "iris.csv"), ("prune", "a.db", "iris.csv", "b.opforest"),
])  # fmt: skip
def test_a_store_is_not_a_model(store, folder, command):
    said = run(*command, code=4).stderr
    assert "a.db is a store, not a model: `opforest store predict`, `learn` and `forget`" in said
    assert "`opforest store export a.db NAME.opforest`" in said


def test_a_store_is_not_a_data_file_nor_a_model_a_store(store, folder):
    for command in (("audit", store), ("evaluate", store), ("convert", store, "b.csv"),
                    ("train", store, "m"), ("predict", "iris.opforest", store)):  # fmt: skip
        said = run(*command, code=3).stderr
        assert "a.db: the file is a database, not a table" in said
        assert "`opforest store export`" in said
    for command in (("learn", "iris.opforest", "iris.csv"), ("stats", "iris.opforest")):
        said = run("store", *command, code=4).stderr
        assert "iris.opforest is a model, not a store: `opforest predict`" in said


def test_a_damaged_store_makes_the_audit_fail(store, folder):
    import sqlite3

    database = sqlite3.connect(store)
    database.execute("DELETE FROM snapshot")
    database.execute("UPDATE example SET y = 'forged' WHERE id = 2")
    database.commit()
    database.close()
    assert "example 2 fails its checksum" in run("store", "audit", store, code=4).stderr


def test_public_addresses_need_tokens(store, folder):
    pytest.importorskip("fastapi")
    assert "needs --token-file" in run("serve", store, "--host", "0.0.0.0", code=2).stderr
    (folder / "tokens").write_text("read short\n")
    said = run("serve", store, "--host", "0.0.0.0", "--token-file", "tokens", code=2).stderr
    assert "`read TOKEN` and `write TOKEN`" in said
    assert "store create nothing.db" in run("serve", "nothing.db", code=4).stderr


def test_the_missing_extra_is_named(store, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "opforest.apps.serve", None)
    assert install_command("serve") in run("serve", store, code=2).stderr


def test_play_serves_a_page(folder):
    import urllib.request

    process = subprocess.Popen(
        [*COMMAND, "play", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("the playground is at http://127.0.0.1:")
        url = line.split(" at ")[1].split()[0]
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert b"<title>opforest playground</title>" in answer.read()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_store_prepares_and_learns_without_labels(folder):
    table = "id,size,color,species\na1,1.5,red,cat\na2,200,blue,dog\na3,,red,cat\na4,180,blue,\n"
    (folder / "pets.csv").write_text(table)
    (folder / "new.csv").write_text("size,color\n3,red\n190,\n")
    options = ("--encode", "onehot", "--missing", "median", "--scale", "standard")
    facts = run_json("store", "create", "p.db", "--semi-supervised", *options)
    assert (facts["encode"], facts["scale"], facts["semi_supervised"]) == (
        "onehot", "standard", True
    )  # fmt: skip
    assert run_json("store", "learn", "p.db", "pets.csv", "--label", "species")["learned"] == 4
    assert run_json("store", "correct", "p.db", "a4", "dog")["corrected"] == 1
    labels = run("store", "predict", "p.db", "new.csv").stdout
    run("store", "export", "p.db", "p.opforest")
    assert run("predict", "p.opforest", "new.csv").stdout == labels
    run("store", "export", "p.db", "again.csv")
    run("store", "create", "q.db", "--semi-supervised", *options)
    assert run_json("store", "learn", "q.db", "again.csv")["learned"] == 4
    assert run("store", "predict", "q.db", "new.csv", "--proba").stdout == (
        run("store", "predict", "p.db", "new.csv", "--proba").stdout
    )
    assert run_json("store", "forget", "p.db", "a1")["examples"] == 3
    assert run_json("store", "audit", "p.db")["ok"] is True
    (folder / "green.csv").write_text("size,color,label\n3,green,cat\n")
    assert (
        "'green', which is not in the training data"
        in run("store", "learn", "p.db", "green.csv", code=3).stderr
    )


def test_missing_cells_are_located_with_advice(store, folder):
    rows = (folder / "test.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join([*rows[:3], ",".join(["", *rows[3].split(",")[1:]])]))
    for command in ("predict", "learn"):
        said = run("store", command, store, "new.csv", code=3).stderr
        assert "new.csv, line 4, column 1: column 'sepal length' must hold finite numbers" in said
        assert "fill them in, or create the store with --missing median, which does" in said


def test_labels_that_are_numbers_may_be_missing(folder):
    import polars as pl

    run("store", "create", "n.db", "--semi-supervised")
    (folder / "n.csv").write_text("a,label\n1.5,1\n2.5,\n9,2\n")
    run("store", "learn", "n.db", "n.csv")
    frame = pl.DataFrame({"a": [3.5, 8.5], "label": [None, 2]})
    frame.write_parquet(folder / "n.parquet")
    run("store", "learn", "n.db", "n.parquet")
    with opforest.Learner("n.db") as learner:
        assert learner.rows()[2].tolist() == [1, None, 2, None, 2]
    run("store", "export", "n.db", "back.parquet")
    assert pl.read_parquet(folder / "back.parquet")["label"].to_list() == [1, None, 2, None, 2]
    assert "missing labels; CSV can" in run("store", "export", "n.db", "back.npz", code=3).stderr
