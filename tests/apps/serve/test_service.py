"""What the service answers, and to whom."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("fastapi")

from tests.support.service import Client, running

from opforest import Learner, OPFClassifier, Preparation
from opforest.apps.serve.requests import Limits
from opforest.apps.serve.security import Tokens

X = np.random.default_rng(0).random((60, 2))
Y, KEYS = np.where(X[:, 0] > 0.5, "right", "left"), [f"k{i}" for i in range(60)]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    learner = Learner(tmp_path_factory.mktemp("store") / "a.db", score=True)
    limits = Limits(body=200_000, rows=500, seconds=3, listeners=3)
    with running(learner, limits=limits) as port:
        yield port


@pytest.fixture
def client(port):
    """A client of a store that has learned 60 examples."""
    client = Client(port)
    client.post(
        "/v1/learn", {"rows": X.tolist(), "labels": Y.tolist(), "keys": KEYS, "replace": True}
    )
    return client


def test_learning_and_predicting_go_by_http(client):
    again = client.post("/v1/learn", {"rows": X.tolist(), "labels": Y.tolist(), "keys": KEYS})
    assert (again["learned"], again["unchanged"], again["examples"]) == (0, 60, 60)
    fitted = OPFClassifier().fit(X, Y)
    Q = np.random.default_rng(1).random((150, 2))
    answer = client.post("/v1/predict", {"rows": Q.tolist(), "proba": True})
    assert answer["labels"] == fitted.predict(Q).tolist()
    assert np.allclose(answer["probabilities"], fitted.predict_proba(Q))
    assert answer["classes"] == ["left", "right"]
    assert client.post("/v1/predict", {"rows": []}) == {"labels": []}
    path = client.post("/v1/explain", {"row": X[7].tolist()})
    assert path["label"] == Y[7]
    steps = fitted.explain(X[7]).steps
    assert [step["key"] for step in path["steps"]] == [*(KEYS[s.id] for s in steps[:-1]), None]
    assert [step["cost"] for step in path["steps"]] == [step.cost for step in steps]


def test_forgetting_and_correcting_go_by_http(client):
    new = client.post("/v1/learn", {"rows": [[2, 2]], "labels": ["left"], "keys": ["new"]})
    assert new["report"]["learned"] == 1
    assert client.post("/v1/correct", {"key": "new", "label": "other"})["replaced"] == 1
    assert client.post("/v1/predict", {"rows": [[2, 2]]})["labels"] == ["other"]
    assert client.post("/v1/forget", {"keys": ["new"]})["forgotten"] == 1
    client.post("/v1/forget", {"keys": ["new"]}, code=404)
    assert client.post("/v1/forget", {"keys": ["new"], "missing_ok": True})["forgotten"] == 0
    stats = client.get("/v1/stats")
    assert stats["classes"] == {
        "left": int((Y == "left").sum()),
        "right": int((Y == "right").sum()),
    }
    assert stats["events"][-1]["kind"] == "forget"


def test_rows_go_by_name(tmp_path):
    with running(Learner(tmp_path / "a.db")) as port:
        client = Client(port)
        rows = [{"height": 1, "width": 2.5}, {"width": 5, "height": 4}]
        client.post("/v1/learn", {"rows": rows, "labels": [1, 2]})
        assert client.get("/v1/stats")["feature_names"] == ["height", "width"]
        assert client.post("/v1/predict", {"rows": [{"width": 4.9, "height": 4}]}) == {
            "labels": [2]
        }
        assert client.post("/v1/predict", {"rows": [[1, 2]]}) == {"labels": [1]}
        problem = client.post("/v1/predict", {"rows": [*rows, {"height": 1}]}, code=422)
        assert (problem["row"], problem["column"]) == (2, "width")
        bad = {"height": 1, "width": "wide"}
        problem = client.post("/v1/learn", {"rows": [bad], "labels": [1]}, code=422)
        assert problem["detail"] == "row 0, column 'width' must be a number, got text."
        more = {"height": 1, "width": 1, "depth": 1}
        assert client.post("/v1/predict", {"rows": [more]}, code=422)["column"] == "depth"


def test_text_missing_cells_and_labels_that_come_later_go_by_http(tmp_path):
    preparation = Preparation("onehot", "median", "standard")
    learner = Learner(tmp_path / "a.db", semi_supervised=True, preparation=preparation)
    with running(learner) as port:
        client = Client(port)
        rows = [{"size": 1, "color": "red"}, {"size": None, "color": "blue"}, [300, "blue"]]
        keys = ["a", "b", "c"]
        assert client.get("/v1/forest")["examples"] == 0
        client.post("/v1/learn", {"rows": rows, "labels": [None] * 3, "keys": keys})
        assert client.get("/v1/forest")["points"] == []
        detail = client.post("/v1/predict", {"rows": [[1, "red"]]}, code=422)["detail"]
        assert "no example in the store has a label" in detail
        assert client.post("/v1/correct", {"key": "a", "label": "cat"})["labeled"] == 1
        again = {"rows": rows, "labels": [None, None, "dog"], "keys": keys}
        answer = client.post("/v1/learn", again)
        assert (answer["labeled"], answer["unchanged"]) == (1, 2)
        assert client.post("/v1/predict", {"rows": [[2, "red"], [None, None]]})["labels"]
        assert client.post("/v1/explain", {"row": {"color": "red", "size": 3}})["label"] == "cat"
        problem = client.post("/v1/predict", {"rows": [[1, "red"], [1, "green"]]}, code=422)
        assert (problem["row"], problem["column"]) == (1, "color")
        problem = client.post("/v1/predict", {"rows": [[True, "red"]]}, code=422)
        assert problem["detail"] == "row 0, column 'size' must be a number or text, got a boolean."
        stats = client.get("/v1/stats")
        assert (stats["unlabeled"], stats["classes"]) == (1, {"cat": 1, "dog": 1})
        assert client.get("/v1/forest")["examples"] == 3
        assert client.post("/v1/forget", {"keys": ["a"]})["forgotten"] == 1
        assert learner.audit().ok


BAD = [
    ("/v1/learn", b"", 400), ("/v1/learn", b"{", 400), ("/v1/learn", b"[]", 400),
    ("/v1/learn", b"\xff\xfe\x00", 400), ("/v1/learn", b"[" * 100_000, 400),
    ("/v1/learn", {}, 422), ("/v1/learn", {"rows": 1, "labels": []}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": ["a"], "what": 1}, 422),
    ("/v1/learn", {"rows": [[1, 2, 3]], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [[1]], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [[1, None]], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [[1, True]], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [[1, "2"]], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [[1, [2]]], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": ["ab"], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [{"a": 1}], "labels": ["left"]}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": [7]}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": [None]}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": []}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": ["left"], "keys": [5]}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": ["left"], "keys": ["#5"]}, 422),
    ("/v1/learn", {"rows": [[1, 2]], "labels": ["left"], "keys": ["k0"]}, 409),
    ("/v1/learn", {"rows": [[1, 2]] * 501, "labels": ["left"] * 501}, 413),
    ("/v1/learn", {"rows": [[1, 2]], "labels": ["x" * 250_000]}, 413),
    ("/v1/learn", {"rows": [[1, 2]], "labels": ["x" * 300]}, 422),
    ("/v1/learn", b'{"rows": [[1, NaN]], "labels": ["left"]}', 400),
    ("/v1/learn", b'{"rows": [[1, Infinity]], "labels": ["left"]}', 400),
    ("/v1/learn", b'{"rows": [[1, 1e999]], "labels": ["left"]}', 422),
    ("/v1/learn", b'{"rows": [[1, 1e300]], "labels": ["left"]}', 422),
    ("/v1/learn", b'{"rows": [[1, 1%s]], "labels": ["left"]}' % (b"0" * 400), 422),
    ("/v1/learn", b'{"rows": [[1, 1%s]], "labels": ["left"]}' % (b"0" * 5000), 400),
    ("/v1/learn", b'{"rows": [[1, 2]], "labels": ["\\ud800"]}', 422),
    ("/v1/predict", {"rows": [[1]]}, 422), ("/v1/predict", {"rows": None}, 422),
    ("/v1/predict", {"rows": [[1, 2]], "proba": 1}, 422), ("/v1/explain", {"row": 1}, 422),
    ("/v1/explain", {"row": [1, 2, 3]}, 422), ("/v1/explain", {"row": []}, 422),
    ("/v1/forget", {"keys": "k0"}, 422), ("/v1/forget", {"keys": ["nobody"]}, 404),
    ("/v1/forget", {"keys": [1]}, 422), ("/v1/correct", {"key": "k0"}, 422),
    ("/v1/correct", {"key": "nobody", "label": "left"}, 404),
    ("/v1/correct", {"key": "k0", "label": 3}, 422),
    ("/v1/correct", {"key": ["k0"], "label": 3}, 422),
    ("/v1/nothing", {}, 404),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "code"), BAD)
def test_bad_requests_are_problems_in_json(client, path, body, code):
    before = client.get("/v1/stats")["commits"]
    try:
        problem = client.post(path, body, code=code)
    except (BrokenPipeError, ConnectionResetError):  # a body so large that it was not read
        assert code == 413
        return
    assert "Traceback" not in problem["detail"]
    assert Client(client.connection.port).get("/v1/stats")["commits"] == before


def test_other_methods_and_types_are_refused(client):
    status, headers, content = client.ask("GET", "/v1/learn")
    assert status == 405
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(content)["title"]
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        status, _, content = client.ask(
            "POST", "/v1/forget", b'{"keys": ["k0"]}', Content_Type=kind
        )
        assert status == 415, kind


def count_memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def raw(port, content, patience=60.0):
    """Send bytes, hang up or wait; return what comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        connection.sendall(content)
        found = b""
        while b"\r\n\r\n" not in found:
            part = connection.recv(65536)
            if not part:
                break
            found += part
        return found


