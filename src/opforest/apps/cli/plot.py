"""``opforest plot``."""

from typing import Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import locate_errors, say_errors


@options.reads_data
def plot(
    model: options.ModelFile,
    data: options.DataFile,
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="the picture to write: .png, .svg or .pdf")
    ],
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Draw the forest of a model, or its clusters.

    The data are the examples it knows, or all that it has ever learned, in their order.

    Example: opforest plot iris.opforest iris.csv iris.png
    """
    with say_errors():
        keep_apart([model, data], [out])
        import os

        from opforest._utils.atomic import replacing
        from opforest.apps.cli.models import classifier_of, load_to_predict, reading_for
        from opforest.apps.cli.output import print_facts
        from opforest.display.clusters import ClusterDisplay
        from opforest.display.forest import ForestDisplay, require_matplotlib
        from opforest.io.tables import read_table

        require_matplotlib()
        kind = os.path.splitext(out)[1][1:].lower()
        if kind not in ("png", "svg", "pdf"):
            raise ValueError(f"OUT must end in .png, .svg or .pdf, got {out!r}.")
        from matplotlib.figure import Figure

        learner = load_to_predict(model)
        examples = read_table(data, reading_for(learner, how))
        classifier, X = classifier_of(learner), examples.X
        if learner is not classifier:
            X = learner.prepare(X)
        if hasattr(classifier, "forest_"):
            X = _known(X, classifier.forest_, data)
        figure = Figure(figsize=(8, 6), dpi=120, layout="constrained")
        with locate_errors(data):
            display = ForestDisplay if hasattr(classifier, "forest_") else ClusterDisplay
            if display is ClusterDisplay and not hasattr(classifier, "roots_"):
                raise ValueError("there is no picture of this kind of model.")
            display.from_estimator(classifier, X, ax=figure.subplots())
        with replacing(out) as stream:
            figure.savefig(stream, format=kind)
        print_facts({"file": out, "examples": len(examples)}, json)


def _known(X: Any, forest: Any, path: str) -> Any:
    """Return the examples that a forest knows, in its order."""
    from opforest.errors import DataFileError

    if len(X) == len(forest):
        return X
    if len(X) == forest.examples.next_id:  # ids are rows
        return X[forest.ids]
    learned = forest.examples.next_id
    all_of_them = "" if learned == len(forest) else f", or all {learned} that it has ever learned"
    raise DataFileError(
        f"it must hold the {len(forest)} examples that the model knows{all_of_them}, in the order "
        f"they were learned, got {len(X)}",
        path,
    )
