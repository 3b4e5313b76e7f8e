"""Errors as RFC 9457 has them: problem details in JSON."""

import json
from typing import Any

from starlette.responses import Response

from opforest.learner import KeyConflictError, RowError, StoreError, UnknownKeyError

TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "This is not allowed",
    404: "Not found",
    405: "This method is not allowed here",
    408: "The request took too long",
    409: "This contradicts what is known",
    413: "The request is too large",
    415: "The request must be JSON",
    421: "This host is not served here",
    422: "The request cannot be fulfilled",
    500: "This is a bug",
    503: "The service cannot do this now",
    507: "The store cannot be written",
}


class ProblemError(Exception):
    """What is wrong with a request.

    Parameters
    ----------
    status : int
        The status of the response.
    detail : str
        What is wrong, and what to do.
    **more
        Further members, such as ``row`` and ``column``.
    """

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more

    def response(self) -> Response:
        """Return it as it is sent."""
        body = {
            "type": "about:blank",
            "title": TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": self.detail,
            **{name: value for name, value in self.more.items() if value is not None},
        }
        text = json.dumps(body, ensure_ascii=True)
        headers = {}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.status == 503:
            headers["Retry-After"] = "1"
        return Response(text, self.status, headers, "application/problem+json")


def as_problem(error: Exception) -> ProblemError:
    """Return the problem that an error of the learner is."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, RowError):
        return ProblemError(422, str(error), row=error.row, column=error.column)
    if isinstance(error, UnknownKeyError):
        return ProblemError(404, str(error))
    if isinstance(error, KeyConflictError):
        return ProblemError(409, str(error).replace("Pass replace=True", 'Send "replace": true'))
    if isinstance(error, StoreError):
        return ProblemError(507, str(error))
    if isinstance(error, MemoryError):
        known = str(error) if type(error) is MemoryError else ""
        return ProblemError(503, known or "there is not enough memory. Send less, or again later.")
    if isinstance(error, ValueError):
        return ProblemError(422, str(error))
    return ProblemError(500, f"please report it: {type(error).__name__}")
