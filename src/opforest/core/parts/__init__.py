"""Forests whose examples are distributed over cells of space, on several machines or on disk."""
