"""Density forests on nearest-neighbor graphs."""
