"""Optimum-path forests: a parameter-free, multi-class, explainable classifier."""

from opforest.classifier import OPFClassifier
from opforest.explanation import Explanation, Step
from opforest.forest import Forest

__all__ = ["Explanation", "Forest", "OPFClassifier", "Step"]
__version__ = "0.1.0"
