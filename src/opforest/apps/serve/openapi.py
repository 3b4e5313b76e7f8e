"""What /openapi.json and /docs say of the service: made here, with nothing from elsewhere."""

import html
import json
from typing import Any

from fastapi import FastAPI

from opforest.apps.serve.guard import OPEN
from opforest.apps.serve.problems import TITLES

DESCRIPTION = (
    "An optimum-path forest on a table of examples. What was learned is on disk when the answer "
    "comes; what was forgotten is in no file. Errors are problem details (RFC 9457), with the row "
    "and the column that is wrong. An example is named by its key; its id is its "
    "number in the store, from 1. Where tokens are needed, send Authorization: Bearer TOKEN."
)

#: Text and null only where the store prepares rows.
CELL = {"type": ["number", "string", "null"]}
ROW = {
    "oneOf": [
        {"type": "array", "items": CELL},
        {"type": "object", "additionalProperties": CELL},
    ]
}
LABEL = {"type": ["string", "number", "boolean"]}
#: No label only where the store is semi-supervised.
LABELS = {"type": "array", "items": {"type": [*LABEL["type"], "null"]}}
KEYS = {"type": "array", "items": {"type": "string"}}
FLAG = {"type": "boolean", "default": False}

#: Members of the bodies, those that are required, and an example.
BODIES: dict[str, tuple[dict[str, Any], list[str], dict[str, Any]]] = {
    "/v1/learn": (
        {"rows": {"type": "array", "items": ROW}, "labels": LABELS,
         "keys": KEYS, "replace": FLAG},
        ["rows", "labels"],
        {"rows": [[5.1, 3.5], [6.2, 2.9]], "labels": ["cat", "dog"], "keys": ["img-1", "img-2"]},
    ),
    "/v1/predict": (
        {"rows": {"type": "array", "items": ROW}, "proba": FLAG},
        ["rows"],
        {"rows": [[5.0, 3.4]], "proba": True},
    ),
    "/v1/explain": ({"row": ROW}, ["row"], {"row": [5.0, 3.4]}),
    "/v1/forget": ({"keys": KEYS, "missing_ok": FLAG}, ["keys"], {"keys": ["img-1"]}),
    "/v1/correct": (
        {"key": {"type": "string"}, "label": LABEL},
        ["key", "label"],
        {"key": "img-2", "label": "cat"},
    ),
}  # fmt: skip


def body_of(path: str) -> dict[str, Any]:
    """Return what OpenAPI says of the body of a request."""
    if path not in BODIES:
        return {}
    members, required, example = BODIES[path]
    schema = {"type": "object", "properties": members, "required": required,
              "additionalProperties": False}  # fmt: skip
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


#: An error, as ``problems.ProblemError`` says it.
PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
        "row": {"type": "integer", "description": "Which row is wrong, counted from 0."},
        "column": {"type": ["string", "integer"], "description": "Which column is wrong."},
    },
    "required": ["type", "title", "status", "detail"],
}

#: What may be wrong with a request, whoever answers it; with a body; and with each path.
ALL, WITH_BODY = (421,), (400, 408, 413, 415, 422)
BY_PATH = {
    "/v1/learn": (409, 503, 507),
    "/v1/forget": (404, 503, 507),
    "/v1/correct": (404, 503, 507),
    "/v1/predict": (503, 507),
    "/v1/explain": (503, 507),
    "/v1/stats": (503, 507),
    "/v1/forest": (422, 503, 507),
    "/v1/forest/path": (404, 422, 503, 507),
    "/v1/events": (503,),
    "/metrics": (503, 507),
}


def problems_of(path: str, method: str) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of the errors that a request may be answered with."""
    found = {*ALL, *BY_PATH.get(path, ()), *(WITH_BODY if method == "POST" else ())}
    if path not in OPEN:
        found |= {401, 403}
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": TITLES[status], "content": content}
            for status in sorted(found)}  # fmt: skip


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of the service, with what FastAPI does not know of its errors."""
    if app.openapi_schema is None:
        described = FastAPI.openapi(app)
        described["components"] = {"schemas": {"Problem": PROBLEM}}
        app.openapi_schema = described
    return app.openapi_schema


def page(described: dict[str, Any], url: str) -> str:
    """Return the description as a page; ``url`` is where the service is reached."""
    parts = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            parts.append(_part(path, method.upper(), operation, url.rstrip("/")))
    return PAGE.format(
        version=html.escape(described["info"]["version"]),
        description=html.escape(DESCRIPTION),
        parts="\n".join(parts),
    )


def _part(path: str, method: str, operation: dict[str, Any], url: str) -> str:
    name = f'<span class="method">{method}</span> <code>{html.escape(path)}</code>'
    lines = [f"<section><h2>{name}</h2>"]
    lines.append(f"<p>{html.escape(operation.get('summary') or '')}</p>")
    body = operation.get("requestBody")
    if body:
        content = body["content"]["application/json"]
        required = content["schema"]["required"]
        names = [
            f"<code>{name}</code>{'' if name in required else ' (optional)'}"
            for name in content["schema"]["properties"]
        ]
        example = html.escape(json.dumps(content["example"]))
        lines.append(f"<p>Members: {', '.join(names)}.</p>")
        lines.append(
            f"<pre>curl -H 'Content-Type: application/json' -d '{example}' "
            f"{html.escape(url + path)}</pre>"
        )
    return "\n".join([*lines, "</section>"])


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>opforest: the service</title>
<link rel="icon" href="/favicon.svg">
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="docs">
<main>
<h1>opforest <small>{version}</small></h1>
<p>{description} The whole description is <a href="/openapi.json">/openapi.json</a>; there is
<a href="/">a page to look at</a>.</p>
{parts}
</main>
</body>
</html>
"""
