"""Access to the service: hosts, origins and tokens."""

import hmac
import ipaddress
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opforest.apps.serve.headers import HEADERS
from opforest.apps.serve.problems import ProblemError

#: Paths that need no token, because they contain no data.
OPEN = ("/", "/health", "/docs", "/openapi.json", "/favicon.svg")

#: Paths, or beginnings of paths, that change the store.
WRITING = ("/v1/learn", "/v1/forget", "/v1/correct")

MIN_TOKEN_LENGTH = 16


@dataclass(frozen=True)
class Tokens:
    """A token to read, and a token to read and write."""

    read: str
    write: str

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read tokens from a file with the lines ``read TOKEN`` and ``write TOKEN``."""
        found: dict[str, str] = {}
        for line in Path(path).read_text("utf-8").splitlines():
            words = line.split()
            if words and not line.startswith("#"):
                found[words[0]] = words[1] if len(words) == 2 else ""
        if set(found) != {"read", "write"} or found["read"] == found["write"]:
            raise ValueError(
                f"{path} must have two lines, `read TOKEN` and `write TOKEN`, with two different "
                f"tokens, such as {secrets.token_urlsafe(24)}."
            )
        for name, token in found.items():
            if len(token) < MIN_TOKEN_LENGTH:
                raise ValueError(
                    f"{path}: the {name} token must have at least {MIN_TOKEN_LENGTH} characters."
                )
        return cls(**found)

    def allows(self, given: str, writing: bool) -> bool:
        """Return whether a token permits an access; the time does not depend on the token."""
        token = given.encode("utf-8", "surrogatepass")
        writes = hmac.compare_digest(token, self.write.encode())
        reads = hmac.compare_digest(token, self.read.encode())
        return writes or (reads and not writing)


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach a host."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_name(header: str) -> str:
    """Return the name in a ``Host`` header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


class SecurityMiddleware:
    """Refuses unauthorized requests, and adds headers to all answers.

    An attacker's domain name can point to this machine (DNS rebinding), so only addresses,
    ``localhost`` and the names in ``hosts`` are served. A request with an ``Origin``, from a
    browser, must come from the service's own pages.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens | None, hosts: tuple[str, ...]) -> None:
        self.app, self.tokens = app, tokens
        self.hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self.app
        try:
            self._check(Headers(scope=scope), scope["path"])
        except ProblemError as problem:
            answer = problem.response()
        await answer(scope, receive, send_with_headers)

    def _check(self, headers: Headers, path: str) -> None:
        host = headers.get("host", "")
        name = _host_name(host)
        if not _is_address(name) and name not in self.hosts:
            raise ProblemError(421, "unknown host name; allow it with --allow-host.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise ProblemError(403, "requests from other sites are not allowed.")
        if self.tokens is None or path in OPEN or path.startswith("/static/"):
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_known = self.tokens.allows(token.strip(), writing=False)
        if scheme.lower() != "bearer" or not is_known:
            raise ProblemError(401, "send the header Authorization: Bearer TOKEN.")
        if not self.tokens.allows(token.strip(), path.startswith(WRITING)):
            raise ProblemError(403, "this token permits reading, but not writing.")