def test_thousands_of_bad_requests_change_nothing(client, port):
    """Wrong JSON, types, widths, numbers and sizes; slow ones, and ones that are cut off."""
    rng = np.random.default_rng(0)
    before = client.get("/v1/stats")
    good = json.dumps({"rows": X[:3].tolist(), "labels": ["left"] * 3}).encode()
    small = [(path, body if isinstance(body, bytes) else json.dumps(body).encode())
             for path, body, code in BAD if code != 413]  # fmt: skip
    memory = None
    sent = 0
    while sent < 5_700:
        path, content = small[rng.integers(len(small))]
        if rng.random() < 0.5:  # a good one with a byte that makes it none
            path, at = "/v1/learn", int(rng.integers(len(good)))
            content = good[:at] + b"\x00" + good[at + 1 :]
        status, headers, answer = client.ask("POST", path, content, Content_Type="application/json")
        assert 400 <= status < 500, (status, content[:200])
        assert headers["content-type"] == "application/problem+json"
        assert json.loads(answer)["detail"]
        sent += 1
        if sent == 1000:
            memory = count_memory()
    head = b"POST /v1/learn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for _ in range(250):  # cut off
        at = int(rng.integers(1, len(good)))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(head + f"Content-Length: {len(good)}\r\n\r\n".encode() + good[:at])
    slow = []

    def dawdle():
        slow.append(raw(port, head + b"Content-Length: 100\r\n\r\n{"))

    threads = [threading.Thread(target=dawdle) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(b" 408 " in answer and b"problem+json" in answer for answer in slow)
    assert raw(port, b"") == b""  # who says nothing is hung up on
    after = Client(port).get("/v1/stats")
    assert (after["examples"], after["commits"]) == (before["examples"], before["commits"])
    assert count_memory() < memory + 30e6


def test_a_client_that_leaves_half_way_has_its_wish(client, port):
    body = json.dumps({"rows": [[3, 3]], "labels": ["left"], "keys": ["left-early"]}).encode()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        )  # fmt: skip
    while client.get("/v1/stats")["last"][0]["key"] != "left-early":
        time.sleep(0.02)
    again = client.post("/v1/learn", json.loads(body))
    assert again["unchanged"] == 1
    client.post("/v1/forget", {"keys": ["left-early"]})


