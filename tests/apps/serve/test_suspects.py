"""Examples that the service names as probably mislabeled."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from tests.support.service import Client, running

from opforest import Learner, OPFClassifier, Preparation, find_label_issues
from opforest.apps.serve import bodies

X = np.random.default_rng(0).random((60, 2))
Y, KEYS = np.where(X[:, 0] > 0.5, "right", "left"), [f"k{i}" for i in range(60)]


@pytest.fixture
def client(tmp_path):
    """A client of a store that has learned 60 examples."""
    learner = Learner(tmp_path / "a.db")
    learner.learn(X, Y, KEYS)
    with running(learner) as port:
        yield Client(port)


def test_wrong_labels_are_listed_and_corrected(client):
    client.post("/v1/correct", {"key": "k7", "label": "left" if Y[7] == "right" else "right"})
    answer = client.get("/v1/suspects")["suspects"]
    learned = np.where(np.arange(60) == 7, np.where(Y == "right", "left", "right"), Y)
    order = [*np.delete(np.arange(60), 7), 7]  # the corrected one was learned last
    expected = find_label_issues(OPFClassifier().fit(X[order], learned[order]))
    assert [one["key"] for one in answer] == [KEYS[order[i]] for i in expected.ids[:20]]
    first = next(one for one in answer if one["key"] == "k7")
    assert first["row"] == X[7].tolist()
    assert (first["label"], first["suggested"]) == (learned[7], Y[7])
    assert all(voter["key"] in KEYS for voter in first["voters"])
    bodies.Suspects.model_validate({"suspects": answer})
    assert len(client.get("/v1/suspects?n=1")["suspects"]) == 1
    client.post("/v1/correct", {"key": "k7", "label": first["suggested"]})
    assert "k7" not in [one["key"] for one in client.get("/v1/suspects")["suspects"]]


@pytest.mark.parametrize("n", ["0", "-3", "101", "many", "1e3"])
def test_numbers_out_of_range(client, n):
    assert "'n' must be" in client.get(f"/v1/suspects?n={n}", code=422)["detail"]


def test_an_empty_store(tmp_path):
    with running(Learner(tmp_path / "empty.db")) as port:
        assert Client(port).get("/v1/suspects") == {"suspects": []}


def test_text_and_missing_cells(tmp_path):
    learner = Learner(tmp_path / "a.db", preparation=Preparation("onehot", "median"))
    rows = [["red" if i % 2 else "blue", None if i == 5 else i % 2] for i in range(24)]
    learner.learn(rows, [0 if i == 5 else i % 2 for i in range(24)])
    with running(learner) as port:
        first = Client(port).get("/v1/suspects")["suspects"][0]
    assert (first["key"], first["row"], first["suggested"]) == (":6", ["red", None], 1)
