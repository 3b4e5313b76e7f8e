"""``opforest cluster``, ``prune``, ``train --unlabeled`` and what goes on with their models."""

import json

import numpy as np
from tests.support.commands import run

import opforest


def test_cluster_prints_labels_and_saves_a_model(folder):
    done = run("cluster", "train.csv", "--k-max", "10", "--model", "clusters.opforest")
    labels = [int(line) for line in done.stdout.split()]
    model = opforest.load("clusters.opforest")
    assert labels == model.labels_.tolist()
    answers = run("predict", "clusters.opforest", "train.csv")
    assert len(answers.stdout.split()) == len(labels)
    answers = json.loads(run("predict", "clusters.opforest", "train.csv", "--json").stdout)
    assert answers["classes"] == list(range(len(model.roots_)))
    facts = json.loads(run("cluster", "train.csv", "--k-max", "10", "--json").stdout)
    assert facts["labels"] == labels
    assert facts["k"] == model.k_
    assert run("plot", "clusters.opforest", "clusters.png").exit_code == 0
    facts = json.loads(run("info", "clusters.opforest", "--json").stdout)
    assert facts["clusters"] == len(model.roots_)
    refused = run("evaluate", "clusters.opforest", "train.csv", code=4)
    assert "it is an OPFClustering" in refused.stderr


def test_cluster_prepares_its_data(folder):
    lines = [f"{k % 7},{('red', 'blue')[k % 2]},{1000 * (k % 3)}" for k in range(40)]
    (folder / "mixed.csv").write_text("\n".join(["a,color,b", *lines, "3,red,"]) + "\n")
    prepare = ("--label", "none", "--encode", "onehot", "--scale", "minmax", "--missing", "drop")
    done = run("cluster", "mixed.csv", *prepare, "--k-max", "8", "--model", "mixed.opforest")
    assert "1 row with missing cells is left out" in done.stderr
    model = opforest.load("mixed.opforest")
    assert isinstance(model, opforest.Pipeline)
    labels = [int(line) for line in done.stdout.split()]
    assert labels == model.steps[-1][1].labels_.tolist()
    (folder / "whole.csv").write_text("\n".join(["a,color,b", *lines]) + "\n")
    assert run("predict", "mixed.opforest", "whole.csv").stdout.split() == [*map(str, labels)]
    refused = run("cluster", "mixed.csv", "--label", "none", code=3)
    assert "--encode" in refused.stderr


def test_cluster_rejects_invalid_options(folder):
    assert "needs --merge-by" in run("cluster", "train.csv", "--threshold", "0.2", code=2).stderr
    assert "k_max must be" in run("cluster", "train.csv", "--k-max", "0", code=2).stderr
    for scale in ("relevance", "auto"):
        told = run("cluster", "train.csv", "--scale", scale, "--model", "c.opforest", code=2).stderr
        assert f"--scale {scale} learns from labels, and cluster ignores them" in told
        assert "--scale standard" in told
    assert not (folder / "c.opforest").exists()


def test_train_with_unlabeled_examples(folder):
    done = run("train", "train.csv", "semi.opforest", "--unlabeled", "test.csv", "--json")
    assert json.loads(done.stdout)["examples"] == 150
    model = opforest.load("semi.opforest")
    assert isinstance(model, opforest.OPFSemiSupervised)
    assert len(model.forest_.prototypes) == 75
    answers = run("predict", "semi.opforest", "test.csv").stdout.split()
    assert np.array_equal(answers, model.transduction_[75:])
    refused = run("train", "train.csv", "x.opforest", "--unlabeled", "test.csv",
                  "--update", "opfi", code=2)  # fmt: skip
    assert "--unlabeled does not go with" in refused.stderr
    refused = run("prune", "semi.opforest", "test.csv", "small.opforest", code=2)
    assert "trained with --unlabeled or --update, and cannot be pruned" in refused.stderr
    (folder / "gap.csv").write_text((folder / "train.csv").read_text() + "5,3,2,1,\n")
    refused = run("train", "gap.csv", "x.opforest", "--label", "species", code=3)
    assert "such rows; --unlabeled takes files" in refused.stderr


