"""The estimators that can be saved.

To save a new estimator, add a line to ``SERIALIZERS``: that is all if it is a ``ForestEstimator``
whose parameters are in ``header.PARAMETERS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sklearn.utils.validation import check_is_fitted

from opforest.core.metrics.types import Array
from opforest.estimators.base import ForestEstimator
from opforest.estimators.validation import check_algorithm
from opforest.forest.forest import BaseForest
from opforest.forest.updates.report import UpdateReport
from opforest.persistence import density, header
from opforest.persistence.container import require
from opforest.persistence.forests import dump_forest, restore_forest
from opforest.persistence.header import NONE, EstimatorState, Reader, resolve_silently, to_json


@dataclass(frozen=True)
class Serializer:
    """How models of one class are saved and loaded."""

    name: str  #: the name of the class in files
    module: str  #: the module of the class, which is imported when a model is loaded
    parameters: tuple[str, ...]  #: of the constructor, except ``metric`` and ``metric_params``
    dump: Callable[[Any], EstimatorState]  #: returns the fitted state of a model
    restore: Callable[[Any, Reader], None]  #: gives the state in a file to a new model

    @property
    def class_name(self) -> str:
        """The name of the class in its module."""
        return self.name.rpartition(".")[2]

    def new(self, **parameters: Any) -> Any:
        """Return a model that is not fitted."""
        return getattr(import_module(self.module), self.class_name)(**parameters)


def _dump_estimator(model: ForestEstimator) -> EstimatorState:
    check_is_fitted(model, "forest_")
    learned = model.fitted_forest()
    with learned.read():
        forest, classes = learned
        state = header.dump_classes(classes)
        report = vars(model.update_report_) if hasattr(model, "update_report_") else None
        # The other forests of a model can be made from that of the labeled examples.
        whole: BaseForest = vars(model).get("labeled_forest_", forest)
        own = dump_forest(model, whole.state())
        entries = {**own.entries, **state.entries, **header.dump_feature_names(model)}
        return EstimatorState({**entries, "update_report": report}, state.arrays | own.arrays)


def _restore_estimator(model: ForestEstimator, file: Reader) -> None:
    classes = file.classes()
    require(len(classes) or hasattr(model, "seeds"), "it has no labels.")
    metric = resolve_silently(model.metric, model.metric_params)
    check_algorithm(model.algorithm, metric)
    model.set_forest(restore_forest(file, metric, len(classes)), classes, _restore_report(file))
    file.restore_feature_names(model)


def _restore_report(file: Reader) -> Array | None:
    report = file.get("update_report", dict, NONE)
    if report is None:
        return None
    is_valid = set(report) == set(vars(UpdateReport())) and {*map(type, report.values())} == {int}
    require(is_valid, "its report of the last update is invalid.")
    return UpdateReport(**report).as_counts()


def _dump_stream(model: Any) -> EstimatorState:
    with model.lock():
        parts = model.parts()
        forest = EstimatorState({}, {}) if parts is None else dump_forest(model, parts)
        names = {
            "classes": [to_json(label, "labels") for label in model.labels],
            "feature_names": [to_json(name, "feature names") for name in model.features],
        }
        return EstimatorState({**forest.entries, **names}, forest.arrays)


def _restore_stream(model: Any, file: Reader) -> None:
    from opforest.river.features import resolve_for_streams

    labels, features = file.names("classes") or [], file.names("feature_names") or []
    forest = None
    if file.get("forest", dict, NONE) is not None:
        metric = resolve_silently(model.metric, model.metric_params, resolve_for_streams)
        forest = restore_forest(file, metric, len(labels))
    model.restore(forest, features, labels)


DENSITY = ("algorithm", "n_jobs")

#: The serializers, by their names in files.
SERIALIZERS = {
    serializer.name: serializer
    for serializer in (
        Serializer(
            "OPFClassifier", "opforest.estimators.classifier",
            ("voters", "update", "algorithm", "n_jobs"), _dump_estimator, _restore_estimator,
        ),
        Serializer(
            "OPFSemiSupervised", "opforest.estimators.semi_supervised",
            ("seeds", "voters", "algorithm", "n_jobs"), _dump_estimator, _restore_estimator,
        ),
        Serializer(
            "OPFClustering", "opforest.estimators.clustering",
            ("k_max", "k_min", "merge_by", "threshold", "allow_single_cluster", *DENSITY),
            density.dump_clustering, density.restore_clustering,
        ),
        Serializer(
            "OPFKNNClassifier", "opforest.estimators.knn_classifier",
            ("k_max", "validation_fraction", "random_state", *DENSITY),
            density.dump_knn, density.restore_knn,
        ),
        Serializer(
            "OPFOutlier", "opforest.estimators.outlier",
            ("k_max", "contamination", *DENSITY), density.dump_outlier, density.restore_outlier,
        ),
        Serializer(
            "river.OPFClassifier", "opforest.river.classifier",
            ("update", "window_size", "semi_supervised", "voters"), _dump_stream, _restore_stream,
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
    if hasattr(model, "parts_"):
        advice = "Save model.parts_ to a folder."
    elif hasattr(model, "to_local"):
        advice = "Save model.to_local()."
    names = [f"opforest.{name}" for name in (*SERIALIZERS, "PartsClassifier")]
    raise ValueError(
        f"model must be an {' or an '.join(names)}, got {type(model).__name__}. {advice}"
    )
