"""Names of dissimilarities."""

from opforest.core.metrics.registry import resolve

__all__ = ["resolve"]
