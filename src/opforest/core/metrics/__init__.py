"""Metrics: types, names, units, embeddings, and compiled distance functions."""
