"""What commands print: tables for people, JSON and plain lines for programs."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Cell = str | int | float


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object; JSON has no infinity and no NaN, so these become null."""
    plain = json.loads(json.dumps(value, default=str), parse_constant=lambda constant: None)
    sys.stdout.write(json.dumps(plain, ensure_ascii=False) + "\n")


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], title: str | None = None
) -> None:
    """Print a table: drawn on a terminal, cells separated by tabs elsewhere."""
    if not sys.stdout.isatty():
        for row in (headings, *rows):
            sys.stdout.write("\t".join(show(cell) for cell in row) + "\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for k, heading in enumerate(headings):
        is_number = bool(rows) and not isinstance(rows[0][k], str)
        # Names are folded, not cut: people type them.
        side: Any = "right" if is_number else "left"
        table.add_column(Text(heading), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(show(cell)) for cell in row))
    Console().print(table)


def print_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Print what is known of one thing."""
    if as_json:
        print_json(facts)
        return
    rows = [(name.replace("_", " "), show(fact)) for name, fact in facts.items()]
    print_table(("what", "value"), rows)


def show(cell: Any) -> str:
    """Return a cell in words."""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    if isinstance(cell, Mapping):
        return ", ".join(f"{key}: {show(value)}" for key, value in cell.items())
    if isinstance(cell, list | tuple):
        return ", ".join(map(show, cell))
    return "" if cell is None else str(cell)


def print_notes(notes: Sequence[str]) -> None:
    """Say on the standard error what was decided without being told."""
    for one in dict.fromkeys(notes):
        sys.stderr.write(f"opforest: note: {one}\n")


def note(text: str) -> None:
    """Tell the person at the terminal something, and nobody else."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")


@contextmanager
def counting(what: str, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """Show how many examples are done, on a terminal, if that is wanted."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class _Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f} a second")

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description} {task.completed:,.0f} examples"),
        _Rate(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)


@contextmanager
def phases(wanted: bool = True) -> Iterator[Callable[[str], None]]:
    """Show what is being done, on a terminal: reading, preparing, spanning tree, index, saving."""
    from opforest._utils.progress import report_to

    if not (wanted and sys.stderr.isatty()):
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(pulse_style="green"),
               TaskProgressColumn(), TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        class Bars:
            """A bar for each phase, which is full when the next one begins."""

            task: Any = None

            def begin(self, name: str, size: int | None = None) -> None:
                if self.task is not None:
                    bar.update(self.task, total=1, completed=1)
                shown = name if size is None else f"{name}, {size:,} examples"
                self.task = bar.add_task(shown, total=None)

            def advance(self, fraction: float) -> None:
                bar.update(self.task, total=1, completed=fraction)

        bars = Bars()
        with report_to(bars):
            yield bars.begin
