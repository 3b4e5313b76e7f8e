"""Errors as problem details in JSON (RFC 9457)."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from opforest.learner import KeyConflictError, RowError, StoreError, UnknownKeyError

TITLES = {
    400: "The request is malformed",
    401: "A token is required",
    403: "This is not allowed",
    404: "Not found",
    405: "This method is not allowed here",
    408: "The request took too long",
    409: "This contradicts an example in the store",
    413: "The request is too large",
    415: "The request must be JSON",
    421: "Unknown host name",
    422: "The request is invalid",
    500: "This is a bug",
    503: "The service is busy or out of memory",
    507: "The store cannot be written",
}

#: Headers by status; StaticFiles does not name the methods that it allows.
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "GET, HEAD"},
           503: {"Retry-After": "1"}}  # fmt: skip

#: Errors of the learner; a subclass comes before its base class.
STATUS = {UnknownKeyError: 404, KeyConflictError: 409, StoreError: 507, ValueError: 422}


class ProblemError(HTTPException):
    """An error of a request; ``members`` are further members of the answer, such as ``row``."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.members = {name: value for name, value in members.items() if value is not None}

    def response(self) -> Response:
        """Return the error as a response."""
        status = self.status_code
        body = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status,
                "detail": self.detail, **self.members}  # fmt: skip
        headers = {**HEADERS.get(status, {}), **(self.headers or {})}
        return Response(json.dumps(body), status, headers, "application/problem+json")


def as_problem(error: Exception) -> ProblemError:
    """Return the problem that describes an error."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        return ProblemError(error.status_code, str(error.detail), error.headers)
    if isinstance(error, RequestValidationError):
        return ProblemError(422, describe_validation(error))
    if isinstance(error, MemoryError):
        known = str(error) if type(error) is MemoryError else ""
        return ProblemError(503, known or "there is not enough memory. Send less, or try later.")
    if isinstance(error, RowError):
        return ProblemError(422, str(error), row=error.row, column=error.column)
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            detail = str(error).replace("Pass replace=True", 'Send "replace": true')
            return ProblemError(status, detail)
    return ProblemError(500, f"please report it: {type(error).__name__}")


def describe_validation(error: RequestValidationError) -> str:
    """Return what must hold, what was given and where, in a sentence."""
    first, *others = error.errors()
    name = str(first["loc"][1])
    if first["type"] == "missing":
        return f"{name!r} is required."
    if first["type"] == "extra_forbidden":
        return f"unknown member {name!r:.50}; /docs lists the members."
    # A value that may have several types has one error for each of them.
    found = [first, *(other for other in others if other["loc"][1] == name)]
    wanted = " or ".join(
        one["msg"].removeprefix("Input should be ").partition(",")[0] for one in found
    )
    given = first["input"]
    kinds: dict[type, str] = {list: "a list", dict: "an object"}
    got = kinds.get(type(given)) or json.dumps(given)
    return f"{name!r} must be {wanted}, got {got:.50}."


async def on_error(_: Request, error: Exception) -> Response:
    """Answer an error with its problem details."""
    return as_problem(error).response()
