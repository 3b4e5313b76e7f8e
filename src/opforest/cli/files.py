"""``opforest convert`` and ``opforest info``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.cli import options
from opforest.cli.errors import say_errors

if TYPE_CHECKING:
    from opforest.io.data import Data


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
        from opforest.cli.models import kind_of_model
        from opforest.io.tables import find_output_format, read_table, write_table

        reading = how.reading(allow_missing=True)
        if kind_of_model(data) and _convert_model(data, out, to, json):
            return
        kind = find_output_format(out, to)
        examples = read_table(data, reading)
        codes = None
        if encode_labels:
            examples, codes = _encode(examples)
        if round and kind.startswith("libopf"):
            examples = _round(examples)
        write_table(out, examples, kind)
        _tell(out, kind, examples, codes, json)


def _convert_model(path: str, out: str, to: options.Format | None, as_json: bool) -> bool:
    """Convert a model, unless its examples are wanted, and return whether that was done."""
    import opforest
    from opforest.cli.learn import describe
    from opforest.cli.models import kind_of_model, load_model, require_no_data
    from opforest.cli.output import print_facts
    from opforest.io.libopf import write_model
    from opforest.io.source import STANDARD
    from opforest.io.tables import format_of

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
    model = load_model(path)
    if kind == "opforest":
        write_model(out, model)
    else:
        require_no_data(out)
        opforest.save(model, out)
    print_facts({"file": out, **describe(model)}, as_json)
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
    from opforest.cli.output import note, print_facts
    from opforest.io.source import STANDARD

    if examples.feature_names and kind in ("npy", "libsvm", "libopf", "libopf-text"):
        note(f"{kind} has no room for the names of features")
    if examples.ids is not None and kind in ("npy", "libsvm"):
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
    """Say what is in a data file or in a model.

    Example: opforest info iris.opforest
    """
    with say_errors():
        from opforest.cli.models import kind_of_model

        if kind_of_model(file):
            _describe_model(file, json)
        else:
            _describe_data(file, how.reading(allow_missing=True), json)


def _describe_model(path: str, as_json: bool) -> None:
    from opforest.cli.learn import describe
    from opforest.cli.models import load_model
    from opforest.cli.output import print_facts

    model = load_model(path)
    counts = dict.fromkeys(model.classes_.tolist(), 0)
    for label in model.classes_[model.forest_.label].tolist():
        counts[label] += 1
    facts = {"file": path, "kind": "model", **describe(model),
             "feature_names": list(map(str, getattr(model, "feature_names_in_", ()))),
             "examples_by_class": counts, "bytes": model.forest_.n_bytes}  # fmt: skip
    print_facts(facts, as_json)


def _describe_data(path: str, reading: Any, as_json: bool) -> None:
    import numpy as np

    from opforest.cli.output import print_json, print_table
    from opforest.io.tables import read_table

    data = read_table(path, reading)
    names = data.feature_names or [str(k + 1) for k in range(data.X.shape[1])]
    features = [_describe_feature(name, column) for name, column in zip(names, data.X.T,
                                                                        strict=True)]  # fmt: skip
    labels, counts = np.unique(data.y, return_counts=True) if data.y is not None else ((), ())
    classes = dict(zip(map(str, labels), map(int, counts), strict=True))
    facts = {"file": path, "kind": "data", "examples": len(data), "features": len(names),
             "label": data.label_name, "has_ids": data.ids is not None,
             "classes": len(classes)}  # fmt: skip
    if as_json:
        print_json({**facts, "examples_by_class": classes, "feature_list": features})
        return
    print_table(("what", "value"), [(key, "" if fact is None else str(fact))
                                    for key, fact in facts.items()])  # fmt: skip
    if classes:
        print_table(("class", "examples"), list(classes.items()), "Classes")
    print_table(list(features[0]), [list(row.values()) for row in features], "Features")


def _describe_feature(name: str, column: Any) -> dict[str, Any]:
    import numpy as np

    known = column[~np.isnan(column)].astype(np.float64)
    scores = (known.min(), known.mean(), known.max()) if len(known) else (None,) * 3
    least, mean, most = (None if score is None else float(score) for score in scores)
    missing = len(column) - len(known)
    return {"feature": name, "least": least, "mean": mean, "most": most, "missing": missing}
