"""``opforest cluster`` and ``opforest prune``."""

import json as json_format
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

import opforest
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, labels_of
from opforest.apps.cli.output import print_facts
from opforest.apps.cli.paths import require_distinct, require_model_path
from opforest.apps.cli.scales import quiet_about_scales

if TYPE_CHECKING:
    from opforest.io.columns.table import ReadOptions

MergeBy = StrEnum("MergeBy", ["HEIGHT", "AREA", "VOLUME"])


@options.command()
def cluster(
    data: options.DataFile,
    k_max: Annotated[int, typer.Option(help="The largest number of neighbors to try.")] = 20,
    k_min: Annotated[int, typer.Option(help="The smallest number of neighbors to try.")] = 1,
    merge_by: Annotated[
        MergeBy | None, typer.Option(help="Merge clusters with a small height, area or volume.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="What --merge-by considers small, from 0 to 1.")
    ] = 0.0,
    single: Annotated[
        bool, typer.Option("--single", help="Allow a single cluster as the result.")
    ] = False,
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    encode: options.EncodeOption = None,
    missing: options.MissingOption = None,
    scale: options.ScaleOption = None,
    model: Annotated[
        str | None, typer.Option(help="A model file to write, for opforest predict.")
    ] = None,
    out: options.OutOption = "-",
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Find clusters, and print the cluster of each example, one per line.

    Labels in the file are ignored. With --missing drop, rows with missing cells get no line.
    LibOPF's metric is --metric log_squared_euclidean.

    Example: opforest cluster iris.csv --label species --k-max 30 --scale standard
    """
    from opforest.io.tables import open_output

    require_distinct([data], [model, out])
    models.check_jobs(jobs)
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
        metric=metric or "euclidean",
        metric_params=options.parse_params(metric_param),
        n_jobs=jobs,
    ).check_parameters()
    estimator = models.add_preparation(clustering, encode, missing, scale)
    job = Job(estimator, data, reading, ignores_label=True)
    examples = job.read()
    begin = perf_counter()
    job.fit(examples)
    seconds = perf_counter() - begin
    models.remember_names(estimator, examples)
    job.print_dropped()
    if model is not None:
        opforest.save(estimator, model)
    labels = clustering.labels_.tolist()
    text = "".join(f"{label}\n" for label in labels)
    if json:
        facts = {"examples": len(labels), "k": clustering.k_, "clusters": len(clustering.roots_),
                 "roots": clustering.roots_.tolist(), "labels": labels,
                 "seconds": seconds}  # fmt: skip
        text = json_format.dumps(facts) + "\n"
    with open_output(out) as stream:
        stream.write(text.encode())


@options.command()
def prune(
    model: options.ModelPath,
    data: options.DataFile,
    smaller: Annotated[str, typer.Argument(metavar="SMALLER", help="The model file to write.")],
    loss: Annotated[
        float, typer.Option(help="The loss of accuracy on DATA to accept, from 0 to 1.")
    ] = 0.0,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Make a model smaller: keep only the examples that predict a labeled data file.

    DATA must not contain the examples that the model was trained on.

    Example: opforest prune iris.opforest evaluation.csv small.opforest --loss 0.01
    """
    from opforest.estimators.density_base import require_share

    require_distinct([model, data], [smaller])
    require_share("loss", loss)
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
    facts = {"model": smaller, "examples_before": first.examples, "examples": last.examples,
             "accuracy_before": first.accuracy, "accuracy": last.accuracy,
             "steps": len(history) - 1, "seconds": seconds}  # fmt: skip
    print_facts(facts, json)
