"""``opforest metrics``, ``opforest datasets`` and ``opforest --version``."""

from typing import Annotated

import typer

from opforest.apps.cli import options
from opforest.apps.cli.errors import say_errors

COLUMNS = ("name", "examples", "features", "classes", "about", "file")


def metrics(json: options.JsonOption = False) -> None:
    """List the metrics, what they need, and whether a k-d tree can search by them.

    Example: opforest metrics --json
    """
    with say_errors():
        from opforest.apps.cli.output import print_json, print_table
        from opforest.core.metrics.registry import METRIC_NAMES, NON_NEGATIVE, PARAMETERS, resolve

        rows = [
            {
                "metric": name,
                "parameter": PARAMETERS.get(name),
                "features": "any" if name not in NON_NEGATIVE else "non-negative",
                "search": "k-d tree" if resolve(name).is_indexable else "scan",
            }
            for name in METRIC_NAMES
        ]
        if json:
            print_json({"metrics": rows})
        else:
            print_table(list(rows[0]), [[cell or "" for cell in row.values()] for row in rows])


def datasets(json: options.JsonOption = False) -> None:
    """List the data sets of the paper on OPF-Incremental, which `opforest reproduce` uses.

    Example: opforest datasets
    """
    with say_errors():
        from opforest.apps.cli.output import print_json, print_table
        from opforest.datasets import PUBLISHED
        from opforest.datasets.files import DownloadError, fetch, find_home

        rows = []
        for name, about in PUBLISHED.items():
            try:
                path = str(fetch(about.file, find_home(), download=False))
            except (DownloadError, ValueError):
                path = ""
            counts = (about.n_samples, about.n_features, about.n_classes)
            rows.append((name, *counts, about.about, path))
        if json:
            print_json({"datasets": [dict(zip(COLUMNS, row, strict=True)) for row in rows]})
        else:
            print_table(COLUMNS, rows)


def _print_version(asked: bool) -> None:
    if asked:
        from opforest._utils.version import __version__

        typer.echo(f"opforest {__version__}")
        raise typer.Exit


def accept_version(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Optimum-path forests: a parameter-free, multi-class, explainable classifier."""
