"""The only place with Numba options.

A ``helper`` is called from compiled code, a ``kernel`` from Python. Kernels are cached
on disk where that is possible; set ``OPFOREST_CACHE=0`` while editing the code they call, because
Numba only notices edits of the file a kernel itself stands in.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
FOR_HELPERS: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}


def _probe() -> None:
    """Stand in for any kernel when asking whether a cache directory is writable."""


def _can_cache() -> bool:
    if os.environ.get("OPFOREST_CACHE", "1") == "0":
        return False
    try:
        FunctionCache(_probe)  # type: ignore[no-untyped-call]
    except (RuntimeError, OSError):  # no writable directory: compile anew in each process
        return False
    return True


CACHE = _can_cache()

#: Called from helpers and kernels only: compiled without what Python would call, in less
#: time, so that to call one from Python is a crash. A test looks for such calls.
helper = numba.njit(**FOR_HELPERS)

#: Called from Python.
kernel = numba.njit(cache=CACHE, **OPTIONS)


@cache
def _uncached(compiled: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = numba.njit(**OPTIONS)(compiled.py_func)
    return function


def is_jitted(function: object) -> bool:
    """Tell whether ``function`` came out of ``numba.njit``."""
    return isinstance(function, Dispatcher)


def specialise(compiled: Callable[..., Any], metric: object) -> Callable[..., Any]:
    """Return ``compiled`` as it must be called with ``metric``.

    A user's jitted function is a type of its own in every process, so kernels called with one
    would fill the disk cache with entries that are never found again.
    """
    return _uncached(compiled) if is_jitted(metric) else compiled


@intrinsic
def borrow(typing_context, arrays):  # type: ignore[no-untyped-def]
    """Return a tuple of arrays whose owner compiled code need not count references to.

    Every function that is handed an array counts one up and one down, with atomic instructions;
    in functions as small as ours that takes longer than their work. The caller of a kernel keeps
    the arrays alive anyway.
    """

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        borrowed = values[0]
        for i, kind in enumerate(arrays.types):
            if isinstance(kind, types.Array):
                array = context.make_array(kind)(
                    context, builder, value=builder.extract_value(borrowed, i)
                )
                array.meminfo = array.meminfo.type(None)
                array.parent = array.parent.type(None)
                borrowed = builder.insert_value(borrowed, array._getvalue(), i)
        return borrowed

    return arrays(arrays), generate
