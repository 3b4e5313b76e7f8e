"""The kinds of models that files hold.

To save a new estimator, register its kind here: one line, if it is a ``ForestEstimator`` whose
parameters ``header.PARAMETERS`` knows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.estimators.base import ForestEstimator
from opforest.estimators.validation import check_algorithm
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import LEAST, MOST, CostCalibration
from opforest.forest.updates.report import UpdateReport
from opforest.persistence.container import require
from opforest.persistence.density import (
    make_clustering,
    make_knn,
    make_outlier,
    take_clustering,
    take_knn,
    take_outlier,
)
from opforest.persistence.header import (
    EstimatorState,
    Reader,
    give_names,
    names_to_json,
    read_classes,
    resolved,
    take_classes,
    take_names,
)

#: Reads the forest of a file, given its metric and the number of classes.
ReadForest = Callable[[Metric, int], BaseForest]


@dataclass(frozen=True)
class Serializer:
    """How models of one class are saved and loaded.

    Attributes
    ----------
    name : str
        What a file calls it.
    module, class_name : str
        Where the class is; it is imported when a model of it is loaded.
    parameters : tuple of str
        Those of its constructor, beside ``metric`` and ``metric_params``.
    take : callable
        ``take(model)`` returns what it has learned.
    make : callable
        ``make(model, header, arrays, read_forest)`` makes a new model one that has learned that.
    """

    name: str
    module: str
    class_name: str
    parameters: tuple[str, ...]
    take: Callable[[Any], EstimatorState]
    make: Callable[[Any, Reader, dict[str, Array], ReadForest], None]

    def new(self, **parameters: Any) -> Any:
        """Return a model that has learned nothing."""
        return getattr(import_module(self.module), self.class_name)(**parameters)


# Estimators of scikit-learn's kind.


def take_estimator(model: ForestEstimator) -> EstimatorState:
    """Return what an estimator has learned."""
    check_is_fitted(model, "forest_")
    learned = model.fitted_forest()
    with learned.read():
        forest, classes = learned
        entries, arrays = take_classes(classes)
        more: dict[str, Any] = {**entries, **take_names(model), "update_report": None}
        if hasattr(model, "update_report_"):
            more["update_report"] = {**vars(model.update_report_)}
        whole: BaseForest = getattr(model, "labeled_forest_", forest)  # the others follow from it
        return EstimatorState(whole.state(), more, arrays)


def make_estimator(
    model: ForestEstimator, header: Reader, arrays: dict[str, Array], read_forest: ReadForest
) -> None:
    """Make an estimator one that has learned what a file says."""
    classes = read_classes(header, arrays)
    require(len(classes) or hasattr(model, "seeds"), "it has no labels.")
    metric = resolved(model.metric, model.metric_params)
    check_algorithm(model.algorithm, metric)
    model.set_forest(read_forest(metric, len(classes)), classes, _read_report(header))
    give_names(model, header)


def _read_report(header: Reader) -> Array | None:
    report = header.get("update_report", dict, type(None))
    if report is None:
        return None
    proper = set(report) == set(vars(UpdateReport())) and {*map(type, report.values())} == {int}
    require(proper, "its report of the last update is invalid.")
    return UpdateReport(**report).as_counts()


def read_calibration(facts: Reader) -> CostCalibration | None:
    """Return the calibration that a forest had been found to have; older files have none."""
    values = facts.get("sharpness", list, type(None))
    if values is None:
        return None
    require([*map(type, values)] == [float, float, int, int], "its calibration is invalid.")
    found = CostCalibration(*values)
    proper = LEAST <= found.exponent <= MOST and 0 <= found.floor < np.inf
    require(proper and 0 <= found.size <= found.changes < 2**63, "its calibration is invalid.")
    return found


# Classifiers of river's kind.


def take_stream(model: Any) -> EstimatorState:
    """Return what a classifier of streams has learned."""
    with model.alone():
        entries = {
            "classes": names_to_json(model.labels, "labels"),
            "feature_names": names_to_json(model.features, "feature names"),
        }
        return EstimatorState(model.state(), entries, {})


def make_stream(
    model: Any, header: Reader, arrays: dict[str, Array], read_forest: ReadForest
) -> None:
    """Make a classifier of streams one that has learned what a file says."""
    from opforest.river.features import resolve_for_streams

    labels, features = header.names("classes"), header.names("feature_names")
    forest = None
    if header.get("forest", dict, type(None)) is not None:
        metric = resolved(model.metric, model.metric_params, resolve_for_streams)
        forest = read_forest(metric, len(labels or ()))
    model.restore(forest, features or [], labels or [])


DENSITY = ("algorithm", "n_jobs")

#: By what files call them.
KINDS = {
    kind.name: kind
    for kind in (
        Serializer(
            "OPFClassifier", "opforest.estimators.classifier", "OPFClassifier",
            ("update", "algorithm", "n_jobs"), take_estimator, make_estimator,
        ),
        Serializer(
            "OPFSemiSupervised", "opforest.estimators.semi_supervised", "OPFSemiSupervised",
            ("seeds", "algorithm", "n_jobs"), take_estimator, make_estimator,
        ),
        Serializer(
            "OPFClustering", "opforest.estimators.clustering", "OPFClustering",
            ("k_max", "k_min", "merge_by", "threshold", "allow_single_cluster", *DENSITY),
            take_clustering, make_clustering,
        ),
        Serializer(
            "OPFKNNClassifier", "opforest.estimators.knn_classifier", "OPFKNNClassifier",
            ("k_max", "validation_fraction", "random_state", *DENSITY), take_knn, make_knn,
        ),
        Serializer(
            "OPFOutlier", "opforest.estimators.outlier", "OPFOutlier",
            ("k_max", "contamination", *DENSITY), take_outlier, make_outlier,
        ),
        Serializer(
            "river.OPFClassifier", "opforest.river.classifier", "OPFClassifier",
            ("update", "window_size", "semi_supervised"), take_stream, make_stream,
        ),
    )
}  # fmt: skip


def kind_of(model: Any) -> Serializer:
    """Return the kind of a model, or say in a ``ValueError`` what can be saved instead."""
    for kind in KINDS.values():
        if (type(model).__module__, type(model).__name__) == (kind.module, kind.class_name):
            return kind
    advice = "A pipeline must end with one."
    if hasattr(model, "to_local"):
        advice = "Save model.to_local()."
    names = [f"opforest.{kind.name}" for kind in KINDS.values()]
    raise ValueError(
        f"model must be an {' or an '.join(names)}, got {type(model).__name__}. {advice}"
    )
