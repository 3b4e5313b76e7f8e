"""Settings of a store: metric, features, precision and labels."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from opforest._utils.numerals import Cells
from opforest.core.metrics.registry import resolve
from opforest.estimators.preparation import ENCODE, SCALES
from opforest.learner.errors import StoreError
from opforest.learner.store import Store
from opforest.learner.validation import KINDS
from opforest.persistence.header import from_json, to_json

PRECISIONS = ("float64", "float32")

#: What older stores do not say.
LATER = ("semi_supervised", "preparation", "prepared", "founded", "cells")


@dataclass(frozen=True)
class Settings:
    """What is true of all examples of a store; what is None is settled by the first of them.

    Attributes
    ----------
    metric : str
        The name of the metric; of a function, its name in parentheses: it must be passed again.
    metric_params : dict or None
        Its parameters.
    precision : str or None
        How features are kept: ``"float64"`` or ``"float32"``.
    n_features : int or None
        How many there are.
    feature_names : tuple of str or None
        What they are called.
    labels : str or None
        The kind of labels, one of ``values.KINDS``.
    score : bool
        Whether each example is predicted before it is learned, and counted.
    semi_supervised : bool
        Whether examples may have no label.
    preparation : dict or None
        What is done to rows before the model learns them: the parameters of a ``Preparation``,
        which learns from the first batch; or ``{}`` if it was given fitted.
    prepared : list or None
        The fitted steps of the preparation, as data.
    founded : int
        The preparation was learned from the examples whose ids are below.
    cells : dict
        How the cells of data files are read, as the first of them were: ``Cells.to_data()``.
    """

    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    precision: str | None = None
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    labels: str | None = None
    score: bool = False
    semi_supervised: bool = False
    preparation: dict[str, str] | None = None
    prepared: list[Any] | None = None
    founded: int = 0
    cells: dict[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of features."""
        return np.dtype(self.precision or PRECISIONS[0])

    def save(self, store: Store) -> None:
        """Write it into the table ``meta``."""
        params = self.metric_params
        if params is not None:
            params = {str(name): to_json(value, "metric_params") for name, value in params.items()}
        store.put(**{**asdict(self), "metric_params": params})

    @classmethod
    def load(cls, store: Store) -> Self:
        """Read it, or raise a ``StoreError`` if it is invalid."""
        fields = cls.__dataclass_fields__
        new = cls()
        found = {name: store.get(name, getattr(new, name) if name in LATER else None)
                 for name in fields}  # fmt: skip
        names, params = found["feature_names"], found["metric_params"]
        n = found["n_features"]
        is_proper = (
            type(found["metric"]) is str
            and type(params) in (dict, type(None))
            and found["precision"] in (None, *PRECISIONS)
            and (n is None or (type(n) is int and n > 0))
            and (names is None or _are_names(names, n))
            and found["labels"] in (None, *KINDS)
            and type(found["score"]) is bool
            and type(found["semi_supervised"]) is bool
            and (found["preparation"] is None or is_preparation(found["preparation"]))
            and type(found["prepared"]) in (list, type(None))
            and type(found["founded"]) is int
            and (found["preparation"] is not None or found["prepared"] is None)
            and (found["preparation"] != {} or found["prepared"] is not None)
            and _are_cells(found["cells"], n)
        )
        if not is_proper:
            raise StoreError(f"{store.path}: the file is damaged: its settings cannot be {found}.")
        if params is not None:
            found["metric_params"] = {name: from_json(value) for name, value in params.items()}
        if names is not None:
            found["feature_names"] = tuple(names)
        return cls(**found)

    def reading(self, cells: dict[str, Any] | None) -> Self:
        """Return them with how cells are read, if that is not settled."""
        return replace(self, cells=cells) if cells and self.n_features is None else self

    def named(self, names: tuple[str, ...] | None) -> Self:
        """Return them with the names of features."""
        if names is None or self.feature_names is not None:
            return self
        return replace(self, feature_names=names, n_features=len(names))


def is_preparation(asked: Any) -> bool:
    """Tell whether this is what a preparation is to do: its parameters, or ``{}``."""
    if not isinstance(asked, dict) or asked == {}:
        return asked == {}
    if set(asked) != {"encode", "missing", "scale"}:
        return False
    encode, missing, scale = asked["encode"], asked["missing"], asked["scale"]
    return encode in ENCODE and missing in ("error", "median") and scale in [*SCALES]


def _are_cells(cells: Any, n: int | None) -> bool:
    try:
        Cells.from_data(cells, n)
    except ValueError:
        return False
    return True


def _are_names(names: Any, n: int | None) -> bool:
    if not isinstance(names, list) or not all(type(name) is str for name in names):
        return False
    return len(names) == n and len(set(names)) == len(names)


def name_of(metric: str | Callable[..., float]) -> str:
    """Return what a store calls a metric."""
    return metric if isinstance(metric, str) else f"({getattr(metric, '__name__', 'function')})"


def choose_metric(
    path: str, known: Settings, metric: Any, params: Mapping[str, Any] | None
) -> str | Callable[..., float]:
    """Return the metric of a store, given one that somebody expects, or the function itself."""
    if known.metric.startswith("("):
        if metric is None or isinstance(metric, str):
            raise StoreError(
                f"{path}: its metric is the function {known.metric[1:-1]!r}, which no file holds. "
                "Pass it again: opforest.Learner(path, metric=...)."
            )
    elif metric is not None and (
        not isinstance(metric, str) or resolve(metric, params) != resolve_known(path, known)
    ):
        raise StoreError(
            f"{path}: its metric is {known.metric!r}, {known.metric_params or {}}, and not "
            f"{name_of(metric)!r}, {dict(params or {})}. Leave the metric out to take the store's."
        )
    return metric if known.metric.startswith("(") else known.metric


def resolve_known(path: str, known: Settings) -> Any:
    """Return the metric that a store names."""
    try:
        return resolve(known.metric, known.metric_params)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{path}: its metric cannot be: {error}") from None


def check_new(settings: Settings, metric: Any) -> None:
    """Raise an error if no store can be made with these settings."""
    if resolve(metric, settings.metric_params).is_precomputed:
        raise ValueError(
            "metric='precomputed' needs a table of distances, and a store keeps features. Choose "
            "another metric, or pass the function that measures."
        )
    if settings.precision not in (None, *PRECISIONS):
        raise ValueError(f"precision must be one of {PRECISIONS}, got {settings.precision!r}.")
    names = settings.feature_names
    if names is not None and (not names or not _are_names(list(names), len(names))):
        raise ValueError(f"feature_names must be different texts, got {names!r:.200}.")
