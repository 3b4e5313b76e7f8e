"""``opforest cluster``, ``prune`` and ``plot``."""

import json as json_format
import os
from enum import StrEnum
from time import perf_counter
from typing import Annotated, Any

from typer import Argument, Option

import opforest
from opforest._utils.atomic import open_atomic
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, labels_of, quiet_about_scales
from opforest.apps.cli.lazy_modules import tables
from opforest.apps.cli.paths import require_distinct, require_model_path
from opforest.errors import DataFileError

MergeBy = StrEnum("MergeBy", ["HEIGHT", "AREA", "VOLUME"])


@options.command()
def cluster(
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    reading: options.ReadOptions,
    data: options.DataFile,
    k_max: Annotated[int, Option(help="The largest number of neighbors to try.")] = 20,
    k_min: Annotated[int, Option(help="The smallest number of neighbors to try.")] = 1,
    merge_by: Annotated[
        MergeBy | None, Option(help="Merge clusters that are small by this measure.")
    ] = None,
    threshold: Annotated[float, Option(help="What --merge-by considers small, from 0 to 1.")] = 0.0,
    single: Annotated[bool, Option(help="Allow a single cluster as the result.")] = False,
    model: Annotated[str | None, Option(help="A model file to write, for predict.")] = None,
    out: options.OutOption = "-",
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Find clusters, and print the cluster of each example, one per line.

    Labels in the file are ignored. With --missing drop, rows with missing cells get no line.
    LibOPF's metric is --metric log_squared_euclidean.

    Example: opforest cluster iris.csv --label species --k-max 30 --scale standard
    """
    require_distinct([data, *metric.files], [model, out])
    models.check_jobs(jobs)
    if preparation.make().needs_labels:
        raise ValueError(
            f"--scale {preparation.scale} learns from labels, and cluster ignores them: choose "
            "--scale standard, robust or minmax."
        )
    if merge_by is None and threshold:
        raise ValueError("--threshold needs --merge-by: height, area or volume.")
    if model is not None:
        require_model_path(model)
    clustering = opforest.OPFClustering(
        k_max,
        k_min=k_min,
        merge_by=None if merge_by is None else str(merge_by),
        threshold=threshold,
        allow_single_cluster=single,
        metric=metric.metric or "euclidean",
        metric_params=metric.metric_params,
        n_jobs=jobs,
    ).check_parameters()
    estimator = models.add_preparation(clustering, preparation)
    job = Job(estimator, data, reading, ignores_label=True)
    examples = job.read()
    begin = perf_counter()
    job.fit(examples)
    seconds = perf_counter() - begin
    models.remember_names(estimator, examples)
    job.print_dropped()
    if model is not None:
        opforest.save(estimator, model)
    with tables.open_output(out) as stream:
        stream.write(_format_clusters(clustering, seconds, json).encode())


def _format_clusters(clustering: Any, seconds: float, as_json: bool) -> str:
    labels, roots = clustering.labels_.tolist(), clustering.roots_.tolist()
    if not as_json:
        return "".join(f"{label}\n" for label in labels)
    facts = {"examples": len(labels), "k": clustering.k_, "clusters": len(roots), "roots": roots,
             "labels": labels, "seconds": seconds}  # fmt: skip
    return json_format.dumps(facts) + "\n"


@options.command()
def prune(
    reading: options.ReadOptions,
    model: options.ModelPath,
    data: options.DataFile,
    smaller: Annotated[str, Argument(help="The model file to write.")],
    loss: Annotated[float, Option(help="The loss of accuracy on DATA to accept, 0 to 1.")] = 0.0,
) -> options.Facts:
    """Make a model smaller: keep only the examples that predict a labeled data file.

    DATA must not contain the examples that the model was trained on.

    Example: opforest prune iris.opforest test.csv small.opforest --loss 0.01
    """
    from opforest.estimators.validation import require_fraction

    require_distinct([model, data], [smaller])
    require_fraction("--loss", loss)
    job = Job(models.load_classifier(model), data, reading, needs_label=True)
    classifier = models.classifier_of(job.model)
    if isinstance(classifier, opforest.OPFSemiSupervised) or classifier.update != "exact":
        raise ValueError(f"{model} was trained with --unlabeled or --update, and cannot be pruned.")
    require_model_path(smaller)
    examples = job.read()
    y = labels_of(examples, data)
    begin = perf_counter()
    with locate_errors(data, examples), quiet_about_scales():  # train has warned
        X = models.prepare(job.model, examples.X)
        pruned, history = opforest.prune(classifier, X, y, loss=loss)
    seconds = perf_counter() - begin
    if hasattr(classifier, "columns_"):
        pruned.columns_ = classifier.columns_
    if job.model is not classifier:
        *steps, (name, _) = job.model.steps
        pruned = opforest.Pipeline([*steps, (name, pruned)])
    opforest.save(pruned, smaller)
    first, last = history[0], history[-1]
    return {"model": smaller, "examples_before": first.examples, "examples": last.examples,
             "accuracy_before": first.accuracy, "accuracy": last.accuracy,
             "steps": len(history) - 1, "seconds": seconds}  # fmt: skip


@options.command()
def plot(
    reading: options.ReadOptions,
    model: options.ModelPath,
    out: Annotated[str, Argument(help="The picture to write: .png, .svg or .pdf.")],
    coordinates: Annotated[
        str | None,
        Option(metavar="DATA", help="Where to draw the examples of a model of distances."),
    ] = None,
) -> options.Facts:
    """Draw the forest of a model, or its clusters.

    A model trained with --distances holds no points, so it needs --coordinates: a data file with
    the examples that the model knows, in the order of learning.

    Example: opforest plot iris.opforest iris.png
    """
    from opforest.display.clusters import ClusterDisplay
    from opforest.display.drawing import require_matplotlib
    from opforest.display.forest import ForestDisplay

    require_distinct([model, coordinates], [out])
    require_matplotlib()
    kind = os.path.splitext(out)[1][1:].lower()
    if kind not in ("png", "svg", "pdf"):
        raise ValueError(f"OUT must end in .png, .svg or .pdf, got {out!r}.")
    from matplotlib.figure import Figure

    estimator = models.load_model(model)
    last = models.classifier_of(estimator)
    if not (hasattr(last, "forest_") or hasattr(last, "roots_")):
        raise ValueError(f"{model}: this kind of model cannot be drawn.")
    X = _read_coordinates(last, model, coordinates, reading)
    display: Any = ForestDisplay if hasattr(last, "forest_") else ClusterDisplay
    drawn = estimator if display is ForestDisplay else last
    figure = Figure(figsize=(8, 6), dpi=120, layout="constrained")
    with locate_errors(coordinates or model):
        display.from_estimator(drawn, X, ax=figure.subplots())
    with open_atomic(out) as stream:
        figure.savefig(stream, format=kind)
    examples = len(last.forest_ if hasattr(last, "forest_") else last.labels_)
    return {"file": out, "examples": examples}


def _read_coordinates(
    estimator: Any, model: str, path: str | None, reading: options.ReadOptions
) -> Any:
    """Return where to draw examples; None if the model holds their points."""
    is_of_distances = estimator.metric == "precomputed"
    if is_of_distances and path is None:
        raise ValueError(
            f"{model} was trained with --distances, so it holds no points to draw: --coordinates "
            "names a data file with its examples, in the order of learning."
        )
    if path is None:
        return None
    if not is_of_distances:
        raise ValueError(f"{model} holds the points of its examples: leave out --coordinates.")
    X = tables.read_table(path, reading).X
    return _select_known(X, estimator.forest_, path) if hasattr(estimator, "forest_") else X


def _select_known(X: Any, forest: Any, path: str) -> Any:
    """Return the examples that a forest knows, in its order."""
    n_learned = forest.next_id
    if len(X) == len(forest):
        return X
    if len(X) == n_learned:  # ids are rows
        return X[forest.ids]
    or_all = "" if n_learned == len(forest) else f", or all {n_learned} that it has ever learned"
    raise DataFileError(
        f"it must hold the {len(forest)} examples that the model knows{or_all}, in the order of "
        f"learning, got {len(X)}",
        path,
    )
