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
    """Limit BLAS to one thread, unless another caller does, and restore the user's setting.

    The setting is shared by all threads of the process. If each caller restored what it had found,
    one that came second and left last would restore the first one's limit of 1, for good.
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        _limited.release()
