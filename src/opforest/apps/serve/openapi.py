"""The API description: errors for /openapi.json, and the page /docs."""

import html
import json
from pathlib import Path
from string import Template
from typing import Any

from opforest.apps.serve.problems import TITLES
from opforest.apps.serve.security import OPEN

DESCRIPTION = (
    "An optimum-path forest on a table of examples. Learned examples are on disk when the answer "
    "arrives; forgotten examples remain in no file. Errors are problem details (RFC 9457) with the "
    "row and column of the mistake. An example is identified by its key; its id is its number in "
    "the store, from 1. If the service requires tokens, send Authorization: Bearer TOKEN."
)

PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
        "row": {"type": "integer", "description": "The invalid row, counted from 0."},
        "column": {"type": ["string", "integer"], "description": "The invalid column."},
    },
    "required": ["type", "title", "status", "detail"],
}

#: Error statuses of all requests, of those with a body, and of each path.
ALL, WITH_BODY = {421}, {400, 408, 413, 415, 422, 503, 507}
BY_PATH = {
    "/v1/learn": {409},
    "/v1/forget": {404},
    "/v1/correct": {404},
    "/v1/stats": {503, 507},
    "/v1/forest": {422, 503, 507},
    "/v1/forest/path": {404, 422, 503, 507},
    "/v1/suspects": {422, 503, 507},
    "/v1/events": {503},
    "/metrics": {503, 507},
}


def describe_errors(path: str, method: str) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route."""
    found = ALL | BY_PATH.get(path, set()) | (WITH_BODY if method == "POST" else set())
    if path not in OPEN:
        found |= {401, 403}
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": TITLES[status], "content": content}
            for status in sorted(found)}  # fmt: skip


def render_page(description: dict[str, Any], url: str) -> str:
    """Return an OpenAPI description as HTML; ``url`` is the address of the service."""
    template = Template((Path(__file__).parent / "docs.html").read_text("utf-8"))
    schemas, sections = description["components"]["schemas"], []
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            sections.append(
                f'<section><h2><span class="method">{method.upper()}</span> <code>{path}</code>'
                f"</h2>\n<p>{html.escape(operation['description'])}</p>"
            )
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                name = schema["$ref"].rpartition("/")[2]
                sections.append(_render_body(schemas[name], html.escape(url.rstrip("/") + path)))
            sections.append("</section>")
    version = html.escape(description["info"]["version"])
    return template.substitute(
        version=version, description=html.escape(DESCRIPTION), sections="\n".join(sections)
    )


def _render_body(schema: dict[str, Any], url: str) -> str:
    members = schema["properties"]
    names = [f"<code>{name}</code>{'' if name in schema['required'] else ' (optional)'}"
             for name in members]  # fmt: skip
    example = {name: member["examples"][0] for name, member in members.items()
               if "examples" in member}  # fmt: skip
    return (
        f"<p>Members: {', '.join(names)}.</p>\n<pre>curl -H 'Content-Type: application/json' "
        f"-d '{html.escape(json.dumps(example))}' {url}</pre>"
    )
