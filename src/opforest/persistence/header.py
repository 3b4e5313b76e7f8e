"""The JSON header of a model file: parameters, labels and feature names, checked when read."""

import math
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.registry import resolve
from opforest.core.metrics.types import Array
from opforest.errors import ModelFileError
from opforest.estimators.semi_supervised import SEEDS
from opforest.estimators.validation import ALGORITHMS, check_voters
from opforest.forest.updates import UPDATES
from opforest.persistence.container import require

#: The most threads that a file may ask for.
MAX_JOBS = 1024

#: Kinds of NumPy types whose labels are saved as an array.
PLAIN_LABELS = "biufU"

NONE = type(None)

#: The parameters of constructors, except those of the metric: their types, or their choices.
PARAMETERS: dict[str, tuple[type, ...] | Collection[str]] = {
    "update": UPDATES, "algorithm": ALGORITHMS, "seeds": SEEDS, "n_jobs": (int, NONE),
    "voters": (int, str, NONE),
    "semi_supervised": (bool, NONE), "k_max": (int,), "k_min": (int,), "merge_by": (str, NONE),
    "threshold": (int, float), "allow_single_cluster": (bool,), "validation_fraction": (int, float),
    "random_state": (int, NONE), "contamination": (int, float), "window_size": (int, NONE),
}  # fmt: skip

#: Names of parameters in files of versions 0.1 and 0.2.
FORMER_NAMES = {"merge_by": "filter", "threshold": "amount", "validation_fraction": "held_out"}


class EstimatorState(NamedTuple):
    """The fitted state of a model, as entries of the header and arrays."""

    entries: dict[str, Any]
    arrays: dict[str, Array]


class Reader:
    """The header, or an object in it, and the arrays of a file, checked when they are read."""

    def __init__(self, entries: Any, arrays: dict[str, Array], name: str = "header") -> None:
        require(isinstance(entries, dict), f"its {name} is not an object.")
        self._entries, self.arrays = entries, arrays

    def has(self, name: str) -> bool:
        """Return whether there is an entry of this name."""
        return name in self._entries

    def get(self, name: str, *types: type) -> Any:
        """Return an entry, if it has exactly one of these types."""
        value = self._entries.get(name)
        require(type(value) in types, f"its entry {name!r} cannot be {str(value)[:100]!r}.")
        return value

    def choice(self, name: str, choices: Collection[str]) -> str:
        """Return an entry that is one of several strings."""
        value: str = self.get(name, str)
        require(value in choices,
               f"its entry {name!r} must be one of {list(choices)}, not {value!r}.")  # fmt: skip
        return value

    def part(self, name: str) -> "Reader":
        """Return the reader of an entry that is an object."""
        return Reader(self._entries.get(name), self.arrays, name)

    def names(self, entry: str) -> list[Any] | None:
        """Return an entry that is a list of names."""
        names = self.get(entry, list, NONE)
        return None if names is None else [from_json(name) for name in names]

    def pop(self, name: str) -> Array:
        """Remove an array and return it."""
        require(name in self.arrays, f"it has no array {name!r}.")
        return self.arrays.pop(name)

    def classes(self) -> Array:
        """Return the labels, which must be in ascending order."""
        labels = self.names("classes")
        if labels is None:
            classes = self.pop("classes")
        else:
            classes = np.empty(len(labels), object)
            classes[:] = labels
        try:
            is_sorted = classes.ndim == 1 and (classes[:-1] < classes[1:]).all()
        except TypeError:
            is_sorted = False
        is_nan = classes.dtype.kind == "f" and np.isnan(classes).any()
        require(is_sorted and not is_nan, "its labels are not in order.")
        return classes

    def restore_feature_names(self, model: Any) -> None:
        """Set the feature names of a model, if the file has any."""
        names = self.names("feature_names")
        if names is not None:
            is_valid = len(names) == model.n_features_in_ and {*map(type, names)} <= {str}
            require(is_valid, "its feature names must be one string for each feature.")
            model.feature_names_in_ = np.array(names, object)


