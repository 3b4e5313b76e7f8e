"""Output of commands: tables for people, JSON and plain lines for programs."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Cell = str | int | float | None


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object; infinity and NaN, which JSON does not have, become null."""
    plain = json.loads(json.dumps(value, default=str), parse_constant=lambda constant: None)
    sys.stdout.write(json.dumps(plain, ensure_ascii=False) + "\n")


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], title: str | None = None
) -> None:
    """Print a table: with borders on a terminal, with tabs elsewhere."""
    if not sys.stdout.isatty():
        for row in (headings, *rows):
            sys.stdout.write("\t".join(show(cell) for cell in row) + "\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for k, heading in enumerate(headings):
        is_number = bool(rows) and not isinstance(rows[0][k], str | None)
        # Long names are folded, not truncated: people type them.
        side: Any = "right" if is_number else "left"
        table.add_column(Text(heading), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(show(cell)) for cell in row))
    Console().print(table)


def fits(headings: Sequence[str]) -> bool:
    """Return whether a table with these headings fits on the terminal; elsewhere, each does."""
    width = sum(len(heading) + 3 for heading in headings) + 1
    return not sys.stdout.isatty() or width <= shutil.get_terminal_size().columns


def print_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Print the result of a command as JSON, or as a table of names and values.

    A single list of records becomes a table with a row for each.
    """
    first = next(iter(facts.values()))
    if as_json:
        print_json(facts)
    elif len(facts) == 1 and isinstance(first, list):
        print_table(list(first[0]), [list(record.values()) for record in first])
    else:
        rows = [(name.replace("_", " "), show(fact)) for name, fact in facts.items()]
        print_table(("name", "value"), [row for row in rows if row[1]])


def show(cell: Any) -> str:
    """Format a cell."""
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:.6g}"  # NaN
    if isinstance(cell, Mapping):
        return ", ".join(f"{key}: {show(value)}" for key, value in cell.items())
    if isinstance(cell, list | tuple):
        return ", ".join(map(show, cell))
    return "" if cell is None else str(cell)


def print_notes(notes: Sequence[str]) -> None:
    """Print decisions that no option asked for to the standard error."""
    for note in dict.fromkeys(notes):
        sys.stderr.write(f"opforest: note: {note}\n")


@contextmanager
def count_examples(verb: str, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """Show the number of processed examples on a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f} per second")

    count = TextColumn("{task.description} {task.completed:,.0f} examples")
    columns = (SpinnerColumn(), count, Rate(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(verb, total=None)
        yield lambda count: bar.advance(task, count)


@contextmanager
def show_phases() -> Iterator[Callable[[str], None]]:
    """Show the current phase on a terminal: reading, preparing, spanning tree, index, saving."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    from opforest._utils.progress import report_to

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(pulse_style="green"),
               TaskProgressColumn(), Elapsed())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        class Bars:
            """One bar per phase; the next phase completes it."""

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
