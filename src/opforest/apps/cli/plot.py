"""``opforest plot``."""

import os
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job
from opforest.apps.cli.output import print_facts
from opforest.apps.cli.paths import require_distinct

if TYPE_CHECKING:
    from opforest.io.columns.table import ReadOptions


@options.command()
def plot(
    model: options.ModelPath,
    data: options.DataFile,
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="The picture to write: .png, .svg or .pdf.")
    ],
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Draw the forest of a model, or its clusters.

    DATA contains the examples that the model knows, or all that it has ever learned, in order.

    Example: opforest plot iris.opforest iris.csv iris.png
    """
    from opforest._utils.atomic import replacing
    from opforest.display.clusters import ClusterDisplay
    from opforest.display.forest import ForestDisplay, require_matplotlib
    from opforest.io.tables import read_table

    require_distinct([model, data], [out])
    require_matplotlib()
    kind = os.path.splitext(out)[1][1:].lower()
    if kind not in ("png", "svg", "pdf"):
        raise ValueError(f"OUT must end in .png, .svg or .pdf, got {out!r}.")
    from matplotlib.figure import Figure

    job = Job(models.load_model(model), data, reading)
    examples, last = read_table(data, job.reading), models.classifier_of(job.model)
    X, display = models.prepare(job.model, examples.X), cast(Any, ClusterDisplay)
    if hasattr(last, "forest_"):
        X, display = _select_known(X, last.forest_, data), ForestDisplay
    figure = Figure(figsize=(8, 6), dpi=120, layout="constrained")
    with locate_errors(data):
        if display is ClusterDisplay and not hasattr(last, "roots_"):
            raise ValueError("this kind of model cannot be drawn.")
        display.from_estimator(last, X, ax=figure.subplots())
    with replacing(out) as stream:
        figure.savefig(stream, format=kind)
    print_facts({"file": out, "examples": len(examples)}, json)


def _select_known(X: Any, forest: Any, path: str) -> Any:
    """Return the examples that a forest knows, in its order."""
    from opforest.errors import DataFileError

    n_learned = forest.examples.next_id
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
