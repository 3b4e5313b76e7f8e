"""``opforest update``."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any

from typer import Option

import opforest
from opforest._utils.text import count
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, labels_of, warn_of_scales
from opforest.apps.cli.lazy_modules import np, table
from opforest.apps.cli.operations import merge_parts
from opforest.apps.cli.output import count_examples, show_phases
from opforest.apps.cli.paths import require_distinct


@options.command("Stopped; the model is unchanged.")
def update(
    reading: options.ReadOptions,
    model: options.ModelPath,
    data: options.DataFile,
    refit: Annotated[
        list[str] | None, Option(metavar="FIRST", help="Retrain on FIRST and DATA. Repeatable.")
    ] = None,
) -> options.Facts:
    """Learn more examples; the model file is replaced when all are learned.

    A model trained without --encode, --missing, --scale and --update becomes exactly the model
    trained on both files. With --encode, --missing or --scale, the categories, medians and scales
    of the first file stay in use. To retrain on all files instead, give --refit for each file that
    the model has learned, in order.

    Example: opforest update iris.opforest more-iris.csv
    """
    require_distinct([data, *(refit or ())], [model])
    saved = models.ModelFile(model)
    job = Job(models.load_to_update(model), data, reading, needs_label=True)
    begin = perf_counter()
    learned = _refit(job, model, refit) if refit else _learn(job)
    seconds = perf_counter() - begin
    saved.replace(job.model)
    job.print_dropped([] if refit else models.note_preparation(job.model, "--refit FIRST updates"))
    return {"model": model, "learned": learned, **models.describe(job.model), "seconds": seconds}


def _learn(job: Job) -> int:
    """Learn a data file in chunks, and return the number of examples."""
    learned = 0
    with count_examples("learned") as advance:
        for chunk in job.complete_chunks():
            y = labels_of(chunk, job.path)
            with locate_errors(job.path, chunk):
                job.model.partial_fit(chunk.X, y)
            learned += len(chunk)
            advance(len(chunk))
    return learned


def _refit(job: Job, path: str, first: Sequence[str]) -> int:
    """Replace the model of a job by one trained on all files; return how many examples are new.

    A model holds examples as they were prepared, not as they were read, so the original files are
    needed, which are compared with the model first. ``path`` is its file, for errors; ``first`` are
    the files that it has learned, in order.
    """
    from sklearn.base import clone

    model = job.model
    _check_kind(model, path)
    with show_phases() as begin_phase:
        begin_phase("reading")
        parts = []
        for one in (*(Job(model, file, job.reading, needs_label=True) for file in first), job):
            parts.append(one.read())
            labels_of(parts[-1], one.path)
        known = merge_parts(parts[:-1], first)
        known = known.take(_find_known(model, path, known, first))
        examples = merge_parts([known, parts[-1]], [first[0], job.path])
        is_foreign = hasattr(model, "steps") and models.preparation_of(model) is None
        if is_foreign and not hasattr(model, "feature_names_in_"):
            examples = replace(examples, X=np.asarray(examples.X))
        begin_phase("preparing")
        job.model = clone(model)
        job.fit(examples, examples.y)
    if models.preparation_of(model) is not None:
        models.remember_names(job.model, examples)
    models.copy_names(model, job.model)
    if not is_foreign:  # its output may be sparse, and its features may have no names
        warn_of_scales(job.model, examples, "--scale standard")
    return len(parts[-1])


def _check_kind(model: Any, path: str) -> None:
    """Raise an error if a model was not trained on data files alone."""
    classifier = models.classifier_of(model)
    if isinstance(classifier, opforest.OPFSemiSupervised):
        raise ValueError(f"{path} was trained with --unlabeled: use train instead of --refit.")
    if classifier.metric == "precomputed":
        raise ValueError(f"{path} was trained with --distances: use train instead of --refit.")


def _find_known(model: Any, path: str, data: "table.Data", files: Sequence[str]) -> Any:
    """Return the rows of the files that a model knows; all that it has learned must be there."""
    classifier, named = models.classifier_of(model), " and ".join(files)
    advice = "--refit needs the files it has learned, in their order; or train on all files"
    n = models.count_learned(model)
    if len(data) != n:
        raise ValueError(
            f"{path} has learned {count(n, 'example')}, but there are {len(data):,} in {named}: "
            f"{advice}."
        )
    forest = classifier.forest_
    with locate_errors(named):
        X = np.asarray(models.prepare(model, data.X))[forest.ids]
        points = forest.metric.embed(X.astype(forest.points.dtype))
    labels = classifier.classes_[forest.label]
    y = labels_of(data, named)
    wrong = (points != forest.points).any(axis=1) | (y[forest.ids] != labels)
    if wrong.any():
        i = int(forest.ids[wrong.argmax()])
        raise ValueError(f"example {i + 1} of {named} is not what {path} has learned: {advice}.")
    return forest.ids
