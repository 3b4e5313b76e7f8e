"""Optimum-path forests: a parameter-free, multi-class, explainable classifier."""

from opforest.classifier import OPFClassifier
from opforest.explanation import Explanation, Step
from opforest.forest import Forest
from opforest.updates import UpdateReport

__all__ = ["Explanation", "Forest", "OPFClassifier", "Step", "UpdateReport"]
__version__ = "0.1.0"
