"""``opforest convert`` and ``opforest info``."""

import sys
from dataclasses import replace
from typing import Annotated, Any

from typer import Argument, Option

import opforest
from opforest.apps.cli import models, options
from opforest.apps.cli.lazy_modules import libopf, np, table, tables
from opforest.apps.cli.output import print_facts, print_json, print_notes, print_table
from opforest.apps.cli.paths import require_distinct, require_model_path
from opforest.apps.cli.store import describe_store
from opforest.io.formats import FORMATS, format_of
from opforest.io.source import STANDARD

#: Rows of the tables that ``info`` prints; JSON has all.
MAX_CLASSES, MAX_COLUMNS = 30, 200


@options.command()
def convert(
    reading: options.ReadOptions,
    data: options.DataFile,
    out: options.OutPath,
    to: options.OutFormatOption = None,
    round: Annotated[bool, Option(help="Round numbers to LibOPF's 32 bits.")] = False,
    encode_labels: Annotated[bool, Option(help="Number the classes from 1, in order.")] = False,
) -> options.Facts:
    """Convert a data file to another format without loss, or convert a model.

    Numbers and labels are kept to the last bit, or the command fails; names and ids are kept if the
    format has a place for them. An opforest model becomes a LibOPF model, with a note on rounded
    numbers and renumbered classes; a LibOPF model becomes an opforest model unless OUT is named
    like a data file.

    Example: opforest convert training.dat training.csv
    """
    require_distinct([data], [out])
    if models.kind_of_model(data) and (facts := _convert_model(data, out, to)):
        return facts
    kind = tables.find_output_format(out, to)
    reading = replace(reading, allow_missing=True, categories=True, lossless=True)
    examples = tables.read_table(data, reading)
    notes, codes = list(examples.notes), dict[str, Any]()
    if encode_labels:
        examples, codes["labels"] = _encode_labels(examples)
    if round and kind.startswith("libopf") and not hasattr(examples.X, "columns"):
        examples = replace(examples, X=examples.X.astype(np.float32))
    if examples.feature_names and not FORMATS[kind].keeps_names:
        notes.append(f"{kind} has no place for the names of features")
    if examples.ids is not None and not FORMATS[kind].keeps_ids:
        notes.append(f"{kind} has no place for ids")
    print_notes(notes)
    tables.write_table(out, examples, kind)
    facts = {"file": out, "format": kind, "examples": len(examples)}
    return None if out == STANDARD else {**facts, "features": examples.X.shape[1], **codes}


def _convert_model(path: str, out: str, to: options.Format | None) -> options.Facts:
    """Convert a model; return None if its examples are to be converted instead."""
    kind, wanted = models.kind_of_model(path), to or format_of(out)
    if kind == "LibOPF" and wanted is not None:
        return None
    is_other = to is not None or wanted not in (None, "libopf") or out.endswith(".opforest")
    if kind == "opforest" and is_other:
        raise ValueError(
            f"{path} is a model, which can only become a LibOPF model: OUT must end in .opf or "
            f".dat, or not be named like a data file or an opforest model, got {out!r}."
        )
    if out == STANDARD:
        raise ValueError("a model is written to a file, not to the standard output.")
    if kind == "LibOPF":
        model = models.load_model(path)
        require_model_path(out)
        opforest.save(model, out)
    else:
        model = models.load_classifier(path)
        if hasattr(model, "steps"):
            raise ValueError(f"{path} prepares its data; LibOPF's models cannot.")
        libopf.write_model(out, model)
        print_notes(_list_losses(model))
    return {"file": out, **models.describe(model)}


def _list_losses(model: Any) -> list[str]:
    """Return notes on what a model of LibOPF does not keep."""
    points, classes = model.forest_.points, model.classes_
    notes = []
    if not np.array_equal(points, points.astype(np.float32)):
        notes.append("LibOPF's models have 32-bit numbers: the examples are rounded")
    if classes.dtype.kind not in "iu" or classes.min() < 1 or classes.max() >= 2**31:
        pairs = ", ".join(f"{label} is {k}" for k, label in enumerate(classes.tolist()[:5], 1))
        more = ", …" if len(classes) > 5 else ""
        notes.append(f"LibOPF numbers classes from 1: {pairs}{more}")
    if model.voters != 1:
        notes.append("LibOPF's models have one voter: the cheapest offer alone decides")
    return notes


def _encode_labels(examples: "table.Data") -> tuple["table.Data", dict[str, Any]]:
    """Return the examples with labels from 1, and the original labels by number."""
    if examples.y is None:
        raise ValueError("--encode-labels: there are no labels; --label names their column.")
    classes, y = np.unique(examples.y, return_inverse=True)
    codes = {str(k): label for k, label in enumerate(classes.tolist(), 1)}
    return replace(examples, y=y.astype(np.int64) + 1), codes


