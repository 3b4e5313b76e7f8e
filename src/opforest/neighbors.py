"""Exact nearest neighbors."""

from opforest.core.select.neighbors import nearest_neighbors

__all__ = ["nearest_neighbors"]
