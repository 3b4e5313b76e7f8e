"""``opforest serve`` and ``opforest play``."""

from typing import Annotated

import typer
from typer import Option

import opforest
from opforest._utils.extras import install_command
from opforest._utils.text import count
from opforest.apps.cli import options
from opforest.apps.cli.paths import require_distinct
from opforest.apps.cli.store import StorePath, files_of, require_store

PORT = 8765


@options.command("Stopped; the store is closed.")
def serve(
    store: StorePath,
    host: Annotated[str, Option(help="The address; a public one needs tokens.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port; 0 is any free port.", min=0)] = PORT,
    token_file: Annotated[
        str | None, Option(help="A file with the lines `read TOKEN` and `write TOKEN`.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, Option(help="A name of this machine that clients use. Repeatable.")
    ] = None,
    max_body: Annotated[float, Option(help="The largest request, in megabytes.", min=0.001)] = 16,
    max_rows: Annotated[int, Option(help="The most rows in a request.", min=1)] = 10_000,
    timeout: Annotated[float, Option(min=0.1, help="Seconds for a request to arrive.")] = 30,
) -> None:
    """Serve a store by HTTP, with a web page, until it is stopped.

    Example: opforest serve animals.db
    """
    require_distinct([token_file], files_of(store))
    try:
        from opforest.apps.serve import server
    except ImportError as error:
        raise ImportError(
            f"serving needs FastAPI and uvicorn: {install_command('serve')} ({error})."
        ) from error
    from opforest.apps.serve.app import make_app
    from opforest.apps.serve.requests import Limits
    from opforest.apps.serve.security import Tokens, is_loopback

    tokens = None if token_file is None else Tokens.from_file(token_file)
    if tokens is None and not is_loopback(host):
        raise ValueError(
            f"--host {host} can be reached from other machines, so it needs --token-file: a file "
            "with the lines `read TOKEN` and `write TOKEN`."
        )
    require_store(store)
    limits = Limits(body=int(max_body * 1e6), rows=max_rows, seconds=timeout)
    hosts = (host, *(allow_host or ()))
    listener = server.bind("127.0.0.1" if host == "localhost" else host, port)
    with opforest.Learner(store) as learner:
        app = make_app(learner, tokens=tokens, hosts=hosts, limits=limits)
        url = server.url_of(listener)
        typer.echo(f"serving {store}: {count(len(learner), 'example')}, at {url} (Ctrl-C stops)")
        server.make_server(app, *listener.getsockname()[:2]).run(sockets=[listener])


@options.command("Stopped.")
def play(
    port: Annotated[int, Option(help="The port; 0 is any free port.", min=0)] = 0,
    browser: Annotated[bool, Option(help="Whether to open the page.")] = True,
) -> None:
    """Open a page on which a forest learns and forgets the points that you draw.

    The page computes everything itself: nothing is saved, and nothing leaves the browser.

    Example: opforest play
    """
    import webbrowser

    from opforest.apps.serve.play import PlayServer

    with PlayServer(port) as server:
        typer.echo(f"the playground is at {server.url} (Ctrl-C stops)")
        if browser:
            webbrowser.open(server.url)
        server.serve_forever()
