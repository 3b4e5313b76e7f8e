"""``opforest metrics``, ``opforest datasets`` and ``opforest --version``."""

from typing import Annotated

import typer
from typer import Option

from opforest.apps.cli import options


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
