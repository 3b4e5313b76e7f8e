"""Running the service until it is told to stop."""

import socket
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from opforest.apps.serve.problems import ProblemError

#: Seconds that requests under way have to finish when the service is told to stop.
GRACE = 30

#: Connections at a time.
CONNECTIONS = 1000


def impatient(seconds: float) -> type[H11Protocol]:
    """Return a protocol that hangs up on clients who take too long to say what they want.

    The head of a request must be there within ``seconds`` of the connection, or of the answer
    before it. (How long its body may take is up to ``requests.read_body``.)
    """

    class Impatient(H11Protocol):
        patience: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.patience.cancel()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self.patience.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self.patience = self.loop.call_later(seconds, self._lose_patience, self.cycle)

        def _lose_patience(self, last: Any) -> None:
            if self.cycle is last and not self.transport.is_closing():
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            """Answer what is no HTTP at all in JSON, too."""
            answer = ProblemError(400, msg).response()
            head = h11.Response(status_code=400, headers=[*answer.raw_headers,
                                                          (b"connection", b"close")])  # fmt: skip
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event))
            self.transport.close()

    return Impatient


class Server(uvicorn.Server):
    """A server that ends streams of events as soon as it is told to stop."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop, when all requests under way are answered."""
        app: Any = self.config.app
        app.state.service.hub.close()
        super().handle_exit(sig, frame)


def make_server(app: FastAPI, host: str, port: int) -> Server:
    """Return a server for the service; ``host`` must be an address of this machine."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=impatient(app.state.service.limits.seconds),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=CONNECTIONS,
        backlog=2048,
    )
    return Server(config)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only sockets that say they are TCP's send small answers at once, and not 40 ms later.
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
    """Return where a socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
