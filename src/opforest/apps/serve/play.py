"""The playground of ``opforest play``: a static page that computes everything itself.

It needs no extra: the standard library serves it. ``docs/playground.py`` copies it to the site.
"""

from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opforest.apps.serve.headers import HEADERS

STATIC = Path(__file__).parent / "static"

#: The page among the static files.
PAGE = "play.html"

#: Types of files. Windows may have registered others, with which browsers do not load them.
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


class PlayRequestHandler(SimpleHTTPRequestHandler):
    """Answers with the page and the files that it loads."""

    extensions_map = TYPES

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, directory=str(STATIC))

    def translate_path(self, path: str) -> str:
        """Return the file at a path of the site."""
        found = super().translate_path(path)
        return str(STATIC / PAGE) if Path(found) == STATIC else found

    def list_directory(self, path: Any) -> None:
        """Answer that a folder is not a file."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Add the headers of all answers."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class PlayServer(ThreadingHTTPServer):
    """Serves the playground to programs on this machine; port 0 chooses a free one."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        try:
            super().__init__(("127.0.0.1", port), PlayRequestHandler)
        except OSError as error:
            raise OSError(f"cannot listen on 127.0.0.1, port {port}: {error.strerror}.") from error

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/"
