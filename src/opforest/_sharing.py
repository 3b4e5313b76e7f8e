"""A lock that many readers share, or one writer has alone.

Whoever holds it may be interrupted at any moment, by Ctrl-C for instance, and a lock that stayed
locked then would be worse than none. So it consists of dictionaries, each operation on which is
done or not done. Holders are known by weak references: whoever has died holds nothing, even if it
was interrupted where it should have left.
"""

import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

#: Seconds between two looks at whether others have left: at first, and later on.
PAUSE, LONG_PAUSE = 2e-5, 1e-3

#: Who holds a lock, or waits for it, in the order in which they came, and their threads.
Holders = dict["weakref.ref[Any]", int]


def _pauses() -> Iterator[None]:
    """Wait a little, and a little longer each time."""
    pause = PAUSE
    while True:
        time.sleep(pause)
        pause = min(1.5 * pause, LONG_PAUSE)
        yield


def _first(holders: Holders) -> "weakref.ref[Any] | None":
    """Return the first holder that is alive."""
    for holder in tuple(holders):
        if holder() is not None:
            return holder
        holders.pop(holder, None)
    return None


def _has(holders: Holders, thread: int) -> bool:
    """Tell whether a holder that is alive is in this thread."""
    return any(other == thread and holder() is not None for holder, other in tuple(holders.items()))


class _Reading:
    """Keeps changes away as long as it is entered."""

    __slots__ = ("__weakref__", "lock", "name")

    def __init__(self, lock: "SharedLock") -> None:
        self.lock = lock
        self.name = weakref.ref(self)

    def __enter__(self) -> None:
        lock, thread = self.lock, threading.get_ident()
        if (lock.readers or lock.writers) and (
            _has(lock.writers, thread) or _has(lock.readers, thread)
        ):
            return
        try:
            lock.readers[self.name] = thread
            if lock.writers:
                self._wait(thread)
        except BaseException:
            self.__exit__()
            raise

    def _wait(self, thread: int) -> None:
        """Step back while a writer is at work, or waits for those in front of us."""
        lock, pauses = self.lock, _pauses()
        while _first(lock.writers):
            lock.waiting[self.name] = thread
            lock.readers.pop(self.name, None)
            next(pauses)
            lock.readers[self.name] = thread
        lock.waiting.pop(self.name, None)

    def __exit__(self, *_: object) -> None:
        try:
            self.lock.readers.pop(self.name, None)
        finally:  # both, and the first one again if it was interrupted
            self.lock.waiting.pop(self.name, None)
            self.lock.readers.pop(self.name, None)


class _Changing:
    """Keeps readers and other changes away as long as it is entered."""

    __slots__ = ("__weakref__", "lock", "name")

    def __init__(self, lock: "SharedLock") -> None:
        self.lock = lock
        self.name = weakref.ref(self)

    def __enter__(self) -> None:
        lock, thread = self.lock, threading.get_ident()
        if lock.writers and _has(lock.writers, thread):
            return
        try:
            if lock.waiting:
                self._let_pass()
            lock.writers[self.name] = thread
            if len(lock.writers) > 1 or lock.readers:
                pauses = _pauses()
                while _first(lock.writers) is not self.name or _first(lock.readers):
                    next(pauses)
        except BaseException:
            self.__exit__()
            raise

    def _let_pass(self) -> None:
        """Wait for those who are waiting now, and for none who come later."""
        waiting, pauses = self.lock.waiting, _pauses()
        before = tuple(waiting)
        while any(reader in waiting and reader() is not None for reader in before):
            next(pauses)

    def __exit__(self, *_: object) -> None:
        try:
            self.lock.writers.pop(self.name, None)
        finally:
            self.lock.writers.pop(self.name, None)


class SharedLock:
    """Lets any number of threads read, or one thread change what they read.

    A thread that reads may read again, and one that changes may read and change: inner calls do
    nothing. One that reads must not change.
    """

    def __init__(self) -> None:
        self.waiting: Holders = {}  # those who would read
        self.readers: Holders = {}
        self.writers: Holders = {}  # the first of which is at work

    def __reduce__(self) -> tuple[type["SharedLock"], tuple[()]]:
        """Copy to a new lock, which nobody holds."""
        return type(self), ()

    def reading(self) -> _Reading:
        """Keep changes away."""
        return _Reading(self)

    def changing(self) -> _Changing:
        """Keep readers and other changes away; readers who came before go first."""
        return _Changing(self)
