"""The estimators that can be saved.

To save a new estimator, add a line to ``SERIALIZERS``: that is all if it is a ``ForestEstimator``
whose parameters are in ``header.PARAMETERS``.
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
    dump_clustering,
    dump_knn,
    dump_outlier,
    restore_clustering,
    restore_knn,
    restore_outlier,
)
from opforest.persistence.header import (
    NONE,
    EstimatorState,
    Reader,
    dump_classes,
    dump_feature_names,
    resolve_silently,
    restore_classes,
    restore_feature_names,
    to_json,
)

#: Reads the forest of a file, given its metric and the number of classes.
ReadForest = Callable[[Metric, int], BaseForest]


@dataclass(frozen=True)
class Serializer:
    """How models of one class are saved and loaded.

    Attributes
    ----------
    name : str
        The name of the class in files.
    module : str
        The module of the class, which is imported when a model is loaded.
    parameters : tuple of str
        The parameters of the constructor, except ``metric`` and ``metric_params``.
    dump : callable
        ``dump(model)`` returns the fitted state.
    restore : callable
        ``restore(model, header, arrays, read_forest)`` gives that state to a new model.
    """

    name: str
    module: str
    parameters: tuple[str, ...]
    dump: Callable[[Any], EstimatorState]
    restore: Callable[[Any, Reader, dict[str, Array], ReadForest], None]

    @property
    def class_name(self) -> str:
        """The name of the class in its module."""
        return self.name.rpartition(".")[2]

    def new(self, **parameters: Any) -> Any:
        """Return a model that is not fitted."""
        return getattr(import_module(self.module), self.class_name)(**parameters)


def _dump_estimator(model: ForestEstimator) -> EstimatorState:
    check_is_fitted(model, "forest_")
    learned = model._learned()
    with learned.read():
        forest, classes = learned
        entries, arrays = dump_classes(classes)
        entries |= {**dump_feature_names(model), "update_report": None}
        if hasattr(model, "update_report_"):
            entries["update_report"] = {**vars(model.update_report_)}
        # The other forests of a model can be made from that of the labeled examples.
        whole: BaseForest = vars(model).get("labeled_forest_", forest)
        return EstimatorState(whole.parts(), entries, arrays)


def _restore_estimator(
    model: ForestEstimator, header: Reader, arrays: dict[str, Array], read_forest: ReadForest
) -> None:
    classes = restore_classes(header, arrays)
    require(len(classes) or hasattr(model, "seeds"), "it has no labels.")
    metric = resolve_silently(model.metric, model.metric_params)
    check_algorithm(model.algorithm, metric)
    model._keep(read_forest(metric, len(classes)), classes, _restore_report(header))
    restore_feature_names(model, header)


def _restore_report(header: Reader) -> Array | None:
    report = header.get("update_report", dict, NONE)
    if report is None:
        return None
    is_valid = set(report) == set(vars(UpdateReport())) and {*map(type, report.values())} == {int}
    require(is_valid, "its report of the last update is invalid.")
    return UpdateReport(**report).as_counts()


def restore_calibration(facts: Reader) -> CostCalibration | None:
    """Return the calibration of a forest, if the file has one."""
    values = facts.get("sharpness", list, NONE)
    if values is None:
        return None
    require([*map(type, values)] == [float, float, int, int], "its calibration is invalid.")
    found = CostCalibration(*values)
    is_valid = LEAST <= found.exponent <= MOST and 0 <= found.floor < np.inf
    require(is_valid and 0 <= found.size <= found.changes < 2**63, "its calibration is invalid.")
    return found


def _dump_stream(model: Any) -> EstimatorState:
    with model.lock():
        entries = {
            "classes": [to_json(label, "labels") for label in model.labels],
            "feature_names": [to_json(name, "feature names") for name in model.features],
        }
        return EstimatorState(model.parts(), entries, {})


def _restore_stream(
    model: Any, header: Reader, arrays: dict[str, Array], read_forest: ReadForest
) -> None:
    from opforest.river.features import resolve_for_streams

    labels, features = header.names("classes"), header.names("feature_names")
    forest = None
    if header.get("forest", dict, NONE) is not None:
        metric = resolve_silently(model.metric, model.metric_params, resolve_for_streams)
        forest = read_forest(metric, len(labels or ()))
    model.restore(forest, features or [], labels or [])


DENSITY = ("algorithm", "n_jobs")

#: The serializers, by their names in files.
SERIALIZERS = {
    serializer.name: serializer
    for serializer in (
        Serializer(
            "OPFClassifier", "opforest.estimators.classifier",
            ("update", "algorithm", "n_jobs"), _dump_estimator, _restore_estimator,
        ),
        Serializer(
            "OPFSemiSupervised", "opforest.estimators.semi_supervised",
            ("seeds", "algorithm", "n_jobs"), _dump_estimator, _restore_estimator,
        ),
        Serializer(
            "OPFClustering", "opforest.estimators.clustering",
            ("k_max", "k_min", "merge_by", "threshold", "allow_single_cluster", *DENSITY),
            dump_clustering, restore_clustering,
        ),
        Serializer(
            "OPFKNNClassifier", "opforest.estimators.knn_classifier",
            ("k_max", "validation_fraction", "random_state", *DENSITY), dump_knn, restore_knn,
        ),
        Serializer(
            "OPFOutlier", "opforest.estimators.outlier",
            ("k_max", "contamination", *DENSITY), dump_outlier, restore_outlier,
        ),
        Serializer(
            "river.OPFClassifier", "opforest.river.classifier",
            ("update", "window_size", "semi_supervised"), _dump_stream, _restore_stream,
        ),
    )
}  # fmt: skip


def find_serializer(model: Any) -> Serializer:
    """Return the serializer of a model; raise a ``ValueError`` if it cannot be saved."""
    for serializer in SERIALIZERS.values():
        own = serializer.module, serializer.class_name
        if (type(model).__module__, type(model).__name__) == own:
            return serializer
    advice = "A pipeline must end with one."
    if hasattr(model, "to_local"):
        advice = "Save model.to_local()."
    names = [f"opforest.{name}" for name in SERIALIZERS]
    raise ValueError(
        f"model must be an {' or an '.join(names)}, got {type(model).__name__}. {advice}"
    )
