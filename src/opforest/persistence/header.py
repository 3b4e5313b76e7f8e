"""The header of a model file: JSON that may hold anything, until it is looked at."""

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
from opforest.estimators.validation import ALGORITHMS
from opforest.forest.state import ForestState
from opforest.forest.updates import UPDATES
from opforest.persistence.container import require

#: Threads that a model may ask for.
MANY_JOBS = 1024

#: Kinds of NumPy's types of labels that are saved as an array.
PLAIN_LABELS = "biufU"

NONE = type(None)

#: The parameters of constructors beside those of the metric: their types, or what they may be.
PARAMETERS: dict[str, tuple[type, ...] | Collection[str]] = {
    "update": UPDATES, "algorithm": ALGORITHMS, "seeds": SEEDS, "n_jobs": (int, NONE),
    "semi_supervised": (bool, NONE), "k_max": (int,), "k_min": (int,), "merge_by": (str, NONE),
    "threshold": (int, float), "allow_single_cluster": (bool,), "validation_fraction": (int, float),
    "random_state": (int, NONE), "contamination": (int, float), "window_size": (int, NONE),
}  # fmt: skip

#: Parameters that files of versions 0.1 and 0.2 have under another name.
FORMER_NAMES = {
    "merge_by": "filter", "threshold": "amount", "validation_fraction": "held_out",
}  # fmt: skip


class Reader:
    """The header, or a part of it, whose entries may be anything."""

    def __init__(self, entries: Any, name: str = "header") -> None:
        require(isinstance(entries, dict), f"its {name} is not an object.")
        self._entries = entries

    def has(self, name: str) -> bool:
        """Return whether there is an entry of this name."""
        return name in self._entries

    def get(self, name: str, *types: type) -> Any:
        """Return an entry, if it is of one of these very types."""
        value = self._entries.get(name)
        require(type(value) in types, f"its entry {name!r} cannot be {str(value)[:100]!r}.")
        return value

    def choice(self, name: str, choices: Collection[str]) -> str:
        """Return an entry that is one of several texts."""
        value: str = self.get(name, str)
        require(value in choices,
               f"its entry {name!r} must be one of {list(choices)}, not {value!r}.")  # fmt: skip
        return value

    def part(self, name: str) -> "Reader":
        """Return the reader of an entry that is an object itself."""
        return Reader(self._entries.get(name), name)

    def names(self, entry: str) -> list[Any] | None:
        """Return an entry that is a list of names."""
        names = self.get(entry, list, NONE)
        return None if names is None else [from_json(name) for name in names]


def take(arrays: dict[str, Array], name: str) -> Array:
    """Return an array of a file, which then has it no more."""
    require(name in arrays, f"it has no array {name!r}.")
    return arrays.pop(name)


# Values that JSON has, and back. Those of NumPy become Python's; infinity becomes an object.


def to_json(value: Any, what: str) -> Any:
    """Return a value as JSON has it, or say in a ``ValueError`` that it has not."""
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


def from_json(value: Any) -> Any:
    """Return what ``to_json`` was given."""
    if isinstance(value, dict) and value.get("float") in ("inf", "-inf"):
        return float(value["float"])
    plain = value is None or type(value) in (bool, int, float, str)
    require(plain, f"a value cannot be {str(value)[:100]}.")
    return value


def names_to_json(names: Any, what: str) -> list[Any]:
    """Return names as JSON has them."""
    return [to_json(name, what) for name in names]


# What a model gives to a file: labels and names of features.


class EstimatorState(NamedTuple):
    """What a model has learned, for a file."""

    parts: ForestState | None  #: of its forest, if it has one
    entries: dict[str, Any]  #: more of the header
    arrays: dict[str, Array]


