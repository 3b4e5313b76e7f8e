"""``opforest train --out-of-core``, and models in parts."""

import re
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import typer

from opforest.apps.cli.errors import INTERRUPTED
from opforest.apps.cli.output import print_notes, show_phases
from opforest.apps.cli.paths import require_folder
from opforest.errors import DataFileError, ModelFileError
from opforest.io.source import STANDARD

UNITS = {"": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip

#: Parameters in messages of the library, and the options that set them.
OPTIONS = {"max_bytes": "--memory", "n_jobs=": "--jobs "}

#: Bytes and rows of queries at a time: each call reads the parts, so few calls are faster.
QUERY_BYTES, MAX_QUERIES = 1 << 26, 1 << 17


def parse_memory(text: str) -> float:
    """Return a number of bytes, such as 2GB; raise an error of the command line if it is none.

    Examples
    --------
    >>> from opforest.apps.cli.out_of_core import parse_memory
    >>> parse_memory("1.5 GB")
    1500000000.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Z]*)", text.strip().upper(), re.ASCII)
    if not found or found[2] not in UNITS:
        raise typer.BadParameter(f"it must be like 2GB or 500MB, got {text!r}.")
    return float(found[1]) * UNITS[found[2]]


def train_out_of_core(
    data: str,
    folder: str,
    metric: Any,
    reading: Any,
    memory: float | None,
    jobs: int | None,
    others: Mapping[str, object],
) -> dict[str, Any]:
    """Train a model in a folder; ``others`` are options that must not be given."""
    from opforest.apps.cli.models import check_jobs
    from opforest.out_of_core.job import TWO_GB, Settings, fit_source
    from opforest.out_of_core.source import FileSource

    if given := [f"--{name}" for name, value in others.items() if value]:
        raise ValueError(f"--out-of-core does not go with {' or '.join(given)}.")
    if data == STANDARD:
        raise ValueError("--out-of-core needs a data file, not the standard input, to continue if "
                         "it is stopped.")  # fmt: skip
    check_jobs(jobs)
    require_folder(folder.rstrip("/\\") or folder)
    memory = TWO_GB if memory is None else memory
    settings = Settings(metric.metric or "euclidean", metric.metric_params, memory, jobs)
    source, begin = FileSource(data, reading), perf_counter()
    try:
        with show_phases():
            model = fit_source(source, folder, settings)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; the same command continues.\n")
        raise typer.Exit(INTERRUPTED) from None
    except (DataFileError, ModelFileError):
        raise
    except ValueError as error:
        message = str(error)
        for name, option in OPTIONS.items():
            message = message.replace(name, option)
        raise ValueError(message) from error
    print_notes(source.notes)
    return {"model": folder, **describe_parts(model), "seconds": perf_counter() - begin}


def describe_parts(model: Any) -> dict[str, Any]:
    """Return the facts about a model in parts that commands print."""
    return {
        "estimator": "model in parts",
        "examples": model.n_examples_,
        "features": model.n_features_in_,
        "classes": len(model.classes_),
        "parts": len(model.parts_.forests),
        "metric": model.metric,
        "metric_params": dict(model.metric_params or {}),
    }


def count_queries(model: Any) -> int:
    """Return how many rows a model in parts is asked about at a time."""
    from opforest.io.columns.table import ROWS

    n_features: int = model.n_features_in_
    return max(ROWS, min(MAX_QUERIES, QUERY_BYTES // (8 * n_features)))


def refuse_parts(path: str) -> None:
    """Raise an error for a command that needs a whole model."""
    raise ModelFileError(
        f"{path}: it is a model in parts, made by train --out-of-core, which predict, evaluate and "
        "info use; no other command can. To change it, train it again."
    )
