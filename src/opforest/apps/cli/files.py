"""``opforest convert`` and ``opforest info``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import say_errors

if TYPE_CHECKING:
    from opforest.io.columns.table import Data


@options.reads_data
def convert(
    data: options.DataFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="the file to write; - for stdout")],
    to: options.OutFormatOption = None,
    round: Annotated[
        bool, typer.Option("--round", help="round to 32 bits what LibOPF's formats cannot hold")
    ] = False,
    encode_labels: Annotated[
        bool, typer.Option("--encode-labels", help="number the classes from 1, in their order")
    ] = False,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Write a data file in another format, without loss; or a model.

    Numbers and labels are kept to the last bit, or the command refuses; names and ids are kept
    where the format has room for them. A model of ours becomes one of LibOPF, and one of LibOPF
    one of ours if OUT has no name of a data file.

    Example: opforest convert training.dat training.csv
    """
    with say_errors():
        keep_apart([data], [out])
        from opforest.apps.cli.models import kind_of_model
        from opforest.apps.cli.output import print_notes
        from opforest.io.tables import find_output_format, read_table, write_table

        reading = how.reading(allow_missing=True, categories=True, lossless=True)
        if kind_of_model(data) and _convert_model(data, out, to, json):
            return
        kind = find_output_format(out, to)
        examples = read_table(data, reading)
        print_notes(examples.notes)
        codes = None
        if encode_labels:
            examples, codes = _encode(examples)
        if round and kind.startswith("libopf") and not hasattr(examples.X, "columns"):
            examples = _round(examples)
        write_table(out, examples, kind)
        _tell(out, kind, examples, codes, json)


def _convert_model(path: str, out: str, to: options.Format | None, as_json: bool) -> bool:
    """Convert a model, unless its examples are wanted, and return whether that was done."""
    import opforest
    from opforest.apps.cli.learn import describe
    from opforest.apps.cli.models import kind_of_model, load_model, load_to_predict, require_no_data
    from opforest.apps.cli.output import print_facts
    from opforest.io.formats import format_of
    from opforest.io.libopf import write_model
    from opforest.io.source import STANDARD

    kind, wanted = kind_of_model(path), to or format_of(out)
    if kind == "LibOPF" and wanted is not None:
        return False
    if kind == "opforest" and (to is not None or wanted not in (None, "libopf")):
        raise ValueError(
            f"{path} is a model, which becomes one of LibOPF: OUT must be called .opf or .dat, or "
            f"have no ending of a data file, got {out!r}."
        )
    if out == STANDARD:
        raise ValueError("a model is written to a file, not to the standard output.")
    model = load_to_predict(path) if kind == "LibOPF" else load_model(path)
    if kind == "opforest" and hasattr(model, "steps"):
        raise ValueError(f"{path} prepares its data, which LibOPF's models cannot: no conversion.")
    if kind == "opforest":
        write_model(out, model)
    else:
        require_no_data(out)
        opforest.save(model, out)
    facts = describe(model) if hasattr(model, "forest_") else _describe_densities(model)
    print_facts({"file": out, **facts}, as_json)
    return True


def _encode(examples: "Data") -> tuple["Data", dict[str, Any]]:
    from dataclasses import replace

    import numpy as np

    if examples.y is None:
        raise ValueError("--encode-labels: there are no labels; --label names their column.")
    classes, y = np.unique(examples.y, return_inverse=True)
    codes = {str(k): label for k, label in enumerate(classes.tolist(), 1)}
    return replace(examples, y=y.astype(np.int64) + 1), codes


def _round(examples: "Data") -> "Data":
    from dataclasses import replace

    import numpy as np

    return replace(examples, X=examples.X.astype(np.float32))


def _tell(
    out: str, kind: str, examples: "Data", codes: dict[str, Any] | None, as_json: bool
) -> None:
    from opforest.apps.cli.output import note, print_facts
    from opforest.io.formats import FORMATS
    from opforest.io.source import STANDARD

    if examples.feature_names and not FORMATS[kind].keeps_names:
        note(f"{kind} has no room for the names of features")
    if examples.ids is not None and not FORMATS[kind].keeps_ids:
        note(f"{kind} has no room for ids")
    facts: dict[str, Any] = {"file": out, "format": kind, "examples": len(examples),
                             "features": examples.X.shape[1]}  # fmt: skip
    if codes is not None:
        facts["labels"] = codes
    if out != STANDARD:
        print_facts(facts, as_json)