def to_json(value: Any, what: str) -> Any:
    """Return a value for JSON: NumPy's become Python's, infinity an object; or raise an error."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if is_json_scalar(value):
        return value
    raise ValueError(
        f"{what} must be strings, numbers or booleans to be saved, got {value!r} of type "
        f"{type(value).__name__}."
    )


def from_json(value: Any) -> Any:
    """Restore the argument of ``to_json``."""
    if isinstance(value, dict) and value.get("float") in ("inf", "-inf"):
        return float(value["float"])
    require(is_json_scalar(value), f"a value cannot be {str(value)[:100]}.")
    return value


def dump_metric_params(params: Mapping[str, Any], is_named: bool) -> dict[str, Any]:
    """Return the parameters of a metric for JSON.

    Arrays become lists, if the metric has a name: a function might need arrays again.
    """

    def dump(value: Any) -> Any:
        value = value.tolist() if isinstance(value, np.ndarray) and is_named else value
        if isinstance(value, list | tuple) and is_named:
            return [dump(one) for one in value]
        return to_json(value, "metric_params")

    return {str(name): dump(value) for name, value in params.items()}


def restore_metric_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the argument of ``dump_metric_params``; arrays are lists."""

    def restore(value: Any, depth: int) -> Any:
        if isinstance(value, list):
            require(depth < 2, "a parameter of its metric has more than two dimensions.")
            return [restore(one, depth + 1) for one in value]
        return from_json(value)

    return {name: restore(value, 0) for name, value in params.items()}


def is_json_scalar(value: Any) -> bool:
    """Return whether a value is None or exactly a bool, int, float or str."""
    return value is None or type(value) in (bool, int, float, str)


def dump_classes(classes: Array) -> EstimatorState:
    """Return labels as an entry or an array of a file."""
    if classes.dtype.kind in PLAIN_LABELS and classes.dtype.char != "g":
        return EstimatorState({"classes": None}, {"classes": classes})
    if classes.dtype == object:
        return EstimatorState({"classes": [to_json(label, "labels") for label in classes]}, {})
    raise ValueError(f"labels of type {classes.dtype} cannot be saved. Convert them first.")


def dump_feature_names(model: Any) -> dict[str, Any]:
    """Return the feature names, if there are any, as an entry of a file."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        names = [to_json(name, "feature names") for name in names]
    return {"feature_names": names}


def check_jobs(n_jobs: Any) -> Any:
    """Return a number of threads, unless it is too large."""
    if n_jobs is not None and not 0 < abs(n_jobs) <= MAX_JOBS:
        raise ValueError(f"n_jobs must be from 1 to {MAX_JOBS}, or negative, got {n_jobs}.")
    return n_jobs


def dump_parameters(model: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of a model for JSON; only the name of a metric that is a function."""
    plain = {name: to_json(getattr(model, name), name) for name in names}
    check_jobs(plain.get("n_jobs"))
    metric, params = model.metric, model.metric_params
    name = getattr(metric, "__name__", type(metric).__name__)
    plain["metric"] = metric if isinstance(metric, str) else {"function": name}
    plain["metric_params"] = None
    if params is not None:
        plain["metric_params"] = dump_metric_params(params, isinstance(metric, str))
    return plain


def restore_parameters(entries: Reader, names: tuple[str, ...], metric: Any) -> dict[str, Any]:
    """Return the parameters; ``metric`` is the user's if it was a function."""
    params = entries.get("metric_params", dict, NONE)
    if params is not None:
        params = restore_metric_params(params)
    own = {}
    for name in names:
        allowed: Any = PARAMETERS[name]
        is_choice = isinstance(next(iter(allowed)), str)
        former = FORMER_NAMES.get(name, name)
        key = former if entries.has(former) else name
        own[name] = entries.choice(key, allowed) if is_choice else entries.get(key, *allowed)
    check_jobs(own.get("n_jobs"))
    if "semi_supervised" in own:
        own["semi_supervised"] = bool(own["semi_supervised"])  # missing in older files
    if "voters" in own:
        own["voters"] = check_voters(1 if own["voters"] is None else own["voters"])
    metric = _choose_metric(entries.get("metric", str, dict), metric)
    return {"metric": metric, "metric_params": params, **own}


def _choose_metric(saved: str | dict[str, Any], given: Any) -> Any:
    if isinstance(saved, str):
        require(given is None or given == saved, f"its metric is {saved!r}, not {given!r}.")
        return saved
    if given is None or isinstance(given, str):
        name = Reader(saved, {}).get("function", str)
        raise ModelFileError(
            f"its metric is the function {name[:100]!r}, which is not saved in files. Pass it "
            "again: opforest.load(path, metric=...)."
        )
    return given


def resolve_silently(
    metric: Any, params: Mapping[str, Any] | None, resolve: Callable[..., Metric] = resolve
) -> Metric:
    """Return the ``Metric`` for a name or a function, without repeating warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return resolve(metric, params)


def check_metric_unchanged(model: Any, metric: Metric) -> None:
    """Raise a ``ValueError`` if the metric of a model was changed after it was fitted."""
    if resolve_silently(model.metric, model.metric_params) != metric:
        raise ValueError(
            f"the model was learned with metric {metric.name!r}, metric_params="
            f"{dict(metric.params)}, but its parameters are now {model.metric!r} and "
            f"{model.metric_params!r}. Fit it again, or restore them, before saving."
        )
