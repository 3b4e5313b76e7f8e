"""Decorators that compile functions with Numba; all Numba options are set here.

A ``helper`` is called from compiled code, a ``kernel`` from Python. Kernels are cached on disk
where possible. Set ``OPFOREST_CACHE=0`` while editing the functions they call, because Numba only
notices changes to the file that defines the kernel.
"""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numba
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.extending import intrinsic, register_jitable
from numba.extending import overload as numba_overload

from opforest._utils import tuning
from opforest._utils.interrupts import defer_interrupts


class _Part(JITCodeLibrary):
    """The code of a helper, to be linked into kernels.

    Numba turns every function into optimized machine code, and again as a part of every function
    that calls it. Helpers are never called from Python, so only kernels need machine code. That
    halves the time of compilation.
    """

    @property
    def codegen(self) -> Any:
        """Return the object that Numba notifies instead of its code generator."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: there is no machine code."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: a helper has no address."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _optimize_final_module(self) -> None:
        """Do nothing: kernels are optimized instead."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


class _PartCompiler(CompilerBase):
    """Compiles helpers."""

    def define_pipelines(self) -> list[Any]:
        """Return Numba's own pipeline, for a library of ours."""
        state = self.state
        build: Any = DefaultPassBuilder
        name = state.func_id.func_qualname
        state.library = _Part(state.targetctx.codegen(), name)  # type: ignore[no-untyped-call]
        return [build.define_nopython_pipeline(state)]


class _Flags(Flags):
    """Flags of a compilation that compare fast, and equal if only wrappers differ.

    Numba looks up every function that compiled code calls by the flags, among others. To hash and
    to compare them, it builds dictionaries of all options, which takes 7 % of a compilation. Flags
    of kernels and helpers differ in the wrappers for calls from Python only, so Numba would compile
    what both call, such as ``np.empty``, for each of them.
    """

    __slots__ = ()
    _hash = hash(Flags())
    _wrappers = frozenset(("release_gil", "no_cpython_wrapper", "no_cfunc_wrapper"))

    def __hash__(self) -> int:
        """Return the hash of all flags, which do not differ in the names of options."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare the options that are set and matter to the functions called."""
        if not isinstance(other, Flags):
            return False
        return self._values == other._values or _Flags._called(self) == _Flags._called(other)

    @staticmethod
    def _called(flags: Flags) -> dict[str, object]:
        """Return the options that matter to the functions called and differ from the defaults."""
        return {
            name: value
            for name, value in flags._values.items()
            if name not in _Flags._wrappers and value != flags.options[name].default
        }


class _Watcher(event.Listener):
    """Watches our compilations.

    It pauses the garbage collector, which would take a tenth of the time, and prints a message,
    once, if they take long.
    """

    def __init__(self) -> None:
        self.depth, self.began, self.spent = 0, 0.0, 0.0
        self.timer: threading.Timer | None = None
        self.has_spoken = self.has_paused = False

    def on_start(self, found: Any) -> None:
        """Pause the garbage collector and start a timer for the message."""
        if not _is_ours(found):
            return
        self.depth += 1
        if self.depth > 1:
            return
        self.has_paused = gc.isenabled()
        gc.disable()
        self.began = time.perf_counter()
        if not self.has_spoken:
            patience = max(0.0, tuning.values.compile_patience - self.spent)
            self.timer = threading.Timer(patience, self.speak)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, found: Any) -> None:
        """Undo that after the last compilation."""
        if not _is_ours(found):
            return
        self.depth -= 1
        if self.depth > 0:
            return
        if self.has_paused:
            gc.enable()
        if self.timer is not None:
            self.timer.cancel()
        self.spent += time.perf_counter() - self.began

    def speak(self) -> None:
        """Print the message to a terminal or a notebook."""
        self.has_spoken = True
        if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            hint = "run 'opforest compile' to do it in advance" if CACHE else "no writable cache"
            print(f"opforest: compiling kernels for a few seconds, once ({hint}).", file=sys.stderr)


