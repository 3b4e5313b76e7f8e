"""Delay Ctrl-C while a function runs that must not be interrupted."""

import signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def defer_interrupts(function: Callable[P, R]) -> Callable[P, R]:
    """Delay Ctrl-C until a function has returned.

    Compiled libraries may ignore an interrupt, report it as an error in the data, or stop half
    way. Do not decorate functions that take long.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            return function(*args, **kwargs)
        pending: list[tuple[int, Any]] = []
        try:
            try:
                signal.signal(signal.SIGINT, lambda *received: pending.append(received))
                return function(*args, **kwargs)
            finally:
                signal.signal(signal.SIGINT, before)
        finally:
            signal.signal(signal.SIGINT, before)  # again, in case the first attempt was interrupted
            if pending:
                before(*pending[0])

    return call
