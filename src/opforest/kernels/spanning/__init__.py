"""Minimum spanning trees, by several algorithms that all find the same one."""
