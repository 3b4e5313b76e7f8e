"""Forests of densities on graphs of nearest neighbors."""
