"""Optimum-path forests: a parameter-free, multi-class, explainable classifier."""

from typing import TYPE_CHECKING

from opforest._lazy import lazy

if TYPE_CHECKING:
    from opforest.classifier import OPFClassifier
    from opforest.explanation import Explanation, Step
    from opforest.forest import Forest
    from opforest.io.errors import ModelFileError
    from opforest.io.model_file import load, save
    from opforest.learner import Learner, StoreError
    from opforest.preparing.pipeline import Pipeline
    from opforest.preparing.preparation import Preparation
    from opforest.report import UpdateReport

__all__ = [
    "Explanation",
    "Forest",
    "Learner",
    "ModelFileError",
    "OPFClassifier",
    "Pipeline",
    "Preparation",
    "Step",
    "StoreError",
    "UpdateReport",
    "load",
    "save",
]
__version__ = "0.1.0"

__getattr__ = lazy(
    __name__,
    {
        "Explanation": "opforest.explanation",
        "Forest": "opforest.forest",
        "Learner": "opforest.learner.learner",
        "ModelFileError": "opforest.io.errors",
        "OPFClassifier": "opforest.classifier",
        "Pipeline": "opforest.preparing.pipeline",
        "Preparation": "opforest.preparing.preparation",
        "Step": "opforest.explanation",
        "StoreError": "opforest.learner.errors",
        "UpdateReport": "opforest.report",
        "load": "opforest.io.model_file",
        "save": "opforest.io.model_file",
    },
)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
