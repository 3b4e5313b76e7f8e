"""Return memory that was freed to the operating system.

The C library of Linux keeps freed blocks for later. After the many arrays of a large fit these are
tens of bytes per example, which other processes cannot use and which would raise the peak.
"""

import ctypes
from functools import cache
from typing import Any


@cache
def _find_trim() -> Any:
    """Return ``malloc_trim``, or a function that does nothing if the C library lacks it."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another system, or another C library
        return lambda _: 0


def trim_heap() -> None:
    """Return freed blocks of the heap, where the C library offers it."""
    _find_trim()(0)
