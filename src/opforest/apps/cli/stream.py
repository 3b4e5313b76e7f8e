"""``opforest stream``: each example is first a question, then a lesson."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import INTERRUPTED, locate_errors, require_folder, say_errors

if TYPE_CHECKING:
    from opforest.apps.cli.streaming import Journal, Stop
    from opforest.io.columns.table import ReadOptions


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
    window: Annotated[
        int | None,
        typer.Option(min=1, help="how many of the last examples to keep; older ones are forgotten"),
    ] = None,
    encode: options.EncodeOption = None,
    missing: options.MissingOption = None,
    scale: options.ScaleOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Test, then train on each example of a file or of the standard input.

    With --encode, --missing or --scale, a new model learns categories, medians and scales from the
    first --every examples, which are then learned together, untested.

    The model is saved now and then and at the end, and a note beside it, MODEL.stream, says how
    far it has come. A run that was stopped, or even killed, goes on with --resume, and ends with
    exactly the model of a run that was not. Later, --resume learns what the file has gained.

    Example: tail -n +1 -f events.csv | opforest stream events.opforest - --every 500
    """
    with say_errors():
        from opforest.apps.cli.models import ModelFile, classifier_of, reading_for
        from opforest.apps.cli.output import print_json
        from opforest.apps.cli.streaming import SUFFIX, Journal, catch_signals
        from opforest.forest.updates import find_update

        keep_apart([data], [model, model + SUFFIX])
        params = options.parse_params(metric_param)
        require_folder(model)
        saved = ModelFile(model)
        learner = _obtain(model, metric, params, update, (encode, missing, scale))
        if window is not None and find_update(classifier_of(learner).update).shrink is None:
            raise ValueError("--window needs --update exact: no other can forget.")
        reading = reading_for(learner, how, needs_label=True)
        journal = Journal.open(saved, data, learner, resume, window or 0)
        with catch_signals() as stop:
            course = _follow(learner, journal, reading, every, batch, stop, json)
        if json:
            print_json({"model": model, **journal.state.whole(), "course": course})
        if stop.asked:
            raise typer.Exit(INTERRUPTED)


def _obtain(
    path: str,
    metric: str | None,
    params: dict[str, Any] | None,
    update: str | None,
    preparing: tuple[Any, Any, Any],
) -> Any:
    """Return the model of a file, or a new one."""
    from opforest.apps.cli.models import (
        classifier_of,
        load_to_grow,
        make_model,
        preparation_of,
        prepared,
    )

    if not os.path.exists(path):
        return prepared(make_model(metric, params, update), *preparing)
    learner = load_to_grow(path)
    classifier, preparation = classifier_of(learner), preparation_of(learner)
    wanted = {"metric": metric, "metric_params": params, "update": update}
    known = {name: getattr(classifier, name) for name in wanted}
    for name, value in zip(("encode", "missing", "scale"), preparing, strict=True):
        wanted[name] = None if value is None else str(value)
        known[name] = getattr(preparation, name, None)
    for name, value in wanted.items():
        if value is not None and known[name] != value:
            raise ValueError(
                f"{path} was made with {name}={known[name]!r}, not {value!r}: leave the option "
                "out, or name another model file."
            )
    return learner


def _follow(
    learner: Any,
    journal: "Journal",
    reading: "ReadOptions",
    every: int,
    batch: int,
    stop: "Stop",
    as_json: bool,
) -> list[dict[str, Any]]:
    """Test and learn to the end, and return what was reported on the way."""
    from opforest.apps.cli.models import (
        complete_rows,
        labels_of,
        notes_of,
        preparation_of,
        remember_names,
    )
    from opforest.apps.cli.output import counting, print_notes
    from opforest.apps.cli.scales import FirstRows
    from opforest.io.tables import read_chunks

    state, course, told = journal.state, [], False
    first_rows = FirstRows(learner, every)
    begins = preparation_of(learner) is not None and not state.learned
    chunks = read_chunks(journal.data, reading, rows=batch, skip=state.rows)
    with counting("learned") as count:
        while (read := _next(chunks, stop, every if begins else 1)) is not None:
            begins = False
            chunk = complete_rows(learner, read, journal.data, may_drop=True)
            if not told:
                print_notes(notes_of(chunk, reading, learner))
                told = True
            y = labels_of(chunk, journal.data)
            with locate_errors(journal.data, chunk):
                if len(chunk):
                    _learn(learner, chunk.X, y, journal)
            remember_names(learner, chunk)
            first_rows.add(chunk)
            before, state.rows = state.rows, state.rows + len(read)
            count(len(read))
            if before // every < state.rows // every:
                course.append(state.line())
                state.begin_anew()
                journal.save(learner)
                _print_last(course, as_json)
            if stop.asked:
                break
    first_rows.end()
    is_news = state.tested_lately > 0
    if is_news:
        course.append(state.line())
    journal.save(learner, finished=not stop.asked)
    if is_news:
        _print_last(course, as_json)
    return course


def _next(chunks: Any, stop: "Stop", rows: int) -> Any:
    """Return the next chunk, or so many rows in one; None at the end."""
    from opforest.io.columns.table import join

    found: list[Any] = []
    while sum(map(len, found)) < rows and (chunk := stop.wait_for(chunks)) is not None:
        found.append(chunk)
    return join(found) if found else None


def _learn(learner: Any, X: Any, y: Any, journal: "Journal") -> None:
    """Test, learn, and forget what has left the window."""
    from opforest.apps.cli.models import classifier_of
    from opforest.apps.cli.scales import quiet_about_scales

    state, classifier = journal.state, classifier_of(learner)
    if hasattr(classifier, "forest_"):
        state.note(learner.predict(X) == y)
    with quiet_about_scales():  # FirstRows warns in the words of the command line
        learner.partial_fit(X, y)
    too_many = len(classifier.forest_) - state.window
    if state.window and too_many > 0:
        learner.forget(classifier.forest_.ids[:too_many])


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
