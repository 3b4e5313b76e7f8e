"""``opforest split``, ``fold``, ``merge``, ``normalize`` and ``distance``: LibOPF's tools."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from opforest.apps.cli import operations, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.lazy_modules import libopf, np, table, tables
from opforest.apps.cli.output import print_notes
from opforest.apps.cli.paths import require_distinct
from opforest.io.formats import format_of
from opforest.io.source import STANDARD

if TYPE_CHECKING:
    from opforest.core.metrics.metric import Metric


@options.command()
def split(
    reading: options.ReadOptions,
    data: options.DataFile,
    out: Annotated[list[str], Argument(help="A file for each part.")],
    shares: Annotated[str | None, Option(help="Sizes, such as 0.8,0.2; equal by default.")] = None,
    seed: options.SeedOption = 0,
    to: options.OutFormatOption = None,
) -> options.Facts:
    """Split a data file at random, with the same shares of each class.

    A class with few examples fills the parts with the largest shares first.

    Example: opforest split iris.csv train.csv test.csv --shares 0.8,0.2 --seed 1
    """
    require_distinct([data], out)
    weights = _parse_shares(shares, len(out))
    (examples,) = _read([data], reading)
    part = operations.assign_stratified(examples.y, len(examples), weights, seed)
    return _write_parts(out, examples, part, to)


@options.command()
def fold(
    reading: options.ReadOptions,
    data: options.DataFile,
    out: Annotated[str, Argument(help="The files, with {} for the number: fold-{}.csv.")],
    folds: Annotated[int, Option("--folds", "-k", min=2, help="The number of folds.")] = 10,
    seed: options.SeedOption = 0,
    to: options.OutFormatOption = None,
) -> options.Facts:
    """Split a data file into folds of equal size, with each class spread evenly.

    Example: opforest fold iris.csv 'fold-{}.csv' --folds 5
    """
    if "{}" not in out:
        raise ValueError(f"OUT must have {{}} where the number of the fold goes, got {out!r}.")
    names = [out.replace("{}", str(k + 1)) for k in range(folds)]
    require_distinct([data], names)
    (examples,) = _read([data], reading)
    if folds > len(examples):
        raise ValueError(f"--folds must be at most {len(examples)}, the number of examples.")
    part = operations.assign_folds(examples.y, len(examples), folds, seed)
    return _write_parts(names, examples, part, to)


@options.command()
def merge(
    reading: options.ReadOptions,
    data: Annotated[list[str], Argument(help="The data files.")],
    out: options.OutOption,
    to: options.OutFormatOption = None,
) -> options.Facts:
    """Merge the examples of several data files into one.

    All must have the same features. Ids are kept if all files have ids and all ids differ.

    Example: opforest merge monday.csv tuesday.parquet --out week.csv
    """
    require_distinct(data, [out])
    return _write(out, operations.merge_parts(_read(data, reading), data), to)


@options.command()
def normalize(
    reading: options.ReadOptions,
    data: options.DataFile,
    out: options.OutPath,
    by: Annotated[str | None, Option(help="Take means and deviations from this file.")] = None,
    to: options.OutFormatOption = None,
) -> options.Facts:
    """Scale each feature to mean 0 and standard deviation 1; a constant feature becomes 0.

    Example: opforest normalize test.csv test-z.csv --by train.csv
    """
    require_distinct([data, by], [out])
    examples, *others = _read([data] if by is None else [data, by], reading, lossless=True)
    single = (to or format_of(out) or "").startswith("libopf")
    scores = operations.standardize(examples, others[0] if others else examples, data, single)
    return _write(out, scores, to)


@options.command()
def distance(
    metric: options.MetricOptions,
    reading: options.ReadOptions,
    data: options.DataFile,
    out: Annotated[str, Argument(help="A LibOPF file of distances, or .npy or .csv.")],
) -> options.Facts:
    """Measure the distances between all examples, in the order of the file.

    LibOPF's files hold 32-bit numbers, to which distances are rounded.

    Example: opforest distance iris.csv distances.dat --metric manhattan
    """
    from opforest.core.metrics.registry import resolve

    require_distinct([data, *metric.files], [out])
    chosen = resolve(metric.metric or "euclidean", metric.metric_params)
    if chosen.is_precomputed:
        raise ValueError("metric 'precomputed' measures nothing; name another one.")
    (examples,) = _read([data], reading, remedy="")
    with locate_errors(data):
        distances = _measure(examples.X, chosen)
    if out != STANDARD and format_of(out) in (None, "libopf"):
        libopf.write_distances(out, distances.astype(np.float32))
    else:
        tables.write_table(out, table.Data(distances))
    facts = {"file": out, "examples": len(distances), "metric": chosen.name}
    return None if out == STANDARD else facts


def _read(
    paths: Sequence[str], reading: options.ReadOptions, **changes: Any
) -> list["table.Data"]:  # fmt: skip
    """Read data files, with all their cells unless options are changed, and print the notes."""
    changes = changes or {"allow_missing": True, "categories": True, "lossless": True}
    parts = [tables.read_table(path, replace(reading, **changes)) for path in paths]
    print_notes([note for part in parts for note in part.notes])
    return parts


def _write(out: str, data: "table.Data", to: options.Format | None) -> options.Facts:
    """Write a data file, and return the facts to print beside it."""
    tables.write_table(out, data, to)
    facts = {"file": out, "examples": len(data), "features": data.X.shape[1]}
    return None if out == STANDARD else facts


def _parse_shares(shares: str | None, parts: int) -> list[float]:
    if parts < 2:
        raise ValueError("a split has at least two parts: name a file for each.")
    if shares is None:
        return [1.0] * parts
    try:
        weights = list(map(float, shares.split(",")))
    except ValueError:
        weights = []
    if len(weights) != parts or not all(0 < weight < float("inf") for weight in weights):
        raise ValueError(f"--shares must be {parts} positive numbers like 0.8,0.2, got {shares!r}.")
    return weights


def _write_parts(
    names: list[str], examples: "table.Data", part: object, to: options.Format | None
) -> options.Facts:
    """Write all parts, or none if one of them cannot be written."""
    parts = {name: examples.take(np.flatnonzero(part == k)) for k, name in enumerate(names)}
    for name, one in parts.items():
        if not len(one):
            raise ValueError(f"there are too few examples: none is left for {name}.")
        tables.check_fit(one, tables.find_output_format(name, to), name)
    for name, one in parts.items():
        tables.write_table(name, one, to)
    return {"parts": [{"file": name, "examples": len(one)} for name, one in parts.items()]}


def _measure(X: Any, metric: "Metric") -> Any:
    """Return the matrix of distances, in the metric's own units."""
    from opforest._utils import tuning
    from opforest.core.jit import specialize
    from opforest.core.metrics.distances import measure_block

    rows = metric.training_rows(metric.embed(X))
    measure = specialize(measure_block, metric.kernel)
    step = max(1, tuning.values.work_per_call // rows.size)  # so that Ctrl-C is handled in time
    blocks = [measure(rows, begin, min(begin + step, len(rows)), metric.kernel)
              for begin in range(0, len(rows), step)]  # fmt: skip
    distances = np.concatenate(blocks)
    metric.check_defined(
        distances.ravel(), lambda k: f"rows {k // len(X) + 1} and {k % len(X) + 1}"
    )
    return metric.to_units(distances, X.shape[1])
