"""One thread for matrix products: we split the work ourselves."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_limited = Lock()


@cache
def _libraries() -> Any:
    """Return the BLAS libraries in this process; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, unless another caller does, and give the user's setting back.

    The setting is one for all threads of the process. If each caller gave back what it had found,
    one that came second and left last would give back the 1 of the first, for ever.
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        _limited.release()
