"""``opforest reproduce``: the paper's whole experiment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from opforest.apps.cli.errors import say_errors
from opforest.apps.reproduce.options import DEFAULT_JOBS, HELP

if TYPE_CHECKING:
    from opforest.apps.reproduce import Progress


def reproduce(
    datasets: Annotated[str | None, typer.Option(help=HELP["datasets"])] = None,
    methods: Annotated[str | None, typer.Option(help=HELP["methods"])] = None,
    repeats: Annotated[int | None, typer.Option(help=HELP["repeats"])] = None,
    seed: Annotated[int, typer.Option(help=HELP["seed"], show_default=False)] = 0,
    jobs: Annotated[int, typer.Option(help=HELP["jobs"], show_default=False)] = DEFAULT_JOBS,
    out: Annotated[str, typer.Option(help=HELP["out"], show_default=False)] = "results",
    data_home: Annotated[str | None, typer.Option(help=HELP["data_home"])] = None,
    quick: Annotated[bool, typer.Option("--quick", help=HELP["quick"])] = False,
    report_only: Annotated[bool, typer.Option("--report-only", help=HELP["report_only"])] = False,
) -> None:
    """Run the experiment of the paper on OPF-Incremental and write its report.

    Example: opforest reproduce --quick --out results
    """
    with say_errors("Stopped; the same command goes on from here."):
        from opforest.apps.reproduce.command import reproduce as run_command

        report = run_command(
            datasets=datasets, methods=methods, repeats=repeats, seed=seed, jobs=jobs, out=out,
            data_home=data_home, quick=quick, report_only=report_only, display=show_live,
        )  # fmt: skip
        typer.echo(report)


@contextmanager
def show_live() -> Iterator[Callable[["Progress"], None]]:
    """Show progress as a bar, with what is running and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from opforest.apps.reproduce.command import format_time_left

    columns = (
        BarColumn(30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("looking for the data", total=None)

        def show(progress: "Progress") -> None:
            if progress.note:
                bar.console.print(progress.note, markup=False, highlight=False)
            said = ", ".join(progress.running) + format_time_left(progress)
            bar.update(task, completed=progress.done, total=progress.total, description=said)

        yield show
