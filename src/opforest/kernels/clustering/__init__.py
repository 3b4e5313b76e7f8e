"""Kernels of forests on graphs of nearest neighbours."""
