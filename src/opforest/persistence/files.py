"""Save and load models: files of numbers and JSON without code, checked when they are read.

See ``container`` for the file format, and docs/models.md for the content.
"""

import os
from collections.abc import Callable
from typing import IO, Any

from opforest.errors import ModelFileError
from opforest.estimators.parts import PartsClassifier
from opforest.persistence.container import read_container, require, write_container
from opforest.persistence.header import Reader, dump_parameters, restore_parameters
from opforest.persistence.parts import is_parts_folder, load_parts, save_parts
from opforest.persistence.pipelines import restore_pipeline, split_pipeline
from opforest.persistence.registry import SERIALIZERS, find_serializer

#: The versions of the format: of a model alone, and of a pipeline.
FORMAT, PIPELINE_FORMAT = 1, 2


def save(model: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Save a model to a file, atomically: an error leaves an existing file as it was.

    A model in parts is saved to a folder.

    Parameters
    ----------
    model : estimator
        A fitted estimator of opforest, an ``opforest.river.OPFClassifier``, or a ``Pipeline``.
        Its labels, and the feature names of a stream, must be strings, numbers or booleans. If
        the metric is your own function, only its name is saved. A scikit-learn ``Pipeline`` must
        end with an estimator of opforest; the steps before it may be ``opforest.Preparation``,
        ``opforest.RelevanceScaler`` and scikit-learn's scalers, ``SimpleImputer``,
        ``OneHotEncoder``, ``OrdinalEncoder`` and ``ColumnTransformer``.
    path : path or binary stream
        The file; for an ``opforest.out_of_core.PartsClassifier``, the folder.

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

    if isinstance(model, PartsClassifier):
        if not isinstance(path, str | os.PathLike):
            raise ValueError("a model in parts is saved to a folder, not to a stream.")
        return save_parts(model, path)
    model, preparation = split_pipeline(model)
    serializer = find_serializer(model)
    entries, arrays = serializer.dump(model)
    version = FORMAT if preparation is None else PIPELINE_FORMAT
    header = {"format": version, "opforest": __version__, "kind": serializer.name, "forest": None}
    header |= entries
    if preparation is not None:
        header["preparation"] = preparation
    if hasattr(model, "columns_"):
        header["columns"] = model.columns_
    header["parameters"] = dump_parameters(model, serializer.parameters)
    write_container(path, header, arrays)


def load(
    path: str | os.PathLike[str] | IO[bytes], metric: Callable[..., float] | str | None = None
) -> Any:
    """Load a model from a file; it continues exactly as the saved one would have.

    Parameters
    ----------
    path : path or binary stream
        The file, or the folder of a model in parts.
    metric : callable, default=None
        The metric of the model, required if it is your own function. It is compared with the
        distances in the file.

    Returns
    -------
    estimator
        The model, of the class that was saved, or an ``opforest.Pipeline`` that ends with it. The
        parts of a model in parts stay in its folder, and are read when they are used.

    Raises
    ------
    ModelFileError
        If the file is not a valid model, or was learned with another metric.
    OSError, MemoryError
        If the file cannot be read, or the model does not fit into memory.

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
    if is_parts_folder(path):
        return load_parts(path)
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else "the stream"
    if isinstance(path, str | os.PathLike) and os.path.isdir(path):
        raise ModelFileError(f"{name}: there is no model in this folder.")
    try:
        return _restore(*read_container(path), metric)
    except (ImportError, OSError):
        raise
    except MemoryError as error:  # the file may be valid
        advice = "there is not enough memory for this model. Free some, or use a larger machine."
        raise MemoryError(f"{name}: {advice}") from error
    except Exception as error:  # a forged file may fail in unforeseen ways
        reason = str(error)
        if not isinstance(error, ValueError | OverflowError | TypeError):
            reason = f"it is damaged or forged: {type(error).__name__}: {error}"
        raise ModelFileError(f"{name}: {reason}") from error


def _restore(header: dict[str, Any], arrays: dict[str, Any], metric: Any) -> Any:
    """Return the model in the content of a file."""
    file = Reader(header, arrays)
    found, version = file.get("format", int), file.get("opforest", str)
    require(
        found in (FORMAT, PIPELINE_FORMAT),
        f"it is of format {found}, and this version of opforest reads formats {FORMAT} and "
        f"{PIPELINE_FORMAT}. It was written by version {version[:20]!r}.",
    )
    serializer = SERIALIZERS[file.choice("kind", SERIALIZERS)]
    parameters = file.part("parameters")
    model = serializer.new(**restore_parameters(parameters, serializer.parameters, metric))
    serializer.restore(model, file)
    require(not arrays, f"it has unknown arrays: {str([*arrays])[:100]}.")
    return restore_pipeline(model, header)
