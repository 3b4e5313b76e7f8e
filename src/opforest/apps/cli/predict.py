"""``opforest predict``."""

import io
import json as json_format
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from typer import Option

from opforest._utils.text import join_first
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, find_complete
from opforest.apps.cli.lazy_modules import table, tables
from opforest.apps.cli.output import count_examples, format_csv
from opforest.apps.cli.paths import require_distinct
from opforest.io.source import STANDARD

#: Predictions of some examples: lists of equal length, by name.
Predictions = dict[str, list[Any]]


@options.command()
def predict(
    reading: options.ReadOptions,
    model: options.ModelPath,
    data: options.DataFile,
    proba: options.ProbaOption = False,
    costs: Annotated[bool, Option(help="Add the cheapest offer of each class.")] = False,
    explain: Annotated[bool, Option(help="Print the path that gave each label.")] = False,
    keep: options.CopyOption = None,
    out: options.OutOption = "-",
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Print the label of each example, one per line; with --keep, --proba or --costs, CSV.

    The columns must be those that the model was trained on, in any order if they have names; a
    label, an id and other columns are ignored. The file may be larger than memory.

    With --explain, queries are identified by row number or, if present, id, and training examples
    by their number in the order of learning. Both numbers count from 0.

    Example: opforest predict iris.opforest new.csv --proba > labels.csv
    """
    require_distinct([model, data], [out])
    if keep and explain and not json:
        raise ValueError("--keep does not go with --explain, which prints no table: add --json.")
    estimator = models.load_model(model, jobs, may_be_parts=True)
    job = Job(estimator, data, replace(reading, copied=reading.keep))
    if (proba or costs or explain) and not hasattr(models.classifier_of(job.model), "forest_"):
        raise ValueError("--proba, --costs and --explain need a classifier made by train, without "
                         "--out-of-core; in Python, to_local() makes one of a folder.")  # fmt: skip
    write = write_json if json else _write_paths if explain else write_lines
    wanted = {"proba": proba, "costs": costs, "path": explain}
    details = [name for name, is_wanted in wanted.items() if is_wanted]
    write_output(
        out, write(predict_chunks(job.model, job.query_chunks(), data, details), job.model)
    )


def write_output(out: str, lines: Iterable[str]) -> None:
    """Write lines to a file or the standard output, and show their number on a terminal."""
    is_shown = out == STANDARD and sys.stdout.isatty()  # a progress bar would get in between
    with tables.open_output(out) as stream, count_examples("predicted", not is_shown) as count:
        text = io.TextIOWrapper(stream, "utf-8", newline="")
        try:
            for line in lines:
                text.write(line)
                count(line.count("\n"))
        finally:
            text.detach()


def predict_chunks(
    model: Any, chunks: Iterator["table.Data"], path: str, details: Collection[str] = ()
) -> Iterator[Predictions]:
    """Yield the labels of each chunk, and details: "proba", "costs" and "path"."""
    for chunk in chunks:
        _require_complete(model, chunk, path)
        with locate_errors(path, chunk):
            found: Predictions = {"label": model.predict(chunk.X).tolist()}
            if chunk.ids is not None:
                found["id"] = chunk.ids.tolist()
            if chunk.copied is not None:
                found["kept"] = chunk.copied.to_dicts()
            if "proba" in details:
                found["proba"] = model.predict_proba(chunk.X).tolist()
            if "costs" in details:
                found["costs"] = model.class_costs(chunk.X).tolist()
            if "path" in details:
                found["path"] = [model.explain(chunk.X[i : i + 1]) for i in range(len(chunk))]
        yield found


def _require_complete(model: Any, data: "table.Data", path: str) -> None:
    """Raise an error if cells are missing in a row that needs an answer."""
    complete = find_complete(model, data)
    if complete is not None and not complete.all():
        row = int(complete.argmin())
        raise data.error_at(
            row,
            f"the cell of {join_first(_list_missing(model, data, row))} is missing, and the model "
            "was trained with --missing drop, so it has no answer; fill it in, or train the model "
            "with --missing median, which does",
            path,
            is_label=False,
        )


def _list_missing(model: Any, data: "table.Data", row: int) -> list[str]:
    """Return the columns that a model uses in which the cell of a row is missing."""
    X, preparation = data.X, models.preparation_of(model)
    ignored = preparation.categorical_ if preparation.encode == "drop" else ()
    cells = X.row(row) if hasattr(X, "columns") else X[row].tolist()
    numbers = (data.layout or {}).get("features", range(1, len(cells) + 1))
    names = data.feature_names and map(repr, data.feature_names)
    columns = enumerate(zip(names or numbers, cells, strict=True))
    return [f"column {name}" for k, (name, cell) in columns
            if k not in ignored and (cell is None or cell != cell)]  # fmt: skip


def write_lines(predictions: Iterator[Predictions], model: Any) -> Iterator[str]:
    """Yield labels, one per line, or CSV if there are other columns."""
    for k, found in enumerate(predictions):
        details = [name for name in ("proba", "costs") if name in found]
        if not details and "kept" not in found:
            yield "".join(f"{label}\n" for label in found["label"])
            continue
        yield format_csv(_list_columns(found, details, model), has_header=k == 0)


def _list_columns(found: Predictions, details: Sequence[str], model: Any) -> Predictions:
    """Return the columns of CSV: ids and kept columns, the label, and details by class."""
    kept = found.get("kept", [{}])
    columns = {name: [row[name] for row in kept] for name in kept[0]} if found["label"] else {}
    if "id" in found:
        columns = {"id": found["id"]} | columns  # as it is written, if it is kept
    columns["predicted label" if "label" in columns else "label"] = found["label"]
    for name in details:
        cells = zip(*found[name], strict=True)
        for label, cell in zip(model.classes_.tolist(), cells, strict=True):
            columns[f"{name} {label}"] = list(cell)
    return columns


def _write_paths(predictions: Iterator[Predictions], model: Any) -> Iterator[str]:
    """Yield the path to each example as a small table, after a line that explains the numbers."""
    number = -1
    for found in predictions:
        if number < 0:
            named = "by their ids" if "id" in found else "by their rows, from 0"
            yield (f"# queries are named {named}; examples by their ids in the model: "
                   "the first one learned is 0\n")  # fmt: skip
        for i, path in enumerate(found["path"]):
            number += 1
            lines = [f"query {found['id'][i] if 'id' in found else number}: {path}"]
            for detail in ("proba", "costs"):
                if detail in found:
                    pairs = zip(model.classes_.tolist(), found[detail][i], strict=True)
                    values = ", ".join(f"{label!r} {value:.6g}" for label, value in pairs)
                    lines.append(f"  {detail}: {values}")
            yield "\n".join(lines) + "\n"


def write_json(predictions: Iterator[Predictions], model: Any) -> Iterator[str]:
    """Yield one JSON object in pieces."""
    from dataclasses import asdict

    from opforest.forest.explanation import describe_features

    classes = json_format.dumps(_possible_labels(models.classifier_of(model)), ensure_ascii=False)
    yield f'{{"classes": {classes}, "predictions": ['
    separator = ""
    for found in predictions:
        if "path" in found:
            paths = found["path"]
            found["path"] = [[asdict(step) for step in path.steps] for path in paths]
            if any(path.table is not None for path in paths):
                found["features"] = [describe_features(path) for path in paths]
            if any(path.voters for path in paths):
                found["voters"] = [[asdict(voter) for voter in path.voters] for path in paths]
        for row in zip(*found.values(), strict=True):
            record = dict(zip(found, row, strict=True))
            yield separator + json_format.dumps(record, ensure_ascii=False)
            separator = ",\n"
    yield "]}\n"


def _possible_labels(estimator: Any) -> list[Any]:
    if hasattr(estimator, "classes_"):
        return list(estimator.classes_.tolist())
    return list(range(len(estimator.roots_))) if hasattr(estimator, "roots_") else [-1, 1]
