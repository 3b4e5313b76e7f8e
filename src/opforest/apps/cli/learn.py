"""``opforest train`` and ``opforest update``."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import locate_errors, require_folder, say_errors

if TYPE_CHECKING:
    from opforest.io.columns.table import ReadOptions


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
    unlabeled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATA",
            help="more examples, without labels: the model is semi-supervised; may be repeated",
        ),
    ] = None,
    encode: options.EncodeOption = None,
    missing: options.MissingOption = None,
    scale: options.ScaleOption = None,
    jobs: options.JobsOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Learn a data file and write a model file.

    What --encode, --missing and --scale learn of the data is kept in the model, and applied by
    update, predict, evaluate and stream.

    Example: opforest train iris.csv iris.opforest --label species --scale standard
    """
    with say_errors():
        keep_apart([data, distances, *(unlabeled or ())], [model])
        import opforest
        from opforest.apps.cli import models
        from opforest.apps.cli.models import make_model, make_semi_supervised, require_no_data
        from opforest.apps.cli.output import phases, print_facts, print_notes
        from opforest.io.tables import read_table

        params = options.parse_params(metric_param)
        if distances is not None and metric not in (None, "precomputed"):
            raise ValueError(f"--distances are given instead of --metric {metric}.")
        metric = metric if distances is None else "precomputed"
        if distances is not None and (encode or missing or scale):
            raise ValueError("--distances are measured already: no --encode, --missing, --scale.")
        classifier = make_model(metric, params, update, jobs)
        if unlabeled:
            if distances is not None or classifier.update != "exact":
                raise ValueError("--unlabeled goes neither with --distances nor with --update.")
            classifier = make_semi_supervised(classifier)
        learner = models.prepared(classifier, encode, missing, scale)
        reading = models.reading_for(learner, how, needs_label=True)
        require_folder(model)
        require_no_data(model)
        with phases() as begin_phase:
            begin_phase("reading")
            read = read_table(data, reading)
            examples = models.complete_rows(learner, read, data, may_drop=True)
            dropped = len(read) - len(examples)
            advice = "; --unlabeled takes files of rows without labels"
            y = models.labels_of(examples, data, advice)
            more = []
            for path in unlabeled or ():
                part, left_out = _read_unlabeled(path, learner, examples, y, how)
                more.append(part)
                dropped += left_out
            begin = perf_counter()
            with locate_errors(distances or data, examples):
                if len(read) and not len(examples):
                    raise ValueError("cells are missing in every row; --missing median fills them.")
                if distances is None:
                    fit(learner, examples, y, begin_phase, more)
                else:
                    learner.fit(_measured(distances, examples), y)
            if distances is None:
                models.remember_names(learner, examples)
            seconds = perf_counter() - begin
            begin_phase("saving")
            opforest.save(learner, model)
        notes = [f"{dropped} rows with missing cells are left out"] if dropped else []
        print_notes([*examples.notes, *notes])
        facts = {"model": model, **describe(learner), "label": examples.label_name
                 or examples.label_column, "seconds": seconds}  # fmt: skip
        print_facts(facts, json)


def fit(learner: Any, examples: Any, y: Any, begin_phase: Any, more: Sequence[Any] = ()) -> None:
    """Fit a model; a warning of spreads calls features by their names.

    What prepares the data learns from the examples with labels, and not from those without, which
    are ``more``, file by file.
    """
    import numpy as np

    from opforest.apps.cli import models
    from opforest.apps.cli.scales import quiet_about_scales, warn_of_scales

    X = examples.X
    if hasattr(learner, "steps"):
        begin_phase("preparing")
        for _, step in learner.steps[:-1]:
            X = step.fit_transform(X, y)
        models.remember_names(learner, examples)
        more = [learner.prepare(part) for part in more]
    if more:
        X = np.concatenate((X, *more))
        y = np.concatenate((y.astype(object), np.full(len(X) - len(y), None)))
    warn_of_scales(learner, X, examples, "--scale standard")
    with quiet_about_scales():
        models.classifier_of(learner).fit(X, y)


