"""``opforest update --refit``: retraining on all files that a model has learned, and a new one.

A model file holds examples as they were prepared, not as they were read. So retraining needs the
original files, which are compared with the model first.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import opforest
from opforest._utils.text import count
from opforest.apps.cli import models
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, labels_of, warn_of_scales
from opforest.apps.cli.lazy_modules import np, table
from opforest.apps.cli.operations import merge_parts
from opforest.apps.cli.output import show_phases


def describe_preparation(model: Any, remedy: str) -> list[str]:
    """Return a note on the preparation that a model keeps from its first file, if there is one.

    ``remedy`` says what changes it.
    """
    preparation = models.preparation_of(model)
    if preparation is None:
        note = f"the preparation is still that of the first file ({remedy} it)"
        return [note] if hasattr(model, "steps") else []
    learned = {
        "categories": preparation.encode in ("onehot", "ordinal"),
        "medians": preparation.missing == "median",
        "scales": preparation.scale != "none",
    }
    known = [name for name, is_learned in learned.items() if is_learned]
    if not known:
        return []
    listed = " and ".join(filter(None, (", ".join(known[:-1]), known[-1])))
    return [f"{listed} are still those of the first file ({remedy} them)"]


def refit_model(job: Job, path: str, first: Sequence[str]) -> int:
    """Replace the model of a job by one trained on all files; return how many examples are new.

    ``path`` is its file, for errors; ``first`` are the files that it has learned, in order.
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
