"""Streams: the classifier of `river`."""

from opforest.river.classifier import OPFClassifier

__all__ = ["OPFClassifier"]
