"""``opforest predict`` and ``opforest evaluate``."""

import csv
import io
import json as json_format
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import locate_errors, say_errors

if TYPE_CHECKING:
    from opforest.estimators.classifier import OPFClassifier
    from opforest.io.columns.table import Data


@options.reads_data
def predict(
    model: options.ModelFile,
    data: options.DataFile,
    proba: Annotated[
        bool, typer.Option("--proba", help="add the probability of each class")
    ] = False,
    costs: Annotated[
        bool, typer.Option("--costs", help="add the cheapest offer of each class")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="print the path to each example; training examples are named by their ids",
        ),
    ] = False,
    out: Annotated[str, typer.Option("--out", "-o", help="where to write (default: stdout)")] = "-",
    jobs: options.JobsOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Print the label of each example, one a line; with more about each, CSV.

    Columns must be those that the model was trained on, in the same order; a label, an id and
    other columns are ignored. The file may be larger than memory.

    --explain counts from 0: queries are the rows of the data file, or named by its ids; the id
    of a training example is its number in the order of learning.

    Example: opforest predict iris.opforest new.csv --proba > labels.csv
    """
    with say_errors():
        keep_apart([model, data], [out])
        from opforest.apps.cli.models import classifier_of, load_to_predict, reading_for
        from opforest.apps.cli.output import counting
        from opforest.io.source import STANDARD
        from opforest.io.tables import open_output, read_chunks

        classifier = load_to_predict(model, jobs)
        if (proba or costs or explain) and not hasattr(classifier_of(classifier), "forest_"):
            raise ValueError("--proba, --costs and --explain are for classifiers by train.")
        reading = reading_for(classifier, how)
        is_shown = out == STANDARD and sys.stdout.isatty()  # a bar would get in between
        write = write_json if json else _write_paths if explain else write_lines
        with open_output(out) as stream, counting("predicted", not is_shown) as count:
            text = io.TextIOWrapper(stream, "utf-8", newline="")
            try:
                for line in write(answers(classifier, read_chunks(data, reading), data, proba,
                                           costs, explain), classifier):  # fmt: skip
                    text.write(line)
                    count(line.count("\n"))
            finally:
                text.detach()


def answers(
    classifier: "OPFClassifier",
    chunks: Iterator["Data"],
    path: str,
    proba: bool,
    costs: bool,
    explain: bool,
) -> Iterator[dict[str, Any]]:
    """Yield what is asked for, as lists of equal length, chunk by chunk."""
    from opforest.apps.cli.models import complete_rows

    for chunk in chunks:
        complete_rows(classifier, chunk, path, may_drop=False)
        with locate_errors(path, chunk):
            answer = {"label": classifier.predict(chunk.X).tolist()}
            if chunk.ids is not None:
                answer["id"] = chunk.ids.tolist()
            if proba:
                answer["proba"] = classifier.predict_proba(chunk.X).tolist()
            if costs:
                answer["costs"] = classifier.class_costs(chunk.X).tolist()
            if explain:
                answer["path"] = [classifier.explain(chunk.X[i : i + 1]) for i in range(len(chunk))]
        yield answer


def write_lines(answers: Iterator[dict[str, Any]], classifier: "OPFClassifier") -> Iterator[str]:
    """Yield labels, one a line, or a table in CSV if there is more to say."""
    is_first = True
    for answer in answers:
        details = [name for name in ("proba", "costs") if name in answer]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        if not details:
            buffer.writelines(f"{label}\n" for label in answer["label"])
        else:
            columns = ["id", "label"] if "id" in answer else ["label"]
            if is_first:
                classes = classifier.classes_.tolist()
                writer.writerow(columns + [f"{name} {k}" for name in details for k in classes])
            is_first = False
            cells = zip(*(answer[name] for name in (*columns, *details)), strict=True)
            n = len(columns)
            writer.writerows([*row[:n], *(cell for part in row[n:] for cell in part)]
                             for row in cells)  # fmt: skip
        yield buffer.getvalue()


def _write_paths(answers: Iterator[dict[str, Any]], classifier: "OPFClassifier") -> Iterator[str]:
    """Yield the path to each example as a small table, after a line that says what is counted."""
    number = -1
    for answer in answers:
        if number < 0:
            named = "by their ids" if "id" in answer else "by their rows, from 0"
            yield (f"# queries are named {named}; examples by their ids in the model: "
                   "the first one learned is 0\n")  # fmt: skip
        for i, path in enumerate(answer["path"]):
            number += 1
            name = f"query {answer['id'][i] if 'id' in answer else number}"
            lines = [f"{name}: {path}"]
            for detail in ("proba", "costs"):
                if detail in answer:
                    pairs = zip(classifier.classes_.tolist(), answer[detail][i], strict=True)
                    said = ", ".join(f"{label!r} {value:.6g}" for label, value in pairs)
                    lines.append(f"  {detail}: {said}")
            yield "\n".join(lines) + "\n"


def write_json(answers: Iterator[dict[str, Any]], classifier: "OPFClassifier") -> Iterator[str]:
    """Yield one object, piece by piece."""
    from dataclasses import asdict

    classes = json_format.dumps(_possible(classifier), ensure_ascii=False)
    yield f'{{"classes": {classes}, "predictions": ['
    separator = ""
    for answer in answers:
        if "path" in answer:
            answer["path"] = [[asdict(step) for step in path.steps] for path in answer["path"]]
        for row in zip(*answer.values(), strict=True):
            one = dict(zip(answer, row, strict=True))
            yield separator + json_format.dumps(one, ensure_ascii=False)
            separator = ",\n"
    yield "]}\n"


def _possible(model: Any) -> list[Any]:
    """Return all answers that a model can give."""
    from opforest.apps.cli.models import classifier_of

    estimator = classifier_of(model)
    if hasattr(estimator, "classes_"):
        return list(estimator.classes_.tolist())
    return list(range(len(estimator.roots_))) if hasattr(estimator, "roots_") else [-1, 1]


@options.reads_data
def evaluate(
    model: options.ModelFile,
    data: options.DataFile,
    jobs: options.JobsOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Compare a model's answers with the labels of a data file.

    Example: opforest evaluate iris.opforest test.csv
    """
    with say_errors():
        from opforest.apps.cli.models import (
            classifier_of,
            complete_rows,
            labels_of,
            load_to_predict,
            notes_of,
            reading_for,
        )
        from opforest.apps.cli.output import counting, print_json, print_notes
        from opforest.errors import ModelFileError
        from opforest.io.tables import read_chunks

        classifier = load_to_predict(model, jobs)
        estimator = classifier_of(classifier)
        if not hasattr(estimator, "classes_"):
            name = type(estimator).__name__
            raise ModelFileError(f"{model}: it is an {name}, whose answers are no labels.")
        reading = reading_for(classifier, how, needs_label=True)
        truth: list[Any] = []
        answers: list[Any] = []
        dropped = 0
        with counting("tested") as count:
            for read in read_chunks(data, reading):
                chunk = complete_rows(classifier, read, data, may_drop=True)
                if not truth and not dropped:
                    print_notes(notes_of(chunk, reading, classifier))
                dropped += len(read) - len(chunk)
                if not len(chunk):
                    continue
                truth += labels_of(chunk, data).tolist()
                with locate_errors(data, chunk):
                    answers += classifier.predict(chunk.X).tolist()
                count(len(chunk))
        print_notes([f"{dropped} rows with missing cells are left out"] if dropped else [])
        if not truth:
            raise ValueError(f"{data}: no row is complete, so there is nothing to compare.")
        scores = _scores(truth, answers)
        if json:
            print_json(scores)
        else:
            _print_scores(scores)


