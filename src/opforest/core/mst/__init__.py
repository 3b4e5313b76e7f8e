"""Minimum spanning trees, unique under (weight, smaller index, larger index)."""
