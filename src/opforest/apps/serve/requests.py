"""Reading requests: untrusted JSON, within limits of size and time."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from opforest.apps.serve.problems import ProblemError, as_problem
from opforest.learner import RowError
from opforest.learner.settings import Settings
from opforest.persistence.container import refuse_constant

NUMBERS = {int, float}
CELLS = {int, float, str, type(None)}

#: Bytes of a body and cells of a table that are parsed or checked in about a millisecond.
LARGE, MANY_CELLS = 1 << 16, 10_000


@dataclass(frozen=True)
class Limits:
    """How much a service accepts."""

    body: int = 16 * 1024 * 1024  #: bytes of a request
    rows: int = 10_000  #: rows of a request
    seconds: float = 30.0  #: time that a request may take to arrive
    waiting: int = 256  #: changes in the queue
    listeners: int = 64  #: clients that follow events


async def offload(size: int, limit: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function here if there is little to do, otherwise outside the event loop."""
    if size <= limit:
        return call(*arguments)
    return await asyncio.to_thread(call, *arguments)


class LimitedRequest(Request):
    """A request whose body is JSON, within the limits of the service."""

    @property
    def limits(self) -> Limits:
        """Limits of the service."""
        limits: Limits = self.app.state.service.limits
        return limits

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the body in chunks."""
        size = 0
        async for chunk in super().stream():
            size += len(chunk)
            self._require_size(size)
            yield chunk

    async def body(self) -> bytes:
        """Return the body."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ProblemError(415, "send JSON, with the header Content-Type: application/json.")
        declared = self.headers.get("content-length", "0")
        if declared.isascii() and declared.isdecimal():
            self._require_size(int(declared[:18]))
        seconds = self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                content = await super().body()
        except TimeoutError:
            raise ProblemError(408, f"a request must arrive within {seconds:g} seconds.") from None
        except ClientDisconnect:
            raise ProblemError(400, "the connection was lost.") from None
        if not content:
            raise ProblemError(400, "the body must be a JSON object, got nothing.")
        return content

    async def json(self) -> Any:
        """Return the body as a dict."""
        content = await self.body()
        return await offload(len(content), LARGE, parse, content)

    def _require_size(self, size: int) -> None:
        if size > self.limits.body:
            raise ProblemError(413, f"a request must have at most {self.limits.body} bytes.")


class BodyRoute(APIRoute):
    """A route that reads limited requests, answers errors as problems and counts both."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            begin = perf_counter()
            try:
                response = await answer(LimitedRequest(request.scope, request.receive))
            except (HTTPException, RequestValidationError, ValueError, MemoryError) as error:
                response = as_problem(error).response()
            seconds = perf_counter() - begin
            request.app.state.service.request_metrics.add(self.path, response.status_code, seconds)
            return response

        return handle


def parse(content: bytes) -> dict[str, Any]:
    """Return the JSON object in a body."""
    hooks: dict[str, Any] = {}
    if len(content) > LARGE:
        # The compiled parser holds the GIL, except while it calls functions in Python.
        hooks = {
            "parse_float": lambda digits: float(digits),
            "parse_int": lambda digits: int(digits),
        }
    try:
        body = json.loads(content, parse_constant=refuse_constant, **hooks)
    except (ValueError, RecursionError) as error:
        reason = "too many brackets" if isinstance(error, RecursionError) else str(error)[:200]
        raise ProblemError(400, f"the body is not JSON: {reason}.") from None
    if not isinstance(body, dict):
        raise ProblemError(400, "the body must be a JSON object.")
    return body


def read_table(rows: list[Any], known: Settings, max_rows: int) -> list[list[Any]]:
    """Return rows, each a list or an object by name, as lists in the order of the features.

    Values are numbers; if the store prepares its rows, also text and null. If the store has no
    features yet, a first row that is an object names them.
    """
    names, width, has_cells = known.feature_names, known.n_features, known.preparation is not None
    if len(rows) > max_rows:
        raise ProblemError(413, f"a request must have at most {max_rows} rows, got {len(rows)}.")
    if names is None and width is None and rows and isinstance(rows[0], dict):
        names = tuple(rows[0])
    table, types = [], CELLS if has_cells else NUMBERS
    for i, row in enumerate(rows):
        if type(row) is dict:
            row = _in_order(row, names, i)
        elif type(row) is not list:
            raise RowError(f"row {i} must be a list or an object of numbers.", i)
        if not {*map(type, row)} <= types:
            k = next(k for k, value in enumerate(row) if type(value) not in types)
            column = k if names is None or k >= len(names) else names[k]
            wanted = "a number or text" if has_cells else "a number"
            got = {type(None): "null", bool: "a boolean", str: "text", list: "a list"}
            raise RowError(
                f"row {i}, column {column!r} must be {wanted}, got "
                f"{got.get(type(row[k]), 'an object')}.", i, column,
            )  # fmt: skip
        width = len(row) if width is None else width
        if len(row) != width:
            raise RowError(f"row {i} must have {width} features, got {len(row)}.", i)
        table.append(row)
    return table


def _in_order(row: dict[str, Any], names: tuple[str, ...] | None, i: int) -> list[Any]:
    if names is None:
        raise RowError(f"row {i} must be a list: the features have no names.", i)
    for name in names:
        if name not in row:
            raise RowError(f"row {i} has no feature {name!r}.", i, name)
    if len(row) > len(names):
        extra = next(name for name in row if name not in names)
        raise RowError(f"row {i}: there is no feature {extra!r:.50}.", i, extra[:50])
    return [row[name] for name in names]
