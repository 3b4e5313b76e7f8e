"""Table 1 in the paper's layout, with our figures beside the published ones."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from opforest.apps.reproduce.summary import COLUMNS, Cell, Statistic

#: Names of the methods in the paper and in the report.
NAMES = {"opfi": "Incremental", "original": "Original", "dift": "DIFT", "exact": "Exact",
         "1nn": "1-NN"}  # fmt: skip
HEADINGS = ("S₀", *COLUMNS[1:])
MARK = "†"


def rows_of(cells: Iterable[Cell]) -> Iterator[tuple[str, list[list[Cell]]]]:
    """Yield each data set with its rows of cells, one for each method."""
    for dataset, group in groupby(cells, lambda cell: cell.dataset):
        yield dataset, [list(row) for _, row in groupby(group, lambda cell: cell.method)]


def markdown_table(
    headings: Sequence[str], rows: Iterable[Iterable[object]], n_left: int = 1
) -> str:
    """Return a table in Markdown; all columns but the first ones are aligned to the right."""
    rules = ["---"] * n_left + ["---:"] * (len(headings) - n_left)
    lines = (" | ".join(map(str, row)) for row in (headings, rules, *rows))
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def to_markdown(cells: Iterable[Cell]) -> str:
    """Return the table as Markdown; published figures are below ours, in small print."""
    rows = [
        (f"**{dataset}**" if i == 0 else "", NAMES[row[0].method], *map(_markdown_cell, row))
        for dataset, group in rows_of(cells)
        for i, row in enumerate(group)
    ]
    return markdown_table(("", "", *HEADINGS), rows, n_left=2)


def to_csv(cells: Iterable[Cell]) -> str:
    """Return the table as comma-separated values, a cell in each line."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ("dataset", "method", "column", "increment", "mean", "std", "published_mean",
         "published_std", "marked")
    )  # fmt: skip
    for cell in cells:
        theirs = ("", "") if cell.published is None else cell.published
        ours = (f"{value:.4f}" for value in cell.ours)
        writer.writerow((*cell[:4], *ours, *theirs, int(cell.is_marked)))
    return stream.getvalue()


def to_latex(cells: Iterable[Cell]) -> str:
    """Return the table as LaTeX; published figures are beside ours, in parentheses."""
    headings = " & ".join(["$S_0$", *(name.replace("%", r"\%") for name in COLUMNS[1:])])
    lines = [r"\begin{tabular}{llr|rrr|rr}", r"\hline", rf" &  & {headings} \\", r"\hline"]
    for dataset, rows in rows_of(cells):
        for i, row in enumerate(rows):
            name = dataset if i == 0 else ""
            shown = " & ".join(map(_latex_cell, row))
            lines.append(f"{name} & {NAMES[row[0].method]} & {shown} \\\\")
        lines.append(r"\hline")
    return "\n".join((*lines, r"\end{tabular}")) + "\n"


def _markdown_cell(cell: Cell) -> str:
    mark = f" {MARK}" if cell.is_marked else ""
    theirs = "" if cell.published is None else f"<br><sub>{cell.published}</sub>"
    return f"{cell.ours}{mark}{theirs}"


def _latex_cell(cell: Cell) -> str:
    def show(statistic: Statistic) -> str:
        return f"{statistic.mean:.1f} \\pm {statistic.std:.1f}"

    mark = r"^\dagger" if cell.is_marked else ""
    theirs = "" if cell.published is None else f"\\;({show(cell.published)})"
    return f"${show(cell.ours)}{mark}{theirs}$"
