"""Optimum-path forests: a parameter-free, multi-class, explainable classifier."""

from opforest.classifier import OPFClassifier
from opforest.explanation import Explanation, Step
from opforest.forest import Forest
from opforest.io.errors import ModelFileError
from opforest.io.model_file import load, save
from opforest.updates import UpdateReport

__all__ = [
    "Explanation",
    "Forest",
    "ModelFileError",
    "OPFClassifier",
    "Step",
    "UpdateReport",
    "load",
    "save",
]
__version__ = "0.1.0"
