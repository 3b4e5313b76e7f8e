"""``opforest update --refit``: what a model has learned and what is new, learned together.

A model file has the examples as they were prepared, not as they were read, so the files that they
came from are needed. They are compared with the model before anything else is done.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opforest.apps.cli.errors import locate_errors

if TYPE_CHECKING:
    from opforest.io.columns.table import Data, ReadOptions


def kept_by(model: Any) -> list[str]:
    """Return a note of what a model learned of its first file and keeps, if there is anything."""
    from opforest.apps.cli.models import preparation_of

    preparation = preparation_of(model)
    if preparation is None:
        what = (
            "what prepares the data stays as the first file made it (--refit FIRST learns it anew)"
        )
        return [what] if hasattr(model, "steps") else []
    learned = {
        "categories": preparation.encode in ("onehot", "ordinal"),
        "medians": preparation.missing == "median",
        "scales": preparation.scale != "none",
    }
    known = [what for what, is_so in learned.items() if is_so]
    if not known:
        return []
    listed = " and ".join(filter(None, (", ".join(known[:-1]), known[-1])))
    return [f"{listed} stay those of the first file (--refit FIRST learns them anew)"]


def refit(
    model: Any, path: str, first: Sequence[str], data: str, reading: "ReadOptions"
) -> tuple[Any, int, int]:
    """Return the model that ``train`` would make of all files, and the counts of the new one.

    Parameters
    ----------
    model : estimator
        The model as it is.
    path : str
        Its file, for errors.
    first : sequence of str
        The files that it has learned, in their order.
    data : str
        The file that it is to learn.
    reading : Reading
        How to read them.

    Returns
    -------
    model : estimator
        The new model.
    learned : int
        How many examples of ``data`` it has learned.
    dropped : int
        How many rows of ``data`` were left out because cells are missing.
    """
    import numpy as np
    from sklearn.base import clone

    from opforest.apps.cli import models
    from opforest.apps.cli.learn import fit
    from opforest.apps.cli.output import phases
    from opforest.apps.cli.splitting import merge_parts
    from opforest.io.tables import read_table

    _check_kind(model, path)
    with phases() as begin_phase:
        begin_phase("reading")
        parts, counts = [], []
        for file in (*first, data):
            read = read_table(file, reading)
            parts.append(models.complete_rows(model, read, file, may_drop=True))
            models.labels_of(parts[-1], file)
            counts.append(len(read))
        known = merge_parts(parts[:-1], first)
        known = known.take(_find_known(model, path, known, first))
        examples = merge_parts([known, parts[-1]], [first[0], data])
        fresh = clone(model)
        with locate_errors(data):
            if hasattr(model, "steps") and models.preparation_of(model) is None:
                has_names = hasattr(model, "feature_names_in_")
                fresh.fit(examples.X if has_names else np.asarray(examples.X), examples.y)
            else:
                fit(fresh, examples, examples.y, begin_phase)
    models.keep_names(fresh, model)
    return fresh, len(parts[-1]), counts[-1] - len(parts[-1])


def _check_kind(model: Any, path: str) -> None:
    """Raise an error if files do not hold all that a model was made of."""
    from opforest.apps.cli.models import classifier_of
    from opforest.estimators.semi_supervised import OPFSemiSupervised

    classifier = classifier_of(model)
    if isinstance(classifier, OPFSemiSupervised):
        raise ValueError(f"{path} was trained with --unlabeled: --refit cannot; train anew.")
    if classifier.metric == "precomputed":
        raise ValueError(f"{path} was trained with --distances: --refit cannot; train anew.")


def _find_known(model: Any, path: str, data: "Data", files: Sequence[str]) -> Any:
    """Return which examples of files a model knows, all of which must be there, in their order."""
    import numpy as np

    from opforest.apps.cli.models import classifier_of, count_learned, labels_of

    classifier, named = classifier_of(model), " and ".join(files)
    advice = "--refit needs the files it has learned, in their order; or train anew on all files"
    n = count_learned(model)
    if len(data) != n:
        raise ValueError(
            f"{path} has learned {n} examples, but there are {len(data)} in {named}: {advice}."
        )
    forest = classifier.forest_
    with locate_errors(named):
        X = data.X if model is classifier else model.prepare(data.X)
        points = forest.metric.embed(np.asarray(X)[forest.ids].astype(forest.points.dtype))
    labels = classifier.classes_[forest.label]
    y = labels_of(data, named)
    wrong = (points != forest.points).any(axis=1) | (y[forest.ids] != labels)
    if wrong.any():
        i = int(forest.ids[wrong.argmax()])
        raise ValueError(f"example {i + 1} of {named} is not what {path} has learned: {advice}.")
    return forest.ids