COMMAND = (sys.executable, "-c", "from opforest.apps.cli.main import main; main()")
READ, WRITE = "r" * 24, "w" * 24


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    path = tmp_path_factory.mktemp("guarded")
    (path / "tokens").write_text(f"# two of them\nread {READ}\nwrite {WRITE}\n")
    learner = Learner(path / "a.db")
    learner.learn([[0.0], [1.0]], ["low", "high"], ["a", "b"])
    tokens = Tokens.from_file(path / "tokens")
    with running(learner, tokens=tokens, hosts=("forest.example",)) as port:
        yield port


def test_tokens_say_who_may_read_and_who_may_write(guarded):
    question, change = {"rows": [[0.2]]}, {"keys": ["a"]}
    for token in (None, "", "wrong", READ[:-1], READ + "r", WRITE.upper(), "é" * 24):
        client = Client(guarded)
        if token is not None:
            client.headers["Authorization"] = f"Bearer {token}".encode()
        client.post("/v1/predict", question, code=401)
        client.post("/v1/forget", change, code=401)
        for path in ("/v1/stats", "/v1/forest", "/v1/events", "/metrics"):
            assert client.ask("GET", path)[0] == 401, path
    reader, writer = Client(guarded, READ), Client(guarded, WRITE)
    assert reader.post("/v1/predict", question)["labels"] == ["low"]
    for path in ("/v1/forget", "/v1/learn", "/v1/correct"):
        reader.post(path, change, code=403)
    basic = Client(guarded)
    basic.headers["Authorization"] = f"Basic {WRITE}"
    basic.post("/v1/forget", change, code=401)
    assert writer.post("/v1/predict", question)["labels"] == ["low"]
    assert writer.post("/v1/learn", {"rows": [[2.0]], "labels": ["low"]})["learned"] == 1
    for path in ("/", "/health", "/docs", "/static/main.js"):  # there are no data in these
        assert Client(guarded).ask("GET", path)[0] == 200


