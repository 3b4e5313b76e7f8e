"""Optimum-path forest classifier for `river`."""

from opforest.river.classifier import OPFClassifier

__all__ = ["OPFClassifier"]
