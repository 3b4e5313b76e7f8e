"""Readers of data files, one module per family of formats."""
