"""Large bodies are read outside of the event loop, so that others are answered meanwhile."""

import json
import threading

import pytest

pytest.importorskip("fastapi")

from tests.support.service import Client, running

from opforest import Learner
from opforest.apps.serve import app, requests


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    learner = Learner(tmp_path_factory.mktemp("store") / "a.db")
    learner.learn([[0.0, 0.0], [1.0, 1.0]], ["low", "high"], ["a", "b"])
    with running(learner) as port:
        yield port


ROWS = 9000
LARGE = {"rows": [[0.5, 0.25]] * ROWS}


@pytest.mark.parametrize("name", ["parse", "read_table"])
def test_others_are_answered_while_a_large_body_is_read(port, monkeypatch, name):
    """The body is not read to its end before another client has its answer."""
    module = requests if name == "parse" else app
    work, begun, go_on = getattr(module, name), threading.Event(), threading.Event()

    def wait(*arguments):
        if len(arguments[0]) >= ROWS:
            begun.set()
            assert go_on.wait(60)
        return work(*arguments)

    monkeypatch.setattr(module, name, wait)
    answers = []

    def ask():
        answers.append(Client(port).post("/v1/predict", LARGE))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert begun.wait(60)
        assert Client(port).get("/health")["status"] == "ok"
        small = Client(port).post("/v1/predict", {"rows": [[0, 0]]})
        assert small["labels"] == ["low"]
        assert not answers
    finally:
        go_on.set()
        asking.join(60)
    assert answers == [{"labels": ["low"] * ROWS}]


def test_small_bodies_need_no_thread(port, monkeypatch):
    threads = []
    parse = requests.parse

    def note(content):
        threads.append(threading.current_thread().name)
        return parse(content)

    monkeypatch.setattr(requests, "parse", note)
    client = Client(port)
    for body in ({"rows": [[0, 0]]}, {"rows": [[0, 0]]}, LARGE):
        client.post("/v1/predict", body)
    assert threads[0] == threads[1] != threads[2]


def test_large_bodies_say_the_same(port):
    body = {"rows": [[1.5, -2, 1e300, 0, 12345678901234567890]] * 4000}
    text = json.dumps(body).encode()
    assert len(text) > requests.LARGE
    assert requests.parse(text) == json.loads(text) == body
    client = Client(port)
    for bad in (b'{"rows": [' + b"[1.5]," * 20_000 + b"[NaN]]}", b"[" * 100_000, b"1" * 100_000):
        client.post("/v1/predict", bad, code=400)
    client.post("/v1/predict", {"rows": [[1, 2]] * 20_000}, code=413)
    problem = client.post("/v1/predict", {"rows": [[1, 2]] * 9000 + [[1, "x"]]}, code=422)
    assert (problem["row"], problem["column"]) == (9000, 1)
