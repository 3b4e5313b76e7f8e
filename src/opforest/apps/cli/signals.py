"""Signals that end a stream after the current examples."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

CAUGHT = (signal.SIGINT, signal.SIGTERM)

#: Seconds until a signal that was not handled is sent again.
PAUSE = 0.05


class StopRequest:
    """Whether a signal has asked a stream to end."""

    def __init__(self) -> None:
        self.is_set = False
        self._is_waiting = False

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Handle a signal, which also ends a wait for data."""
        self.is_set = True
        if self._is_waiting:
            raise KeyboardInterrupt

    def wait_for(self, chunks: Iterator[Any]) -> Any:
        """Return the next chunk; None at the end, or after a signal."""
        try:
            self._is_waiting = True
            return None if self.is_set else next(chunks, None)
        except KeyboardInterrupt:
            return None
        finally:
            self._is_waiting = False


@contextmanager
def catch_signals() -> Iterator[StopRequest]:
    """Let SIGINT and SIGTERM set a ``StopRequest`` instead of ending the process."""
    stop = StopRequest()
    before = [signal.signal(number, stop.handle) for number in CAUGHT]
    try:
        with _repeat_signals(stop):
            yield stop
    finally:
        for number, handler in zip(CAUGHT, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _repeat_signals(stop: StopRequest) -> Iterator[None]:
    """Send a signal again until the main thread has handled it.

    Python handles a signal when its own code continues. A wait for data is ended by a signal that
    arrives during the wait, but not by one that came just before it, or that another thread
    received. So a thread of ours repeats it.
    """
    if not hasattr(signal, "pthread_kill"):  # Windows
        yield
        return
    receive, send = os.pipe()
    os.set_blocking(send, False)
    main = threading.get_ident()

    def repeat() -> None:
        while number := os.read(receive, 1):
            while number[0] in CAUGHT and not stop.is_set:
                time.sleep(PAUSE)
                if not stop.is_set:
                    signal.pthread_kill(main, number[0])

    thread = threading.Thread(target=repeat, daemon=True)
    before = signal.set_wakeup_fd(send, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(send)
        thread.join()
        os.close(receive)
