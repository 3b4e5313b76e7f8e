"""``--voters`` and the scales that depend on labels, in all commands that have them."""

from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest import Learner, OPFClassifier, OPFSemiSupervised, Preparation

pytest.importorskip("typer")
pytest.importorskip("polars")
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest

SCALES = ("relevance", "auto")


@pytest.mark.parametrize("voters", [1, 5, "auto"])
def test_train(folder, iris, voters):
    told = run_json("train", "train.csv", "m", "--voters", voters)
    clf = OPFClassifier(voters=voters).fit(iris.X[:75], iris.y[:75])
    loaded = opforest.load("m")
    assert loaded.voters == voters
    answers = run("predict", "m", "test.csv").stdout.split()
    assert answers == clf.predict(iris.X[75:]).tolist()
    assert run_json("evaluate", "m", "test.csv")["accuracy"] == clf.score(iris.X[75:], iris.y[75:])
    for facts in (told, run_json("info", "m")):
        assert facts.get("voters", 1) == voters
    found = run_json("info", "m").get("chosen_voters")
    assert found == (clf.voters_ if voters == "auto" else None)
    assert ("voters" in run("info", "m").stdout) == (voters != 1)


def test_it_is_kept_by_update_and_prune(folder, iris):
    run("train", "train.csv", "m", "--voters", 7)
    assert run_json("update", "m", "test.csv")["voters"] == 7
    assert opforest.load("m").voters == 7
    run("train", "train.csv", "m", "--voters", 7)
    run("prune", "m", "test.csv", "small", "--loss", 0.05)
    assert opforest.load("small").voters == 7


def test_train_with_unlabeled_examples(folder):
    run("train", "train.csv", "m", "--unlabeled", "test.csv", "--voters", "auto")
    model = opforest.load("m")
    assert isinstance(model, OPFSemiSupervised)
    assert model.voters == "auto"


@pytest.mark.parametrize("bad", ["0", "-1", "2.5", "many", "AUTO", "", "٣", "9" * 30])
@pytest.mark.parametrize("command", [
    ("train", "train.csv", "m"), ("evaluate", "iris.opforest", "test.csv"),
    ("stream", "m", "train.csv"), ("store", "create", "m"),
])  # fmt: skip
def test_bad_values(folder, command, bad):
    told = run(*command, f"--voters={bad}", code=2).stderr
    assert "--voters" in told
    assert f"a whole number from 1 to 999,999,999, or auto, got {bad!r}" in told
    assert not Path("m").exists()


def test_evaluate_tries_other_voters(folder, iris):
    before = Path("iris.opforest").read_bytes()
    for voters in (3, 40, "auto"):
        clf = OPFClassifier(voters=voters).fit(iris.X[:75], iris.y[:75])
        told = run_json("evaluate", "iris.opforest", "test.csv", "--voters", voters)
        assert told["accuracy"] == clf.score(iris.X[75:], iris.y[75:])
    assert Path("iris.opforest").read_bytes() == before
    opforest.save(opforest.OPFKNNClassifier(5).fit(iris.X[:75], iris.y[:75]), "knn")
    told = run("evaluate", "knn", "test.csv", "--voters", 3, code=2).stderr
    assert "--voters needs a classifier made by train" in told


def test_stream(folder, iris):
    run("stream", "m", "train.csv", "--voters", 5, "--batch", 25)
    assert same_forest(opforest.load("m"), OPFClassifier(voters=5).fit(iris.X[:75], iris.y[:75]))
    assert opforest.load("m").voters == 5
    told = run("stream", "m", "test.csv", "--voters", 3, code=2).stderr
    assert "was made with voters=5, not 3" in told
    assert run_json("stream", "m", "test.csv", "--voters", 5, "--batch", 25)["tested"] == 75