def _is_ours(found: Any) -> bool:
    return str(found.data["dispatcher"].py_func.__module__).startswith("opforest.")


event.register("numba:compile", _Watcher())  # type: ignore[no-untyped-call]

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
FOR_HELPERS: dict[str, Any] = {
    **OPTIONS,
    "no_cpython_wrapper": True,
    "pipeline_class": _PartCompiler,
}


def _probe() -> None:
    """Do nothing: ``_can_cache`` asks Numba whether it could cache this function."""


def _can_cache() -> bool:
    if os.environ.get("OPFOREST_CACHE", "1") == "0":
        return False
    try:
        FunctionCache(_probe)  # type: ignore[no-untyped-call]
    except (RuntimeError, OSError):  # without a writable directory, each process compiles again
        return False
    return True


CACHE = _can_cache()


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function for kernels and helpers to call.

    A call from Python would crash, because there is no wrapper.
    """
    compiled: Any = _compare_flags_fast(numba.njit(**FOR_HELPERS)(function))
    find, any_value = compiled.get_call_template, cast(Any, types.unliteral)

    def find_for_any_value(args: Any, kwargs: Any) -> Any:  # not once more for a literal 0
        return find([any_value(kind) for kind in args], kwargs)

    compiled.get_call_template = find_for_any_value
    return compiled


#: For functions called both from compiled code, where they are compiled, and from Python.
anywhere = register_jitable(**FOR_HELPERS)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for Python to call."""
    compiled = _compare_flags_fast(numba.njit(cache=CACHE, **OPTIONS)(function))
    return _defer_interrupts(_drop_old_cache(compiled))


def _drop_old_cache(compiled: Any) -> Any:
    """Compile again if the cache was written by a version that had types in other modules.

    Numba reads the types of arguments before it notices that the source has changed.
    """
    load = compiled._cache.load_overload

    def load_overload(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except (ImportError, AttributeError):
            compiled._cache.flush()
            return None

    compiled._cache.load_overload = load_overload
    return compiled


def _defer_interrupts(compiled: Any) -> Any:
    """Defer Ctrl-C until a function is compiled or loaded.

    An interrupt would leave Numba's registries half filled, and later calls would fail.
    """
    compiled._compile_for_args = defer_interrupts(compiled._compile_for_args)
    return compiled


def _compare_flags_fast(compiled: Any) -> Any:
    """Compile a function with ``_Flags``."""
    compiled._compiler._customize_flags = _Flags
    return compiled


def overload(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call the function that the decorated one returns for the argument types."""
    options: Any = FOR_HELPERS
    decorate: Callable[..., Any] = numba_overload(function, jit_options=options)
    return decorate


@cache
def _uncached(compiled: Any) -> Callable[..., Any]:
    again = _compare_flags_fast(numba.njit(**OPTIONS)(compiled.py_func))
    function: Callable[..., Any] = _defer_interrupts(again)
    return function


def is_jitted(function: object) -> bool:
    """Return whether ``function`` was compiled by ``numba.njit``."""
    return isinstance(function, Dispatcher)


def specialize(compiled: Callable[..., Any], metric: object) -> Callable[..., Any]:
    """Return the version of a kernel to call with ``metric``.

    A user's jitted function has another type in every process. Kernels called with one would fill
    the disk cache with entries that are never found again, so they are not cached.
    """
    return _uncached(compiled) if is_jitted(metric) else compiled


@intrinsic
def borrow(typing_context, arrays):  # type: ignore[no-untyped-def]
    """Return a tuple of arrays without reference counting; the caller keeps them alive.

    Every function that receives an array increments and decrements its reference count, with
    atomic instructions. In functions as small as ours, that takes longer than the work itself. A
    function with a hot loop borrows its arguments again, because even the calls that find nothing
    to count take time.
    """
    if any(isinstance(kind, types.BaseTuple) for kind in arrays.types):
        raise TypingError("borrow one tuple at a time; the arrays of inner tuples would be freed")

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
