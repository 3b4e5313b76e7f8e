"""Optimum-path forests: learn, forget and explain, exactly, one example at a time."""

from typing import TYPE_CHECKING

from opforest._lazy import lazy

if TYPE_CHECKING:
    from opforest import active
    from opforest.classifier import OPFClassifier
    from opforest.clustering import OPFClustering
    from opforest.errors import ModelFileError
    from opforest.evaluating import Round, learn_from_errors, prune
    from opforest.explanation import Explanation, Step
    from opforest.forest import Forest
    from opforest.knn_classifier import OPFKNNClassifier
    from opforest.learner import Learner, StoreError
    from opforest.outlier import OPFOutlier
    from opforest.preparing.pipeline import Pipeline, make_pipeline
    from opforest.preparing.preparation import Preparation
    from opforest.report import UpdateReport
    from opforest.saving.model_file import load, save
    from opforest.semi_supervised import OPFSemiSupervised

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
    "Round",
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
__version__ = "0.2.0"

__getattr__ = lazy(
    __name__,
    {
        "Explanation": "opforest.explanation",
        "Forest": "opforest.forest",
        "Learner": "opforest.learner.learner",
        "ModelFileError": "opforest.errors",
        "OPFClassifier": "opforest.classifier",
        "OPFClustering": "opforest.clustering",
        "OPFKNNClassifier": "opforest.knn_classifier",
        "OPFOutlier": "opforest.outlier",
        "OPFSemiSupervised": "opforest.semi_supervised",
        "Round": "opforest.evaluating",
        "Pipeline": "opforest.preparing.pipeline",
        "Preparation": "opforest.preparing.preparation",
        "Step": "opforest.explanation",
        "StoreError": "opforest.learner.errors",
        "UpdateReport": "opforest.report",
        "active": "opforest.active",
        "learn_from_errors": "opforest.evaluating",
        "load": "opforest.saving.model_file",
        "make_pipeline": "opforest.preparing.pipeline",
        "prune": "opforest.evaluating",
        "save": "opforest.saving.model_file",
    },
)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
