"""``opforest split``, ``fold``, ``merge``, ``normalize``: LibOPF's tools, for any data file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from opforest.apps.cli import options
from opforest.apps.cli.output import print_facts, print_notes, print_records
from opforest.apps.cli.paths import require_distinct

if TYPE_CHECKING:
    from opforest.io.columns.table import Data, ReadOptions


@options.command()
def split(
    data: options.DataFile,
    out: Annotated[list[str], typer.Argument(metavar="OUT...", help="A file for each part.")],
    shares: Annotated[
        str | None,
        typer.Option(help="The share of each part, such as 0.5,0.2,0.3. Default: equal shares."),
    ] = None,
    seed: options.SeedOption = 0,
    to: options.OutFormatOption = None,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Split a data file at random, with the same shares of each class.

    A class with few examples fills the parts with the largest shares first.

    Example: opforest split iris.csv train.csv test.csv --shares 0.8,0.2 --seed 1
    """
    from opforest.apps.cli.operations import deal

    require_distinct([data], out)
    weights = _parse_shares(shares, len(out))
    (examples,) = _read_all([data], reading)
    part = deal(examples.y, len(examples), weights, seed)
    _write_parts(out, examples, part, to, json)


@options.command()
def fold(
    data: options.DataFile,
    out: Annotated[
        str,
        typer.Argument(metavar="OUT", help="The files, with {} for the number: fold-{}.csv."),
    ],
    folds: Annotated[int, typer.Option("--folds", "-k", min=2, help="The number of folds.")] = 10,
    seed: options.SeedOption = 0,
    to: options.OutFormatOption = None,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Split a data file into folds of equal size, with each class spread evenly.

    Example: opforest fold iris.csv 'fold-{}.csv' --folds 5
    """
    from opforest.apps.cli.operations import deal_evenly

    if "{}" not in out:
        raise ValueError(f"OUT must have {{}} where the number of the fold goes, got {out!r}.")
    names = [out.replace("{}", str(k + 1)) for k in range(folds)]
    require_distinct([data], names)
    (examples,) = _read_all([data], reading)
    if folds > len(examples):
        raise ValueError(f"--folds must be at most {len(examples)}, the number of examples.")
    _write_parts(names, examples, deal_evenly(examples.y, len(examples), folds, seed), to, json)


@options.command()
def merge(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="The data files.")],
    out: options.OutOption,
    to: options.OutFormatOption = None,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Merge the examples of several data files into one.

    All must have the same features. Ids are kept if all files have ids and all ids differ.

    Example: opforest merge monday.csv tuesday.parquet --out week.csv
    """
    from opforest.apps.cli.operations import merge_parts

    require_distinct(data, [out])
    _write(out, merge_parts(_read_all(data, reading), data), to, json)


@options.command()
def normalize(
    data: options.DataFile,
    out: options.OutPath,
    by: Annotated[
        str | None,
        typer.Option(help="Take means and deviations from this file, such as the training set."),
    ] = None,
    to: options.OutFormatOption = None,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Scale each feature to mean 0 and standard deviation 1; a constant feature becomes 0.

    Example: opforest normalize test.csv test-z.csv --by train.csv
    """
    from opforest.apps.cli.operations import standardize
    from opforest.io.tables import format_of

    require_distinct([data, by], [out])
    examples, *others = _read([data] if by is None else [data, by], replace(reading, lossless=True))
    single = (to or format_of(out) or "").startswith("libopf")
    _write(out, standardize(examples, others[0] if others else examples, data, single), to, json)


def _read(paths: Sequence[str], reading: "ReadOptions") -> list["Data"]:
    """Read data files, and print the notes on them."""
    from opforest.io.tables import read_table

    parts = [read_table(path, reading) for path in paths]
    print_notes([note for part in parts for note in part.notes])
    return parts


def _read_all(paths: Sequence[str], reading: "ReadOptions") -> list["Data"]:
    """Read data files with all their cells."""
    return _read(paths, replace(reading, allow_missing=True, categories=True, lossless=True))


def _write(out: str, data: "Data", to: options.Format | None, as_json: bool) -> None:
    """Write a data file, and print what was written unless it is the standard output."""
    from opforest.io.source import STANDARD
    from opforest.io.tables import write_table

    write_table(out, data, to)
    if out != STANDARD:
        facts = {"file": out, "examples": len(data), "features": data.X.shape[1]}
        print_facts(facts, as_json)


def _parse_shares(shares: str | None, parts: int) -> list[float]:
    if parts < 2:
        raise ValueError("a split has at least two parts: name a file for each.")
    if shares is None:
        return [1.0] * parts
    try:
        weights = [float(share) for share in shares.split(",")]
    except ValueError:
        weights = []
    if len(weights) != parts or not all(0 < weight < float("inf") for weight in weights):
        raise ValueError(f"--shares must be {parts} positive numbers like 0.8,0.2, got {shares!r}.")
    return weights


def _write_parts(
    names: list[str], examples: "Data", part: object, to: options.Format | None, as_json: bool
) -> None:
    """Write all parts, or none if one of them cannot be written."""
    import numpy as np

    from opforest.io.tables import check_fit, find_output_format, write_table

    parts = {name: examples.take(np.flatnonzero(part == k)) for k, name in enumerate(names)}
    for name, one in parts.items():
        if not len(one):
            raise ValueError(f"there are too few examples: none is left for {name}.")
        check_fit(one, find_output_format(name, to), name)
    for name, one in parts.items():
        write_table(name, one, to)
    rows = [{"file": name, "examples": len(one)} for name, one in parts.items()]
    print_records({"parts": rows}, as_json)
