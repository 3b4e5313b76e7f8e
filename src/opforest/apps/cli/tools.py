"""``opforest split``, ``fold``, ``merge``, ``normalize``: LibOPF's tools, for any data file."""

from typing import TYPE_CHECKING, Annotated

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import say_errors

if TYPE_CHECKING:
    from opforest.io.columns.table import Data, ReadOptions


@options.reads_data
def split(
    data: options.DataFile,
    out: Annotated[list[str], typer.Argument(metavar="OUT...", help="a file for each part")],
    shares: Annotated[
        str | None,
        typer.Option(help="how much goes into each part, such as 0.5,0.2,0.3 (default: equal)"),
    ] = None,
    seed: options.SeedOption = 0,
    to: options.OutFormatOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Split a data file at random, each class in the same shares.

    A class of few examples fills the parts with the largest shares first.

    Example: opforest split iris.csv train.csv test.csv --shares 0.8,0.2 --seed 1
    """
    with say_errors():
        keep_apart([data], out)
        from opforest.apps.cli.splitting import deal

        weights = _parse_shares(shares, len(out))
        reading = how.reading(allow_missing=True, categories=True, lossless=True)
        (examples,) = _read([data], reading)
        part = deal(examples.y, len(examples), weights, seed)
        _write_parts(out, examples, part, to, json)


@options.reads_data
def fold(
    data: options.DataFile,
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="the files, with {} for the number: fold-{}.csv")
    ],
    folds: Annotated[int, typer.Option("--folds", "-k", min=2, help="how many")] = 10,
    seed: options.SeedOption = 0,
    to: options.OutFormatOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Split a data file into folds of equal size, each class dealt evenly.

    Example: opforest fold iris.csv 'fold-{}.csv' --folds 5
    """
    with say_errors():
        from opforest.apps.cli.splitting import deal_evenly

        if "{}" not in out:
            raise ValueError(f"OUT must have {{}} where the number of the fold goes, got {out!r}.")
        names = [out.replace("{}", str(k + 1)) for k in range(folds)]
        keep_apart([data], names)
        reading = how.reading(allow_missing=True, categories=True, lossless=True)
        (examples,) = _read([data], reading)
        if folds > len(examples):
            raise ValueError(f"--folds must be at most {len(examples)}, the number of examples.")
        part = deal_evenly(examples.y, len(examples), folds, seed)
        _write_parts(names, examples, part, to, json)


@options.reads_data
def merge(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="data files")],
    out: Annotated[str, typer.Option("--out", "-o", help="the file to write; - for stdout")],
    to: options.OutFormatOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Put the examples of several data files into one.

    All must have the same features. Ids are kept if all have one and no two the same.

    Example: opforest merge monday.csv tuesday.parquet --out week.csv
    """
    with say_errors():
        keep_apart(data, [out])
        from opforest.apps.cli.splitting import merge_parts
        from opforest.io.tables import write_table

        reading = how.reading(allow_missing=True, categories=True, lossless=True)
        merged = merge_parts(_read(data, reading), data)
        write_table(out, merged, to)
        _tell(out, merged, json)


@options.reads_data
def normalize(
    data: options.DataFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="the file to write; - for stdout")],
    by: Annotated[
        str | None,
        typer.Option(help="take means and deviations from this file, such as the training set"),
    ] = None,
    to: options.OutFormatOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Bring each feature to mean 0 and deviation 1; one that never changes becomes 0.

    Example: opforest normalize test.csv test-z.csv --by train.csv
    """
    with say_errors():
        keep_apart([data, by], [out])
        from opforest.apps.cli.splitting import standardize
        from opforest.io.tables import format_of, write_table

        files = [data] if by is None else [data, by]
        examples, *others = _read(files, how.reading(lossless=True))
        reference = others[0] if others else examples
        single = (to or format_of(out) or "").startswith("libopf")
        scores = standardize(examples, reference, data, single)
        write_table(out, scores, to)
        _tell(out, scores, json)


def _read(paths: list[str], reading: "ReadOptions") -> list["Data"]:
    """Read data files, and say which column was taken for the label."""
    from opforest.apps.cli.output import print_notes
    from opforest.io.tables import read_table

    parts = [read_table(path, reading) for path in paths]
    print_notes([note for part in parts for note in part.notes])
    return parts


def _tell(out: str, written: "Data", as_json: bool) -> None:
    """Say what was written, unless that was printed itself."""
    from opforest.apps.cli.output import print_facts
    from opforest.io.source import STANDARD

    if out != STANDARD:
        facts = {"file": out, "examples": len(written), "features": written.X.shape[1]}
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
    """Write all parts, or none if one of them cannot be."""
    import numpy as np

    from opforest.apps.cli.output import print_json, print_table
    from opforest.io.tables import check_fit, find_output_format, write_table

    chosen = [np.flatnonzero(part == k) for k in range(len(names))]
    if empty := [name for name, index in zip(names, chosen, strict=True) if not len(index)]:
        raise ValueError(f"there are too few examples: none is left for {empty[0]}.")
    parts = [examples.take(index) for index in chosen]
    for name, one in zip(names, parts, strict=True):
        check_fit(one, find_output_format(name, to), name)
    for name, one in zip(names, parts, strict=True):
        write_table(name, one, to)
    rows = [(name, len(one)) for name, one in zip(names, parts, strict=True)]
    if as_json:
        print_json({"parts": [{"file": name, "examples": count} for name, count in rows]})
    else:
        print_table(("file", "examples"), rows)
