"""Clients that are slow, speak no HTTP, look for other files, or send unexpected content."""

import json
import os
import socket
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("fastapi")

from tests.support.service import Client, running
from tests.support.tuning import tune

from opforest import Learner
from opforest.apps.serve.requests import Limits

PATIENCE = 3  # seconds; on a busy machine, this process may have to wait for one


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    learner = Learner(tmp_path_factory.mktemp("store") / "a.db")
    learner.learn([[0.0, 0.0], [1.0, 1.0]], ["low", "high"], ["a", "b"])
    with running(learner, limits=Limits(seconds=PATIENCE)) as port:
        yield port


def receive(connection):
    """Return an answer whose length is told."""
    content = b""
    while b"\r\n\r\n" not in content:
        content += connection.recv(65536)
    head, _, body = content.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head, body


def dribble(connection, byte):
    """Send a byte again and again, for longer than anybody should listen."""
    for _ in range(200):
        connection.sendall(byte)
        time.sleep(PATIENCE / 10)


HEAD = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"
BODY = b'{"rows": [[0, 0]]}'


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_a_second_request_must_not_dawdle_either(port, kind):
    """Byte by byte, it would hold the connection for ever: its head, or an unwanted body."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        length = len(BODY) if kind == "application/json" else 10**6
        head = HEAD % kind.encode() + b"Content-Length: %d\r\n\r\n" % length
        connection.sendall(head + (BODY if kind == "application/json" else b""))
        answer, _ = receive(connection)
        assert answer.split()[1] == (b"200" if kind == "application/json" else b"415")
        with pytest.raises(ConnectionError):
            dribble(connection, b"P" if kind == "application/json" else b" ")


def test_a_connection_that_is_used_is_kept(port):
    client = Client(port)
    for _ in range(6):  # for longer than the connection would be kept if nothing came
        client.post("/v1/predict", json.loads(BODY))
        local = client.connection.sock.getsockname()
        time.sleep(PATIENCE / 4)
    client.post("/v1/predict", json.loads(BODY))
    assert client.connection.sock.getsockname() == local


def test_what_is_no_http_is_answered_in_json(port):
    for content in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n",
                    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                    b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                    b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
            connection.sendall(content)
            head, body = receive(connection)
        assert b" 400 " in head.splitlines()[0]
        assert b"application/problem+json" in head
        assert json.loads(body)["status"] == 400


def test_only_files_of_the_page_are_served(port):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py",
                 "/static/..%5capp.py", "/static//etc/passwd", "/static/%00", "/static/",
                 "/static", "//etc/passwd", "/static/../../learner/store.py"):  # fmt: skip
        status, headers, content = Client(port).ask("GET", path)
        assert status == 404, path
        assert headers["content-type"] == "application/problem+json"
        assert b"import" not in content


def test_no_path_is_another(port):
    client = Client(port)
    for path in ("/v1/learn/", "/v1//learn", "/V1/learn", "/v1/learn;x", "/v1/./learn"):
        status, headers, _ = client.ask("POST", path, b"{}", Content_Type="application/json")
        assert status == 404, path
        assert headers["content-type"] == "application/problem+json"
    for query in ("plane=x", "plane=1&x=a&y=2", "plane=1", "plane=1&x=nan&y=0",
                  "plane=1&x=1e308&y=inf", "plane=-7&x=0&y=0"):  # fmt: skip
        status, headers, content = client.ask("GET", f"/v1/forest/path?{query}")
        assert status in (404, 422), query
        assert headers["content-type"] == "application/problem+json"
        assert json.loads(content)["detail"]
    status, headers, _ = client.ask("GET", "/v1/forest?plane=x")
    assert (status, headers["content-type"]) == (422, "application/problem+json")


def test_numbers_beyond_all_limits_are_refused(port):
    huge = 10**400
    for path, body in (("/v1/learn", {"rows": [[huge, 1]], "labels": ["low"]}),
                       ("/v1/learn", {"rows": [[0, 1]], "labels": [huge]}),
                       ("/v1/learn", {"rows": [[0, 1]] * 2, "labels": [1.5, huge]}),
                       ("/v1/predict", {"rows": [[-huge, 1]]}),
                       ("/v1/correct", {"key": "a", "label": huge})):  # fmt: skip
        Client(port).post(path, body, code=422)


def test_a_bug_is_confessed_in_json(monkeypatch, capsys):
    """With the headers of all answers, and without a word of the inside."""
    learner = Learner(":memory:")
    with running(learner) as port:
        monkeypatch.setattr(learner, "stats", lambda: 1 / 0)
        status, headers, content = Client(port).ask("GET", "/v1/stats")
        monkeypatch.undo()
        assert status == 500
        assert headers["content-type"] == "application/problem+json"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert json.loads(content)["detail"] == "please report it: ZeroDivisionError"
        assert Client(port).get("/v1/stats")["examples"] == 0
    assert "ZeroDivisionError" in capsys.readouterr().err  # for the operator of the service


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode")
def test_a_file_name_need_not_be_unicode(tmp_path):
    path = os.path.join(tmp_path, os.fsdecode(b"caf\xe9.db"))
    with running(Learner(path)) as port:
        assert Client(port).get("/v1/stats")["store"] == os.path.basename(path)


def test_planes_are_kept_for_the_pages_that_were_opened_last(port):

    tune(max_planes=3)
    clients = [Client(port) for _ in range(6)]
    planes = []

    def look(client):
        planes.extend(client.get("/v1/forest")["plane"] for _ in range(5))

    threads = [threading.Thread(target=look, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(planes)) == 30
    answers = [Client(port).ask("GET", f"/v1/forest/path?plane={plane}&x=0&y=0")[0]
               for plane in sorted(planes)]  # fmt: skip
    assert answers[-3:] == [200] * 3
    assert set(answers[-20:-3]) == {404}


def test_what_was_forgotten_is_not_told_of(port):
    client = Client(port)
    names = ["secret-1", "secret-2", "public"]
    client.post("/v1/learn", {"rows": [[5, 5]] * 3, "labels": ["low"] * 3, "keys": names})
    client.post("/v1/correct", {"key": "secret-1", "label": "high"})
    client.post("/v1/forget", {"keys": names[:2]})
    _, _, stats = client.ask("GET", "/v1/stats")
    assert b"secret" not in stats
    assert b"public" in stats
    client.post("/v1/forget", {"keys": ["public"]})


def test_classes_belong_to_their_probabilities_while_others_come_and_go(port):
    """Labels, classes and probabilities of an answer are those of one moment."""
    client, other = Client(port), Client(port)
    rows = [[0.0, 0.0]] * 70
    stop = threading.Event()

    def change():
        while not stop.is_set():
            other.post("/v1/learn", {"rows": [[9, 9]], "labels": ["aaa"], "keys": ["come"]})
            other.post("/v1/forget", {"keys": ["come"]})

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(60):
            answer = client.post("/v1/predict", {"rows": rows, "proba": True})
            assert len(answer["classes"]) == len(answer["probabilities"][0])
            best = answer["classes"][int(np.argmax(answer["probabilities"][0]))]
            assert answer["labels"][0] == best == "low"
    finally:
        stop.set()
        thread.join()