def test_unlabeled_examples_may_be_in_several_files(folder):
    rows = (folder / "test.csv").read_text().splitlines(keepends=True)
    (folder / "a.csv").write_text("".join(rows[:30]))
    (folder / "b.csv").write_text(rows[0] + "".join(rows[30:]))
    for scale in ((), ("--scale", "standard")):
        for name, files in (("one", ("test.csv",)), ("two", ("a.csv", "b.csv"))):
            more = [word for file in files for word in ("--unlabeled", file)]
            run("train", "train.csv", f"{name}.opforest", *more, *scale)
        one, two = (run("predict", f"{name}.opforest", "iris.csv", "--costs").stdout
                    for name in ("one", "two"))  # fmt: skip
        assert one == two


def test_unlabeled_examples_are_prepared(folder):
    done = run("train", "train.csv", "semi.opforest", "--unlabeled", "test.csv",
               "--scale", "standard", "--json")  # fmt: skip
    assert json.loads(done.stdout)["examples"] == 150
    model = opforest.load("semi.opforest")
    assert isinstance(model, opforest.Pipeline)
    answers = run("predict", "semi.opforest", "test.csv").stdout.split()
    assert np.array_equal(answers, model.steps[-1][1].transduction_[75:])
    assert json.loads(run("plot", "semi.opforest", "semi.png", "--json").stdout)["examples"] == 150


def test_unlabeled_files_need_no_label(folder):
    rows = [(k / 7 % 1, ("red", "blue")[k % 2], k % 5, "xy"[k % 3 > 0]) for k in range(30)]
    head, lines = "a,color,b", [",".join(map(str, row)) for row in rows]
    (folder / "some.csv").write_text("\n".join([head + ",kind", *lines]) + "\n")
    bare = [line.rpartition(",")[0] for line in lines] + ["0.5,red,"]
    (folder / "more.csv").write_text("\n".join([head, *bare]) + "\n")
    done = run("train", "some.csv", "semi.opforest", "--label", "kind", "--unlabeled", "more.csv",
               "--encode", "onehot", "--missing", "drop", "--json")  # fmt: skip
    assert json.loads(done.stdout)["examples"] == 60
    assert "1 row with missing cells is left out" in done.stderr
    (folder / "plain.csv").write_text("".join(f"{a},{b},{y}\n" for a, _, b, y in rows))
    (folder / "bare.csv").write_text("".join(f"{a},{b}\n" for a, _, b, _ in rows))
    done = run("train", "plain.csv", "plain.opforest", "--label", "3", "--unlabeled", "bare.csv",
               "--no-header", "--json")  # fmt: skip
    assert json.loads(done.stdout)["examples"] == 60


def test_errors_in_unlabeled_files_name_the_file(folder):
    (folder / "some.csv").write_text("a,c,label\n1,red,x\n2,blue,y\n3,red,x\n4,blue,y\n")
    (folder / "more.csv").write_text("a,c\n1,red\n2,green\n")
    refused = run("train", "some.csv", "m", "--label", "label", "--encode", "onehot",
                  "--unlabeled", "more.csv", code=3)  # fmt: skip
    assert "more.csv, line 3: column 'c' has 'green'" in refused.stderr


def test_prune_keeps_the_preparation(folder):
    run("train", "train.csv", "scaled.opforest", "--scale", "standard")
    facts = json.loads(
        run("prune", "scaled.opforest", "test.csv", "small.opforest", "--json").stdout
    )
    assert facts["examples"] < facts["examples_before"] == 75
    smaller = opforest.load("small.opforest")
    assert isinstance(smaller, opforest.Pipeline)
    assert len(smaller.forest_) == facts["examples"]
    assert len(run("predict", "small.opforest", "test.csv").stdout.split()) == 75


def test_prune_writes_a_smaller_model(folder):
    done = run("prune", "iris.opforest", "test.csv", "small.opforest", "--json")
    facts = json.loads(done.stdout)
    assert facts["examples"] < facts["examples_before"] == 75
    assert facts["accuracy"] >= facts["accuracy_before"]
    assert len(opforest.load("small.opforest").forest_) == facts["examples"]
    run("plot", "small.opforest", "small.png")
    assert "loss must be" in run("prune", "iris.opforest", "test.csv", "x.opforest",
                                 "--loss", "3", code=2).stderr  # fmt: skip
