"""``opforest serve`` and ``opforest play``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import say_errors
from opforest.apps.cli.store import files_of

if TYPE_CHECKING:
    from opforest.learner import Learner

PORT = 8765


def serve(
    store: Annotated[str, typer.Argument(metavar="STORE", help="the file of a store")],
    host: Annotated[
        str, typer.Option(help="the address to listen on; any but this machine's needs tokens")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="the port; 0 is any that is free", min=0)] = PORT,
    token_file: Annotated[
        str | None,
        typer.Option(help="a file with the lines `read TOKEN` and `write TOKEN`"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="a name of this machine that clients use; may be repeated"),
    ] = None,
    max_body: Annotated[
        float, typer.Option(help="megabytes that a request may have", min=0.001)
    ] = 16,
    max_rows: Annotated[int, typer.Option(help="rows that a request may have", min=1)] = 10_000,
    timeout: Annotated[
        float, typer.Option(help="seconds that a request may take to arrive", min=0.1)
    ] = 30,
) -> None:
    """Serve a store by HTTP, with a page to look at, until it is told to stop.

    Example: opforest serve animals.db
    """
    with say_errors("Stopped; the store is closed."):
        import os

        keep_apart([token_file], files_of(store))
        modules = _modules()
        from opforest.apps.serve.limits import Limits
        from opforest.apps.serve.security import Tokens, is_loopback
        from opforest.learner import Learner, StoreError

        tokens = None if token_file is None else Tokens.from_file(token_file)
        if tokens is None and not is_loopback(host):
            raise ValueError(
                f"--host {host} can be reached by others, so it needs --token-file: a file with "
                "the lines `read TOKEN` and `write TOKEN`."
            )
        if not os.path.exists(store):
            raise StoreError(
                f"{store}: there is no such store. `opforest store create {store}` makes one."
            )
        limits = Limits(body=int(max_body * 1e6), rows=max_rows, seconds=timeout)
        hosts = (host, *(allow_host or ()))
        listener = modules.bind("127.0.0.1" if host == "localhost" else host, port)
        learner = Learner(store)
        _run(modules, learner, listener, f"serving {store}: {len(learner)} examples", None,
             tokens=tokens, hosts=hosts, limits=limits)  # fmt: skip


def play(
    port: Annotated[int, typer.Option(help="the port; 0 is any that is free", min=0)] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="whether to open the page")
    ] = True,
) -> None:
    """Open a page on which three forests learn and forget as you click.

    Nothing is kept: the store is in memory.

    Example: opforest play
    """
    with say_errors("Stopped."):
        modules = _modules()
        from opforest.learner import Learner

        listener = modules.bind("127.0.0.1", port)
        learner = Learner(":memory:", score=True)
        _run(modules, learner, listener, "play with OPFI, exact and DIFT", browser, play=True)


def _modules() -> Any:
    """Return what runs a service, or say what to install."""
    try:
        from opforest.apps.serve import server
    except ImportError as error:
        raise ImportError(
            f"serving needs FastAPI and uvicorn: pip install 'opforest[serve]' ({error})."
        ) from error
    return server


def _run(modules: Any, learner: "Learner", listener: Any, what: str, browser: bool | None,
         **more: Any) -> None:  # fmt: skip
    """Serve until a signal comes, and say where."""
    from opforest.apps.serve.app import make_app

    try:
        app = make_app(learner, **more)
        url = modules.url_of(listener)
        typer.echo(f"{what}, at {url} (Ctrl-C stops)")
        if browser:
            import threading
            import webbrowser

            threading.Timer(0.5, webbrowser.open, (url,)).start()
        modules.make_server(app, *listener.getsockname()[:2]).run(sockets=[listener])
    finally:
        learner.close()
