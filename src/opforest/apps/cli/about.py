"""``opforest metrics``, ``datasets``, ``demo``, ``compile``, ``reproduce``, and ``--version``."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from opforest.apps.cli import options
from opforest.apps.reproduce import METHODS

if TYPE_CHECKING:
    from opforest.apps.reproduce import Progress

DEFAULT_JOBS = min(2, os.cpu_count() or 1)

QUICK_SETS = ("C-vs-G", "Lithu", "Cone-Torus", "Saturn", "NTL", "Parkinsons")
QUICK_REPEATS = 2

#: Help of the options of ``reproduce``.
HELP = {
    "datasets": "Data sets, separated by commas. Default: all that `opforest datasets` lists.",
    "methods": f"Methods, separated by commas. Default: {','.join(METHODS)}.",
    "repeats": "The number of repetitions. Default: 10.",
    "seed": "The random seed. Default: 0.",
    "jobs": f"The number of processes; results do not depend on it. Default: {DEFAULT_JOBS}.",
    "out": "A folder for results; a stopped run continues in it. Default: results.",
    "data_home": "A folder with data. Default: OPFOREST_DATA, or a cache folder.",
    "quick": f"Run only {', '.join(QUICK_SETS)}, {QUICK_REPEATS} times: about a minute, plus "
    "compilation the first time.",
    "report_only": "Write the report from results.json in the folder, without running anything.",
}


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from opforest._utils.version import __version__

        typer.echo(f"opforest {__version__}")
        raise typer.Exit


def accept_version(
    version: Annotated[
        bool,
        Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Accept the options of ``opforest`` itself."""


@options.command()
def metrics() -> options.Facts:
    """List the metrics, their parameters, and whether a k-d tree can search by them.

    Example: opforest metrics --json
    """
    from opforest.core.metrics.registry import (
        METRIC_NAMES,
        NEEDS_PARAMETERS,
        NON_NEGATIVE,
        PARAMETERS,
        resolve,
    )

    rows = [
        {
            "metric": name,
            "parameter": " or ".join(PARAMETERS.get(name, ())) or None,
            "features": "any" if name not in NON_NEGATIVE else "non-negative",
            "search": "k-d tree"
            if name in NEEDS_PARAMETERS or resolve(name).is_indexable
            else "scan",
        }
        for name in METRIC_NAMES
    ]
    return {"metrics": rows}


@options.command()
def datasets() -> options.Facts:
    """List the data sets of the paper on OPF-Incremental, which `opforest reproduce` uses.

    Example: opforest datasets
    """
    from opforest.datasets import PUBLISHED
    from opforest.datasets.files import DownloadError, fetch, find_home

    rows = []
    for name, about in PUBLISHED.items():
        try:
            path = str(fetch(about.file, find_home(), download=False))
        except (DownloadError, ValueError):
            path = ""
        rows.append({"name": name, "examples": about.n_samples, "features": about.n_features,
                     "classes": about.n_classes, "about": about.about, "file": path})  # fmt: skip
    return {"datasets": rows}


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
    from opforest.apps.reproduce import Settings, run, store
    from opforest.apps.reproduce.report import write_report
    from opforest.datasets import PUBLISHED
    from opforest.display.drawing import require_matplotlib

    require_matplotlib()
    if not out:
        raise ValueError("--out must name a folder, got ''.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, got the file {out!r}.")
    if report_only:
        if datasets is not None or methods is not None or repeats is not None or quick:
            raise ValueError("--report-only runs nothing: omit options that choose runs.")
        results = store.read(folder)
    else:
        settings = Settings(
            datasets=_split_names(datasets, QUICK_SETS if quick else tuple(PUBLISHED)),
            methods=_split_names(methods, METHODS),
            repeats=(QUICK_REPEATS if quick else 10) if repeats is None else repeats,
            seed=seed, jobs=jobs, out=folder, data_home=data_home,
        )  # fmt: skip
        with _show_progress() as show:
            results = run(settings, show)
    typer.echo(write_report(results, folder))


def _split_names(listed: str | None, default: Sequence[str]) -> Sequence[str]:
    if listed is None:
        return default
    return [name.strip() for name in listed.split(",") if name.strip()]


@contextmanager
def _show_progress() -> Iterator[Callable[["Progress"], None]]:
    """Show a progress bar, with the running experiments and the remaining time."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}", markup=False))  # fmt: skip
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("looking for the data", total=None)

        def show(progress: "Progress") -> None:
            if progress.note:
                bar.console.print(progress.note, markup=False, highlight=False)
            text = ", ".join(progress.running) + _format_time_left(progress)
            bar.update(task, completed=progress.done, total=progress.total, description=text)

        yield show


def _format_time_left(progress: "Progress") -> str:
    if progress.seconds_left is None:
        return ""
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    return f", about {minutes} min {seconds:02d} s left" if minutes else f", about {seconds} s left"
