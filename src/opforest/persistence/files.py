"""Save and load models: files of numbers and JSON without code, checked when they are read.

See ``container`` for the file format, and docs/models.md for the content.
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
    check_metric_unchanged,
    dump_parameters,
    pop_array,
    restore_parameters,
    to_json,
)
from opforest.persistence.pipelines import restore_pipeline, split_pipeline
from opforest.persistence.registry import SERIALIZERS, find_serializer, restore_calibration

#: The versions of the format: of a model alone, and of a pipeline.
FORMAT, PIPELINE_FORMAT = 1, 2


def save(model: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Save a model to a file, atomically: an error leaves an existing file as it was.

    Parameters
    ----------
    model : estimator
        A fitted estimator of opforest, an ``opforest.river.OPFClassifier``, or a ``Pipeline``.
        Its labels, and the feature names of a stream, must be strings, numbers or booleans. If
        the metric is your own function, only its name is saved. A scikit-learn ``Pipeline`` must
        end with an estimator of opforest; the steps before it may be ``opforest.Preparation`` and
        scikit-learn's scalers, ``SimpleImputer``, ``OneHotEncoder``, ``OrdinalEncoder`` and
        ``ColumnTransformer``.
    path : path or binary stream
        The file.

    See Also
    --------
    load : Load a model.

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
    serializer = find_serializer(model)
    parts, entries, arrays = serializer.dump(model)
    version = FORMAT if preparation is None else PIPELINE_FORMAT
    header = {"format": version, "opforest": __version__, "kind": serializer.name, "forest": None}
    header |= entries
    if preparation is not None:
        header["preparation"] = preparation
    if hasattr(model, "columns_"):
        header["columns"] = model.columns_
    header["parameters"] = dump_parameters(model, serializer.parameters)
    if parts is not None:
        check_metric_unchanged(model, parts.metric)
        header["forest"] = _dump_facts(parts)
        arrays = arrays | _dump_arrays(parts)
    write_container(path, header, arrays)


def load(
    path: str | os.PathLike[str] | IO[bytes], metric: Callable[..., float] | str | None = None
) -> Any:
    """Load a model from a file; it continues exactly as the saved one would have.

    Parameters
    ----------
    path : path or binary stream
        The file.
    metric : callable, default=None
        The metric of the model, required if it is your own function. It is compared with the
        distances in the file.

    Returns
    -------
    estimator
        The model, of the class that was saved, or an ``opforest.Pipeline`` that ends with it.

    Raises
    ------
    ModelFileError
        If the file is not a valid model, or was learned with another metric.
    OSError
        If the file cannot be read.
    MemoryError
        If there is not enough memory for the model.

    See Also
    --------
    save : Save a model.

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
        serializer = SERIALIZERS[reader.choice("kind", SERIALIZERS)]
        parameters = reader.part("parameters")
        model = serializer.new(**restore_parameters(parameters, serializer.parameters, metric))

        def read_forest(metric: Metric, n_classes: int) -> BaseForest:
            return _restore_forest(reader.part("forest"), arrays, metric, n_classes)

        serializer.restore(model, reader, arrays, read_forest)
        require(not arrays, f"it has unknown arrays: {str([*arrays])[:100]}.")
        return restore_pipeline(model, header)
    except (ImportError, OSError):
        raise
    except MemoryError as error:  # the file may be valid
        raise MemoryError(
            f"{_name_of(path)}: there is not enough memory for this model. Free some, or load it "
            "on a larger machine."
        ) from error
    except Exception as error:  # a forged file may fail in unforeseen ways
        reason = str(error)
        if not isinstance(error, ValueError | OverflowError | TypeError):
            reason = f"it is damaged or forged: {type(error).__name__}: {error}"
        raise ModelFileError(f"{_name_of(path)}: {reason}") from error


def _name_of(path: str | os.PathLike[str] | IO[bytes]) -> str:
    return os.fspath(path) if isinstance(path, str | os.PathLike) else "the stream"


def _check_format(header: dict[str, Any]) -> None:
    found, _ = Reader(header).get("format", int), Reader(header).get("opforest", str)
    require(
        found in (FORMAT, PIPELINE_FORMAT),
        f"it is of format {found}, and this version of opforest reads formats {FORMAT} and "
        f"{PIPELINE_FORMAT}. It was written by version {str(header.get('opforest'))[:20]!r}.",
    )


def make_classifier(forest: BaseForest, classes: Array, **parameters: Any) -> OPFClassifier:
    """Return a classifier with this forest."""
    model = OPFClassifier(**parameters)
    model._keep(forest, classes)
    return model


def _dump_facts(parts: ForestState) -> dict[str, Any]:
    return {
        "removed": parts.removed,
        "share": parts.share,
        "grown_by": parts.grown_by,
        "algorithm": parts.algorithm,
        "n_jobs": check_jobs(to_json(parts.n_jobs, "n_jobs")),
        "sharpness": None if parts.calibration is None else list(parts.calibration),
    }


def _dump_arrays(parts: ForestState) -> dict[str, Array]:
    arrays = {"rows": parts.rows, **parts.model._asdict(), "arrival": parts.arrival}
    if parts.vectors is not None:
        arrays["vectors"] = parts.vectors
    if parts.lines is not None:
        arrays |= parts.lines._asdict()
    return arrays


def _restore_forest(
    facts: Reader, arrays: dict[str, Array], metric: Metric, n_classes: int
) -> BaseForest:
    grown_by = facts.get("grown_by", str)
    parts = ForestState(
        metric,
        pop_array(arrays, "rows"),
        TreeModel(*(pop_array(arrays, name) for name in TreeModel._fields)),
        pop_array(arrays, "arrival"),
        facts.get("removed", int),
        arrays.pop("vectors", None),
        PrototypeTrees(*(pop_array(arrays, name) for name in PrototypeTrees._fields))
        if grown_by in UPDATES
        else None,
        grown_by,
        facts.get("algorithm", str),
        check_jobs(facts.get("n_jobs", int, type(None))),
        facts.get("share", int, float),
        restore_calibration(facts),
    )
    return build_checked(parts, n_classes)
