"""``opforest stream``: each example is first a question, then a lesson."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.cli import options
from opforest.cli.errors import INTERRUPTED, blame, require_folder, say_errors

if TYPE_CHECKING:
    from opforest.classifier import OPFClassifier
    from opforest.cli.streaming import Journal, Stop
    from opforest.io.data import Reading


@options.reads_data
def stream(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="the model file; made if it is not there")
    ],
    data: options.DataFile,
    every: Annotated[
        int, typer.Option(min=1, help="report and save whenever so many examples have come")
    ] = 1000,
    batch: Annotated[
        int, typer.Option(min=1, help="examples that are tested, then learned, together")
    ] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="go on where an earlier run was stopped")
    ] = False,
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    update: options.UpdateOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Test, then train on each example of a file or of the standard input.

    The model is saved now and then and at the end, and a note beside it, MODEL.stream, says how
    far it has come. A run that was stopped, or even killed, goes on with --resume, and ends with
    the very model of a run that was not. Later, --resume learns what the file has gained.

    Example: tail -n +1 -f events.csv | opforest stream events.opforest - --every 500
    """
    with say_errors():
        from opforest.cli.models import Saved
        from opforest.cli.output import print_json
        from opforest.cli.streaming import Journal, catch_signals

        reading = how.reading()
        params = options.parse_params(metric_param)
        require_folder(model)
        saved = Saved(model)
        classifier = _obtain(model, metric, params, update)
        journal = Journal.open(saved, data, classifier, resume)
        with catch_signals() as stop:
            course = _follow(classifier, journal, reading, every, batch, stop, json)
        if json:
            state = journal.state
            print_json({"model": model, "examples": state.rows, "tested": state.tested,
                        "accuracy": state.accuracy, "course": course})  # fmt: skip
        if stop.asked:
            raise typer.Exit(INTERRUPTED)


def _obtain(
    path: str, metric: str | None, params: dict[str, Any] | None, update: str | None
) -> "OPFClassifier":
    """Return the model of a file, or a new one."""
    from opforest.cli.models import load_to_grow, make_model

    if not os.path.exists(path):
        return make_model(metric, params, update)
    classifier = load_to_grow(path)
    wanted = {"metric": metric, "metric_params": params, "update": update}
    for name, value in wanted.items():
        if value is not None and getattr(classifier, name) != value:
            raise ValueError(
                f"{path} was made with {name}={getattr(classifier, name)!r}, not {value!r}: leave "
                "the option out, or name another model file."
            )
    return classifier


def _follow(
    classifier: "OPFClassifier",
    journal: "Journal",
    reading: "Reading",
    every: int,
    batch: int,
    stop: "Stop",
    as_json: bool,
) -> list[dict[str, Any]]:
    """Test and learn to the end, and return what was reported on the way."""
    from dataclasses import replace

    from opforest.cli.models import expected_of, labels_of, remember_names
    from opforest.cli.output import counting
    from opforest.io.tables import read_chunks

    state = journal.state
    course: list[dict[str, Any]] = []
    if hasattr(classifier, "forest_"):
        reading = replace(reading, expected=expected_of(classifier))
    chunks = read_chunks(journal.data, reading, rows=batch, skip=state.rows)
    with counting("learned") as count:
        while (chunk := stop.wait_for(chunks)) is not None:
            y = labels_of(chunk, journal.data)
            with blame(journal.data):
                if hasattr(classifier, "forest_"):
                    state.note(classifier.predict(chunk.X) == y)
                classifier.partial_fit(chunk.X, y)
            remember_names(classifier, chunk)
            before, state.rows = state.rows, state.rows + len(chunk)
            count(len(chunk))
            if before // every < state.rows // every:
                course.append(state.line())
                state.begin_anew()
                journal.save(classifier)
                _print_last(course, as_json)
            if stop.asked:
                break
    is_news = state.tested_lately > 0
    if is_news:
        course.append(state.line())
    journal.save(classifier, finished=not stop.asked)
    if is_news:
        _print_last(course, as_json)
    return course


def _print_last(course: list[dict[str, Any]], as_json: bool) -> None:
    """Print how it goes, unless an object is asked for; what is printed is saved."""
    if as_json:
        return
    rows, *shares = course[-1].values()
    if len(course) == 1:
        sys.stdout.write("\t".join(course[0]) + "\n")
    shown = ("" if share is None else f"{share:.4f}" for share in shares)
    sys.stdout.write("\t".join([str(rows), *shown]) + "\n")
    sys.stdout.flush()
