"""Models in files that last: numbers and JSON, no code; checked when they are read.

What a file looks like is said in ``container``, and what is in it in docs/models.md.
"""

import math
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opforest.classifier import OPFClassifier
from opforest.forest import Forest
from opforest.indexing import check_algorithm
from opforest.io.container import read_container, write_container
from opforest.io.errors import ModelFileError
from opforest.io.forest_arrays import Parts, put_together, take_apart
from opforest.kernels.opfi import Lines
from opforest.metrics import Array, Metric, resolve
from opforest.storage import Model
from opforest.updates import UPDATES, UpdateReport

#: The version of the format that is written, and the newest that can be read.
FORMAT = 1

#: What a file calls the two kinds of models.
BATCH, STREAM = "OPFClassifier", "river.OPFClassifier"

#: Threads that a model may ask for.
MANY_JOBS = 1024

#: Kinds of NumPy's types of labels that are saved as an array.
PLAIN_LABELS = "biufU"

#: The forest of a model if it has one, more entries of the header, and more arrays.
_Taken = tuple[Forest | None, dict[str, Any], dict[str, Array]]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model to a file, which is replaced whole or not at all.

    Parameters
    ----------
    model : opforest.OPFClassifier or opforest.river.OPFClassifier
        The model. Its labels, and feature names of a stream, must be strings, numbers or booleans.
        Of a metric that is a function of yours only the name is saved.
    path : path
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
    from opforest import __version__

    if type(model) is OPFClassifier:
        kind, (forest, more, arrays) = BATCH, _classifier_parts(model)
    elif _is_stream(model):
        kind, (forest, more, arrays) = STREAM, _stream_parts(model)
    else:
        raise ValueError(
            "model must be an opforest.OPFClassifier or an opforest.river.OPFClassifier, got "
            f"{type(model).__name__}. Of a pipeline, save the last step."
        )
    header = {"format": FORMAT, "opforest": __version__, "kind": kind, "forest": None, **more}
    header["parameters"] = _plain_parameters(model)
    if forest is not None:
        _check_unchanged(model, forest)
        parts = take_apart(forest)
        header["forest"] = _facts(parts)
        arrays |= _forest_arrays(parts)
    write_container(path, header, arrays)


