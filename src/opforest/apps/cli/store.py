"""``opforest store``: a learner on disk, from the shell."""

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import BAD_MODEL, locate_errors, say_errors

if TYPE_CHECKING:
    from opforest.io.columns.table import Data, InputSchema
    from opforest.learner import Learner

#: A label that is a whole number.
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})")

#: What is added to the name of a store for the files beside it, which SQLite and we write.
BESIDE = ("", "-wal", "-shm", "-journal", "-lock")

StoreFile = Annotated[str, typer.Argument(metavar="STORE", help="the file of a store")]


def files_of(store: str) -> list[str]:
    """Return the names of the files that a store consists of."""
    return [store + end for end in BESIDE]


@contextmanager
def _opened(path: str, **more: Any) -> Iterator["Learner"]:
    """Open a store that is there."""
    import os

    from opforest.learner import Learner, StoreError

    if not os.path.exists(path):
        raise StoreError(
            f"{path}: there is no such store. `opforest store create {path}` makes one."
        )
    with Learner(path, **more) as learner:
        yield learner


def _expected(learner: "Learner") -> "InputSchema | None":
    """Return what a store expects of data files."""
    from opforest._utils.numerals import Cells
    from opforest.io.columns.table import InputSchema
    from opforest.learner.rows import PreparedRows

    known, rows = learner.settings, learner._fresh().rows
    if known.n_features is None:
        return None
    text = None if known.labels is None else known.labels == "text"
    first = rows.steps[0][1] if isinstance(rows, PreparedRows) and rows.steps else None
    categorical = frozenset(getattr(first, "categorical_", ()))
    cells = Cells.from_data(known.cells)
    return InputSchema(known.n_features, known.feature_names, text, None, categorical, cells)


def _reading(learner: "Learner", how: options.How) -> Any:
    """Return how to read data files for a store."""
    known = learner.settings
    asked = known.preparation
    return how.reading(
        expected=_expected(learner),
        allow_missing=asked is not None and asked.get("missing", "median") != "error",
        categories=asked is not None and asked.get("encode", "onehot") != "error",
        may_lack_labels=known.semi_supervised,
        remedy="store",
    )


def create(
    store: StoreFile,
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    features: Annotated[
        str | None, typer.Option(help="the names of the features, separated by commas")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="float64 or float32 (default: as the first examples come)")
    ] = None,
    score: Annotated[
        bool, typer.Option("--score", help="predict each example before it is learned, and count")
    ] = False,
    semi_supervised: Annotated[
        bool, typer.Option("--semi-supervised", help="learn examples without labels, too")
    ] = False,
    encode: options.EncodeOption = None,
    missing: options.MissingOption = None,
    scale: options.ScaleOption = None,
    json: options.JsonOption = False,
) -> None:
    """Make an empty store.

    What --encode, --missing and --scale do is learned from the first file.

    Example: opforest store create animals.db --score --scale standard
    """
    with say_errors():
        import os

        from opforest.apps.cli.output import print_facts
        from opforest.estimators.preparation import Preparation
        from opforest.learner import Learner, StoreError

        if os.path.exists(store) and os.path.getsize(store):
            raise StoreError(f"{store} is there already: remove it, or choose another name.")
        names = None if features is None else [name.strip() for name in features.split(",")]
        params = options.parse_params(metric_param)
        preparation = Preparation(encode or "error", missing or "error", scale or "none")
        with Learner(store, metric=metric, metric_params=params, feature_names=names,
                     precision=precision, score=score, semi_supervised=semi_supervised,
                     preparation=preparation) as learner:  # fmt: skip
            known = learner.settings
        facts = {"store": store, "metric": known.metric, "score": known.score}
        if semi_supervised:
            facts["semi-supervised"] = True
        print_facts({**facts, **(known.preparation or {})}, json)


