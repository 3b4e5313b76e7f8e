"""Inserting vertices into a forest and removing them from it."""