@options.reads_data
def update(
    model: options.ModelFile,
    data: options.DataFile,
    refit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIRST",
            help="train anew on FIRST, the file the model was trained on, and DATA, so that what "
            "--encode, --missing and --scale do is learned from both; repeat it for each file that "
            "the model has learned since, in their order",
        ),
    ] = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Teach a model more examples; the file is replaced when all are learned.

    A model trained without --encode, --missing, --scale and --update becomes exactly the model of
    training on both files. With --encode, --missing or --scale, categories, medians and scales stay
    those of the first file; --refit gives exactly the model of training on both files.

    Example: opforest update iris.opforest more-iris.csv
    """
    with say_errors("Stopped; the model is as it was."):
        keep_apart([data, *(refit or ())], [model])
        from opforest.apps.cli.models import ModelFile, load_to_grow, reading_for
        from opforest.apps.cli.output import print_facts, print_notes
        from opforest.apps.cli.refit import kept_by
        from opforest.apps.cli.refit import refit as train_on_all

        saved = ModelFile(model)
        learner = load_to_grow(model)
        reading = reading_for(learner, how, needs_label=True)
        begin, notes = perf_counter(), list[str]()
        if refit:
            learner, learned, dropped = train_on_all(learner, model, refit, data, reading)
        else:
            learned, dropped = _teach(learner, data, reading)
            notes = kept_by(learner)
        seconds = perf_counter() - begin
        saved.replace(learner)
        if dropped:
            notes.append(f"{dropped} rows with missing cells are left out")
        print_notes(notes)
        facts = {"model": model, "learned": learned, **describe(learner), "seconds": seconds}
        print_facts(facts, json)


def _teach(learner: Any, data: str, reading: "ReadOptions") -> tuple[int, int]:
    """Teach a model a data file; return how many rows it has learned and left out."""
    from opforest.apps.cli.models import complete_rows, labels_of, notes_of
    from opforest.apps.cli.output import counting, print_notes
    from opforest.io.tables import read_chunks

    learned, dropped = 0, 0
    with counting("learned") as count:
        for read in read_chunks(data, reading):
            chunk = complete_rows(learner, read, data, may_drop=True)
            if not learned + dropped:
                print_notes(notes_of(chunk, reading, learner))
            dropped += len(read) - len(chunk)
            y = labels_of(chunk, data)
            with locate_errors(data, chunk):
                if len(chunk):
                    learner.partial_fit(chunk.X, y)
            learned += len(chunk)
            count(len(chunk))
    return learned, dropped


def describe(model: Any) -> dict[str, Any]:
    """Return what is to be said of a model."""
    from opforest.apps.cli.models import classifier_of, preparation_of

    classifier, preparation = classifier_of(model), preparation_of(model)
    forest, told = classifier.forest_, {}
    if preparation is not None:
        told = {"preparation": preparation.get_params(), "columns": preparation.n_features_in_}
    elif model is not classifier:
        told = {"preparation": [type(step).__name__ for _, step in model.steps[:-1]]}
    return {
        "examples": len(forest),
        **told,
        "features": classifier.n_features_in_,
        "classes": len(classifier.classes_),
        "prototypes": len(forest.prototypes),
        "metric": classifier.metric if isinstance(classifier.metric, str) else "a function",
        "metric_params": dict(classifier.metric_params or {}),
        "update": classifier.update,
    }


def _read_unlabeled(
    path: str, learner: Any, examples: Any, y: Any, how: options.How
) -> tuple[Any, int]:
    """Return the features in a file whose labels do not count, and how many rows are left out."""
    from opforest._utils.numerals import Cells
    from opforest.apps.cli.models import complete_rows, reading_for
    from opforest.io.columns.table import InputSchema
    from opforest.io.tables import read_table

    names, width = examples.feature_names, examples.X.shape[1]
    is_text = getattr(examples.X, "dtypes", None)
    text = frozenset(j for j in range(width) if is_text and not is_text[j].is_numeric())
    expected = InputSchema(
        width, None if names is None else tuple(names), y.dtype.kind in "UO", examples.layout, text,
        Cells.from_data((examples.layout or {}).get("cells", {})),
    )  # fmt: skip
    # Features are found as predict finds them; options speak of the columns of the other file.
    how = replace(how, label=None, drop=None, keep=None)
    reading = replace(reading_for(learner, how), expected=expected)
    read = read_table(path, reading)
    more = complete_rows(learner, read, path, may_drop=True)
    return more.X, len(read) - len(more)


def _measured(path: str, examples: Any) -> Any:
    """Return the distances between examples that a file has."""
    import numpy as np

    from opforest.io import libopf
    from opforest.io.columns.table import ReadOptions
    from opforest.io.tables import format_of, read_table

    is_libopf = format_of(path) in (None, "libopf")
    table = (
        libopf.read_distances(path)
        if is_libopf
        else read_table(path, ReadOptions(label="none", lossless=True)).X
    )
    place = np.arange(len(examples)) if examples.ids is None else examples.ids
    if place.dtype.kind not in "iu" or not ((place >= 0) & (place < len(table))).all():
        raise ValueError(f"ids must be rows of the {len(table)} × {table.shape[1]} distances.")
    return table[np.ix_(place, place)]
