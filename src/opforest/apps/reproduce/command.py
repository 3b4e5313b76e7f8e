"""The experiment by the options of ``opforest reproduce``."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from opforest.apps.reproduce import store
from opforest.apps.reproduce.options import METHODS, QUICK_REPEATS, QUICK_SETS
from opforest.apps.reproduce.report import write_report
from opforest.apps.reproduce.runner import Progress, Settings, run
from opforest.datasets import PUBLISHED
from opforest.display.drawing import require_matplotlib


def format_time_left(progress: Progress) -> str:
    """Return the estimate of the remaining time in words."""
    if progress.seconds_left is None:
        return ""
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    return f", about {minutes} min {seconds:02d} s left" if minutes else f", about {seconds} s left"


def reproduce(
    *,
    datasets: str | None,
    methods: str | None,
    repeats: int | None,
    seed: int,
    jobs: int,
    out: str,
    data_home: str | None,
    quick: bool,
    report_only: bool,
    display: Callable[[], AbstractContextManager[Callable[[Progress], None]]],
) -> Path:
    """Run the experiment, write its report and return the path of the report.

    Invalid options raise a ``ValueError`` with a message of one line.
    """
    require_matplotlib()
    if not out:
        raise ValueError("--out must name a folder, got ''.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, got the file {out!r}.")
    if report_only:
        if datasets is not None or methods is not None or repeats is not None or quick:
            raise ValueError("--report-only runs nothing: omit options that choose runs.")
        return write_report(store.read(folder), folder)
    settings = Settings(
        datasets=_split_names(datasets, QUICK_SETS if quick else tuple(PUBLISHED)),
        methods=_split_names(methods, METHODS),
        repeats=(QUICK_REPEATS if quick else 10) if repeats is None else repeats,
        seed=seed,
        jobs=jobs,
        out=folder,
        data_home=data_home,
    )
    with display() as show:
        results = run(settings, show)
    return write_report(results, folder)


def _split_names(listed: str | None, default: Sequence[str]) -> Sequence[str]:
    if listed is None:
        return default
    return [name.strip() for name in listed.split(",") if name.strip()]
