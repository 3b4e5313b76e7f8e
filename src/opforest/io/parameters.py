"""Parameters of constructors in model files."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from opforest.io.errors import ModelFileError
from opforest.io.header import Reader, from_json, to_json
from opforest.metrics import Metric, resolve
from opforest.semi_supervised import SEEDS
from opforest.spanning import ALGORITHMS
from opforest.updates import UPDATES

#: Threads that a model may ask for.
MANY_JOBS = 1024


def check_jobs(n_jobs: Any) -> Any:
    """Return a number of threads; a file must not be able to start very many."""
    if n_jobs is not None and not 0 < abs(n_jobs) <= MANY_JOBS:
        raise ValueError(f"n_jobs must be from 1 to {MANY_JOBS}, or negative, got {n_jobs}.")
    return n_jobs


#: How to read each parameter beside those of the metric.
READERS: dict[str, Callable[[Reader], Any]] = {
    "update": lambda entries: entries.choice("update", {name: name for name in UPDATES}),
    "algorithm": lambda entries: entries.choice("algorithm", {name: name for name in ALGORITHMS}),
    "n_jobs": lambda entries: check_jobs(entries.get("n_jobs", int, type(None))),
    "seeds": lambda entries: entries.choice("seeds", {name: name for name in SEEDS}),
    "semi_supervised": lambda entries: bool(entries.get("semi_supervised", bool, type(None))),
    "k_max": lambda entries: entries.get("k_max", int),
    "k_min": lambda entries: entries.get("k_min", int),
    "filter": lambda entries: entries.get("filter", str, type(None)),
    "amount": lambda entries: entries.get("amount", int, float),
    "allow_single_cluster": lambda entries: entries.get("allow_single_cluster", bool),
    "held_out": lambda entries: entries.get("held_out", int, float),
    "random_state": lambda entries: entries.get("random_state", int, type(None)),
    "contamination": lambda entries: entries.get("contamination", int, float),
    "window_size": lambda entries: entries.get("window_size", int, type(None)),
}


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
    params = entries.get("metric_params", dict, type(None))
    if params is not None:
        params = {name: from_json(value) for name, value in params.items()}
    own = {name: READERS[name](entries) for name in names}
    metric = _choose_metric(entries.get("metric", str, dict), metric)
    return {"metric": metric, "metric_params": params, **own}


def _choose_metric(saved: str | dict[str, Any], given: Any) -> Any:
    if isinstance(saved, str):
        if given is not None and given != saved:
            raise ModelFileError(f"its metric is {saved!r}, and not {given!r}.")
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
