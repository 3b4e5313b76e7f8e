"""What /openapi.json says of errors is what clients get."""

import json

import pytest

pytest.importorskip("fastapi")

from tests.support.service import Client, running

from opforest import Learner
from opforest.apps.serve.requests import Limits
from opforest.apps.serve.security import Tokens

TOKENS = Tokens("r" * 20, "w" * 20)
PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    learner = Learner(tmp_path_factory.mktemp("store") / "a.db")
    learner.learn([[0.0, 0.0], [1.0, 1.0]], ["low", "high"], ["a", "b"])
    with running(learner, tokens=TOKENS, limits=Limits(body=500, rows=5)) as port:
        yield port


@pytest.fixture(scope="module")
def described(port):
    return Client(port).get("/openapi.json")


REQUESTS = [
    *(("POST", path, body, {})
      for path in ("/v1/learn", "/v1/forget", "/v1/correct", "/v1/predict", "/v1/explain")
      for body in ("{", "[]", "{}", json.dumps({"rows": [[0]] * 400}), '{"rows": [[1, "x"]]}')),
    ("POST", "/v1/learn", '{"rows": [[9, 9]], "labels": ["low"], "keys": ["a"]}', {}),
    ("POST", "/v1/learn", '{"rows": [[9, 9], 1], "labels": ["low", "low"]}', {}),
    ("POST", "/v1/learn", "{}", {"Content_Type": "text/plain"}),
    ("POST", "/v1/learn", "{}", {"Authorization": "Bearer unknown"}),
    ("POST", "/v1/learn", "{}", {"Authorization": f"Bearer {TOKENS.read}"}),
    ("POST", "/v1/predict", "{}", {"Host": "elsewhere.example"}),
    ("POST", "/v1/forget", '{"keys": ["unknown"]}', {}),
    ("POST", "/v1/correct", '{"key": "unknown", "label": "low"}', {}),
    ("POST", "/v1/search", '{"key": "a", "n": 0}', {}),
    ("POST", "/v1/search", '{"key": "\\ud800"}', {}),
    ("POST", "/v1/search", "{}", {"Authorization": "Bearer unknown"}),
    ("GET", "/v1/stats", None, {"Authorization": "no"}),
    ("GET", "/v1/stats", None, {"Origin": "http://elsewhere.example"}),
    ("GET", "/health", None, {"Host": "elsewhere.example"}),
    ("GET", "/v1/forest?plane=x", None, {}),
    ("GET", "/v1/suspects?n=0", None, {}),
    ("GET", "/v1/suspects?n=101", None, {}),
    ("GET", "/v1/suspects?n=many", None, {}),
    ("GET", "/v1/forest/path", None, {}),
    ("GET", "/v1/forest/path?plane=99&x=0&y=0", None, {}),
    ("GET", "/v1/forest/path?plane=1&x=nan&y=a", None, {}),
    ("GET", "/metrics", None, {"Authorization": "no"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "headers"), REQUESTS)
def test_every_error_is_described(port, described, method, path, body, headers):
    client = Client(port, TOKENS.write)
    status, answered, content = client.ask(
        method, path, body, **{"Content_Type": "application/json", **headers}
    )
    assert 400 <= status < 500
    assert answered["content-type"] == PROBLEM
    problem = json.loads(content)
    responses = described["paths"][path.partition("?")[0]][method.lower()]["responses"]
    assert [*responses[str(status)]["content"]] == [PROBLEM]
    schema = described["components"]["schemas"]["Problem"]
    assert set(schema["required"]) <= set(problem) <= set(schema["properties"])


def test_no_error_is_described_as_anything_else(described):
    schemas = set(described["components"]["schemas"])
    answers = {"Suspects", "Suspect", "SuspectVoter", "Search", "SearchResult", "Example"}
    assert schemas == {"Problem", "Learn", "Predict", "Explain", "Forget", "Correct"} | answers
    for methods in described["paths"].values():
        for operation in methods.values():
            errors = {status: one for status, one in operation["responses"].items()
                      if status >= "400"}  # fmt: skip
            assert errors
            assert all([*one["content"]] == [PROBLEM] for one in errors.values())
            assert all(one["description"] for one in errors.values())


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/learn", "POST"),
        ("DELETE", "/v1/predict", "POST"),
        ("POST", "/v1/stats", "GET"),
        ("PUT", "/health", "GET"),
        ("POST", "/", "GET"),
        ("POST", "/openapi.json", "GET"),
        ("POST", "/static/style.css", "GET"),
    ],
)
def test_methods_that_are_not_allowed_are_told_which_are(port, method, path, allowed):
    status, headers, content = Client(port, TOKENS.write).ask(method, path)
    assert (status, headers["content-type"]) == (405, PROBLEM)
    assert allowed in headers["allow"].split(", ")
    assert method not in headers["allow"].split(", ")
    assert json.loads(content)["status"] == 405