@options.reads_data
def learn(
    store: StoreFile,
    data: options.DataFile,
    replace: Annotated[
        bool, typer.Option("--replace", help="replace examples that have the same key")
    ] = False,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Learn a data file, chunk by chunk; a column of ids has the keys.

    Examples whose key and content are known already change nothing, so a file may be learned again
    after an interruption.

    Example: opforest store learn animals.db more.csv
    """
    with say_errors("Stopped; what was learned is on disk. Run it again to learn the rest."):
        from opforest.apps.cli.models import notes_of
        from opforest.apps.cli.output import counting, print_facts, print_notes
        from opforest.apps.cli.scales import quiet_about_scales
        from opforest.io.tables import read_chunks, read_table

        keep_apart([data], files_of(store))
        begin, totals = perf_counter(), {"learned": 0, "unchanged": 0, "replaced": 0}
        with _opened(store) as learner, counting("learned") as count:
            reading, known = _reading(learner, how), learner.settings
            if known.semi_supervised:
                totals["labeled"] = 0
            whole = known.preparation is not None and known.prepared is None
            is_first, begins = True, len(learner) == 0
            for chunk in [read_table(data, reading)] if whole else read_chunks(data, reading):
                print_notes(notes_of(chunk, reading) if is_first else [])
                y = _labels(chunk, data, learner)
                keys = None if chunk.ids is None else [str(key) for key in chunk.ids.tolist()]
                cells = (chunk.layout or {}).get("cells")
                with locate_errors(data), quiet_about_scales():
                    change = learner.learn_named(chunk.X, y, keys, replace, chunk.feature_names,
                                                 cells)  # fmt: skip
                for name in totals:
                    totals[name] += getattr(change, name)
                if is_first and begins:
                    _warn_of_scales(learner, chunk, data)
                is_first = False
                count(len(chunk))
            examples = len(learner)
        seconds = perf_counter() - begin
        print_facts({"store": store, **totals, "examples": examples, "seconds": seconds}, json)


@options.reads_data
def predict(
    store: StoreFile,
    data: options.DataFile,
    proba: Annotated[
        bool, typer.Option("--proba", help="add the probability of each class")
    ] = False,
    out: Annotated[str, typer.Option("--out", "-o", help="where to write (default: stdout)")] = "-",
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Print the label of each example, as `opforest predict` does; another process may be learning.

    Example: opforest store predict animals.db new.csv
    """
    with say_errors():
        keep_apart([*files_of(store), data], [out])
        from opforest.apps.cli.output import counting
        from opforest.apps.cli.predict import answers, write_json, write_lines
        from opforest.io.source import STANDARD
        from opforest.io.tables import open_output, read_chunks

        is_shown = out == STANDARD and sys.stdout.isatty()
        with _opened(store, read_only=True) as learner:
            if len(learner) == 0:
                raise ValueError(f"{store} has no examples yet: learn some first.")
            model, reading = learner.model, _reading(learner, how)
            write = write_json if json else write_lines
            with open_output(out) as stream, counting("predicted", not is_shown) as count:
                text = io.TextIOWrapper(stream, "utf-8", newline="")
                try:
                    chunks = read_chunks(data, reading)
                    for line in write(answers(model, chunks, data, proba, False, False), model):
                        text.write(line)
                        count(line.count("\n"))
                finally:
                    text.detach()


def forget(
    store: StoreFile,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="the keys of the examples")
    ] = None,
    keys_from: Annotated[
        str | None, typer.Option(help="a file with more keys, one a line; - is the standard input")
    ] = None,
    missing_ok: Annotated[
        bool, typer.Option("--missing-ok", help="skip keys that no example has")
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Forget examples: they leave the model, the table and every byte of the files.

    Example: opforest store forget animals.db img-17 img-18
    """
    with say_errors():
        from opforest.apps.cli.output import print_facts

        keep_apart([keys_from], files_of(store))
        wanted = list(keys or ())
        if keys_from is not None:
            is_standard = keys_from == "-"
            text = sys.stdin.read() if is_standard else Path(keys_from).read_text("utf-8-sig")
            wanted += [line for line in text.split("\n") if line.strip()]
        if not wanted:
            raise ValueError("name the keys of the examples to forget, or --keys-from a file.")
        with _opened(store) as learner:
            change = learner.forget(wanted, missing_ok=missing_ok)
            examples = len(learner)
        print_facts({"store": store, "forgotten": change.forgotten, "examples": examples}, json)


def correct(
    store: StoreFile,
    key: Annotated[str, typer.Argument(metavar="KEY", help="the key of an example")],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="its label")],
    json: options.JsonOption = False,
) -> None:
    """Give an example another label.

    Example: opforest store correct animals.db img-17 cat
    """
    with say_errors():
        from opforest.apps.cli.output import print_facts

        with _opened(store) as learner:
            change = learner.correct(key, _as_label(label, learner.settings.labels))
        corrected = change.replaced + change.labeled
        facts = {"store": store, "key": key, "label": label, "corrected": corrected}
        print_facts(facts, json)


def _warn_of_scales(learner: "Learner", data: "Data", path: str) -> None:
    """Warn of the scales of the first examples of a store."""
    from opforest.apps.cli.models import complete_rows
    from opforest.apps.cli.scales import warn_of_scales

    if len(learner) == 0:
        return
    model = learner.model
    X = complete_rows(model, data, path, may_drop=True).X
    X = model.prepare(X) if hasattr(model, "steps") else X
    warn_of_scales(model, X, data, "make a new store with --scale standard")


def _labels(data: "Data", path: str, learner: "Learner") -> Any:
    """Return labels; None for those that a semi-supervised store may do without."""
    from opforest.apps.cli.models import NO_LABEL, labels_of

    known = learner.settings
    if not known.semi_supervised:
        return labels_of(data, path)
    if data.y is None:
        return [None] * len(data)
    if data.y.dtype.kind != "U":
        return data.y
    labels = [None if label in NO_LABEL else label for label in data.y.tolist()]
    there = [label for label in labels if label is not None]
    if known.labels == "integer" or (known.labels is None and all(map(_WHOLE.fullmatch, there))):
        return [None if label is None else _as_label(label, "integer") for label in labels]
    return labels


def _as_label(text: str, kind: str | None) -> Any:
    """Return a label as the store has it."""
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


def audit(store: StoreFile, json: options.JsonOption = False) -> None:
    """Train on the table and compare the model with the result; check the file.

    Example: opforest store audit animals.db
    """
    with say_errors():
        from dataclasses import asdict

        from opforest.apps.cli.output import print_json

        with _opened(store, read_only=True) as learner:
            found = learner.audit()
        if json:
            print_json({**asdict(found), "ok": found.ok})
        else:
            typer.echo(str(found))
    if not found.ok:
        raise typer.Exit(BAD_MODEL)


def export(
    store: StoreFile,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="a data file, for all examples; or a model file, NAME.opforest"
        ),
    ],
    to: options.OutFormatOption = None,
    json: options.JsonOption = False,
) -> None:
    """Write all examples to a data file, or the model to a model file.

    Example: opforest store export animals.db animals.csv
    """
    with say_errors():
        from opforest.apps.cli.errors import require_folder
        from opforest.apps.cli.output import print_facts

        keep_apart(files_of(store), [file])
        require_folder(file)
        with _opened(store, read_only=True) as learner:
            learner.export(file, None if to is None else to.value)
            examples = len(learner)
        if file != "-":
            print_facts({"store": store, "file": file, "examples": examples}, json)


def make_store_app() -> Any:
    """Return the group of commands."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None,
                      help="Keep a learner on disk: create, learn, predict, forget, correct, "
                      "audit, export.")  # fmt: skip
    for command in (create, learn, predict, forget, correct, audit, export):
        app.command()(command)
    return app