def take_classes(classes: Array) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return labels as entries and arrays of a file."""
    if classes.dtype.kind in PLAIN_LABELS and classes.dtype.char != "g":
        return {"classes": None}, {"classes": classes}
    if classes.dtype == object:
        return {"classes": names_to_json(classes, "labels")}, {}
    raise ValueError(f"labels of type {classes.dtype} cannot be saved. Convert them first.")


def read_classes(header: Reader, arrays: dict[str, Array]) -> Array:
    """Return the labels in their order."""
    labels = header.names("classes")
    if labels is None:
        classes = take(arrays, "classes")
    else:
        classes = np.empty(len(labels), object)
        classes[:] = labels
    try:
        in_order = classes.ndim == 1 and (classes[:-1] < classes[1:]).all()
    except TypeError:
        in_order = False
    is_nan = classes.dtype.kind == "f" and np.isnan(classes).any()
    require(in_order and not is_nan, "its labels are not in order.")
    return classes


def take_names(model: Any) -> dict[str, Any]:
    """Return the names of features, if there are any, as an entry of a file."""
    if hasattr(model, "feature_names_in_"):
        return {"feature_names": names_to_json(model.feature_names_in_, "feature names")}
    return {"feature_names": None}


def give_names(model: Any, header: Reader) -> None:
    """Give a model the names of its features that a file has."""
    names = header.names("feature_names")
    if names is not None:
        proper = len(names) == model.n_features_in_ and all(type(name) is str for name in names)
        require(proper, "its feature names are not those of its features.")
        model.feature_names_in_ = np.array(names, object)


# Parameters.


def check_jobs(n_jobs: Any) -> Any:
    """Return a number of threads; a file must not be able to start very many."""
    if n_jobs is not None and not 0 < abs(n_jobs) <= MANY_JOBS:
        raise ValueError(f"n_jobs must be from 1 to {MANY_JOBS}, or negative, got {n_jobs}.")
    return n_jobs


def write_parameters(model: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of a model as JSON has them; of a function only its name."""
    plain = {name: to_json(getattr(model, name), name) for name in names}
    check_jobs(plain.get("n_jobs"))
    metric, params = model.metric, model.metric_params
    name = getattr(metric, "__name__", type(metric).__name__)
    plain["metric"] = metric if isinstance(metric, str) else {"function": name}
    plain["metric_params"] = None
    if params is not None:
        plain["metric_params"] = {str(key): to_json(params[key], "metric_params") for key in params}
    return plain


def read_parameters(entries: Reader, names: tuple[str, ...], metric: Any) -> dict[str, Any]:
    """Return the parameters, among them a function that is passed again."""
    params = entries.get("metric_params", dict, NONE)
    if params is not None:
        params = {name: from_json(value) for name, value in params.items()}
    own = {}
    for name in names:
        allowed: Any = PARAMETERS[name]
        is_word = isinstance(next(iter(allowed)), str)
        former = FORMER_NAMES.get(name, name)
        key = former if entries.has(former) else name
        own[name] = entries.choice(key, allowed) if is_word else entries.get(key, *allowed)
    check_jobs(own.get("n_jobs"))
    if "semi_supervised" in own:
        own["semi_supervised"] = bool(own["semi_supervised"])  # older files have none
    metric = _choose_metric(entries.get("metric", str, dict), metric)
    return {"metric": metric, "metric_params": params, **own}


def _choose_metric(saved: str | dict[str, Any], given: Any) -> Any:
    if isinstance(saved, str):
        require(given is None or given == saved, f"its metric is {saved!r}, and not {given!r}.")
        return saved
    if given is None or isinstance(given, str):
        name = Reader(saved).get("function", str)
        raise ModelFileError(
            f"its metric is the function {name[:100]!r}, which no file holds. Pass it again: "
            "opforest.load(path, metric=...)."
        )
    return given


def resolved(
    metric: Any, params: Mapping[str, Any] | None, how: Callable[..., Metric] = resolve
) -> Metric:
    """Return the ``Metric`` for a name or a function, without warning of slow functions again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return how(metric, params)


def check_unchanged(model: Any, metric: Metric) -> None:
    """Raise a ``ValueError`` if the metric of a model was changed after it had learned."""
    if resolved(model.metric, model.metric_params) != metric:
        raise ValueError(
            f"the model was learned with metric {metric.name!r}, metric_params="
            f"{dict(metric.params)}, and not with what it has now, {model.metric!r} and "
            f"{model.metric_params!r}. Learn anew, or set them as they were, and save then."
        )
