"""What a request says: JSON that may be anything, until it is looked at."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request

from opforest.apps.serve.limits import Limits
from opforest.apps.serve.problems import ProblemError
from opforest.persistence.container import refuse_constant

NUMBERS = {int, float}
CELLS = {int, float, str, type(None)}

#: Bytes of a body that are read, and cells of a table that are checked, in a millisecond or so.
LARGE, MANY_CELLS = 1 << 16, 10_000


async def read_body(request: Request, limits: Limits) -> dict[str, Any]:
    """Return the JSON object of a request, within the limits of size and time."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ProblemError(415, "send JSON, with the header Content-Type: application/json.")
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdecimal() and int(declared[:18]) > limits.body:
        raise ProblemError(413, f"a request may have {limits.body} bytes.")
    try:
        async with asyncio.timeout(limits.seconds):
            content = await _read_all(request, limits.body)
    except TimeoutError:
        raise ProblemError(
            408, f"a request must arrive within {limits.seconds:g} seconds."
        ) from None
    except ClientDisconnect:
        raise ProblemError(400, "the connection was lost.") from None
    body: dict[str, Any] = await aside(len(content), LARGE, parse, content)
    return body


async def aside(size: int, most: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function here if there is little to do, and else in a thread: others are waiting."""
    if size <= most:
        return call(*arguments)
    return await asyncio.to_thread(call, *arguments)


async def _read_all(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise ProblemError(413, f"a request may have {most} bytes.")
        parts.append(part)
    return b"".join(parts)


def parse(content: bytes) -> dict[str, Any]:
    """Return the JSON object that bytes are, or say what is wrong with them."""
    try:
        is_large = len(content) > LARGE
        body = json.loads(
            content, parse_constant=refuse_constant, parse_float=_float if is_large else None,
            parse_int=_int if is_large else None,
        )  # fmt: skip
    except (ValueError, RecursionError) as error:
        reason = "too many brackets" if isinstance(error, RecursionError) else str(error)[:200]
        raise ProblemError(400, f"the body is not JSON: {reason}.") from None
    if not isinstance(body, dict):
        raise ProblemError(400, "the body must be a JSON object.")
    return body


# Compiled code that reads a large body keeps all threads waiting until it comes to a function in
# Python, between the lines of which they have their turn.


def _float(digits: str) -> float:
    return float(digits)


def _int(digits: str) -> int:
    return int(digits)


def take(body: dict[str, Any], **wanted: tuple[type, ...]) -> list[Any]:
    """Return the members of a body in the order asked for; None where an optional one is missing.

    ``wanted`` are their types; one is optional if ``NoneType`` is among them.
    """
    unknown = set(body) - set(wanted)
    if unknown:
        raise ProblemError(
            422, f"there is no member {min(unknown)!r:.50}; there are {list(wanted)}."
        )
    found = []
    for name, types in wanted.items():
        value = body.get(name)
        if type(value) not in types:
            names = " or ".join(TYPE_NAMES[each] for each in types if each is not type(None))
            got = "nothing" if name not in body else TYPE_NAMES.get(type(value), "something else")
            raise ProblemError(422, f"{name!r} must be {names}, got {got}.")
        found.append(value)
    return found


TYPE_NAMES: dict[type, str] = {
    list: "a list", dict: "an object", str: "text", bool: "true or false", int: "a whole number",
    float: "a number", type(None): "null",
}  # fmt: skip


def read_table(
    rows: list[Any],
    names: tuple[str, ...] | None,
    width: int | None,
    most: int,
    cells: bool = False,
) -> list[list[Any]]:
    """Return rows of numbers in the order of the features; each is a list, or an object by name.

    If they are ``cells``, text and null will do as well.

    Where names are not known yet, those of the first object are taken, in its order.
    """
    if len(rows) > most:
        raise ProblemError(413, f"a request may have {most} rows, got {len(rows)}.")
    first = rows[0] if rows else None
    if names is None and isinstance(first, dict) and width is None:
        names = tuple(first)
    table, types = [], CELLS if cells else NUMBERS
    for i, row in enumerate(rows):
        if type(row) is dict:
            row = _in_order(row, names, i)
        elif type(row) is not list:
            raise ProblemError(422, f"row {i} must be a list or an object of numbers.", row=i)
        if not {*map(type, row)} <= types:
            k = next(k for k, value in enumerate(row) if type(value) not in types)
            column = k if names is None or k >= len(names) else names[k]
            wanted = "a number or text" if cells else "a number"
            raise ProblemError(
                422, f"row {i}, column {column!r} must be {wanted}, got {_shown(row[k])}.", row=i,
                column=column,
            )  # fmt: skip
        width = len(row) if width is None else width
        if len(row) != width:
            raise ProblemError(422, f"row {i} must have {width} features, got {len(row)}.", row=i)
        table.append(row)
    return table


def _in_order(row: dict[str, Any], names: tuple[str, ...] | None, i: int) -> list[Any]:
    if names is None:
        raise ProblemError(
            422, f"row {i}: the features of this store have no names: send lists.", row=i
        )
    for name in names:
        if name not in row:
            raise ProblemError(422, f"row {i} has no feature {name!r}.", row=i, column=name)
    if len(row) > len(names):
        more = next(name for name in row if name not in names)
        raise ProblemError(
            422, f"row {i}: there is no feature {more!r:.50}.", row=i, column=more[:50]
        )
    return [row[name] for name in names]


def _shown(value: Any) -> str:
    return {type(None): "null", bool: "a boolean", str: "text"}.get(type(value), "something else")
