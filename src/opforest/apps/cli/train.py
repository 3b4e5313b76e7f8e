"""``opforest train``."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any

import typer
from typer import Argument, Option

import opforest
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import INTERRUPTED, locate_errors
from opforest.apps.cli.evaluate import compare
from opforest.apps.cli.job import Job, labels_of, make_schema, quiet_about_scales, warn_of_scales
from opforest.apps.cli.lazy_modules import libopf, np, table, tables
from opforest.apps.cli.operations import assign_stratified
from opforest.apps.cli.output import print_notes, show_phases
from opforest.apps.cli.paths import require_distinct, require_folder, require_model_path
from opforest.errors import DataFileError, ModelFileError
from opforest.io.formats import format_of
from opforest.io.source import STANDARD

#: What to do about rows without labels.
NO_LABEL_ADVICE = "; --missing drop leaves out such rows; --unlabeled takes files of them"

DistancesOption = Annotated[
    str | None, Option(help="A file of distances, LibOPF's or a table, by ids or positions.")
]
UnlabeledOption = Annotated[
    list[str] | None, Option(metavar="DATA", help="More examples, unlabeled. Repeatable.")
]
TestOption = Annotated[
    float | None,
    Option(metavar="FRACTION", help="First test on this fraction of the examples, such as 0.2."),
]
OutOfCoreOption = Annotated[
    bool, Option(help="Train on more data than fits into memory; MODEL is a folder.")
]


@options.command()
def train(
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    reading: options.ReadOptions,
    data: options.DataFile,
    model: Annotated[str, Argument(help="The model file to write; a folder with --out-of-core.")],
    update: options.UpdateOption = None,
    voters: options.VotersOption = None,
    distances: DistancesOption = None,
    unlabeled: UnlabeledOption = None,
    test: TestOption = None,
    out_of_core: OutOfCoreOption = False,
    memory: options.MemoryOption = None,
    jobs: options.JobsOption = None,
) -> options.Facts:
    """Train a model on a data file.

    The model keeps the preparation that --encode, --missing and --scale learn from the data;
    update, predict, evaluate and stream apply it.

    With --test, a model is trained on the rest of the examples, with equal shares of each class,
    and its accuracy is printed beside those of the nearest neighbor and the most frequent class.
    Then the model that is written is trained on all examples.

    With --out-of-core, the data may be larger than memory. The model is a folder, for predict and
    evaluate; it is the same model. Run the same command again to continue after an interruption.

    See also `opforest evaluate DATA`.

    Example: opforest train iris.csv iris.opforest --label species --scale auto
    """
    require_distinct([data, distances, *(unlabeled or ()), *metric.files], [model])
    if memory is not None and not out_of_core:
        raise ValueError("--memory goes with --out-of-core.")
    if out_of_core:
        others = {"distances": distances, "unlabeled": unlabeled, "test": test, "update": update,
                  "voters": voters, **preparation._asdict()}  # fmt: skip
        return _train_out_of_core(data, model, metric, reading, memory, jobs, others)
    if test is not None:
        _check_test(test, distances is not None or bool(unlabeled))
    if distances is not None:
        if any(preparation) or unlabeled or metric.metric not in (None, "precomputed"):
            raise ValueError("--distances does not go with --metric, --encode, --missing, "
                             "--scale, --unknown or --unlabeled.")  # fmt: skip
        metric = metric._replace(metric="precomputed")
    classifier = models.make_classifier(metric, update, jobs, voters)
    if unlabeled:
        classifier = _make_semi_supervised(classifier)
    estimator = models.add_preparation(classifier, preparation)
    job = Job(estimator, data, reading, needs_label=True)
    require_model_path(model)
    return _train(job, model, distances, unlabeled or (), test)


def _train(
    job: Job, model: str, distances: str | None, unlabeled: Sequence[str], test: float | None
) -> dict[str, Any]:
    """Fit the model of a job, save it, and return the facts to print."""
    with show_phases() as begin_phase:
        begin_phase("reading")
        examples = job.read()
        y = labels_of(examples, job.path, NO_LABEL_ADVICE)
        more = [(path, _read_unlabeled(job, path, examples)) for path in unlabeled]
        tested = {} if test is None else _test(job, examples, y, test)
        begin = perf_counter()
        begin_phase("preparing")
        if distances is not None:
            with locate_errors(distances):
                job.model.fit(_read_distances(distances, examples), y)
        else:
            _fit(job, examples, y, more)
        seconds = perf_counter() - begin
        begin_phase("saving")
        opforest.save(job.model, model)
    job.print_dropped()
    label = examples.label_name or examples.label_column
    facts = {"model": model, **models.describe(job.model), "label": label}
    return {**facts, **tested, "seconds": seconds}


def _train_out_of_core(
    data: str,
    folder: str,
    metric: options.MetricOptions,
    reading: options.ReadOptions,
    memory: float | None,
    jobs: int | None,
    others: Mapping[str, object],
) -> dict[str, Any]:
    """Train a model in a folder; ``others`` are options that must not be set."""
    from opforest.out_of_core.job import TWO_GB, Settings, fit_source
    from opforest.out_of_core.source import FileSource

    if given := [f"--{name}" for name, value in others.items() if value]:
        raise ValueError(f"--out-of-core does not go with {' or '.join(given)}.")
    if data == STANDARD:
        raise ValueError("--out-of-core needs a data file, not the standard input, to continue if "
                         "it is stopped.")  # fmt: skip
    models.check_jobs(jobs)
    require_folder(folder.rstrip("/\\") or folder)
    memory = TWO_GB if memory is None else memory
    settings = Settings(metric.metric or "euclidean", metric.metric_params, memory, jobs)
    source, begin = FileSource(data, reading), perf_counter()
    try:
        with show_phases():
            model = fit_source(source, folder, settings)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; the same command continues.\n")
        raise typer.Exit(INTERRUPTED) from None
    except (DataFileError, ModelFileError):
        raise
    except ValueError as error:
        message = str(error).replace("max_bytes", "--memory").replace("n_jobs=", "--jobs ")
        raise ValueError(message) from error
    print_notes(source.notes)
    return {"model": folder, **models.describe(model), "seconds": perf_counter() - begin}


def _check_test(test: float, has_others: bool) -> None:
    """Raise an error if ``--test`` is invalid, or goes with options that it does not go with."""
    if has_others:
        raise ValueError("--test does not go with --distances or --unlabeled.")
    if not 0 < test < 1:
        raise ValueError(f"--test must be a fraction between 0 and 1, such as 0.2, got {test:g}.")


def _make_semi_supervised(classifier: Any) -> "opforest.OPFSemiSupervised":
    """Return a classifier with the same parameters that also learns from unlabeled examples."""
    if classifier.update != "exact":
        raise ValueError("--unlabeled does not go with --update.")
    return opforest.OPFSemiSupervised(
        classifier.metric,
        metric_params=classifier.metric_params,
        voters=classifier.voters,
        n_jobs=classifier.n_jobs,
    )


def _test(job: Job, examples: "table.Data", y: Any, fraction: float) -> dict[str, Any]:
    """Return the accuracies of models that are trained without a fraction of the examples."""
    part = assign_stratified(y, len(y), (1 - fraction, fraction), seed=0)
    known, others = np.flatnonzero(part == 0), np.flatnonzero(part == 1)
    if not (len(known) and len(others)):
        raise ValueError(f"--test {fraction:g} leaves no example to test, or none to train on.")
    answers = compare(job, examples, y, known, others)
    accuracies = {name: float((answer == y[others]).mean()) for name, answer in answers.items()}
    return {"test_examples": len(others), "test_accuracy": accuracies}


def _fit(job: Job, examples: "table.Data", y: Any, more: list[tuple[str, "table.Data"]]) -> None:
    """Fit a model, and warn of scales; the preparation learns from labeled examples only."""
    model, X = job.model, None
    if not more:
        job.fit(examples, y)
    else:
        if hasattr(model, "steps"):
            with locate_errors(job.path, examples):
                model[:-1].fit(examples.X, y)
        parts = []
        for path, part in [(job.path, examples), *more]:
            with locate_errors(path, part):
                parts.append(models.prepare(model, part.X))
        X = np.concatenate(parts)
        y = np.concatenate((y.astype(object), np.full(len(X) - len(y), None)))
        with locate_errors(job.path, examples), quiet_about_scales():
            models.classifier_of(model).fit(X, y)
    models.remember_names(model, examples)
    warn_of_scales(model, examples, "--scale standard", X)


def _read_unlabeled(job: Job, path: str, examples: "table.Data") -> "table.Data":
    """Read examples whose labels are ignored, with the columns of labeled ones."""
    width, dtypes = examples.X.shape[1], getattr(examples.X, "dtypes", None)
    text = [j for j in range(width) if dtypes and not dtypes[j].is_numeric()]
    is_text = examples.y is not None and examples.y.dtype.kind in "UO"
    schema = make_schema(width, examples.feature_names, is_text, examples.layout, text)
    # --label, --drop and --keep are about the columns of the labeled file.
    reading = replace(job.reading, label=None, drop=(), keep=(), expected=schema)
    other = Job(job.model, path, reading)
    data = other.read()
    job.n_dropped += other.n_dropped
    return data


def _read_distances(path: str, examples: "table.Data") -> Any:
    if format_of(path) in (None, "libopf"):
        matrix = libopf.read_distances(path)
    else:
        matrix = tables.read_table(path, table.ReadOptions(label="none", lossless=True)).X
    rows = np.arange(len(examples)) if examples.ids is None else examples.ids
    if rows.dtype.kind not in "iu" or not ((rows >= 0) & (rows < len(matrix))).all():
        raise ValueError(f"ids must be rows of the {len(matrix)} × {matrix.shape[1]} distances.")
    return matrix[np.ix_(rows, rows)]
