"""The HTTP server that runs the service."""

import socket
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from opforest.apps.serve.problems import ProblemError

#: Seconds that open requests have to finish when the server stops.
GRACE = 30

#: Simultaneous connections.
CONNECTIONS = 1000


def make_protocol(seconds: float) -> type[H11Protocol]:
    """Return a protocol that closes connections whose next request does not begin in time.

    The head of a request must arrive within ``seconds`` of connecting, or of the previous response.
    ``LimitedRequest`` limits the time of its body.
    """

    class Protocol(H11Protocol):
        timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._start_timer()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.timer.cancel()
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            self.timer.cancel()
            super().connection_lost(exc)

        def _start_timer(self) -> None:
            self.timer = self.loop.call_later(seconds, self._close_idle, self.cycle)

        def _close_idle(self, last: Any) -> None:
            if self.cycle is last and not self.transport.is_closing():
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            """Answer malformed HTTP with problem details."""
            answer = ProblemError(400, msg).response()
            headers = [*answer.raw_headers, (b"connection", b"close")]
            head = h11.Response(status_code=400, headers=headers)
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event))
            self.transport.close()

    return Protocol


class Server(uvicorn.Server):
    """A server that ends event streams as soon as it is stopped."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop when all open requests are answered."""
        app: Any = self.config.app
        app.state.service.broker.close()
        super().handle_exit(sig, frame)


def make_server(app: FastAPI, host: str, port: int) -> Server:
    """Return a server of the application; ``host`` must be an address of this machine."""
    http = make_protocol(app.state.service.limits.seconds)
    return Server(uvicorn.Config(
        app, host=host, port=port, http=http, ws="none", log_level="warning", access_log=False,
        server_header=False, proxy_headers=False, timeout_graceful_shutdown=GRACE,
        limit_concurrency=CONNECTIONS, backlog=2048,
    ))  # fmt: skip


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 chooses a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without IPPROTO_TCP, asyncio does not disable Nagle's delay of small answers (40 ms).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(f"cannot listen on {host}, port {port}: {error.strerror}.") from error
    listener.listen(2048)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
