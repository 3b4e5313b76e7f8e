"""``opforest serve`` and ``opforest play``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from opforest.apps.cli import options
from opforest.apps.cli.paths import require_distinct
from opforest.apps.cli.store import StorePath, files_of, require_store

if TYPE_CHECKING:
    from opforest.learner import Learner

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
    runner = _import_runner()
    from opforest.apps.serve.guard import Tokens, is_loopback
    from opforest.apps.serve.limits import Limits
    from opforest.learner import Learner

    tokens = None if token_file is None else Tokens.from_file(token_file)
    if tokens is None and not is_loopback(host):
        raise ValueError(
            f"--host {host} can be reached from other machines, so it needs --token-file: a file "
            "with the lines `read TOKEN` and `write TOKEN`."
        )
    require_store(store)
    limits = Limits(body=int(max_body * 1e6), rows=max_rows, seconds=timeout)
    hosts = (host, *(allow_host or ()))
    listener = runner.bind("127.0.0.1" if host == "localhost" else host, port)
    learner = Learner(store)
    title = f"serving {store}: {len(learner)} examples"
    _run(runner, learner, listener, title, tokens=tokens, hosts=hosts, limits=limits)


@options.command("Stopped.")
def play(
    port: Annotated[int, Option(help="The port; 0 is any free port.", min=0)] = 0,
    browser: Annotated[bool, Option(help="Whether to open the page.")] = True,
) -> None:
    """Open a page on which three forests learn and forget as you click.

    Nothing is saved: the store is in memory.

    Example: opforest play
    """
    runner = _import_runner()
    from opforest.learner import Learner

    listener = runner.bind("127.0.0.1", port)
    learner = Learner(":memory:", score=True)
    title = "play with OPFI, exact and DIFT"
    _run(runner, learner, listener, title, browser=browser, play=True)


def _import_runner() -> Any:
    """Return the module that runs a service, or raise an error that names the extra."""
    try:
        from opforest.apps.serve import run
    except ImportError as error:
        raise ImportError(
            f"serving needs FastAPI and uvicorn: pip install 'opforest[serve]' ({error})."
        ) from error
    return run


def _run(
    runner: Any, learner: "Learner", listener: Any, title: str, *, browser: bool = False, **app: Any
) -> None:
    """Serve until a signal comes; print the address first."""
    from opforest.apps.serve.app import make_app

    try:
        made = make_app(learner, **app)
        url = runner.url_of(listener)
        typer.echo(f"{title}, at {url} (Ctrl-C stops)")
        if browser:
            import threading
            import webbrowser

            threading.Timer(0.5, webbrowser.open, (url,)).start()
        runner.make_server(made, *listener.getsockname()[:2]).run(sockets=[listener])
    finally:
        learner.close()
