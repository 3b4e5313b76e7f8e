"""Allocations that fail."""

import numpy as np


def no_memory(*_, **__):
    """Raise what NumPy raises without memory: a subclass that cannot be made of a text."""
    np.empty(2**58)
    raise AssertionError("this machine has an exabyte of memory")
