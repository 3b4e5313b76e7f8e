"""Kernels of forests whose labels spread from seeds."""
