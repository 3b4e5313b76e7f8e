"""``opforest stream``: test, then train on each example."""

import os
import sys
from typing import Annotated, Any

import typer
from typer import Argument, Option

from opforest._utils.text import count
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import INTERRUPTED, locate_errors
from opforest.apps.cli.job import Job, labels_of, quiet_about_scales, warn_of_scales
from opforest.apps.cli.journal import SUFFIX, Journal
from opforest.apps.cli.lazy_modules import table
from opforest.apps.cli.output import count_examples, print_json, print_notes
from opforest.apps.cli.paths import require_distinct, require_folder
from opforest.apps.cli.signals import StopRequest, catch_signals

#: Examples that suffice to judge the scales of features.
ENOUGH = 1000


@options.command()
def stream(
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    reading: options.ReadOptions,
    model: Annotated[str, Argument(help="The model file; created if it does not exist.")],
    data: options.DataFile,
    every: Annotated[int, Option(min=1, help="Report and save after this many examples.")] = 1000,
    batch: Annotated[int, Option(min=1, help="Examples to test, then learn, together.")] = 1,
    resume: Annotated[bool, Option(help="Continue an earlier run that was stopped.")] = False,
    update: options.UpdateOption = None,
    voters: options.VotersOption = None,
    window: Annotated[
        int | None, Option(min=1, help="Keep only this many recent examples.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Test, then train on each example of a file or of the standard input.

    With --encode, --missing or --scale, a new model learns categories, medians and scales from the
    first --every examples, which are learned together without a test.

    With --voters other than 1, the weights of votes are recomputed before each test, which takes as
    long as testing a thousand examples; a larger --batch does it less often.

    The model is saved after every report and at the end, together with a journal, MODEL.stream. A
    run that was stopped, or even killed, continues with --resume, and ends with exactly the model
    of an uninterrupted run. Later, --resume learns the rows that the file has gained.

    Example: tail -n +1 -f events.csv | opforest stream m.opforest - --every 500
    """
    require_distinct([data, *metric.files], [model, model + SUFFIX])
    require_folder(model)
    saved = models.ModelFile(model)
    estimator = _load_or_make(model, metric, preparation, update, voters)
    job = Job(estimator, data, reading, needs_label=True)
    if window is not None and models.classifier_of(job.model).update != "exact":
        raise ValueError("--window needs --update exact: no other can forget.")
    journal = Journal.open(saved, data, job.model, resume, window or 0)
    if journal.known_rows:
        rows, n = count(journal.known_rows, "row"), len(models.classifier_of(job.model).forest_)
        print_notes([
            f"{model} has {count(n, 'example')}, and has learned {rows} of {data} in an earlier "
            "run; all rows are learned in addition (--resume learns only those that are new)"
        ])  # fmt: skip
    with catch_signals() as stop:
        reports = _follow(job, journal, every, batch, stop, json)
    if json:
        counts = journal.counts
        totals = {"examples": counts.rows, "tested": counts.tested, "accuracy": counts.accuracy}
        print_json({"model": model, **totals, "reports": reports})
    if stop.is_set:
        raise typer.Exit(INTERRUPTED)


def _load_or_make(
    path: str,
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    update: str | None,
    voters: int | str | None,
) -> Any:
    """Load a model, which must agree with the options that are not None, or make a new one."""
    if not os.path.exists(path):
        classifier = models.make_classifier(metric, update, voters=voters)
        return models.add_preparation(classifier, preparation)
    model = models.load_to_update(path)
    own = {"metric": metric.metric, "metric_params": metric.metric_params, "update": update,
           "voters": voters}  # fmt: skip
    for wanted, known in (
        (own, models.classifier_of(model)),
        (preparation._asdict(), models.preparation_of(model)),
    ):
        for name, value in wanted.items():
            if value is not None and getattr(known, name, None) != value:
                raise ValueError(
                    f"{path} was made with {name}={getattr(known, name, None)!r}, not "
                    f"{value!s}: leave the option out, or name another model file."
                )
    return model


def _follow(
    job: Job, journal: Journal, every: int, batch: int, stop: StopRequest, as_json: bool
) -> list[dict[str, Any]]:
    """Test and learn until the end, and return the reports."""
    counts, reports = journal.counts, list[dict[str, Any]]()
    monitor = ScaleMonitor(job.model, every)
    # The preparation of a new model is learned from the first report's examples.
    n_first = every if models.preparation_of(job.model) is not None and not counts.learned else 1
    chunks = job.chunks(rows=batch, skip=counts.rows)
    with count_examples("learned") as advance:
        while (read := _next(chunks, stop, n_first)) is not None:
            n_first = 1
            chunk = job.drop_incomplete(read)
            y = labels_of(chunk, job.path)
            with locate_errors(job.path, chunk):
                if len(chunk):
                    _learn(job.model, chunk.X, y, journal)
            models.remember_names(job.model, chunk)
            monitor.add(chunk)
            before, counts.rows = counts.rows, counts.rows + len(read)
            advance(len(read))
            if before // every < counts.rows // every:
                reports.append(counts.report())
                counts.tested_lately = counts.right_lately = 0
                journal.save(job.model)
                _print_last(reports, as_json)
            if stop.is_set:
                break
    monitor.finish()
    has_news = counts.tested_lately > 0
    if has_news:
        reports.append(counts.report())
    journal.save(job.model, finished=not stop.is_set)
    if has_news:
        _print_last(reports, as_json)
    return reports


def _next(chunks: Any, stop: StopRequest, rows: int) -> Any:
    """Return the next chunks with at least this number of rows, joined; None at the end."""
    found: list[Any] = []
    while sum(map(len, found)) < rows and (chunk := stop.wait_for(chunks)) is not None:
        found.append(chunk)
    return table.join(found) if found else None


def _learn(model: Any, X: Any, y: Any, journal: Journal) -> None:
    """Test, learn, and forget the examples that have left the window."""
    counts, classifier = journal.counts, models.classifier_of(model)
    if hasattr(classifier, "forest_"):
        counts.add(model.predict(X) == y)
    with quiet_about_scales():  # the monitor warns instead
        model.partial_fit(X, y)
    surplus = len(classifier.forest_) - counts.window
    if counts.window and surplus > 0:
        model.forget(classifier.forest_.ids[:surplus])


def _print_last(reports: list[dict[str, Any]], as_json: bool) -> None:
    """Print the last report as a line, unless the output is JSON."""
    if as_json:
        return
    rows, *fractions = reports[-1].values()
    shown = [str(rows), *("" if one is None else f"{one:.4f}" for one in fractions)]
    lines = [list(reports[0]), shown] if len(reports) == 1 else [shown]
    for line in lines:
        aligned = "".join(f"{cell:>10}" for cell in line)
        sys.stdout.write((aligned if sys.stdout.isatty() else "\t".join(line)) + "\n")
    sys.stdout.flush()


class ScaleMonitor:
    """Warns of scales after the first examples of a stream into a new model."""

    def __init__(self, model: Any, wanted: int) -> None:
        self._model, self._wanted = model, min(wanted, ENOUGH)
        self._data: list[table.Data] = []
        self._is_done = hasattr(models.classifier_of(model), "forest_")

    def add(self, data: "table.Data") -> None:
        """Add examples that the model has just learned; warn when there are enough."""
        if self._is_done or not len(data):
            return
        self._data.append(data)
        self._wanted -= len(data)
        if self._wanted <= 0:
            self.finish()

    def finish(self) -> None:
        """Warn, if that has not happened yet."""
        if not self._is_done and self._data:
            self._is_done = True
            remedy = "begin again with another MODEL and --scale standard"
            warn_of_scales(self._model, table.join(self._data), remedy)
            self._data = []
