"""Output of commands: tables for people, JSON and plain lines for programs."""

import csv
import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Cell = str | int | float | None

#: Messages are not wrapped to fewer columns.
NARROWEST = 40

#: The headings of a table of facts.
FACTS = ("name", "value")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object; infinity and NaN, which JSON does not have, become null."""
    plain = json.loads(json.dumps(value, default=str), parse_constant=lambda constant: None)
    sys.stdout.write(json.dumps(plain, ensure_ascii=False) + "\n")


def format_csv(columns: Mapping[str, Sequence[Any]], has_header: bool = True) -> str:
    """Return columns of equal length as CSV."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if has_header:
        writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue()


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], title: str | None = None
) -> None:
    """Print a table: in aligned columns, without empty ones, on a terminal; with tabs elsewhere.

    A terminal shows numbers with four digits; programs get six. The headings of facts, name and
    value, are left out there.
    """
    if not sys.stdout.isatty():
        for row in (headings, *rows):
            sys.stdout.write("\t".join(show(cell) for cell in row) + "\n")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    are_facts = tuple(headings) == FACTS
    table = Table(
        title=title and Text(title, "bold"),
        title_justify="left",
        box=None if are_facts else box.SIMPLE_HEAD,
        show_header=not are_facts,
        show_edge=False,
        pad_edge=False,
    )
    kept = [k for k in range(len(headings)) if any(show(row[k]) for row in rows)]
    for k in kept:
        is_text = any(isinstance(row[k], str) for row in rows)
        # Long names are folded, not truncated: people type them.
        side: Any = "left" if is_text else "right"
        style = "bold" if are_facts and k == 0 else ""
        table.add_column(Text(headings[k]), justify=side, overflow="fold", style=style)
    for row in rows:
        table.add_row(*(Text(show(row[k], digits=4)) for k in kept))
    console = Console()
    if title:
        console.print()
    console.print(table)


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
        print_table(FACTS, [row for row in rows if row[1]])


def show(cell: Any, digits: int = 6) -> str:
    """Format a cell; numbers with fractions have this many digits."""
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:.{digits}g}"  # NaN
    if isinstance(cell, Mapping):
        return ", ".join(f"{key}: {show(value)}" for key, value in cell.items())
    if isinstance(cell, list | tuple) and cell and isinstance(cell[0], list | tuple):
        return f"{len(cell)} × {len(cell[0])} numbers"
    if isinstance(cell, list | tuple):
        return ", ".join(map(show, cell))
    return "" if cell is None else str(cell)


def print_notes(notes: Sequence[str]) -> None:
    """Print decisions that no option asked for to the standard error."""
    for note in dict.fromkeys(notes):
        print_message("note", note)


def print_message(kind: str, text: object) -> None:
    """Print a note, a warning or an error: in one line, or on a terminal wrapped at blanks."""
    line = f"opforest: {kind}: {' '.join(str(text).split())}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        # Words stay whole, so that options and names can be copied.
        line = textwrap.fill(line, max(width, NARROWEST), subsequent_indent="  ",
                             break_long_words=False, break_on_hyphens=False)  # fmt: skip
    sys.stderr.write(f"{line}\n")


def has_progress() -> bool:
    """Return whether the standard error is a terminal that can overwrite a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def count_examples(verb: str, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """Show the number of processed examples on a terminal."""
    if not (wanted and has_progress()):
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
    if not has_progress():
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
