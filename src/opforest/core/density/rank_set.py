"""A set of ranks, stored as a two-level bitmap, that finds its smallest member quickly.

Bit b of ``words[w]`` is set if 64 w + b is in the set; bit b of ``filled[f]`` is set if
``words[64 f + b]`` is not 0. The last entry of ``filled`` is where a search starts.
"""

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from opforest.core.jit import helper

_ONE, _SIX, _MASK = np.uint64(1), np.uint64(6), np.uint64(63)


@helper
def make_rank_set(n):
    """Return an empty set of ranks below n: ``words`` and ``filled``."""
    words = np.zeros((n >> 6) + 1, np.uint64)
    filled = np.zeros((words.shape[0] >> 6) + 2, np.uint64)
    filled[-1] = filled.shape[0] - 1
    return words, filled


@helper
def add_rank(words, filled, rank):
    """Add a rank, an unsigned 64-bit number."""
    word = rank >> _SIX
    words[word] |= _ONE << (rank & _MASK)
    filled[word >> _SIX] |= _ONE << (word & _MASK)
    filled[-1] = min(filled[-1], word >> _SIX)


@helper
def smallest_rank(words, filled, n):
    """Return the smallest rank; n if there is none."""
    i, end = filled[-1], np.uint64(filled.shape[0] - 1)
    while i < end and filled[i] == 0:
        i += _ONE
    filled[-1] = i
    if i == end:
        return np.uint64(n)
    word = (i << _SIX) + trailing_zeros(filled[i])
    return (word << _SIX) + trailing_zeros(words[word])


@helper
def remove_rank(words, filled, rank):
    """Remove a rank."""
    word = rank >> _SIX
    words[word] &= ~(_ONE << (rank & _MASK))
    if words[word] == 0:
        filled[word >> _SIX] &= ~(_ONE << (word & _MASK))
