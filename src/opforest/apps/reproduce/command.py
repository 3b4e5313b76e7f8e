"""The command, independent of the library that parses its options."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from opforest.apps.reproduce import store
from opforest.apps.reproduce.options import DEFAULT_JOBS, METHODS, QUICK_REPEATS, QUICK_SETS
from opforest.apps.reproduce.report import write_report
from opforest.apps.reproduce.runner import Progress, Settings, run
from opforest.datasets import PUBLISHED
from opforest.display.drawing import require_matplotlib

Display = Callable[[Progress], None]


@contextmanager
def print_lines() -> Iterator[Display]:
    """Show progress as a line for each finished run."""

    def show(progress: Progress) -> None:
        if progress.note:
            print(progress.note, file=sys.stderr, flush=True)
        elif progress.last:
            running = f"; running: {', '.join(progress.running)}" if progress.running else ""
            line = f"[{progress.done}/{progress.total}] {progress.last}{running}"
            print(line + show_left(progress), file=sys.stderr, flush=True)

    yield show


def show_left(progress: Progress) -> str:
    """Return how much time is left, in words."""
    if progress.seconds_left is None:
        return ""
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    return f", about {minutes} min {seconds:02d} s left" if minutes else f", about {seconds} s left"


def reproduce(
    *,
    datasets: str | None = None,
    methods: str | None = None,
    repeats: int | None = None,
    seed: int = 0,
    jobs: int = DEFAULT_JOBS,
    out: str = "results",
    data_home: str | None = None,
    quick: bool = False,
    report_only: bool = False,
    display: Callable[[], AbstractContextManager[Display]] = print_lines,
) -> Path:
    """Run the experiment, write its report and return the path of that.

    Options are those of the command line. Invalid ones raise a ``ValueError`` with a message of
    one line.
    """
    require_matplotlib()
    if not out:
        raise ValueError("--out must name a folder, got ''.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, got the file {out!r}.")
    if report_only:
        if datasets is not None or methods is not None or repeats is not None or quick:
            raise ValueError("--report-only runs nothing: leave out what names something to run.")
        return write_report(store.read(folder), folder)
    settings = Settings(
        datasets=_names(datasets, QUICK_SETS if quick else tuple(PUBLISHED)),
        methods=_names(methods, METHODS),
        repeats=(QUICK_REPEATS if quick else 10) if repeats is None else repeats,
        seed=seed,
        jobs=jobs,
        out=folder,
        data_home=data_home,
    )
    with display() as show:
        results = run(settings, show)
    return write_report(results, folder)


def _names(listed: str | None, default: Sequence[str]) -> Sequence[str]:
    if listed is None:
        return default
    return [name.strip() for name in listed.split(",") if name.strip()]