@options.command()
def info(
    reading: options.ReadOptions,
    file: Annotated[
        str, Argument(help="A data file, a model or a store; - is the standard input.")
    ],
    json: options.JsonOption = False,
) -> None:
    """Describe a data file, column by column, or a model, or a store.

    For each column: its kind, the numbers of values and missing cells, its role, and the reason for
    it. No file is rejected because of its contents.

    Example: opforest info iris.csv
    """
    if models.kind_of_model(file):
        _describe_model(file, json)
    elif models.is_store(file):
        facts = describe_store(file)
        print_facts({"file": facts.pop("store"), "kind": "store", **facts}, json)
    else:
        _describe_data(file, replace(reading, allow_missing=True), json)


def _describe_model(path: str, as_json: bool) -> None:
    model = models.load_model(path, may_be_parts=True)
    last, preparation = models.classifier_of(model), models.preparation_of(model)
    names = getattr(last, "feature_names_in_", ())
    facts = {"file": path, "kind": "model", **models.describe(model)}
    if preparation is not None:
        names = preparation.columns_ or ()
        facts["prepared_features"] = list(preparation.get_feature_names_out())
    facts["feature_names"] = list(map(str, names))
    if not as_json and facts["feature_names"] == facts.get("prepared_features"):
        del facts["prepared_features"]
    if hasattr(last, "forest_"):
        labels = last.classes_.tolist()
        if last.voters == "auto" and labels:
            facts["chosen_voters"] = last.voters_
        counts = dict.fromkeys(labels, 0)
        for code in last.forest_.label.tolist() if labels else ():
            counts[labels[code]] += 1
        facts |= {"examples_by_class": counts, "bytes_in_memory": last.forest_.n_bytes}
    print_facts(facts, as_json)


def _describe_data(path: str, reading: options.ReadOptions, as_json: bool) -> None:
    roles = tables.read_columns(path, reading)
    columns = [_describe_column(roles, k) for k in range(len(roles.columns))]
    label = None if roles.label is None else roles.columns[roles.label]
    classes: dict[str, int] = {}
    if label is not None and label.distinct <= 1000:
        counts = (label.words if label.is_text else label.cells).value_counts(sort=True)
        known = ((str(value), count) for value, count in counts.iter_rows() if value is not None)
        classes = dict(sorted(known))
    facts = {"file": path, "kind": "data", "examples": len(roles.columns[0].cells),
             "features": len(roles.features),
             "label": None if label is None else label.name or label.number,
             "classes": len(classes)}  # fmt: skip
    if as_json:
        print_json({**facts, "question": roles.question or None, "examples_by_class": classes,
                    "columns": columns, "notes": roles.notes})  # fmt: skip
        return
    print_facts(facts, as_json)
    if classes:
        print_table(("label", "examples"), list(classes.items())[:MAX_CLASSES], "Classes")
    shown = columns[:MAX_COLUMNS]
    if sys.stdout.isatty():
        shown = [_shorten(column) for column in shown]
    print_table(list(shown[0]), [list(column.values()) for column in shown], "Columns")
    more = len(columns) - MAX_COLUMNS
    notes = [roles.question, f"{more} more columns" if more > 0 else ""]
    print_notes([*roles.notes, *filter(None, notes)])


def _shorten(column: dict[str, Any]) -> dict[str, Any]:
    """Return the facts about a column that fit on a terminal."""
    facts = {"": column["number"]}
    facts |= {name: column[name] for name in ("name", "kind", "distinct", "missing", "min", "max")}
    facts["missing"] = facts["missing"] or None
    facts["role"] = ": ".join(filter(None, (column["role"], column["reason"])))
    return facts


def _describe_column(roles: Any, k: int) -> dict[str, Any]:
    from opforest.io.columns.column import NUMERIC

    column = roles.columns[k]
    reason = roles.left_out.get(k, "")
    if k == roles.label:
        role, reason = "label", roles.why
    elif k == roles.id or k in roles.left_out:
        role = "id" if k == roles.id else "left out"
    else:
        role = "feature"
        if column.kind in ("category", "text"):
            reason = "needs --encode" + (" and --missing" if column.missing else "")
        elif column.kind not in (*NUMERIC, "empty"):
            reason = "holds values that are not numbers"
        elif column.missing:
            reason = "needs --missing"
    least = mean = largest = None
    if column.kind in NUMERIC and column.kind != "boolean":
        known = column.numbers.drop_nulls().drop_nans()
        if len(known):
            least, mean, largest = float(known.min()), float(known.mean()), float(known.max())
    return {
        "number": column.number, "name": column.name, "kind": column.kind,
        "distinct": column.distinct if column.kind != "other" else None,
        "missing": column.missing, "min": least, "mean": mean, "max": largest,
        "role": role, "reason": reason,
    }  # fmt: skip