def test_tokens_are_compared_in_constant_time(monkeypatch):
    """Both of them, whatever is given, by what the standard library has for it."""
    from opforest.apps.serve import security

    compared = []

    def compare(given, known):
        compared.append(known)
        return given == known

    monkeypatch.setattr(security.hmac, "compare_digest", compare)
    tokens = Tokens(READ, WRITE)
    for given in ("", "x", READ, WRITE):
        compared.clear()
        tokens.allows(given, writing=True)
        assert compared == [WRITE.encode(), READ.encode()]


@pytest.mark.parametrize("text", ["", "read abc\n", f"read {READ}\nwrite {READ}\n",
                                  f"read {READ}\nwrite short\n", f"{READ}\n{WRITE}\n"])  # fmt: skip
def test_token_files_are_checked(tmp_path, text):
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(ValueError, match="tokens"):
        Tokens.from_file(tmp_path / "tokens")


def test_foreign_hosts_and_origins_are_refused(guarded, port):
    for name in ("evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example"):
        client = Client(guarded, WRITE, host=name)
        client.post("/v1/predict", {"rows": [[0.2]]}, code=421)
    for name in ("forest.example", "FOREST.example:80", "localhost:5", "127.0.0.1", "[::1]:80"):
        client = Client(guarded, READ, host=name)
        client.post("/v1/predict", {"rows": [[0.2]]})
    client = Client(port)
    for origin in ("http://evil.example", "null", f"http://localhost:{port}"):
        status, *_ = client.ask("POST", "/v1/forget", b'{"keys": []}', Origin=origin,
                                Content_Type="application/json")  # fmt: skip
        assert status == 403, origin
    status, *_ = client.ask("POST", "/v1/forget", b'{"keys": []}', Content_Type="application/json",
                            Origin=f"http://127.0.0.1:{port}")  # fmt: skip
    assert status == 200


