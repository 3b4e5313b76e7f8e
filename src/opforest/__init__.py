"""Optimum-path forests: learn, forget and explain, exactly, one example at a time."""

from typing import TYPE_CHECKING

from opforest._utils.lazy import make_lazy_getattr
from opforest._utils.version import __version__ as __version__

if TYPE_CHECKING:
    from opforest import active
    from opforest.errors import ModelFileError
    from opforest.estimators.classifier import OPFClassifier
    from opforest.estimators.clustering import OPFClustering
    from opforest.estimators.knn_classifier import OPFKNNClassifier
    from opforest.estimators.model_selection import PruningStep, learn_from_errors, prune
    from opforest.estimators.outlier import OPFOutlier
    from opforest.estimators.pipeline import Pipeline, make_pipeline
    from opforest.estimators.preparation import Preparation
    from opforest.estimators.semi_supervised import OPFSemiSupervised
    from opforest.forest.explanation import Explanation, Step
    from opforest.forest.forest import Forest
    from opforest.forest.updates.report import UpdateReport
    from opforest.learner import Learner, StoreError
    from opforest.persistence.files import load, save

__all__ = [
    "Explanation",
    "Forest",
    "Learner",
    "ModelFileError",
    "OPFClassifier",
    "OPFClustering",
    "OPFKNNClassifier",
    "OPFOutlier",
    "OPFSemiSupervised",
    "Pipeline",
    "Preparation",
    "PruningStep",
    "Step",
    "StoreError",
    "UpdateReport",
    "active",
    "learn_from_errors",
    "load",
    "make_pipeline",
    "prune",
    "save",
]

__getattr__ = make_lazy_getattr(
    __name__,
    {
        "Explanation": "opforest.forest.explanation",
        "Forest": "opforest.forest.forest",
        "Learner": "opforest.learner.learner",
        "ModelFileError": "opforest.errors",
        "OPFClassifier": "opforest.estimators.classifier",
        "OPFClustering": "opforest.estimators.clustering",
        "OPFKNNClassifier": "opforest.estimators.knn_classifier",
        "OPFOutlier": "opforest.estimators.outlier",
        "OPFSemiSupervised": "opforest.estimators.semi_supervised",
        "PruningStep": "opforest.estimators.model_selection",
        "Pipeline": "opforest.estimators.pipeline",
        "Preparation": "opforest.estimators.preparation",
        "Step": "opforest.forest.explanation",
        "StoreError": "opforest.learner.errors",
        "UpdateReport": "opforest.forest.updates.report",
        "active": "opforest.active",
        "learn_from_errors": "opforest.estimators.model_selection",
        "load": "opforest.persistence.files",
        "make_pipeline": "opforest.estimators.pipeline",
        "prune": "opforest.estimators.model_selection",
        "save": "opforest.persistence.files",
    },
)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
