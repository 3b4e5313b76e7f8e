"""Models in files that last: numbers and JSON, no code; checked when they are read.

What a file looks like is said in ``container``, and what is in it in docs/models.md.
"""

import os
from collections.abc import Callable
from typing import IO, Any

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.records import PrototypeTrees
from opforest.errors import ModelFileError
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.forest import BaseForest
from opforest.forest.state import ForestState, TreeModel
from opforest.forest.updates import UPDATES
from opforest.persistence.checks import build_checked
from opforest.persistence.container import read_container, require, write_container
from opforest.persistence.header import (
    Reader,
    check_jobs,
    check_unchanged,
    read_parameters,
    take,
    to_json,
    write_parameters,
)
from opforest.persistence.pipelines import join_pipeline, split_pipeline
from opforest.persistence.registry import KINDS, kind_of, read_calibration

#: The versions of the format: of a model alone, and of one with preparation before it.
FORMAT, PREPARED = 1, 2


def save(model: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Save a model to a file, which is replaced whole or not at all.

    Parameters
    ----------
    model : estimator
        Any estimator of opforest that has been fitted, ``opforest.river.OPFClassifier``, or a
        ``Pipeline``. Its labels, and feature names of a stream, must be strings, numbers or
        booleans. Of a metric that is a function of yours only the name is saved. In a scikit-learn
        ``Pipeline`` an estimator of opforest comes last, after an ``opforest.Preparation`` or
        scikit-learn's own scalers, ``SimpleImputer``, ``OneHotEncoder``, ``OrdinalEncoder`` and
        ``ColumnTransformer``; others are refused.
    path : path or binary stream
        The file.

    See Also
    --------
    load : Read it.

    Examples
    --------
    >>> import tempfile
    >>> import opforest
    >>> clf = opforest.OPFClassifier().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opforest.save(clf, f"{folder}/model.opforest")
    ...     again = opforest.load(f"{folder}/model.opforest")
    >>> again.partial_fit([[2.2]], ["high"]).predict([[1.4], [1.8]])
    array(['low', 'high'], dtype='<U4')
    """
    from opforest._utils.version import __version__

    model, preparation = split_pipeline(model)
    kind = kind_of(model)
    parts, more, arrays = kind.take(model)
    version = FORMAT if preparation is None else PREPARED
    header = {"format": version, "opforest": __version__, "kind": kind.name, "forest": None, **more}
    if preparation is not None:
        header["preparation"] = preparation
    if hasattr(model, "columns_"):
        header["columns"] = model.columns_
    header["parameters"] = write_parameters(model, kind.parameters)
    if parts is not None:
        check_unchanged(model, parts.metric)
        header["forest"] = _facts(parts)
        arrays = arrays | _forest_arrays(parts)
    write_container(path, header, arrays)


def load(
    path: str | os.PathLike[str] | IO[bytes], metric: Callable[..., float] | str | None = None
) -> Any:
    """Load a model that ``save`` has written, to go on with as if it had never been away.

    Parameters
    ----------
    path : path or binary stream
        The file.
    metric : callable, default=None
        The function that the model was learned with, if its metric is no named one. It is tried
        on the edges of the tree. If the metric has a name, that will do, too.

    Returns
    -------
    estimator
        The model, of the class that was saved, or an ``opforest.Pipeline`` that ends with it.

    Raises
    ------
    ModelFileError
        If the file holds no valid model, or none that was learned with this metric.
    OSError
        If it cannot be read.
    MemoryError
        If there is not enough memory for the model; nothing is wrong with the file.

    See Also
    --------
    save : Write it.

    Examples
    --------
    >>> import tempfile
    >>> import opforest
    >>> clf = opforest.OPFClassifier().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opforest.save(clf, f"{folder}/model.opforest")
    ...     print(opforest.load(f"{folder}/model.opforest").forest_)
    <Forest of 3 examples, 2 of them prototypes>
    """
    try:
        header, arrays = read_container(path)
        _check_format(header)
        reader = Reader(header)
        kind = KINDS[reader.choice("kind", KINDS)]
        model = kind.new(**read_parameters(reader.part("parameters"), kind.parameters, metric))

        def read_forest(metric: Metric, n_classes: int) -> BaseForest:
            return _read_forest(reader.part("forest"), arrays, metric, n_classes)

        kind.make(model, reader, arrays, read_forest)
        require(not arrays, "it has arrays that no such model has.")
        return join_pipeline(model, header)
    except (ImportError, OSError):
        raise
    except MemoryError as error:  # nothing is wrong with the file
        raise MemoryError(
            f"{_name_of(path)}: there is not enough memory for this model. Free some, or load it "
            "on a larger machine."
        ) from error
    except Exception as error:  # a forged file may be wrong in ways that nobody has thought of
        reason = str(error)
        if not isinstance(error, ValueError | OverflowError | TypeError):
            reason = f"it is damaged or forged: {type(error).__name__}: {error}"
        raise ModelFileError(f"{_name_of(path)}: {reason}") from error


def _name_of(path: str | os.PathLike[str] | IO[bytes]) -> str:
    return os.fspath(path) if isinstance(path, str | os.PathLike) else "the stream"


def _check_format(header: dict[str, Any]) -> None:
    found, _ = Reader(header).get("format", int), Reader(header).get("opforest", str)
    require(
        found in (FORMAT, PREPARED),
        f"it is of format {found}, and this version of opforest reads formats {FORMAT} and "
        f"{PREPARED}. It was written by version {str(header.get('opforest'))[:20]!r}.",
    )


def fitted_classifier(forest: BaseForest, classes: Array, **parameters: Any) -> OPFClassifier:
    """Return the classifier that has learned a forest."""
    model = OPFClassifier(**parameters)
    model.set_forest(forest, classes)
    return model


# The forest.


def _facts(parts: ForestState) -> dict[str, Any]:
    return {
        "removed": parts.removed,
        "share": parts.visited_fraction,
        "grown_by": parts.grown_by,
        "algorithm": parts.algorithm,
        "n_jobs": check_jobs(to_json(parts.n_jobs, "n_jobs")),
        "sharpness": None if parts.calibration is None else list(parts.calibration),
    }


def _forest_arrays(parts: ForestState) -> dict[str, Array]:
    arrays = {"rows": parts.rows, **parts.model._asdict(), "arrival": parts.arrival}
    if parts.vectors is not None:
        arrays["vectors"] = parts.vectors
    if parts.prototype_trees is not None:
        arrays |= parts.prototype_trees._asdict()
    return arrays


def _read_forest(
    facts: Reader, arrays: dict[str, Array], metric: Metric, n_classes: int
) -> BaseForest:
    grown_by = facts.get("grown_by", str)
    parts = ForestState(
        metric,
        take(arrays, "rows"),
        TreeModel(*(take(arrays, name) for name in TreeModel._fields)),
        take(arrays, "arrival"),
        facts.get("removed", int),
        arrays.pop("vectors", None),
        PrototypeTrees(*(take(arrays, name) for name in PrototypeTrees._fields))
        if grown_by in UPDATES
        else None,
        grown_by,
        facts.get("algorithm", str),
        check_jobs(facts.get("n_jobs", int, type(None))),
        facts.get("share", int, float),
        read_calibration(facts),
    )
    return build_checked(parts, n_classes)