def test_answers_have_strict_headers_and_nothing_from_elsewhere(client):
    for path in ("/", "/docs", "/v1/stats", "/nothing", "/static/style.css"):
        _, headers, content = client.ask("GET", path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        assert b"https://" not in content
        assert b"//cdn" not in content
    assert client.ask("OPTIONS", "/v1/learn", Origin="http://evil.example")[0] == 403


def test_openapi_describes_every_endpoint(client):
    described = (whole := client.get("/openapi.json"))["paths"]
    names = ("learn", "predict", "explain", "forget", "correct", "search")
    posts = {f"/v1/{name}" for name in names}
    gets = {"/v1/stats", "/v1/forest", "/v1/forest/path", "/v1/suspects", "/v1/events"}
    assert posts | gets | {"/health", "/metrics"} == set(described)
    for path in posts:
        content = described[path]["post"]["requestBody"]["content"]["application/json"]
        schema = whole["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        assert schema["required"]
        assert schema["additionalProperties"] is False
    _, _, page = client.ask("GET", "/docs")
    assert all(path.encode() in page for path in described)


def test_metrics_count(client):
    client.post("/v1/predict", {"rows": [[0, 0]]})
    _, headers, content = client.ask("GET", "/metrics")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    numbers = dict(line.rsplit(" ", 1) for line in content.decode().splitlines() if line[0] != "#")
    assert float(numbers["opforest_examples"]) == 60
    assert float(numbers['opforest_requests_total{path="/v1/predict",status="200"}']) >= 1
    assert float(numbers["opforest_commit_seconds_total"]) > 0


def test_the_forest_is_drawn_on_a_plane_that_stays(client):
    drawn = client.get("/v1/forest")
    assert len(drawn["points"]) == len(drawn["keys"]) == 60
    assert drawn["is_projected"] is False
    assert sorted(drawn["keys"]) == sorted(KEYS)
    fitted = OPFClassifier().fit(X, Y).forest_
    assert len(drawn["prototypes"]) == len(fitted.prototypes)
    client.post("/v1/learn", {"rows": [[9, 9]], "labels": ["left"], "keys": ["far"]})
    again = client.get(f"/v1/forest?plane={drawn['plane']}")
    assert again["bounds"] == drawn["bounds"]
    assert client.get("/v1/forest")["bounds"] != drawn["bounds"]
    assert client.ask("GET", "/v1/forest?plane=x")[0] == 422
    client.post("/v1/forget", {"keys": ["far"]})


def connect_to_events(port):
    """Return a connection to which events are sent from now on, and what has come already."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    content = b""
    while b"retry:" not in content:  # what a listener is told first
        content += connection.recv(65536)
    return connection, content


def listen(connection, content, until):
    """Return the events that come, up to one of a kind."""
    found = []
    with connection:
        while not found or found[-1]["kind"] != until:
            content += connection.recv(65536)
            found = [json.loads(line[6:]) for line in content.split(b"\n")
                     if line.startswith(b"data: ") and line.endswith(b"}")]  # fmt: skip
    return found


def test_events_tell_of_changes(client, port):
    listener = connect_to_events(port)
    client.post("/v1/learn", {"rows": [[5, 5]], "labels": ["new"], "keys": ["e"]})
    client.post("/v1/forget", {"keys": ["e"]})
    found = listen(*listener, "forget")
    assert [event["kind"] for event in found] == ["learn", "forget"]
    assert found[0]["keys"] == ["e"]
    assert found[1]["keys"] == []  # what was forgotten is not told any more
    while b"opforest_listeners 0\n" not in client.ask("GET", "/metrics")[2]:
        time.sleep(0.01)
    many = [connect_to_events(port)[0] for _ in range(3)]
    assert b" 503 " in raw(port, b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for connection in many:
        connection.close()


def serve(*arguments):
    process = subprocess.Popen(
        [*COMMAND, "serve", *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    line = process.stdout.readline()
    assert "http://" in line, process.stderr.read()
    return process, int(line.split("127.0.0.1:")[1].split("/")[0])


def test_a_process_finishes_what_was_begun_and_survives_kills(tmp_path):
    """SIGKILL while clients learn and forget loses nothing; SIGTERM ends with all answered."""
    path = tmp_path / "a.db"
    with Learner(path) as learner:
        learner.learn(X[:20], Y[:20], KEYS[:20])
    acknowledged, refused, lock = {}, [], threading.Lock()

    def work(port, name):
        client = Client(port)
        try:
            for i in range(10_000):
                key = f"{name}-{i}"
                x = [float(i % 7), float(hash(name) % 5)]
                client.post("/v1/learn", {"rows": [x], "labels": ["left"], "keys": [key]})
                with lock:
                    acknowledged[key] = True
                if i % 5 == 4:
                    with lock:
                        acknowledged[f"{name}-{i - 2}"] = None  # neither, until it is answered
                    client.post("/v1/forget", {"keys": [f"{name}-{i - 2}"]})
                    with lock:
                        acknowledged[f"{name}-{i - 2}"] = False
        except (OSError, AssertionError, Exception) as error:
            refused.append(error)

    for life, end in enumerate((signal.SIGKILL, signal.SIGTERM)):
        process, port = serve(path)
        threads = [threading.Thread(target=work, args=(port, f"{life}{c}")) for c in "abc"]
        for thread in threads:
            thread.start()
        events = socket.create_connection(("127.0.0.1", port))
        events.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        known = len(acknowledged)
        while len(acknowledged) < known + 20:
            assert not refused or life, refused
            time.sleep(0.01)
        process.send_signal(end)
        assert process.wait() in (0, -end)
        for thread in threads:
            thread.join()
        events.close()
        if end == signal.SIGTERM:
            assert process.returncode in (0, -signal.SIGTERM)
            assert "Traceback" not in process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        with Learner(path) as learner:
            there = set(learner.rows()[0])
            assert learner.audit().ok
        assert {key for key, known in acknowledged.items() if known} <= there
        assert not {key for key, known in acknowledged.items() if known is False} & there
    assert len(acknowledged) > 20