def load(path: str | os.PathLike[str], metric: Callable[..., float] | str | None = None) -> Any:
    """Load a model that ``save`` has written, to go on with as if it had never been away.

    Parameters
    ----------
    path : path
        The file.
    metric : callable, default=None
        The function that the model was learned with, if its metric is no named one. It is tried
        on the edges of the tree. If the metric has a name, that will do, too.

    Returns
    -------
    opforest.OPFClassifier or opforest.river.OPFClassifier
        The model.

    Raises
    ------
    ModelFileError
        If the file holds no valid model, or none that was learned with this metric.
    OSError
        If it cannot be read.

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
        make = {BATCH: _make_classifier, STREAM: _make_stream}
        model = _Reader(header).choice("kind", make)(_Reader(header), arrays, metric)
        if arrays:
            raise ModelFileError("it has arrays that no such model has.")
        return model
    except (ValueError, OverflowError, MemoryError) as error:
        reason = str(error) or "it is too large for the memory."
        raise ModelFileError(f"{os.fspath(path)}: {reason}") from error


class _Reader:
    """The header, or a part of it, whose entries may be anything."""

    def __init__(self, entries: Any, name: str = "header") -> None:
        if not isinstance(entries, dict):
            raise ModelFileError(f"its {name} is no object.")
        self._entries = entries

    def get(self, name: str, *types: type) -> Any:
        """Return an entry, if it is of one of these very types."""
        value = self._entries.get(name)
        if type(value) not in types:
            raise ModelFileError(f"its entry {name!r} cannot be {str(value)[:100]!r}.")
        return value

    def choice(self, name: str, choices: Mapping[str, Any]) -> Any:
        """Return what an entry chooses."""
        value = self.get(name, str)
        if value not in choices:
            raise ModelFileError(
                f"its entry {name!r} must be one of {list(choices)}, not {value!r}."
            )
        return choices[value]

    def part(self, name: str) -> "_Reader":
        """Return the reader of an entry that is an object itself."""
        return _Reader(self._entries.get(name), name)


def _check_format(header: dict[str, Any]) -> None:
    found, _ = _Reader(header).get("format", int), _Reader(header).get("opforest", str)
    if found != FORMAT:
        raise ModelFileError(
            f"it is of format {found}, and this version of opforest reads format {FORMAT}. It was "
            f"written by version {str(header.get('opforest'))[:20]!r}."
        )


# Values that JSON has, and back. Those of NumPy become Python's; infinity becomes an object.


def _to_json(value: Any, what: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ValueError(
        f"{what} must be strings, numbers or booleans to be saved, got {value!r} of type "
        f"{type(value).__name__}."
    )


def _from_json(value: Any) -> Any:
    if isinstance(value, dict) and value.get("float") in ("inf", "-inf"):
        return float(value["float"])
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ModelFileError(f"a value cannot be {str(value)[:100]}.")


def _names_to_json(names: Any, what: str) -> list[Any]:
    return [_to_json(name, what) for name in names]


# Parameters of the constructor.


def _plain_parameters(model: Any) -> dict[str, Any]:
    own = ("algorithm", "n_jobs") if type(model) is OPFClassifier else ("window_size",)
    values = {name: getattr(model, name) for name in ("update", *own)}
    metric, params = model.metric, model.metric_params
    plain = {name: _to_json(value, name) for name, value in values.items()}
    name = getattr(metric, "__name__", type(metric).__name__)
    plain["metric"] = metric if isinstance(metric, str) else {"function": name}
    _check_jobs(plain.get("n_jobs"))
    plain["metric_params"] = None
    if params is not None:
        plain["metric_params"] = {
            str(key): _to_json(params[key], "metric_params") for key in params
        }
    return plain


def _check_unchanged(model: Any, forest: Forest) -> None:
    if _resolved(model.metric, model.metric_params) != forest.metric:
        raise ValueError(
            f"the model was learned with metric {forest.metric.name!r}, metric_params="
            f"{dict(forest.metric.params)}, and not with what it has now, {model.metric!r} and "
            f"{model.metric_params!r}. Learn anew, or set them as they were, and save then."
        )


def _resolved(
    metric: Any, params: Mapping[str, Any] | None, how: Callable[..., Metric] = resolve
) -> Metric:
    with warnings.catch_warnings():  # of slow functions: learning has done so
        warnings.simplefilter("ignore", UserWarning)
        return how(metric, params)


def _read_parameters(entries: _Reader, metric: Any) -> dict[str, Any]:
    """Return the parameters, among them a function that is passed again."""
    params = entries.get("metric_params", dict, type(None))
    if params is not None:
        params = {name: _from_json(value) for name, value in params.items()}
    return {
        "metric": _choose_metric(entries.get("metric", str, dict), metric),
        "metric_params": params,
        "update": entries.choice("update", {name: name for name in UPDATES}),
    }


def _choose_metric(saved: str | dict[str, Any], given: Any) -> Any:
    if isinstance(saved, str):
        if given is not None and given != saved:
            raise ModelFileError(f"its metric is {saved!r}, and not {given!r}.")
        return saved
    if given is None or isinstance(given, str):
        name = _Reader(saved).get("function", str)
        raise ModelFileError(
            f"its metric is the function {name[:100]!r}, which no file holds. Pass it again: "
            "opforest.load(path, metric=...)."
        )
    return given


# The forest.


def _facts(parts: Parts) -> dict[str, Any]:
    return {
        "removed": parts.removed,
        "share": parts.share,
        "grown_by": parts.grown_by,
        "algorithm": parts.algorithm,
        "n_jobs": _check_jobs(_to_json(parts.n_jobs, "n_jobs")),
    }


def _check_jobs(n_jobs: Any) -> Any:
    """Return a number of threads; a file must not be able to start very many."""
    if n_jobs is not None and not 0 < abs(n_jobs) <= MANY_JOBS:
        raise ValueError(f"n_jobs must be from 1 to {MANY_JOBS}, or negative, got {n_jobs}.")
    return n_jobs


def _forest_arrays(parts: Parts) -> dict[str, Array]:
    arrays = {"rows": parts.rows, **parts.model._asdict(), "arrival": parts.arrival}
    if parts.vectors is not None:
        arrays["vectors"] = parts.vectors
    if parts.lines is not None:
        arrays |= parts.lines._asdict()
    return arrays


def _make_forest(
    facts: _Reader, arrays: dict[str, Array], metric: Metric, n_classes: int
) -> Forest:
    grown_by = facts.get("grown_by", str)
    parts = Parts(
        metric,
        _take(arrays, "rows"),
        Model(*(_take(arrays, name) for name in Model._fields)),
        _take(arrays, "arrival"),
        facts.get("removed", int),
        arrays.pop("vectors", None),
        Lines(*(_take(arrays, name) for name in Lines._fields)) if grown_by else None,
        grown_by,
        facts.get("algorithm", str),
        _check_jobs(facts.get("n_jobs", int, type(None))),
        facts.get("share", int, float),
    )
    return put_together(parts, n_classes)


def _take(arrays: dict[str, Array], name: str) -> Array:
    if name not in arrays:
        raise ModelFileError(f"it has no array {name!r}.")
    return arrays.pop(name)


# The classifier of scikit-learn's kind.


def _classifier_parts(model: OPFClassifier) -> _Taken:
    check_is_fitted(model, "forest_")
    classes, arrays = model.classes_, {}
    more: dict[str, Any] = {"classes": None, "feature_names": None, "update_report": None}
    if classes.dtype.kind in PLAIN_LABELS and classes.dtype.char != "g":
        arrays["classes"] = classes
    elif classes.dtype == object:
        more["classes"] = _names_to_json(classes, "labels")
    else:
        raise ValueError(f"labels of type {classes.dtype} cannot be saved. Convert them first.")
    if hasattr(model, "feature_names_in_"):
        more["feature_names"] = _names_to_json(model.feature_names_in_, "feature names")
    if hasattr(model, "update_report_"):
        more["update_report"] = {**vars(model.update_report_)}
    return model.forest_, more, arrays


def fitted_classifier(forest: Forest, classes: Array, **parameters: Any) -> OPFClassifier:
    """Return the classifier that has learned a forest."""
    model = OPFClassifier(**parameters)
    model.n_features_in_ = forest.n_features
    model._keep(forest, classes)
    return model


def _make_classifier(header: _Reader, arrays: dict[str, Array], metric: Any) -> OPFClassifier:
    entries = header.part("parameters")
    parameters = _read_parameters(entries, metric)
    parameters["algorithm"] = entries.get("algorithm", str)
    parameters["n_jobs"] = _check_jobs(entries.get("n_jobs", int, type(None)))
    classes = _read_classes(header, arrays)
    resolved = _resolved(parameters["metric"], parameters["metric_params"])
    check_algorithm(parameters["algorithm"], resolved)
    forest = _make_forest(header.part("forest"), arrays, resolved, len(classes))
    model = fitted_classifier(forest, classes, **parameters)
    names = _read_names(header, "feature_names")
    if names is not None:
        if len(names) != forest.n_features or not all(type(name) is str for name in names):
            raise ModelFileError("its feature names are not those of its features.")
        model.feature_names_in_ = np.array(names, object)
    report = header.get("update_report", dict, type(None))
    if report is not None:
        if set(report) != set(vars(UpdateReport())) or {*map(type, report.values())} != {int}:
            raise ModelFileError("its report of the last update is none.")
        model.update_report_ = UpdateReport(**report)
    return model


def _read_classes(header: _Reader, arrays: dict[str, Array]) -> Array:
    """Return the labels in their order."""
    labels = _read_names(header, "classes")
    if labels is None:
        classes = _take(arrays, "classes")
    else:
        classes = np.empty(len(labels), object)
        classes[:] = labels
    try:
        in_order = classes.ndim == 1 and len(classes) and (classes[:-1] < classes[1:]).all()
    except TypeError:
        in_order = False
    if not in_order or (classes.dtype.kind == "f" and np.isnan(classes).any()):
        raise ModelFileError("its labels are not in order.")
    return classes


def _read_names(header: _Reader, entry: str) -> list[Any] | None:
    names = header.get(entry, list, type(None))
    return None if names is None else [_from_json(name) for name in names]


# The classifier of river's kind.


def _is_stream(model: Any) -> bool:
    if type(model).__module__ != "opforest.river":
        return False
    from opforest.river import OPFClassifier as StreamClassifier

    return type(model) is StreamClassifier


def _stream_parts(model: Any) -> _Taken:
    more = {
        "classes": _names_to_json(model.labels, "labels"),
        "feature_names": _names_to_json(model.features, "feature names"),
    }
    return model.forest, more, {}


def _make_stream(header: _Reader, arrays: dict[str, Array], metric: Any) -> Any:
    from opforest.river import OPFClassifier as StreamClassifier
    from opforest.river import resolve_for_streams

    entries = header.part("parameters")
    parameters = _read_parameters(entries, metric)
    parameters["window_size"] = entries.get("window_size", int, type(None))
    model = StreamClassifier(**parameters)
    labels, features = _read_names(header, "classes"), _read_names(header, "feature_names")
    forest = None
    if header.get("forest", dict, type(None)) is not None:
        resolved = _resolved(model.metric, model.metric_params, resolve_for_streams)
        forest = _make_forest(header.part("forest"), arrays, resolved, len(labels or ()))
    model.restore(forest, features or [], labels or [])
    return model
