"""Locks, interrupts, atomic files, progress: helpers that do not depend on forests."""
