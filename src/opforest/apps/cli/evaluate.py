"""``opforest evaluate``."""

import warnings
from collections import Counter, defaultdict
from typing import Annotated, Any

from typer import Argument, Option

import opforest
from opforest._utils.text import count
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, labels_of, quiet_about_scales, warn_of_scales
from opforest.apps.cli.lazy_modules import np, table
from opforest.apps.cli.lookup import ExampleLookup
from opforest.apps.cli.operations import assign_folds
from opforest.apps.cli.output import (
    FACTS,
    count_examples,
    fits,
    print_json,
    print_notes,
    print_table,
)
from opforest.errors import DataFileError, ModelFileError

FOLDS = 5

#: Mistakes that are listed if the matrix of all does not fit on a terminal.
MAX_MISTAKES = 20


@options.command()
def evaluate(
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    reading: options.ReadOptions,
    files: Annotated[
        list[str],
        Argument(metavar="[MODEL] DATA", help="A model and labeled data for it, or data alone."),
    ],
    folds: Annotated[
        int | None,
        Option("--folds", "-k", min=2, help=f"The number of folds for DATA. Default: {FOLDS}."),
    ] = None,
    seed: Annotated[
        int | None, Option(min=0, help="The random seed of the folds. Default: 0.")
    ] = None,
    voters: options.VotersOption = None,
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Measure how well a model predicts, or how well one trained on a data file would.

    With MODEL, its predictions are compared with the labels of DATA. Examples that the model was
    trained on are counted, and the accuracy on the others is printed, too; a model in parts, made
    by train --out-of-core, does not detect its own training examples in DATA. --voters tries
    another number of voters; the model is not changed.

    With DATA alone, it is split into folds with equal shares of each class. Each fold is predicted
    by a model trained on the others with the options of train, and, for comparison, by the nearest
    neighbor and by the most frequent class. No model is written.

    Example: opforest evaluate iris.csv --scale standard
    Example: opforest evaluate iris.opforest test.csv
    """
    if len(files) > 2:
        raise ValueError(f"name a model and a data file, or a data file alone, got {len(files)}.")
    if len(files) == 1:
        if models.kind_of_model(files[0]) is not None:
            reason = "name labeled data after it, which it has not seen"
            raise ValueError(f"{files[0]} is a model: {reason}.")
        classifier = models.make_classifier(metric, None, jobs, voters)
        estimator = models.add_preparation(classifier, preparation)
        job = Job(estimator, files[0], reading, needs_label=True)
        scores = _cross_validate(job, folds or FOLDS, seed or 0)
    else:
        if any((*metric, *preparation)) or (folds, seed) != (None, None):
            raise ValueError(
                "--folds, --seed, --metric, --metric-param, --encode, --missing, --scale and "
                f"--unknown are for data alone: leave them out, or leave out {files[0]}."
            )
        scores = _evaluate_model(files[0], files[1], reading, voters, jobs)
    if json:
        print_json(scores)
    else:
        _print_scores(scores)


def _cross_validate(job: Job, folds: int, seed: int) -> dict[str, Any]:
    from opforest.scores import opf_accuracy

    data = job.read()
    y = labels_of(data, job.path)
    if folds > len(y):
        raise ValueError(f"--folds must be at most {len(y)}, the number of examples, got {folds}.")
    rare = [label for label, n in zip(*np.unique(y, return_counts=True), strict=True) if n < folds]
    accuracy, opf = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    fold, predicted = assign_folds(y, len(y), folds, seed), np.empty_like(y)
    with count_examples("tested") as advance:
        for k in range(folds):
            others = np.flatnonzero(fold == k)
            answers = compare(job, data, y, np.flatnonzero(fold != k), others)
            for name, answer in answers.items():
                accuracy[name].append(float((answer == y[others]).mean()))
                opf[name].append(opf_accuracy(y[others], answer))
            predicted[others] = next(iter(answers.values()))
            advance(len(others))
    job.print_dropped(_note_rare(rare, folds))
    _warn_of_scales(job, data, y)
    methods = [
        {
            "method": name,
            "accuracy": float(np.mean(fractions)),
            "deviation": float(np.std(fractions, ddof=1)),
            "opf_accuracy": float(np.mean(opf[name])),
            "folds": fractions,
        }
        for name, fractions in accuracy.items()
    ]
    return {"folds": folds, "seed": seed, "methods": methods, **_score(y.tolist(), predicted)}


def compare(
    job: Job, data: "table.Data", y: "table.Array", known: "table.Array", others: "table.Array"
) -> dict[str, "table.Array"]:
    """Train the model of a job on known rows; return what each method predicts for the others.

    The model answers first, with its own number of voters and with those that ``auto`` finds. The
    nearest neighbor is that of the same metric, after the same preparation.
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
            suffix = {1: "", "auto": " (voters auto)"}.get(voters, f" ({voters} voters)")
            answers[f"OPF{suffix}"] = last.set_params(voters=voters).predict(queries_X)
        answers["1-NN"] = y[known][_find_nearest(last, X, queries_X)]
    common = Counter(y[known].tolist()).most_common(1)[0][0]
    answers["majority class"] = np.full(len(others), common, y.dtype)
    return answers


def _prepare_queries(model: Any, queries: "table.Data", path: str) -> Any:
    """Return queries as a model prepares them; it may not know a category that is rare."""
    try:
        with locate_errors(path, queries):
            return models.prepare(model, queries.X)
    except DataFileError as error:
        reason = (
            f"{error.reason.rstrip('.')}. Here, the training data are the rows that are not tested "
            "with it: leave out the row, or use --encode drop"
        )
        raise DataFileError(reason, error.path, error.line, error.column) from error


def _find_nearest(classifier: Any, X: Any, queries: Any) -> "table.Array":
    """Return the position of the nearest example to each query.

    If each example has a class of its own, all are prototypes, and the nearest one conquers.
    """
    nearest = opforest.OPFClassifier(
        classifier.metric, metric_params=classifier.metric_params, n_jobs=classifier.n_jobs
    )
    with quiet_about_scales():
        return nearest.fit(X, np.arange(len(X))).predict(queries)


def _note_rare(rare: list[Any], folds: int) -> list[str]:
    if not rare:
        return []
    named = ", ".join(map(str, rare[:3])) + (", …" if len(rare) > 3 else "")
    return [f"some folds have no example of {named}: there are fewer than {folds}"]


def _warn_of_scales(job: Job, data: Any, y: Any) -> None:
    """Warn of features whose spreads differ, as ``train`` does."""
    if hasattr(job.model, "steps"):
        with locate_errors(job.path, data):
            job.model[:-1].fit(data.X, y)
    warn_of_scales(job.model, data, "--scale standard")


def _evaluate_model(
    model: str, path: str, reading: options.ReadOptions, voters: Any, jobs: int | None
) -> dict[str, Any]:
    estimator = models.load_model(model, jobs, may_be_parts=True)
    job = Job(estimator, path, reading, needs_label=True)
    last = models.classifier_of(job.model)
    if not hasattr(last, "classes_"):
        name = type(last).__name__
        raise ModelFileError(f"{model}: it is an {name}, which does not predict labels.")
    if voters is not None:
        if not hasattr(last, "voters"):
            raise ValueError(f"--voters needs a classifier made by train, and {model} is another.")
        last.voters = voters
    is_in_parts, is_of_distances = hasattr(last, "parts_"), last.metric == "precomputed"
    known = None if is_in_parts or is_of_distances else ExampleLookup(job.model)
    held = set() if known is None else known.contents()
    truth: list[Any] = []
    predicted: list[Any] = []
    is_held: list[bool] = []
    with count_examples("tested") as advance:
        for chunk in job.complete_chunks():
            truth += labels_of(chunk, path).tolist()
            with locate_errors(path, chunk):
                predicted += job.model.predict(chunk.X).tolist()
            if known is not None:
                is_held += [row in held for row in known.read(chunk, path)]
            advance(len(chunk))
    job.print_dropped()
    if is_in_parts:
        print_notes(["a model in parts does not detect its own training examples in DATA"])
    if not truth:
        raise ValueError(f"{path}: no row is complete, so there is nothing to compare.")
    return {**_score_new(truth, predicted, is_held), **_score(truth, predicted)}


def _score_new(truth: list[Any], predicted: list[Any], is_held: list[bool]) -> dict[str, Any]:
    """Return how many examples the model holds, and the accuracy on the others."""
    if not is_held:
        return {}
    right = [a == b for a, b, held in zip(truth, predicted, is_held, strict=True) if not held]
    if len(right) < len(truth):
        print_notes([
            f"the model holds {len(truth) - len(right):,} of the {count(len(truth), 'example')}, "
            "which say nothing about new ones"
        ])  # fmt: skip
    accuracy = sum(right) / len(right) if right else None
    return {"in_model": len(truth) - len(right), "accuracy_of_others": accuracy}


def _score(truth: list[Any], predicted: Any) -> dict[str, Any]:
    from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support
    from sklearn.utils.multiclass import unique_labels

    from opforest.scores import opf_accuracy

    labels = unique_labels(truth, predicted)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A single label was found")  # the matrix is 1 × 1
        matrix = confusion_matrix(truth, predicted, labels=labels).tolist()
    precision, recall, _, support = precision_recall_fscore_support(
        truth, predicted, labels=labels, zero_division=float("nan")
    )
    rows = zip(labels, support, recall, precision, strict=True)
    names = ("label", "examples", "recall", "precision")
    return {
        "examples": len(truth),
        "accuracy": float(accuracy_score(truth, predicted)),
        "opf_accuracy": opf_accuracy(truth, predicted),
        "classes": [dict(zip(names, (cell.item() for cell in row), strict=True)) for row in rows],
        "confusion": {"labels": labels.tolist(), "matrix": matrix},
    }


def _print_scores(scores: dict[str, Any]) -> None:
    if "methods" in scores:
        headings = ("method", "accuracy", "deviation", "opf accuracy")
        rows = [list(one.values())[:4] for one in scores["methods"]]
        title = f"{scores['folds']} folds, {scores['examples']} examples"
        print_table(headings, rows, title)
    else:
        names = ("examples", "accuracy", "opf_accuracy", "in_model", "accuracy_of_others")
        shown = [name for name in names if scores.get(name) is not None]
        if not scores.get("in_model"):
            shown = shown[:3]
        print_table(FACTS, [(name.replace("_", " "), scores[name]) for name in shown])
    rows = [list(row.values()) for row in scores["classes"]]
    print_table(("label", "examples", "recall", "precision"), rows, "By class")
    _print_confusion(**scores["confusion"])


def _print_confusion(labels: list[Any], matrix: list[list[int]]) -> None:
    """Print the matrix, or the most frequent mistakes if it is too wide for the terminal."""
    headings = ["true \\ predicted", *map(str, labels)]
    if fits(headings):
        rows: list[Any] = [[str(label), *row] for label, row in zip(labels, matrix, strict=True)]
        print_table(headings, rows, "Confusion")
        return
    mistakes = [
        (str(labels[i]), str(labels[j]), count)
        for i, row in enumerate(matrix)
        for j, count in enumerate(row)
        if count and i != j
    ]
    mistakes.sort(key=lambda one: -one[2])
    title = "Confusion" if len(mistakes) <= MAX_MISTAKES else "Most frequent confusions"
    print_table(("true", "predicted", "examples"), mistakes[:MAX_MISTAKES], title)
