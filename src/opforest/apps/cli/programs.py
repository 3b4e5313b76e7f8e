"""Commands that run other programs: ``demo``, ``reproduce``, ``compile``, ``serve``, ``play``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

import opforest
from opforest._utils.extras import install_command
from opforest._utils.text import count
from opforest.apps.cli import options
from opforest.apps.cli.paths import require_distinct
from opforest.apps.cli.store import StorePath, files_of, require_store
from opforest.apps.reproduce.options import DEFAULT_JOBS, HELP

if TYPE_CHECKING:
    from opforest.apps.reproduce import Progress
    from opforest.learner import Learner

PORT = 8765


@options.command()
def demo(
    out: Annotated[Path, Option(help="The picture to write, a PNG file.")] = Path(
        "opforest-demo.png"
    ),
) -> None:
    """Learn a stream in five ways, explain a prediction, forget with a proof, draw a picture.

    Example: opforest demo --out forest.png
    """
    from opforest.apps.demo import run

    run(out)


@options.command()
def compile_(
    jobs: Annotated[int | None, Option(min=1, help="Processes; one per core by default.")] = None,
) -> None:
    """Compile everything in advance, so that no first call has to wait.

    Example: opforest compile
    """
    from opforest.apps.compile import run

    run(jobs)


@options.command("Stopped; the same command continues from here.")
def reproduce(
    datasets: Annotated[str | None, Option(help=HELP["datasets"])] = None,
    methods: Annotated[str | None, Option(help=HELP["methods"])] = None,
    repeats: Annotated[int | None, Option(help=HELP["repeats"])] = None,
    seed: Annotated[int, Option(help=HELP["seed"], show_default=False)] = 0,
    jobs: Annotated[int, Option(help=HELP["jobs"], show_default=False)] = DEFAULT_JOBS,
    out: Annotated[str, Option(help=HELP["out"], show_default=False)] = "results",
    data_home: Annotated[str | None, Option(help=HELP["data_home"])] = None,
    quick: Annotated[bool, Option(help=HELP["quick"])] = False,
    report_only: Annotated[bool, Option(help=HELP["report_only"])] = False,
) -> None:
    """Run the experiment of the paper on OPF-Incremental and write its report.

    Example: opforest reproduce --quick --out results
    """
    from opforest.apps.reproduce.command import reproduce as run_command

    report = run_command(
        datasets=datasets, methods=methods, repeats=repeats, seed=seed, jobs=jobs, out=out,
        data_home=data_home, quick=quick, report_only=report_only, display=show_progress,
    )  # fmt: skip
    typer.echo(report)


@contextmanager
def show_progress() -> Iterator[Callable[["Progress"], None]]:
    """Show a progress bar, with the running experiments and the remaining time."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from opforest.apps.reproduce.command import format_time_left

    columns = (BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}", markup=False))  # fmt: skip
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("looking for the data", total=None)

        def show(progress: "Progress") -> None:
            if progress.note:
                bar.console.print(progress.note, markup=False, highlight=False)
            text = ", ".join(progress.running) + format_time_left(progress)
            bar.update(task, completed=progress.done, total=progress.total, description=text)

        yield show


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
    from opforest.apps.serve.limits import Limits
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
    listener = runner.bind("127.0.0.1" if host == "localhost" else host, port)
    learner = opforest.Learner(store)
    title = f"serving {store}: {count(len(learner), 'example')}"
    _run(runner, learner, listener, title, tokens=tokens, hosts=hosts, limits=limits)


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


def _import_runner() -> Any:
    """Return the module that runs a service, or raise an error that names the extra."""
    try:
        from opforest.apps.serve import server
    except ImportError as error:
        raise ImportError(
            f"serving needs FastAPI and uvicorn: {install_command('serve')} ({error})."
        ) from error
    return server


def _run(runner: Any, learner: "Learner", listener: Any, title: str, **app: Any) -> None:
    """Serve until a signal comes; print the address first."""
    from opforest.apps.serve.app import make_app

    try:
        made = make_app(learner, **app)
        typer.echo(f"{title}, at {runner.url_of(listener)} (Ctrl-C stops)")
        runner.make_server(made, *listener.getsockname()[:2]).run(sockets=[listener])
    finally:
        learner.close()
