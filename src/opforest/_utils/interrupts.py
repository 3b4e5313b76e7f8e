"""Delaying Ctrl-C while something runs that must not be interrupted."""

import signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def defer_interrupts(function: Callable[P, R]) -> Callable[P, R]:
    """Delay Ctrl-C until a function has returned.

    Libraries that are not written in Python may swallow an interrupt, mistake it for an error in
    the data, or stop half way. Functions that take long should not be decorated.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            return function(*args, **kwargs)
        heard: list[tuple[int, Any]] = []
        try:
            try:
                signal.signal(signal.SIGINT, lambda *signal_: heard.append(signal_))
                return function(*args, **kwargs)
            finally:
                signal.signal(signal.SIGINT, before)
        finally:
            signal.signal(signal.SIGINT, before)  # again, in case the first attempt was interrupted
            if heard:
                before(*heard[0])

    return call
