"""Limit matrix products to one thread: we split the work ourselves."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_limited = Lock()


@cache
def _blas_libraries() -> Any:  # finding them takes milliseconds
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, unless another caller has done so, and restore the user's setting.

    The setting is global. If each caller restored the value it found, one that starts second and
    ends last would restore the first caller's limit of 1, forever.
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _blas_libraries().limit(limits=1):
            yield
    finally:
        _limited.release()
