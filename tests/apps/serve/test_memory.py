"""A service without memory reports it, and goes on."""

import json

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.support.service import Client, running
from tests.support.shortage import no_memory

from opforest import Learner
from opforest.learner import replica

ROWS = {"rows": [[0.0], [1.0], [4.0], [5.0]], "labels": ["a", "a", "b", "b"]}


@pytest.fixture
def client(tmp_path):
    with running(Learner(tmp_path / "a.db")) as port:
        client = Client(port)
        client.post("/v1/learn", {**ROWS, "keys": list("pqrs")})
        yield client


def test_questions(client, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(replica.ModelReplica, "predict", no_memory)
        patch.setattr(replica.ModelReplica, "predict_proba", no_memory)
        for more in ({}, {"proba": True}):
            problem = client.post("/v1/predict", {"rows": [[0.5]], **more}, code=503)
            assert "there is not enough memory" in problem["detail"]
        patch.setattr(Learner, "stats", no_memory)
        status, headers, content = client.ask("GET", "/v1/stats")
        assert status == 503
        assert headers["content-type"] == "application/problem+json"
        assert headers["retry-after"] == "1"
        assert headers["x-content-type-options"] == "nosniff"
        assert "there is not enough memory" in json.loads(content)["detail"]
    assert client.post("/v1/predict", {"rows": [[0.5]]})["labels"] == ["a"]


def test_changes_that_were_refused(client, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(replica.ModelReplica, "check", no_memory)
        client.post("/v1/learn", {"rows": [[0.4]], "labels": ["c"], "keys": ["t"]}, code=503)
    assert client.post("/v1/predict", {"rows": [[0.4]]})["labels"] == ["a"]
    assert client.get("/v1/stats")["examples"] == 4


def test_changes_that_are_in_the_file(client, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(replica.ModelReplica, "learn", no_memory)
        body = {"rows": [[0.4]], "labels": ["c"], "keys": ["t"]}
        problem = client.post("/v1/learn", body, code=503)
        assert "the change is in the file" in problem["detail"]
    assert client.post("/v1/predict", {"rows": [[0.4]]})["labels"] == ["c"]
    assert client.post("/v1/learn", body)["unchanged"] == 1
