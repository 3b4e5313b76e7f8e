"""The report of an experiment: Markdown with tables and figures, from its results alone."""

import tomllib
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from opforest._utils.text import count
from opforest.apps.reproduce import figures, tables
from opforest.apps.reproduce.store import write
from opforest.apps.reproduce.summary import (
    Cell,
    Comparison,
    Results,
    compare,
    fit_power,
    format_exponent,
    make_cells,
    read_resource,
    summarize,
)
from opforest.apps.reproduce.tables import MARK, NAMES
from opforest.datasets import PUBLISHED
from opforest.display.drawing import require_matplotlib

SLIGHT = 0.5  #: points
ALPHA = 0.05  #: significance level

TEXTS = tomllib.loads(read_resource("texts.toml"))


def write_report(raw: dict[str, Any], out: Path) -> Path:
    """Write the report of the results that ``run`` returned; return the path of ``report.md``.

    Beside it are ``table1.md``, ``table1.csv``, ``table1.tex`` and the folder ``figures``.
    """
    require_matplotlib()
    results = Results(raw)
    cells = list(make_cells(results))
    images = figures.draw_all(results)
    markdown = tables.to_markdown(cells)
    write(out / "table1.md", markdown)
    write(out / "table1.csv", tables.to_csv(cells))
    write(out / "table1.tex", tables.to_latex(cells))
    for name, image in images.items():
        write(out / "figures" / name, image)
    fields = {
        "mark": MARK,
        "data": "\n".join(_describe_data(results)),
        "table1": markdown,
        "marks": "\n".join(_list_marks(results, cells)),
        "comparison": "\n".join([*_compare_methods(results), ""]),
        "prototypes": _paragraph("figure_4") if "prototypes.png" in images else "",
        "times": _by_method(results, results.methods, _describe_time),
    }
    conditions = _describe_conditions(raw)
    write(
        out / "report.md",
        Template(read_resource("report_template.md")).substitute(fields | conditions),
    )
    return out / "report.md"


def _describe_conditions(raw: dict[str, Any]) -> dict[str, Any]:
    machine = raw["machine"]
    return {
        **machine,
        "repeats": count(raw["settings"]["repeats"], "repetition"),
        "seed": raw["settings"]["seed"],
        "versions": ", ".join(f"{name} {number}" for name, number in raw["versions"].items()),
        "finished": raw["finished"],
        "minutes": f"{sum(run['elapsed'] for run in raw['runs']) / 60:.1f}",
        "pool": count(machine["processes"], "process", "processes"),
    }


