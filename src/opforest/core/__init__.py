"""Algorithms on NumPy arrays, compiled by Numba; they know nothing of estimators or files."""
