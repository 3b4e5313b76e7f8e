"""``opforest cluster``, ``prune``, ``train --unlabelled`` and what goes on with their models."""

import json

import numpy as np

import opforest
from commands import run


def test_cluster_prints_labels_and_saves_a_model(folder):
    done = run("cluster", "train.csv", "--k-max", "10", "--model", "hills.opforest")
    labels = [int(line) for line in done.stdout.split()]
    model = opforest.load("hills.opforest")
    assert labels == model.labels_.tolist()
    answers = run("predict", "hills.opforest", "train.csv")
    assert len(answers.stdout.split()) == len(labels)
    facts = json.loads(run("cluster", "train.csv", "--k-max", "10", "--json").stdout)
    assert facts["labels"] == labels
    assert facts["k"] == model.k_
    assert run("plot", "hills.opforest", "train.csv", "hills.png").exit_code == 0


def test_cluster_says_what_makes_no_sense(folder):
    assert "needs a --filter" in run("cluster", "train.csv", "--amount", "0.2", code=2).stderr
    assert "k_max must be" in run("cluster", "train.csv", "--k-max", "0", code=2).stderr


def test_train_with_unlabelled_examples(folder):
    done = run("train", "train.csv", "semi.opforest", "--unlabelled", "test.csv", "--json")
    assert json.loads(done.stdout)["examples"] == 150
    model = opforest.load("semi.opforest")
    assert isinstance(model, opforest.OPFSemiSupervised)
    assert len(model.forest_.prototypes) == 75
    answers = run("predict", "semi.opforest", "test.csv").stdout.split()
    assert np.array_equal(answers, model.transduction_[75:])
    refused = run("train", "train.csv", "x.opforest", "--unlabelled", "test.csv",
                  "--update", "opfi", code=2)  # fmt: skip
    assert "--unlabelled goes neither" in refused.stderr


def test_prune_writes_a_smaller_model(folder):
    done = run("prune", "iris.opforest", "test.csv", "small.opforest", "--json")
    facts = json.loads(done.stdout)
    assert facts["examples"] < facts["examples before"] == 75
    assert facts["accuracy"] >= facts["accuracy before"]
    assert len(opforest.load("small.opforest").forest_) == facts["examples"]
    assert "loss must be" in run("prune", "iris.opforest", "test.csv", "x.opforest",
                                 "--loss", "3", code=2).stderr  # fmt: skip
