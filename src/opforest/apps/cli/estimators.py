"""``opforest cluster`` and ``opforest prune``."""

import json as json_format
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import locate_errors, require_folder, say_errors

if TYPE_CHECKING:
    from opforest.io.columns.table import Data


class Filter(StrEnum):
    """Which hills are too small for a cluster."""

    HEIGHT = "height"
    AREA = "area"
    VOLUME = "volume"


@options.reads_data
def cluster(
    data: options.DataFile,
    k_max: Annotated[int, typer.Option(help="the largest number of neighbors to try")] = 20,
    k_min: Annotated[int, typer.Option(help="the smallest one")] = 1,
    merge_by: Annotated[
        Filter | None, typer.Option(help="drop small hills by height, area or volume")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="what is small for --merge-by, from 0 to 1")
    ] = 0.0,
    single: Annotated[
        bool, typer.Option("--single", help="one cluster may be the best answer")
    ] = False,
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    encode: options.EncodeOption = None,
    missing: options.MissingOption = None,
    scale: options.ScaleOption = None,
    model: Annotated[
        str | None, typer.Option(help="a model file to write, for opforest predict")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", help="where to write (default: stdout)")] = "-",
    jobs: options.JobsOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Find the clusters of examples and print the cluster of each, one a line.

    Labels in the file are ignored. With --missing drop, so are rows with missing cells: they get no
    line. LibOPF's metric is --metric log_squared_euclidean.

    Example: opforest cluster iris.csv --label species --k-max 30 --scale standard
    """
    with say_errors():
        keep_apart([data], [model, out])
        import opforest
        from opforest.apps.cli import models
        from opforest.apps.cli.output import print_notes
        from opforest.io.tables import open_output, read_table

        models.check_jobs(jobs)
        params = options.parse_params(metric_param)
        if merge_by is None and threshold:
            raise ValueError("--threshold needs --merge-by: height, area or volume.")
        if model is not None:
            require_folder(model)
            models.require_no_data(model)
        clustering = opforest.OPFClustering(
            k_max,
            k_min=k_min,
            merge_by=None if merge_by is None else str(merge_by),
            threshold=threshold,
            allow_single_cluster=single,
            metric=metric or "euclidean",
            metric_params=params,
            n_jobs=jobs,
        ).check_parameters()
        learner = models.prepared(clustering, encode, missing, scale)
        read = read_table(data, models.reading_for(learner, how))
        examples = models.complete_rows(learner, read, data, may_drop=True)
        begin = perf_counter()
        with locate_errors(data, examples):
            if len(read) and not len(examples):
                raise ValueError("cells are missing in every row; --missing median fills them.")
            learner.fit(examples.X)
        models.remember_names(learner, examples)
        seconds = perf_counter() - begin
        dropped = len(read) - len(examples)
        left_out = [f"{dropped} rows with missing cells are left out"] if dropped else []
        print_notes([*_ignored(examples), *left_out])
        if model is not None:
            opforest.save(learner, model)
        labels = clustering.labels_.tolist()
        text = "".join(f"{label}\n" for label in labels)
        if json:
            facts = {
                "examples": len(labels),
                "k": clustering.k_,
                "clusters": len(clustering.roots_),
                "roots": clustering.roots_.tolist(),
                "labels": labels,
                "seconds": seconds,
            }
            text = json_format.dumps(facts) + "\n"
        with open_output(out) as stream:
            stream.write(text.encode())


def _ignored(examples: "Data") -> list[str]:
    """Return what was decided about columns; that one is the label means that it is ignored."""
    return [f"{one}; labels are ignored here" if one.startswith("the label is") else one
            for one in examples.notes]  # fmt: skip


@options.reads_data
def prune(
    model: options.ModelFile,
    data: options.DataFile,
    smaller: Annotated[str, typer.Argument(metavar="SMALLER", help="the model file to write")],
    loss: Annotated[
        float, typer.Option(help="how much accuracy on DATA may be lost, from 0 to 1")
    ] = 0.0,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Make a model smaller: keep only what a data file with labels needs.

    DATA must be other examples than those the model was trained on.

    Example: opforest prune iris.opforest evaluation.csv small.opforest --loss 0.01
    """
    with say_errors():
        keep_apart([model, data], [smaller])
        import opforest
        from opforest.apps.cli import models
        from opforest.apps.cli.models import require_no_data
        from opforest.apps.cli.output import print_facts, print_notes
        from opforest.apps.cli.scales import quiet_about_scales
        from opforest.estimators.density_base import require_share
        from opforest.io.tables import read_table

        require_share("loss", loss)
        learner = models.load_model(model)
        classifier = models.classifier_of(learner)
        if isinstance(classifier, opforest.OPFSemiSupervised) or classifier.update != "exact":
            raise ValueError(
                f"{model}: it was trained with --unlabeled or --update, and cannot be pruned."
            )
        reading = models.reading_for(learner, how, needs_label=True)
        require_folder(smaller)
        require_no_data(smaller)
        examples = models.complete_rows(learner, read_table(data, reading), data, may_drop=True)
        notes = models.notes_of(examples, reading, learner)
        y = models.labels_of(examples, data)
        begin = perf_counter()
        with locate_errors(data, examples), quiet_about_scales():  # train has warned
            X = examples.X if learner is classifier else learner.prepare(examples.X)
            pruned, history = opforest.prune(classifier, X, y, loss=loss)
        seconds = perf_counter() - begin
        if hasattr(classifier, "columns_"):
            pruned.columns_ = classifier.columns_
        if learner is not classifier:
            pruned = opforest.Pipeline([*learner.steps[:-1], (learner.steps[-1][0], pruned)])
        opforest.save(pruned, smaller)
        print_notes(notes)
        facts = {
            "model": smaller,
            "examples before": history[0].examples,
            "examples": history[-1].examples,
            "accuracy before": history[0].accuracy,
            "accuracy": history[-1].accuracy,
            "rounds": len(history) - 1,
            "seconds": seconds,
        }
        print_facts(facts, json)