def _describe_data(results: Results) -> Iterator[str]:
    rows, generated = [], []
    for name, about in results.datasets.items():
        n, d, c, k = (about[f"n_{what}"] for what in ("samples", "features", "classes", "subsets"))
        text = PUBLISHED[name].about
        if about["origin"] == "generated":
            generated.append(name)
            text += "; **generated**, because the published file is not available"
        rows.append((name, text, n, d, c, n // 2, n - n // 2, k))
    headings = ("", "", "examples", "features", "classes", "S", "T", "subsets")
    yield tables.markdown_table(headings, rows, n_left=2)
    if generated:
        yield _paragraph("generated", names=", ".join(generated))
    for name, reason in results.raw["skipped"].items():
        yield f"**{name} is missing**: {reason}\n"


def _list_marks(results: Results, cells: list[Cell]) -> Iterator[str]:
    marked = [cell for cell in cells if cell.is_marked]
    compared = sum(cell.published is not None for cell in cells)
    yield f"{len(marked)} of {compared} means are marked.\n"
    for dataset, group in groupby(marked, lambda cell: cell.dataset):
        of_set = list(group)
        listed = ", ".join(
            f"{NAMES[cell.method]} {cell.column.replace('S0', 'S₀')} ({cell.ours.mean:.1f} against "
            f"{_published_mean(cell):.1f})"
            for cell in of_set
        )
        yield f"**{dataset}**: {listed}. {_explain(of_set)}\n"
    if results.raw["settings"]["repeats"] < 2:
        yield "Deviations of a single repetition are not defined and shown as 0.\n"
    else:
        yield from _compare_deviations(cells)


def _explain(marked: list[Cell]) -> str:
    known, general = TEXTS["datasets"].get(marked[0].dataset), TEXTS["general"]
    if known and all(cell.column in known["columns"] for cell in marked):
        return str(known["text"])
    if all(abs(cell.ours.mean - _published_mean(cell)) <= SLIGHT for cell in marked):
        return str(general["slight"])
    is_only_dift = all(cell.method == "dift" for cell in marked)
    return str(general["dift" if is_only_dift else "unknown"])


def _published_mean(cell: Cell) -> float:
    return np.nan if cell.published is None else cell.published.mean


def _compare_deviations(cells: list[Cell]) -> Iterator[str]:
    wider, narrower = [], []
    for cell in cells:
        if cell.column == "S0" and cell.method == "opfi" and cell.published:
            ours, published = cell.ours.std, cell.published.std
            text = f"{cell.dataset} ({ours:.1f} against {published:.1f})"
            if published > 1.5 * ours:
                wider.append(text)
            elif ours > 1.5 * published:
                narrower.append(text)
    if wider or narrower:
        listed = {"wider": ", ".join(wider) or "none", "narrower": ", ".join(narrower) or "none"}
        yield _paragraph("deviations", **listed)


def _compare_methods(results: Results) -> Iterator[str]:
    others = [method for method in results.methods if method != "opfi"]
    if "opfi" not in results.methods or not others:
        return
    compared = [compare(results, other) for other in others]
    yield _paragraph("comparison")
    rows = [
        *((name, *(f"{c.last[i]:+.2f} / {c.overall[i]:+.2f}" for c in compared))
          for i, name in enumerate(results.datasets)),
        ("**mean**", *(f"**{c.last.mean():+.2f} / {c.overall.mean():+.2f}**" for c in compared)),
        ("Wilcoxon p", *(f"{c.p_last:.2g} / {c.p_overall:.2g}" for c in compared)),
    ]  # fmt: skip
    yield tables.markdown_table(["", *(NAMES[method] for method in others)], rows)
    yield from map(_conclude, compared)
    yield _paragraph("test", n_datasets=len(results.datasets), n_tests=2 * len(others))
    if {"original", "exact"} <= set(results.methods):
        is_equal = all(
            np.array_equal(results.accuracy(name, "original"), results.accuracy(name, "exact"))
            for name in results.datasets
        )
        yield _paragraph("equal" if is_equal else "different")
    methods = [method for method in results.methods if method != "1nn"]
    yield _paragraph("prototypes")
    yield _by_method(
        results, methods, lambda _, name, m: summarize(results.prototype_percentage(name, m)[:, -1])
    )


def _conclude(compared: Comparison) -> str:
    name, overall = NAMES[compared.other], compared.overall.mean()
    if not compared.p_overall < ALPHA:
        return f"Against *{name}*, the data show no difference over all increments.\n"
    return (
        f"OPFI is {'more' if overall > 0 else 'less'} accurate than *{name}* over all increments, "
        f"by {abs(overall):.2f} points on average (p = {compared.p_overall:.2g}).\n"
    )


def _describe_time(results: Results, dataset: str, method: str) -> str:
    total = np.nansum(results.values(dataset, method, "seconds")[:, 1:], axis=1).mean()
    exponent, _ = fit_power(*results.update_times(dataset, method))
    return f"{total:#.3g} s, n^{format_exponent(exponent)}"


def _by_method(results: Results, methods: Iterable[str], describe: Any) -> str:
    """Return a table with a row for each data set and a column for each method."""
    rows = [(name, *(describe(results, name, m) for m in methods)) for name in results.datasets]
    return tables.markdown_table(["", *(NAMES[method] for method in methods)], rows)


def _paragraph(name: str, **fields: object) -> str:
    return Template(TEXTS["paragraphs"][name]).substitute(fields) + "\n"
