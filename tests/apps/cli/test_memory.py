"""Commands that run out of memory: an error in one line, and its own exit code."""

import pytest

pytest.importorskip("typer")

from tests.support.commands import run
from tests.support.shortage import no_memory

from opforest.forest import storage as storing
from opforest.io import tables
from opforest.persistence import files as model_file

NO_MEMORY = 5


def test_an_update(folder, monkeypatch):
    before = (folder / "iris.opforest").read_bytes()
    monkeypatch.setattr(storing.ForestStorage, "stage", no_memory)
    said = run("update", "iris.opforest", "test.csv", code=NO_MEMORY).stderr
    assert "partial_fit ran out of memory: 0 of 75 examples have been learned" in said
    assert (folder / "iris.opforest").read_bytes() == before


def test_a_model_that_is_too_large(folder, monkeypatch):
    monkeypatch.setattr(model_file, "read_container", no_memory)
    said = run("predict", "iris.opforest", "test.csv", code=NO_MEMORY).stderr
    assert "iris.opforest: there is not enough memory for this model" in said


@pytest.mark.parametrize("error", [no_memory, MemoryError])
def test_errors_without_a_message(folder, monkeypatch, error):
    def fail(*_, **__):
        raise error() or AssertionError

    monkeypatch.setattr(tables, "read_table", fail)
    monkeypatch.setattr("opforest.estimators.classifier.Forest.train", fail)
    said = run("train", "train.csv", "new.opforest", code=NO_MEMORY).stderr
    assert "there is not enough memory for the examples" in said
    assert not (folder / "new.opforest").exists()
