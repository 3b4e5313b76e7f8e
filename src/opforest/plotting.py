"""Plots of forests."""

from opforest.display.forest import ForestDisplay

__all__ = ["ForestDisplay"]
