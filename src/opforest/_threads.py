"""Work in parts, so that threads can share it and Ctrl-C is heard in between."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def parts_of(items: Array, size: int) -> list[Array]:
    """Split an array into parts of at most this size."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def share(call: Callable[[Array], Any], parts: Sequence[Array], n_jobs: int) -> list[Any]:
    """Return what a function returns for each part, called by this many threads.

    They are threads whatever backend ``joblib.parallel_config`` names: functions may fill arrays.
    """
    if n_jobs == 1 or len(parts) <= 1:
        return [call(part) for part in parts]
    with ThreadPoolExecutor(min(n_jobs, len(parts))) as pool:
        return list(pool.map(call, parts))


def concatenated(found: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Concatenate the arrays of all parts: first with first, second with second, and so on."""
    return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))
