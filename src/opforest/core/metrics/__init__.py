"""Dissimilarities: types, names, units, embeddings, kernels."""
