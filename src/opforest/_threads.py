"""Work in parts, so that threads can share it and Ctrl-C is heard in between."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

Array = npt.NDArray[Any]


def parts_of(items: Array, size: int) -> list[Array]:
    """Split an array into parts of at most this size."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def share(call: Callable[[Array], Any], parts: Sequence[Array], n_jobs: int) -> list[Any]:
    """Return the results of a function for all parts, computed by ``n_jobs`` threads."""
    if n_jobs == 1 or len(parts) <= 1:
        return [call(part) for part in parts]
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(call)(part) for part in parts))


def concatenated(found: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Concatenate the arrays of all parts: first with first, second with second, and so on."""
    return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))