def test_stores(folder, iris):
    rows = (folder / "test.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows))
    assert run_json("store", "create", "a.db", "--voters", "auto")["voters"] == "auto"
    assert "voters" not in run_json("store", "create", "b.db", "--voters", 1)
    run("store", "learn", "a.db", "train.csv")
    with Learner("a.db", read_only=True) as learner:
        assert learner.stats()["voters"] == "auto"
    clf = OPFClassifier(voters="auto").fit(iris.X[:75], iris.y[:75])
    told = run_json("store", "stats", "a.db")
    assert (told["voters"], told["chosen_voters"]) == ("auto", clf.voters_)
    run("store", "create", "c.db", "--voters", "auto", "--semi-supervised", "--scale", "standard")
    assert "chosen_voters" not in run_json("store", "stats", "c.db")
    run("store", "learn", "c.db", "new.csv", "--label", "none")
    assert "chosen_voters" not in run_json("store", "stats", "c.db")
    run("store", "learn", "c.db", "train.csv")
    assert run_json("store", "stats", "c.db")["chosen_voters"] > 0
    assert run("store", "predict", "a.db", "test.csv").stdout.split() == (
        clf.predict(iris.X[75:]).tolist()
    )
    run("store", "export", "a.db", "m.opforest")
    assert run_json("info", "m.opforest")["voters"] == "auto"


def test_models_of_libopf_have_one_voter(folder):
    run("train", "train.csv", "m", "--voters", 3)
    assert "LibOPF's models have one voter" in run("convert", "m", "m.opf").stderr
    assert "one voter" not in run("convert", "iris.opforest", "n.opf").stderr


# Scales that depend on labels.


@pytest.mark.parametrize("scale", SCALES)
def test_train_scales_by_labels(folder, iris, scale):
    told = run_json("train", "train.csv", "m", "--scale", scale, "--voters", "auto")
    fitted = Preparation(scale=scale).fit(iris.X[:75], iris.y[:75])
    assert told["preparation"]["scale"] == scale
    assert told["preparation"].get("chosen_scale") == (fitted.scale_ if scale == "auto" else None)
    assert run_json("info", "m")["preparation"] == told["preparation"]
    clf = OPFClassifier(voters="auto").fit(fitted.transform(iris.X[:75]), iris.y[:75])
    assert same_forest(opforest.load("m")[-1], clf)
    score = clf.score(fitted.transform(iris.X[75:]), iris.y[75:])
    assert run_json("evaluate", "m", "test.csv")["accuracy"] == score
    run("update", "m", "test.csv")
    clf.partial_fit(fitted.transform(iris.X[75:]), iris.y[75:])
    assert same_forest(opforest.load("m")[-1], clf)


@pytest.mark.parametrize("scale", SCALES)
def test_other_commands_scale_by_labels(folder, iris, scale):
    run("stream", "m", "train.csv", "--scale", scale, "--every", 50, "--batch", 25)
    fitted = Preparation(scale=scale).fit(iris.X[:50], iris.y[:50])
    clf = OPFClassifier().fit(fitted.transform(iris.X[:75]), iris.y[:75])
    assert same_forest(opforest.load("m")[-1], clf)
    run("train", "train.csv", "u", "--scale", scale, "--unlabeled", "test.csv")
    fitted = Preparation(scale=scale).fit(iris.X[:75], iris.y[:75])
    y = np.concatenate((iris.y[:75].astype(object), np.full(75, None)))
    semi = OPFSemiSupervised().fit(fitted.transform(iris.X), y)
    assert same_forest(opforest.load("u")[-1], semi)
    assert run_json("store", "create", "a.db", "--scale", scale)["scale"] == scale
    run("store", "learn", "a.db", "train.csv")
    clf = OPFClassifier().fit(fitted.transform(iris.X[:75]), iris.y[:75])
    answers = run("store", "predict", "a.db", "test.csv").stdout.split()
    assert answers == clf.predict(fitted.transform(iris.X[75:])).tolist()
    assert run_json("store", "audit", "a.db")["ok"] is True