def _scores(truth: list[Any], answers: list[Any]) -> dict[str, Any]:
    from sklearn.metrics import accuracy_score, confusion_matrix
    from sklearn.utils.multiclass import unique_labels

    from opforest.scores import opf_accuracy

    labels = unique_labels(truth, answers)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A single label was found")  # that is the whole matrix
        matrix = confusion_matrix(truth, answers, labels=labels)
    own, taken = matrix.sum(axis=1).tolist(), matrix.sum(axis=0).tolist()
    return {
        "examples": len(truth),
        "accuracy": float(accuracy_score(truth, answers)),
        "opf_accuracy": opf_accuracy(truth, answers),
        "classes": [
            {
                "label": label,
                "examples": own[k],
                "recall": int(matrix[k, k]) / own[k] if own[k] else None,
                "precision": int(matrix[k, k]) / taken[k] if taken[k] else None,
            }
            for k, label in enumerate(labels.tolist())
        ],
        "confusion": {"labels": labels.tolist(), "matrix": matrix.tolist()},
    }


def _print_scores(scores: dict[str, Any]) -> None:
    from opforest.apps.cli.output import print_table

    whole = [(name.replace("_", " "), scores[name]) for name in ("examples", "accuracy",
                                                                 "opf_accuracy")]  # fmt: skip
    print_table(("score", "value"), whole)
    rows = [list(row.values()) for row in scores["classes"]]
    print_table(("class", "examples", "recall", "precision"), rows, "By class")
    labels = [str(label) for label in scores["confusion"]["labels"]]
    counts = [[label, *row] for label, row in zip(labels, scores["confusion"]["matrix"],
                                                  strict=True)]  # fmt: skip
    print_table(("true \\ answer", *labels), counts, "Confusion")
