"""Plots of spanning trees."""

from opforest.display.tree import TreeDisplay

__all__ = ["TreeDisplay"]