@options.reads_data
def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help="a data file or a model; - is stdin")],
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Say what is in a data file, column by column, or in a model.

    Of each column: its kind, how many values and missing cells it has, and what it would be used
    for, and why. No file is refused because of what is in it.

    Example: opforest info iris.csv
    """
    with say_errors():
        from opforest.apps.cli.models import kind_of_model

        if kind_of_model(file):
            _describe_model(file, json)
        else:
            _describe_data(file, how.reading(allow_missing=True), json)


def _describe_model(path: str, as_json: bool) -> None:
    from opforest.apps.cli.learn import describe
    from opforest.apps.cli.models import classifier_of, load_to_predict, preparation_of
    from opforest.apps.cli.output import print_facts

    model = load_to_predict(path)
    classifier, preparation = classifier_of(model), preparation_of(model)
    if not hasattr(classifier, "forest_"):
        print_facts({"file": path, "kind": "model", **_describe_densities(classifier)}, as_json)
        return
    labels = classifier.classes_.tolist()
    counts = dict.fromkeys(labels, 0)
    for code in classifier.forest_.label.tolist() if labels else ():
        counts[labels[code]] += 1
    names = getattr(classifier, "feature_names_in_", ())
    facts = {"file": path, "kind": "model", **describe(model)}
    if preparation is not None:
        names = preparation.columns_ or ()
        facts["prepared_features"] = list(preparation.get_feature_names_out())
    facts |= {"feature_names": list(map(str, names)), "examples_by_class": counts,
              "bytes": classifier.forest_.n_bytes}  # fmt: skip
    print_facts(facts, as_json)


def _describe_densities(model: Any) -> dict[str, Any]:
    """Return what is to be said of a clustering and its kin."""
    facts = {"estimator": type(model).__name__, "examples": len(model.density_),
             "features": model.n_features_in_, "k": model.k_}  # fmt: skip
    if hasattr(model, "roots_"):
        facts["clusters"] = len(model.roots_)
    if hasattr(model, "classes_"):
        facts["classes"] = len(model.classes_)
    return facts | {
        "metric": model.metric if isinstance(model.metric, str) else "a function",
        "metric_params": dict(model.metric_params or {}),
        "feature_names": list(map(str, getattr(model, "feature_names_in_", ()))),
    }


def _describe_data(path: str, reading: Any, as_json: bool) -> None:
    from opforest.apps.cli.output import print_json, print_notes, print_table
    from opforest.io.tables import read_columns

    roles = read_columns(path, reading)
    columns = [_describe_column(roles, k) for k in range(len(roles.columns))]
    label = None if roles.label is None else roles.columns[roles.label]
    classes: dict[str, int] = {}
    if label is not None and label.distinct <= 1000:
        counts = (label.words if label.is_text else label.cells).value_counts(sort=True)
        classes = {str(value): int(count) for value, count in counts.iter_rows()
                   if value is not None}  # fmt: skip
    facts = {"file": path, "kind": "data", "examples": len(roles.columns[0].cells),
             "features": len(roles.features),
             "label": None if label is None else label.name or label.number,
             "classes": len(classes), "question": roles.question or None}  # fmt: skip
    if as_json:
        print_json({**facts, "examples_by_class": dict(sorted(classes.items())),
                    "columns": columns, "notes": roles.notes})  # fmt: skip
        return
    rows = [(key, "" if fact is None else str(fact)) for key, fact in facts.items()]
    print_table(("what", "value"), rows[:-1])
    if classes:
        print_table(("class", "examples"), sorted(classes.items())[:30], "Classes")
    headings = list(columns[0])
    print_table(headings, [["" if cell is None else cell for cell in row.values()]
                           for row in columns[:200]], "Columns")  # fmt: skip
    print_notes([*roles.notes, *([roles.question] if roles.question else []),
          *([f"{len(columns) - 200} more columns"] if len(columns) > 200 else [])])  # fmt: skip


def _describe_column(roles: Any, k: int) -> dict[str, Any]:
    """Return what is known of a column, and what it is used for."""
    from opforest.io.columns.describe import NUMERIC

    column = roles.columns[k]
    role = ("label" if k == roles.label else "id" if k == roles.id else "left out"
            if k in roles.left_out else "feature")  # fmt: skip
    why = roles.why if role == "label" else roles.left_out.get(k, "")
    if role == "feature" and column.kind in ("category", "text"):
        why = "needs --encode" + (" and --missing" if column.missing else "")
    elif role == "feature" and column.kind not in (*NUMERIC, "empty"):
        why = "holds what is no number"
    elif role == "feature" and column.missing:
        why = "needs --missing"
    least = mean = most = None
    if column.kind in NUMERIC and column.kind != "boolean":
        known = column.numbers.drop_nulls().drop_nans()
        if len(known):
            least, mean, most = (float(value) for value in (known.min(), known.mean(), known.max()))
    return {
        "number": column.number, "name": column.name, "kind": column.kind,
        "distinct": column.distinct if column.kind != "other" else None,
        "missing": column.missing, "least": least, "mean": mean, "most": most,
        "role": role, "why": why,
    }  # fmt: skip
