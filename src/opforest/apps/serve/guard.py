"""Who may ask: hosts, origins and tokens; and headers for all answers."""

import hmac
import ipaddress
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opforest.apps.serve.problems import ProblemError

#: What answers say to browsers: run and load only what comes from here, in no frame.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

#: What is served to everybody: the page has no data in it.
OPEN = ("/", "/health", "/docs", "/openapi.json", "/favicon.svg")

#: What changes the store.
WRITING = ("/v1/learn", "/v1/forget", "/v1/correct", "/v1/play")

SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Tokens:
    """One token to read, and one to read and write."""

    read: str
    write: str

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read them from a file with the lines ``read TOKEN`` and ``write TOKEN``."""
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
        short = [name for name, token in found.items() if len(token) < SHORTEST_TOKEN]
        if short:
            raise ValueError(
                f"{path}: the token to {short[0]} must have at least {SHORTEST_TOKEN} characters."
            )
        return cls(**found)

    def allows(self, given: str, writing: bool) -> bool:
        """Tell whether a token is good enough; wrong ones all take the same time."""
        token = given.encode("utf-8", "surrogatepass")
        writes = hmac.compare_digest(token, self.write.encode())
        reads = hmac.compare_digest(token, self.read.encode())
        return writes or (reads and not writing)

    def knows(self, given: str) -> bool:
        """Tell whether a token is one of the two."""
        return self.allows(given, writing=False)


def is_loopback(host: str) -> bool:
    """Tell whether only programs on this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """Return the name in a ``Host`` header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


class SecurityMiddleware:
    """Turns away those who may not ask, and adds headers to every answer.

    An attacker can make a name of theirs point to this machine, so only addresses, ``localhost``
    and names given are served. Browsers must not write for other sites: whatever has an ``Origin``
    must have ours.
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
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            self._check(scope)
        except ProblemError as problem:
            await problem.response()(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host_of(host)):
            raise ProblemError(421, "this host is not served here: name it by --allow-host.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise ProblemError(403, "requests of other sites are not answered.")
        if self.tokens is not None and not self._is_open(scope["path"]):
            self._check_token(self.tokens, headers, scope["path"].startswith(WRITING))

    def _is_ours(self, host: str) -> bool:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return host in self.hosts
        return True

    @staticmethod
    def _is_open(path: str) -> bool:
        return path in OPEN or path.startswith("/static/")

    @staticmethod
    def _check_token(tokens: Tokens, headers: Any, writing: bool) -> None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        known = tokens.knows(given.strip())
        if scheme.lower() != "bearer" or not known:
            raise ProblemError(401, "send the header Authorization: Bearer TOKEN.")
        if not tokens.allows(given.strip(), writing):
            raise ProblemError(403, "this token may read, but not write.")
