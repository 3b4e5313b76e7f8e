"""Plots of clusters."""

from opforest.display.clusters import ClusterDisplay

__all__ = ["ClusterDisplay"]
