"""Allocations that fail."""

import numpy as np


def no_memory(*_, **__):
    """Raise NumPy's memory error, a subclass that cannot be constructed from a message."""
    np.empty(2**58)
    raise AssertionError("this machine has an exabyte of memory")
