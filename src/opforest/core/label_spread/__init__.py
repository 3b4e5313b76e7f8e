"""Forests whose labels spread from seeds."""
