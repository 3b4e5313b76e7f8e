"""Settings of a store: metric, features, precision and labels."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from opforest._utils.numerals import Cells
from opforest.core.metrics.registry import resolve
from opforest.estimators.preparation import Preparation
from opforest.estimators.validation import check_voters
from opforest.learner.database import Database
from opforest.learner.errors import StoreError
from opforest.learner.validation import KINDS
from opforest.persistence.header import dump_metric_params, restore_metric_params
from opforest.persistence.pipelines import dump_steps

PRECISIONS = ("float64", "float32")

#: Entries that older stores lack.
LATER = ("semi_supervised", "preparation", "prepared", "founded", "cells", "voters")


@dataclass(frozen=True)
class Settings:
    """Properties of all examples of a store; the first examples determine those that are None."""

    metric: str = "euclidean"  #: its name; that of a function is in parentheses
    metric_params: dict[str, Any] | None = None
    precision: str | None = None  #: type of stored features: ``"float64"`` or ``"float32"``
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    labels: str | None = None  #: the kind of labels, one of ``validation.KINDS``
    score: bool = False  #: whether each example is predicted before it is learned, and counted
    semi_supervised: bool = False  #: whether examples may have no label
    #: Parameters of a ``Preparation``, fitted on the first batch; ``{}`` if it was given fitted.
    preparation: dict[str, str] | None = None
    prepared: list[Any] | None = None  #: fitted steps of the preparation, as data
    founded: int = 0  #: the preparation was fitted on the examples with smaller ids
    #: How the cells of data files are read: ``Cells.to_data()`` of the first file.
    cells: dict[str, Any] = field(default_factory=dict)
    voters: int | str = 1  #: how many of the cheapest offers vote on a label, or "auto"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of features."""
        return np.dtype(self.precision or PRECISIONS[0])

    @property
    def learns_from_labels(self) -> bool:
        """Whether the preparation is fitted by the store, and depends on labels."""
        return Preparation(**(self.preparation or {})).needs_labels

    def save(self, database: Database) -> None:
        """Write the settings to the table ``meta``, within ``Database.write``."""
        params = self.metric_params
        if params is not None:
            params = dump_metric_params(params, not self.metric.startswith("("))
        database.put(**{**asdict(self), "metric_params": params})

    @classmethod
    def load(cls, database: Database) -> Self:
        """Read the settings; raise a ``StoreError`` if they are invalid."""
        new = cls()
        found = {name: database.get(name, getattr(new, name) if name in LATER else None)
                 for name in cls.__dataclass_fields__}  # fmt: skip
        if not _is_valid(found):
            raise database.damage(f"its settings are invalid: {found}")
        names, params = found["feature_names"], found["metric_params"]
        if params is not None:
            found["metric_params"] = restore_metric_params(params)
        if names is not None:
            found["feature_names"] = tuple(names)
        return cls(**found)

    def with_first_batch(
        self, names: tuple[str, ...] | None, cells: dict[str, Any] | None, is_single: bool
    ) -> Self:
        """Return the settings completed by the columns and the precision of the first batch."""
        known = self
        if known.n_features is None:
            known = replace(known, cells=cells or known.cells)
            if names is not None and known.feature_names is None:
                known = replace(known, feature_names=names, n_features=len(names))
        if known.precision is None:
            is_single = is_single and known.preparation is None
            known = replace(known, precision="float32" if is_single else "float64")
        return known

    def with_preparation(self, preparation: Any) -> Self:
        """Return the settings with a preparation: parameters, or the data of fitted steps."""
        if preparation is None:
            return self
        if isinstance(preparation, Preparation) and not hasattr(preparation, "transformer_"):
            if preparation.missing == "drop":
                raise ValueError(
                    "missing='drop' leaves rows out, and a store keeps all of them: leave them out "
                    "before, or use missing='median'."
                )
            preparation.check_parameters()
            params = preparation.get_params() if preparation.is_needed else None
            return replace(self, preparation=params)
        steps = getattr(preparation, "steps", [("prepare", preparation)])
        try:
            prepared = dump_steps(steps)
        except NotFittedError:
            raise ValueError(
                "preparation must be fitted, unless it is an opforest.Preparation, which is fitted "
                "on the first examples."
            ) from None
        first = steps[0][1]
        names = getattr(first, "columns_", getattr(first, "feature_names_in_", None))
        names = self.feature_names if names is None else tuple(map(str, names))
        return replace(self, preparation={}, prepared=prepared, n_features=first.n_features_in_,
                       feature_names=names)  # fmt: skip


def _is_valid(found: dict[str, Any]) -> bool:
    """Return whether settings of a file are possible."""
    n, names, params = found["n_features"], found["feature_names"], found["preparation"]
    try:
        Cells.from_data(found["cells"], n)
        check_voters(found["voters"])
        if params:
            Preparation(**params).check_parameters()
    except (TypeError, ValueError):
        return False
    return (
        type(found["metric"]) is str
        and type(found["metric_params"]) in (dict, type(None))
        and found["precision"] in (None, *PRECISIONS)
        and (n is None or (type(n) is int and n > 0))
        and (names is None or _are_names(names, n))
        and found["labels"] in (None, *KINDS)
        and type(found["score"]) is bool
        and type(found["semi_supervised"]) is bool
        and type(params) in (dict, type(None))
        and (not params or params.get("missing") != "drop")
        and type(found["prepared"]) in (list, type(None))
        and type(found["founded"]) is int
        and (params is not None or found["prepared"] is None)
        and (params != {} or found["prepared"] is not None)
    )


def _are_names(names: Any, n: int | None) -> bool:
    if not isinstance(names, list) or not all(type(name) is str for name in names):
        return False
    return len(names) == n and len(set(names)) == len(names)


def name_of(metric: str | Callable[..., float]) -> str:
    """Return the name of a metric in a store."""
    return metric if isinstance(metric, str) else f"({getattr(metric, '__name__', 'function')})"


def choose_metric(
    path: str, known: Settings, metric: Any, params: Mapping[str, Any] | None
) -> str | Callable[..., float]:
    """Return the metric of a store; raise a ``StoreError`` if the caller expects another one."""
    if known.metric.startswith("("):
        if metric is None or isinstance(metric, str):
            raise StoreError(
                f"{path}: its metric is the function {known.metric[1:-1]!r}, which is not saved in "
                "files. Pass it again: opforest.Learner(path, metric=...)."
            )
        return metric  # type: ignore[no-any-return]
    if metric is not None:
        try:
            own = resolve(known.metric, known.metric_params)
        except (TypeError, ValueError) as error:
            raise StoreError(f"{path}: its metric is invalid: {error}") from None
        if not isinstance(metric, str) or resolve(metric, params) != own:
            raise StoreError(
                f"{path}: its metric is {known.metric!r}, {known.metric_params or {}}, and not "
                f"{name_of(metric)!r}, {dict(params or {})}. Leave the metric out to use the "
                "store's."
            )
    return known.metric


def check_new(settings: Settings, metric: Any) -> None:
    """Raise a ``ValueError`` if no store can have these settings."""
    if resolve(metric, settings.metric_params).is_precomputed:
        raise ValueError(
            "metric='precomputed' needs a table of distances, and a store keeps features. Choose "
            "another metric, or pass the function that measures distances."
        )
    check_voters(settings.voters)
    if settings.precision not in (None, *PRECISIONS):
        raise ValueError(f"precision must be one of {PRECISIONS}, got {settings.precision!r}.")
    names = settings.feature_names
    if names is not None and (not names or not _are_names(list(names), len(names))):
        raise ValueError(f"feature_names must be distinct strings, got {names!r:.200}.")
