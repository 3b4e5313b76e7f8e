"""Examples found by key, by the service and in the store."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from hypothesis import given
from hypothesis import strategies as st
from tests.support.service import Client, running

from opforest import Learner, Preparation
from opforest.apps.serve import bodies
from opforest.apps.serve.security import Tokens


def test_examples_are_found_by_the_beginning_of_their_keys(tmp_path):
    learner = Learner(tmp_path / "a.db")
    learner.learn([[0.0, 1.5], [2.0, 3.0], [4.0, 5.0]], ["u", "v", "u"], ["b-2", "b-1", "c"])
    learner.learn([[9.0, 9.0]], ["v"])
    with running(learner) as port:
        client = Client(port)
        answer = client.post("/v1/search", {"key": "b-"})
        bodies.SearchResult.model_validate(answer)
        assert [one["key"] for one in answer["examples"]] == ["b-1", "b-2"]
        assert (answer["examples"][1]["row"], answer["examples"][1]["label"]) == ([0.0, 1.5], "u")
        assert len(client.post("/v1/search", {"key": "", "n": 2})["examples"]) == 2
        assert client.post("/v1/search", {"key": "d"}) == {"examples": []}
        (only,) = client.post("/v1/search", {"key": learner.rows()[0][3]})["examples"]
        assert only["row"] == [9.0, 9.0]
        client.post("/v1/forget", {"keys": ["b-1"]})
        assert len(client.post("/v1/search", {"key": "b-"})["examples"]) == 1
        for n in (0, 51, "many"):
            client.post("/v1/search", {"key": "b", "n": n}, code=422)
        assert "Unicode" in client.post("/v1/search", {"key": "\ud800"}, code=422)["detail"]


def test_text_missing_cells_and_missing_labels(tmp_path):
    learner = Learner(tmp_path / "a.db", semi_supervised=True,
                      preparation=Preparation("onehot", "median"))  # fmt: skip
    rows = [["red", 1.0], ["blue", None], ["red", 0.0]]
    learner.learn(rows, ["x", "y", None], ["a", "b", "c"])
    with running(learner) as port:
        found = Client(port).post("/v1/search", {"key": ""})["examples"]
    assert [(one["row"], one["label"]) for one in found] == [
        (["red", 1.0], "x"), (["blue", None], "y"), (["red", 0.0], None),
    ]  # fmt: skip


def test_the_read_token_is_enough_and_an_empty_store_has_nothing(tmp_path):
    tokens = Tokens("reader" * 4, "writer" * 4)
    with running(Learner(tmp_path / "a.db"), tokens=tokens) as port:
        assert Client(port, tokens.read).post("/v1/search", {"key": "a"}) == {"examples": []}
        Client(port).post("/v1/search", {"key": "a"}, code=401)


@given(
    st.sets(st.text("ab%_é😀", max_size=4), min_size=1, max_size=12), st.text("ab%_é😀", max_size=3)
)
def test_a_search_finds_what_a_scan_finds(keys, text):
    keys = sorted(keys - {""})
    with Learner(":memory:") as learner:
        if keys:
            learner.learn(np.arange(len(keys))[:, None] * 1.0, ["x"] * len(keys), keys)
        found = [row.name for row in learner.session.store.search(text, 5)]
        scan = sorted((key for key in keys if key.startswith(text)), key=str.encode)
        assert found == scan[:5]
