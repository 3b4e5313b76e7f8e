"""``opforest train`` and ``opforest update``."""

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.cli import options
from opforest.cli.errors import blame, require_folder, say_errors

if TYPE_CHECKING:
    from opforest.classifier import OPFClassifier


@options.reads_data
def train(
    data: options.DataFile,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="the model file to write")],
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    update: options.UpdateOption = None,
    distances: Annotated[
        str | None,
        typer.Option(
            help="a file with the distances between all examples, LibOPF's or a table; an example "
            "has the row of its id, or of its place"
        ),
    ] = None,
    jobs: options.JobsOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Learn a data file and write a model file.

    Example: opforest train iris.csv iris.opforest --label species
    """
    with say_errors():
        import opforest
        from opforest.cli.models import labels_of, make_model, remember_names, require_no_data
        from opforest.cli.output import print_facts
        from opforest.io.tables import read_table

        reading = how.reading()
        params = options.parse_params(metric_param)
        if distances is not None and metric not in (None, "precomputed"):
            raise ValueError(f"--distances are given instead of --metric {metric}.")
        metric = metric if distances is None else "precomputed"
        classifier = make_model(metric, params, update, jobs)
        require_folder(model)
        require_no_data(model)
        examples = read_table(data, reading)
        y = labels_of(examples, data)
        begin = perf_counter()
        with blame(distances or data):
            X = examples.X if distances is None else _measured(distances, examples)
            classifier.fit(X, y)
        if distances is None:
            remember_names(classifier, examples)
        seconds = perf_counter() - begin
        opforest.save(classifier, model)
        print_facts({"model": model, **describe(classifier), "seconds": seconds}, json)


@options.reads_data
def update(
    model: options.ModelFile,
    data: options.DataFile,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Teach a model more examples; the file is replaced when all are learned.

    Example: opforest update iris.opforest more-iris.csv
    """
    with say_errors("Stopped; the model is as it was."):
        from opforest.cli.models import Saved, expected_of, labels_of, load_to_grow
        from opforest.cli.output import counting, print_facts
        from opforest.io.tables import read_chunks

        saved = Saved(model)
        classifier = load_to_grow(model)
        expected = expected_of(classifier)
        reading = how.reading(expected=expected)
        begin, learned = perf_counter(), 0
        with counting("learned") as count:
            for chunk in read_chunks(data, reading):
                y = labels_of(chunk, data)
                with blame(data):
                    classifier.partial_fit(chunk.X, y)
                learned += len(chunk)
                count(len(chunk))
        seconds = perf_counter() - begin
        saved.replace(classifier)
        facts = {"model": model, "learned": learned, **describe(classifier), "seconds": seconds}
        print_facts(facts, json)


def describe(classifier: "OPFClassifier") -> dict[str, Any]:
    """Return what is to be said of a model."""
    forest = classifier.forest_
    return {
        "examples": len(forest),
        "features": classifier.n_features_in_,
        "classes": len(classifier.classes_),
        "prototypes": len(forest.prototypes),
        "metric": classifier.metric if isinstance(classifier.metric, str) else "a function",
        "metric_params": dict(classifier.metric_params or {}),
        "update": classifier.update,
    }


def _measured(path: str, examples: Any) -> Any:
    """Return the distances between examples that a file has."""
    import numpy as np

    from opforest.io import libopf
    from opforest.io.data import Reading
    from opforest.io.tables import format_of, read_table

    is_libopf = format_of(path) in (None, "libopf")
    table = libopf.read_distances(path) if is_libopf else read_table(path, Reading(label="none")).X
    place = np.arange(len(examples)) if examples.ids is None else examples.ids
    if place.dtype.kind not in "iu" or not ((place >= 0) & (place < len(table))).all():
        raise ValueError(f"ids must be rows of the {len(table)} × {table.shape[1]} distances.")
    return table[np.ix_(place, place)]
