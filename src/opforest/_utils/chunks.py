"""Work in parts, so that threads can share it and Ctrl-C is heard in between."""

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
    """Split an array into parts of at most this size."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def map_chunks(call: Callable[[Array], Any], parts: Sequence[Array], n_jobs: int) -> list[Any]:
    """Return what a function returns for each part, called by this many threads.

    They are threads whatever backend ``joblib.parallel_config`` names: functions may fill arrays.
    """
    return run_parallel(*(partial(call, part) for part in parts), n_jobs=n_jobs)


def run_parallel(*calls: Callable[[], Any], n_jobs: int = 2) -> list[Any]:
    """Return what functions return that are called by this thread and by others that help it.

    Without memory a thread may not start, or die before it runs any code of ours; whoever waits for
    it, as ``threading.Thread.start`` does, waits forever. So this thread waits only for those that
    have begun, and does all that is left itself. It returns or raises when all of them have ended;
    of several errors, it raises that of the first function.
    """
    if n_jobs == 1 or len(calls) <= 1:
        return [call() for call in calls]
    work = _Work(calls)
    helpers = min(n_jobs, len(calls)) - 1
    ended = [allocate_lock() for _ in range(helpers)]
    begun = [False] * helpers
    try:
        with suppress(RuntimeError, MemoryError):  # those that have started will do
            for k in range(helpers):
                ended[k].acquire()
                start_new_thread(work.help, (begun, ended, k))
        work.do()
        work.stop(begun, ended)
    except BaseException:  # Ctrl-C, which may have come while it waited for them
        work.stop(begun, ended)
        raise
    return work.results()


class _Work:
    """Functions to call, and what came of it; nothing is allocated where an error is noted."""

    def __init__(self, calls: Sequence[Callable[[], Any]]) -> None:
        self.calls, self.left = calls, deque(range(len(calls)))
        self.found: list[Any] = [None] * len(calls)
        self.failed: list[BaseException | None] = [None] * len(calls)

    def do(self) -> None:
        """Call what nobody has called, one after another, until nothing is left or one fails."""
        while self.left:
            try:
                place = self.left.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                self.found[place] = self.calls[place]()
            except BaseException as error:
                self.failed[place] = error
                self.left.clear()

    def help(self, begun: list[bool], ended: list[Any], k: int) -> None:
        """Do the same in another thread, which says that it has begun before it takes anything."""
        begun[k] = True
        try:
            self.do()
        finally:
            ended[k].release()

    def stop(self, begun: list[bool], ended: list[Any]) -> None:
        """Leave nothing for those to do that begin later, and wait for the others."""
        self.left.clear()
        for has_begun, lock in zip(begun, ended, strict=True):
            if has_begun:
                with lock:
                    pass

    def results(self) -> list[Any]:
        """Return what was found, or raise the first error."""
        for error in self.failed:
            if error is not None:
                raise error
        return self.found


def concatenate_results(found: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Concatenate the arrays of all parts: first with first, second with second, and so on."""
    return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))
