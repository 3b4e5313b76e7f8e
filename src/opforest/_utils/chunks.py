"""Split work into chunks, so that threads can work in parallel and Ctrl-C is handled in between."""

from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def split_chunks(items: Array, size: int) -> list[Array]:
    """Split an array into chunks of at most this size."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def map_chunks(call: Callable[[Array], Any], chunks: Sequence[Array], n_jobs: int) -> list[Any]:
    """Return the results of a function for all chunks, called from ``n_jobs`` threads.

    It uses threads whatever backend ``joblib.parallel_config`` sets: functions may fill arrays.
    """
    return run_parallel(*(partial(call, chunk) for chunk in chunks), n_jobs=n_jobs)


def run_parallel(*calls: Callable[[], Any], n_jobs: int = 2) -> list[Any]:
    """Call functions from this thread and ``n_jobs - 1`` helpers, and return their results.

    When memory is short, a thread may fail to start, or die before it runs any Python code, and
    waiting for it (as ``threading.Thread.start`` does) never ends. So this thread waits only for
    helpers that have begun, and does the remaining work itself. It returns or raises when all of
    them have ended; of several errors, it raises that of the first function.
    """
    if n_jobs == 1 or len(calls) <= 1:
        return [call() for call in calls]
    queue = _WorkQueue(calls, min(n_jobs, len(calls)) - 1)
    try:
        with suppress(RuntimeError, MemoryError):  # the helpers that did start are enough
            queue.start_helpers()
        queue.work()
        queue.stop()
    except BaseException:  # Ctrl-C, perhaps while waiting for helpers
        queue.stop()
        raise
    for error in queue.errors:
        if error is not None:
            raise error
    return queue.results


class _WorkQueue:
    """Calls, results and errors. Recording an error allocates nothing: memory may be short."""

    def __init__(self, calls: Sequence[Callable[[], Any]], n_helpers: int) -> None:
        self.calls, self.pending = calls, deque(range(len(calls)))
        self.results: list[Any] = [None] * len(calls)
        self.errors: list[BaseException | None] = [None] * len(calls)
        self.has_begun = [False] * n_helpers
        self.running = [allocate_lock() for _ in range(n_helpers)]  # released at the end

    def start_helpers(self) -> None:
        for k, lock in enumerate(self.running):
            lock.acquire()
            start_new_thread(self._help, (k,))

    def work(self) -> None:
        """Make pending calls until none is left or one fails."""
        while self.pending:
            try:
                place = self.pending.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                self.results[place] = self.calls[place]()
            except BaseException as error:
                self.errors[place] = error
                self.pending.clear()

    def _help(self, k: int) -> None:
        self.has_begun[k] = True  # before it takes a call
        try:
            self.work()
        finally:
            self.running[k].release()

    def stop(self) -> None:
        """Discard pending calls, and wait for the helpers that have begun."""
        self.pending.clear()
        for has_begun, lock in zip(self.has_begun, self.running, strict=True):
            if has_begun:
                with lock:
                    pass


def concatenate_results(results: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Concatenate the arrays of all results: first with first, second with second, and so on."""
    return tuple(np.concatenate(arrays) for arrays in zip(*results, strict=True))
