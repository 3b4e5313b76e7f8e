"""``opforest store``: a durable learner, from the shell."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from dataclasses import replace as change_fields
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import opforest
from opforest._utils.numerals import Cells
from opforest._utils.text import count
from opforest.apps.cli import job, options
from opforest.apps.cli.errors import BAD_MODEL, locate_errors
from opforest.apps.cli.groups import make_group
from opforest.apps.cli.lazy_modules import table, tables
from opforest.apps.cli.models import active_parameters, classifier_of, kind_of_model
from opforest.apps.cli.output import count_examples, print_json, print_notes
from opforest.apps.cli.paths import require_distinct, require_folder
from opforest.apps.cli.predict import predict_chunks, write_json, write_lines, write_output

if TYPE_CHECKING:
    from opforest.learner import Learner

KEYS = (
    "Keys of examples: their ids in the data file, or, if it has none, :1, :2 and so on in the "
    "order of learning."
)

StorePath = Annotated[str, Argument(help="The file of the store.")]


def files_of(store: str) -> list[str]:
    """Return the paths of all files of a store."""
    from opforest.learner.database import SUFFIXES

    return [store + suffix for suffix in SUFFIXES]


def require_store(path: str) -> None:
    """Raise an error if a store does not exist, or is a model."""
    if not os.path.exists(path):
        raise opforest.StoreError(
            f"{path}: there is no such store. `opforest store create {path}` makes one."
        )
    if kind_of_model(path) == "opforest":
        raise opforest.StoreError(
            f"{path} is a model, not a store: `opforest predict`, `update` and `forget` take it."
        )


def _open(path: str, **more: Any) -> "Learner":
    """Open a store that exists."""
    require_store(path)
    return opforest.Learner(path, **more)


def _schema_of(learner: "Learner") -> "table.InputSchema | None":
    """Return the columns that a store expects, or None while it is empty."""
    from opforest.learner.rows import rows_of

    known = learner.settings
    if known.n_features is None:
        return None
    text_labels = None if known.labels is None else known.labels == "text"
    steps = getattr(rows_of(known), "steps", None)  # a store with a preparation has them
    text = frozenset(getattr(steps[0][1], "categorical_", ()) if steps else ())
    cells = Cells.from_data(known.cells)
    return table.InputSchema(known.n_features, known.feature_names, text_labels, None, text, cells)


def _adapt(reading: options.ReadOptions, learner: "Learner") -> options.ReadOptions:
    """Return the options for reading data files for a store."""
    known = learner.settings
    asked = known.preparation
    return change_fields(
        reading,
        expected=_schema_of(learner),
        allow_missing=asked is not None and asked.get("missing", "median") != "error",
        categories=asked is not None and asked.get("encode", "onehot") != "error",
        may_lack_labels=known.semi_supervised,
        remedy="store",
    )


@options.command()
def create(
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    store: StorePath,
    features: Annotated[str | None, Option(help="The feature names, separated by commas.")] = None,
    precision: Annotated[str | None, Option(help="float64 or float32. Default: detected.")] = None,
    score: Annotated[bool, Option(help="Test each example before it is learned.")] = False,
    semi_supervised: Annotated[bool, Option(help="Learn examples without labels, too.")] = False,
    voters: options.VotersOption = None,
) -> options.Facts:
    """Create an empty store.

    The preparation by --encode, --missing and --scale is learned from the first file.

    Example: opforest store create animals.db --score --scale standard
    """
    require_distinct(metric.files, files_of(store))
    if os.path.exists(store) and os.path.getsize(store):
        raise opforest.StoreError(f"{store} exists already: remove it, or choose another name.")
    names = None if features is None else [name.strip() for name in features.split(",")]
    with opforest.Learner(
        store, metric=metric.metric, metric_params=metric.metric_params, feature_names=names,
        precision=precision, score=score, semi_supervised=semi_supervised, voters=voters,
        preparation=preparation.make(),
    ) as learner:  # fmt: skip
        known = learner.settings
    facts = {"store": store, "metric": known.metric, "score": known.score}
    if semi_supervised:
        facts["semi_supervised"] = True
    if known.voters != 1:
        facts["voters"] = known.voters
    return {**facts, **active_parameters(known.preparation or {})}


@options.command(
    "Stopped; all learned examples are saved. With ids, the same command learns the rest."
)
def learn(
    reading: options.ReadOptions,
    store: StorePath,
    data: options.DataFile,
    replace: Annotated[bool, Option(help="Replace examples that have the same key.")] = False,
    again: Annotated[
        bool, Option(help="Learn a file without ids even if the store holds its examples.")
    ] = False,
) -> options.Facts:
    """Learn a data file in chunks; its ids are the keys.

    Examples whose key and content are known change nothing, so a file can be learned again after an
    interruption. A file without ids would be learned twice, so it is refused if the store holds all
    examples of its first chunk; --again learns them anyway.

    Example: opforest store learn animals.db more.csv
    """
    require_distinct([data], files_of(store))
    begin, totals = perf_counter(), {"learned": 0, "unchanged": 0, "replaced": 0}
    with _open(store) as learner, count_examples("learned") as advance:
        reading, known = _adapt(reading, learner), learner.settings
        if known.semi_supervised:
            totals["labeled"] = 0
        is_first, is_new = True, len(learner) == 0
        if known.preparation is not None and known.prepared is None:
            chunks = iter([tables.read_table(data, reading)])  # it is learned from all rows
        else:
            chunks = tables.read_chunks(data, reading)
        for chunk in chunks:
            print_notes(job.notes_on(chunk, reading) if is_first else [])
            y = _labels_of(chunk, data, learner)
            keys = None if chunk.ids is None else [str(key) for key in chunk.ids.tolist()]
            cells = (chunk.layout or {}).get("cells")
            if is_first and keys is None and not (is_new or again):
                _require_new(learner, chunk, y, data)
            with _locate_conflicts(data, chunk), job.quiet_about_scales():
                change = learner.learn_named(chunk.X, y, keys, replace, chunk.feature_names, cells)
            for name in totals:
                totals[name] += getattr(change, name)
            if is_first and is_new and len(learner):
                complete = job.find_complete(learner.model, chunk)
                rows = chunk if complete is None else chunk.take(complete.nonzero()[0])
                job.warn_of_scales(learner.model, rows, "make a new store with --scale standard")
            is_first = False
            advance(len(chunk))
        examples = len(learner)
    seconds = perf_counter() - begin
    return {"store": store, **totals, "examples": examples, "seconds": seconds}


def _require_new(learner: "Learner", chunk: "table.Data", y: Any, path: str) -> None:
    """Raise an error if a store holds all these examples; print a note if it holds some."""
    with locate_errors(path, chunk):
        known = int(learner.contains(chunk.X, y).sum())
    n = len(chunk)
    if known == n:
        raise ValueError(
            f"{learner.path} holds {'the example' if n == 1 else f'all {n} examples'} that {path} "
            "begins with, and without ids they would be learned twice. --again learns them again; "
            "a column called id makes it safe to repeat a file."
        )
    if known:
        verb = "is" if known == 1 else "are"
        print_notes([
            f"{known} of the first {count(n, 'example')} {verb} in the store already, and {verb} "
            "learned again"
        ])  # fmt: skip


@contextmanager
def _locate_conflicts(path: str, chunk: "table.Data") -> Iterator[None]:
    """Add the file and the line to errors about examples, and the option that helps."""
    from opforest.learner.errors import KeyConflictError

    with locate_errors(path, chunk):
        try:
            yield
        except KeyConflictError as error:
            reason = f"another example has the key {error.key!r}: --replace replaces it"
            raise chunk.error_at(error.row, reason, path, is_label=False) from error


@options.command()
def stats(store: StorePath) -> options.Facts:
    """Describe a store: its examples, its settings and its score.

    Example: opforest store stats animals.db
    """
    return describe_store(store)


def describe_store(path: str) -> dict[str, Any]:
    """Return the facts about a store that commands print."""
    with _open(path, read_only=True) as learner:
        known = learner.stats()
        if known["voters"] == "auto" and known["classes"]:
            known["chosen_voters"] = classifier_of(learner.model).voters_
    score = known.pop("score") or {}
    known["preparation"] = active_parameters(known["preparation"] or {})
    known["examples_by_class"] = known.pop("classes")
    facts = {"store": path, "examples": known.pop("examples"),
             "classes": len(known["examples_by_class"]), **known}  # fmt: skip
    if score:
        facts |= {"tested": score["total"], "accuracy": score["accuracy"]}
    for name in ("commits", "commit_seconds"):  # of this process, which has only read
        del facts[name]
    return facts


@options.command()
def predict(
    reading: options.ReadOptions,
    store: StorePath,
    data: options.DataFile,
    proba: options.ProbaOption = False,
    keep: options.CopyOption = None,
    out: options.OutOption = "-",
    json: options.JsonOption = False,
) -> None:
    """Print the label of each example, as `opforest predict` does.

    Another process may be learning at the same time.

    Example: opforest store predict animals.db new.csv
    """
    require_distinct([*files_of(store), data], [out])
    with _open(store, read_only=True) as learner:
        if len(learner) == 0:
            raise ValueError(f"{store} has no examples yet: learn some first.")
        reading = change_fields(_adapt(reading, learner), copied=reading.keep)
        model, chunks = learner.model, tables.read_chunks(data, reading)
        found = predict_chunks(model, chunks, data, ["proba"] if proba else [])
        write_output(out, (write_json if json else write_lines)(found, model))


@options.command()
def forget(
    store: StorePath,
    keys: Annotated[list[str] | None, Argument(metavar="KEY", help=KEYS)] = None,
    keys_from: Annotated[
        str | None, Option(help="A file with more keys, one per line; - is the standard input.")
    ] = None,
    missing_ok: Annotated[bool, Option(help="Skip keys that no example has.")] = False,
) -> options.Facts:
    """Forget examples: remove them from the model, the table and every byte of the files.

    Example: opforest store forget animals.db img-17 img-18
    """
    require_distinct([keys_from], files_of(store))
    wanted = list(keys or ())
    if keys_from is not None:
        is_standard = keys_from == "-"
        text = sys.stdin.read() if is_standard else Path(keys_from).read_text("utf-8-sig")
        wanted += [line for line in text.split("\n") if line.strip()]
    if not wanted:
        raise ValueError("name the keys of the examples to forget, or --keys-from a file.")
    with _open(store) as learner:
        change = learner.forget(wanted, missing_ok=missing_ok)
        examples = len(learner)
    return {"store": store, "forgotten": change.forgotten, "examples": examples}


@options.command()
def correct(
    store: StorePath,
    key: Annotated[str, Argument(help="The key of the example, as for forget.")],
    label: Annotated[str, Argument(help="The new label.")],
) -> options.Facts:
    """Change the label of an example.

    Example: opforest store correct animals.db img-17 cat
    """
    with _open(store) as learner:
        change = learner.correct(key, _parse_label(label, learner.settings.labels))
    corrected = change.replaced + change.labeled
    return {"store": store, "key": key, "label": label, "corrected": corrected}


def _labels_of(data: "table.Data", path: str, learner: "Learner") -> Any:
    """Return labels; None where a semi-supervised store accepts a missing one."""
    known = learner.settings
    if not known.semi_supervised:
        return job.labels_of(data, path)
    if data.y is None:
        return [None] * len(data)
    if data.y.dtype.kind != "U":
        return data.y
    labels = [None if label in job.NO_LABEL else label for label in data.y.tolist()]
    given = [label for label in labels if label is not None]
    if known.labels == "integer" or (known.labels is None and all(map(job.WHOLE.fullmatch, given))):
        return [None if label is None else _parse_label(label, "integer") for label in labels]
    return labels


def _parse_label(text: str, kind: str | None) -> Any:
    if kind in (None, "text"):
        return text
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise ValueError(f"labels of this store are true and false, got {text!r}.")
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"labels of this store are whole numbers, got {text!r}.") from None


@options.command()
def audit(store: StorePath, json: options.JsonOption = False) -> None:
    """Check the file, and compare the model with one trained on the stored examples.

    Example: opforest store audit animals.db
    """
    with _open(store, read_only=True) as learner:
        found = learner.audit()
    if json:
        print_json({**asdict(found), "ok": found.ok})
    else:
        typer.echo(str(found))
    if not found.ok:
        raise typer.Exit(BAD_MODEL)


@options.command()
def export(
    store: StorePath,
    file: Annotated[str, Argument(help="A data file, or a model file that ends in .opforest.")],
    to: options.OutFormatOption = None,
) -> options.Facts:
    """Write all examples to a data file, or the model to a model file.

    Example: opforest store export animals.db animals.csv
    """
    require_distinct(files_of(store), [file])
    require_folder(file)
    with _open(store, read_only=True) as learner:
        learner.export(file, to)
        examples = len(learner)
    return None if file == "-" else {"store": store, "file": file, "examples": examples}


def make_store_app() -> Any:
    """Return the group of commands."""
    commands = (create, learn, predict, forget, correct, stats, audit, export)
    help = "Manage a durable learner in an SQLite file."
    return make_group({"Commands": commands}, help, name="store")
