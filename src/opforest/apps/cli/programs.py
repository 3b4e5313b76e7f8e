"""``opforest demo``, ``opforest reproduce`` and ``opforest compile``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from opforest.apps.cli import options
from opforest.apps.reproduce.options import DEFAULT_JOBS, HELP

if TYPE_CHECKING:
    from opforest.apps.reproduce import Progress


@options.command()
def demo(
    out: Annotated[Path, Option(help="The picture to write, a PNG file.")] = Path(
        "opforest-demo.png"
    ),
) -> None:
    """Learn a stream in five ways, explain a prediction, forget with a proof, draw a picture.

    Example: opforest demo --out forest.png
    """
    from opforest.apps.demo import main

    main(["--out", str(out)])


@options.command()
def compile_(
    jobs: Annotated[int | None, Option(min=1, help="Processes. Default: one per core.")] = None,
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
    quick: Annotated[bool, Option("--quick", help=HELP["quick"])] = False,
    report_only: Annotated[bool, Option("--report-only", help=HELP["report_only"])] = False,
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

    from opforest.apps.reproduce.command import show_left

    columns = (BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}", markup=False))  # fmt: skip
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("looking for the data", total=None)

        def show(progress: "Progress") -> None:
            if progress.note:
                bar.console.print(progress.note, markup=False, highlight=False)
            text = ", ".join(progress.running) + show_left(progress)
            bar.update(task, completed=progress.done, total=progress.total, description=text)

        yield show
