"""``audit``: labels that are probably wrong, in a data file or a model."""

import csv
import json

import numpy as np
import pytest

import opforest
from opforest.io.columns.table import Data
from opforest.io.tables import write_table

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json


@pytest.fixture
def noisy(folder, iris):
    """Write iris with three wrong labels, and return the examples and labels."""
    y = iris.y.copy()
    wrong = [3, 60, 140]
    y[wrong] = np.roll(iris.y[wrong], 1)
    write_table("noisy.csv", Data(iris.X, y, None, iris.feature_names, "species"))
    return iris.X, y


def test_the_table_names_rows_from_one(noisy):
    X, y = noisy
    issues = opforest.find_label_issues(opforest.OPFClassifier(voters="auto").fit(X, y))
    result = run("audit", "noisy.csv")
    head, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert head == ["row", "label", "suggested", "probability"]
    assert [int(row[0]) for row in rows] == (issues.ids + 1)[:20].tolist()
    assert {4, 61, 141} <= {int(row[0]) for row in rows}
    assert [row[1] for row in rows] == [one.label for one in issues[:20]]
    assert all(len("  ".join(row)) <= 80 for row in rows)
    assert f"note: {len(issues)} of 150 labels are probably wrong" in result.stderr


def test_top(noisy):
    result = run("audit", "noisy.csv", "--top", 2)
    assert len(result.stdout.splitlines()) == 3
    assert "--top" in result.stderr
    assert "--top" in run("audit", "noisy.csv", "--top", 0, code=2).stderr


def test_json(noisy):
    told = run_json("audit", "noisy.csv", "--voters", 12)
    assert (told["judged"], told["voters"]) == (150, 12)
    first = told["issues"][0]
    assert first["probability"] == max(one["probability"] for one in told["issues"])
    assert len(first["voters"]) == 12
    assert all(1 <= voter["row"] <= 150 for voter in first["voters"])
    assert first["row"] not in [voter["row"] for voter in first["voters"]]


def test_files(noisy, folder):
    X, y = noisy
    run("audit", "noisy.csv", "--out", "suspects.csv")
    with open("suspects.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name.startswith("disagreeing ")]
    assert len(names) == X.shape[1]
    for row in rows:
        own, other = int(row["row"]) - 1, int(row["disagreeing"]) - 1
        assert row["label"] == y[own]
        assert row["suggested"] == y[other]
        assert [float(row[name]) for name in names] == X[other].tolist()
        features = [row[name.removeprefix("disagreeing ")] for name in names]
        assert [float(cell) for cell in features] == X[own].tolist()
    run("audit", "noisy.csv", "--out", "suspects.json")
    told = json.loads((folder / "suspects.json").read_text())
    assert [one["row"] for one in told] == [int(row["row"]) for row in rows]
    shown = run("audit", "noisy.csv", "--out", "-").stdout
    assert shown == (folder / "suspects.csv").read_text()
    assert "must not be written" in run("audit", "noisy.csv", "-o", "noisy.csv", code=2).stderr


def test_models(noisy):
    X, y = noisy
    opforest.save(opforest.OPFClassifier(voters=9).fit(X, y).forget([0]), "noisy.opforest")
    told = run_json("audit", "noisy.opforest")
    assert told["voters"] == 9
    assert {3, 60, 140} <= {one["id"] for one in told["issues"]}
    assert run_json("audit", "noisy.opforest", "--voters", 11)["voters"] == 11
    assert run_json("audit", "noisy.opforest", "--voters", "auto")["voters"] >= 10
    error = run("audit", "noisy.opforest", "--scale", "standard", code=2).stderr
    assert "noisy.opforest is a model" in error
    assert "--jobs" in run("audit", "noisy.opforest", "--jobs", 0, code=2).stderr
    head, *_ = run("audit", "noisy.opforest").stdout.splitlines()
    assert head.split("\t") == ["id", "label", "suggested", "probability"]
    run("audit", "noisy.opforest", "--out", "suspects.csv")


def test_exact(noisy):
    X, y = noisy
    clf = opforest.OPFClassifier(voters=10).fit(X, y)
    told = run_json("audit", "noisy.csv", "--exact", "--voters", 10)
    found = opforest.find_label_issues(clf, exact=True)
    assert [one["row"] for one in told["issues"]] == (found.ids + 1).tolist()


def test_ids_text_and_missing_cells(folder):
    rows = [f"p{i},{'red' if i % 2 else 'blue'},{i % 2 * 9 + i / 100},{i % 2}" for i in range(40)]
    rows[10] = "p10,blue,,0"
    rows[21] = "p21,red,9.21,0"
    (folder / "people.csv").write_text("\n".join(["id,color,size,label", *rows]))
    options = "--label", "label", "--encode", "onehot", "--missing", "drop"
    result = run("audit", "people.csv", *options)
    assert result.stdout.splitlines()[1].split("\t")[:4] == ["22", "p21", "0", "1"]
    assert "1 row with missing cells is left out" in result.stderr
    run("audit", "people.csv", *options, "--out", "suspects.csv")
    with open("suspects.csv", newline="") as file:
        first = next(csv.DictReader(file))
    assert (first["row"], first["id"], first["color"], first["size"]) == (
        "22",
        "p21",
        "red",
        "9.21",
    )
    assert first["disagreeing color"] == "red"


def test_nothing_is_wrong(folder):
    (folder / "clean.csv").write_text("a,label\n" + "".join(f"{i},x\n" for i in range(9)))
    result = run("audit", "clean.csv", "--label", "label")
    assert result.stdout == ""
    assert "0 of 9 labels are probably wrong" in result.stderr
    assert run_json("audit", "clean.csv", "--label", "label")["issues"] == []


def test_errors(noisy):
    assert "--voters" in run("audit", "noisy.csv", "--voters", "many", code=2).stderr
    assert "--jobs" in run("audit", "noisy.csv", "--jobs", 0, code=2).stderr
    run("audit", "missing.csv", code=2)
