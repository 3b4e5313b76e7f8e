"""Locks, interrupts, atomic files, progress: helpers that know nothing of forests."""
