"""Comparison of a model with simpler ones on examples that none of them has learned."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import opforest
from opforest.apps.cli import models
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, quiet_about_scales
from opforest.apps.cli.lazy_modules import np, table
from opforest.apps.cli.operations import assign_folds
from opforest.errors import DataFileError

#: Predictions by the name of a method, the model's own first.
Answers = dict[str, "table.Array"]

#: Methods that need no options: is the model better than these?
NEAREST, MAJORITY = "1-NN", "majority class"


def compare(
    job: Job, data: "table.Data", y: "table.Array", known: "table.Array", others: "table.Array"
) -> Answers:
    """Train the model of a job on known rows; return what each method predicts for the others.

    The model answers with its own number of voters and with those that ``auto`` finds. The nearest
    neighbor is that of the same metric, after the same preparation.
    """
    from sklearn.base import clone

    model = clone(job.model)
    part, queries = data.take(known), data.take(others)
    with locate_errors(job.path, part), quiet_about_scales():
        model.fit(part.X, y[known])
    last = models.classifier_of(model)
    X, queries_X = models.prepare(model, part.X), _prepare_queries(model, queries, job.path)
    with locate_errors(job.path, queries):
        answers = {}
        for voters in dict.fromkeys((last.voters, "auto")):
            answers[name_method(voters)] = last.set_params(voters=voters).predict(queries_X)
        answers[NEAREST] = y[known][_find_nearest(last, X, queries_X)]
    common = Counter(y[known].tolist()).most_common(1)[0][0]
    answers[MAJORITY] = np.full(len(others), common, y.dtype)
    return answers


def _prepare_queries(model: Any, queries: "table.Data", path: str) -> Any:
    """Return queries as a model prepares them; it may not know a category that is rare."""
    try:
        with locate_errors(path, queries):
            return models.prepare(model, queries.X)
    except DataFileError as error:
        reason = (
            f"{error.reason.rstrip('.')}. Here, that means the examples that are not tested with "
            "it: leave out the row, or use --encode drop"
        )
        raise DataFileError(reason, error.path, error.line, error.column) from error


def name_method(voters: int | str) -> str:
    """Return the name of the method with this number of voters."""
    if voters == 1:
        return "OPF"
    return f"OPF ({voters} voters)" if voters != "auto" else "OPF (voters auto)"


def _find_nearest(classifier: Any, X: Any, queries: Any) -> "table.Array":
    """Return the position of the nearest example to each query.

    If each example has a class of its own, all are prototypes, and the nearest one conquers.
    """
    nearest = opforest.OPFClassifier(
        classifier.metric, metric_params=classifier.metric_params, n_jobs=classifier.n_jobs
    )
    with quiet_about_scales():
        return nearest.fit(X, np.arange(len(X))).predict(queries)


def cross_validate(
    job: Job, data: "table.Data", y: "table.Array", folds: int, seed: int
) -> Iterator[tuple["table.Array", Answers]]:
    """Yield the rows of each fold, and what is predicted for them by training on the others."""
    part = assign_folds(y, len(y), folds, seed)
    for k in range(folds):
        others = np.flatnonzero(part == k)
        yield others, compare(job, data, y, np.flatnonzero(part != k), others)
