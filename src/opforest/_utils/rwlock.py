"""A lock that is held by many readers, or by one writer.

A holder may be interrupted at any moment, by Ctrl-C for instance, and the lock must not stay
locked then. So a holder is an object whose ``__exit__`` is written in C, which an interrupt cannot
precede, and the lock has only a weak reference to it. It holds the lock until its ``with`` block
ends, or until it is deleted because that end was never reached. No frame has a name for it, so a
traceback that somebody keeps does not keep it alive.

A forked process has one thread, the one that forked, and all objects as they were at that moment.
There, holders of other threads are alive forever, so they are removed from all locks. What another
thread was changing may be half changed, and stays so: the lock refuses to be taken.
"""

import os
import threading
import time
import weakref
from typing import NoReturn

#: Seconds between two checks whether the lock is free: at first, and later on.
PAUSE, LONG_PAUSE = 2e-5, 1e-3

#: Any object that can be entered and exited, and asked whether it was: see ``_is_held``.
LockToken = memoryview


class _Name(weakref.ref[LockToken]):
    """A weak reference to a holder, compared by identity."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


#: Those who hold a lock or wait for it, in order of arrival, with their threads.
Holders = dict[_Name, int]


def _is_held(name: _Name) -> bool:
    """Tell whether a holder is alive and inside its ``with`` block."""
    if name() is None:  # the usual case, and faster than an exception
        return False
    try:
        return name().nbytes >= 0  # type: ignore[union-attr]
    except (AttributeError, ValueError):  # it has been deleted or released
        return False


def _first(holders: Holders) -> _Name | None:
    """Return the first that holds a lock, and remove those that no longer do."""
    for name in tuple(holders):
        if _is_held(name):
            return name
        holders.pop(name, None)
    return None


def _has(holders: Holders, thread: int) -> bool:
    """Tell whether this thread holds a lock, and remove holders that no longer do."""
    found = False
    for name, other in tuple(holders.items()):
        if not _is_held(name):
            holders.pop(name, None)
        elif other == thread:
            found = True
    return found


def _wait(pause: float) -> float:
    """Wait, and return how long to wait the next time: a little longer."""
    time.sleep(pause)
    return min(1.5 * pause, LONG_PAUSE)


#: All locks of this process.
_locks: "weakref.WeakSet[ReadWriteLock]" = weakref.WeakSet()


class ReadWriteLock:
    """Lets any number of threads read, or one thread change what they read.

    The lock is re-entrant: a reader may read again, and a writer may read and change. A reader must
    not change anything.

    In a forked process, holders of threads that it does not have do not count. If one of them was a
    writer at work, a ``RuntimeError`` is raised there instead of taking the lock.

    Examples
    --------
    >>> from opforest._utils.rwlock import ReadWriteLock
    >>> lock = ReadWriteLock()
    >>> with lock.read():
    ...     print("nobody changes anything")
    nobody changes anything
    """

    def __init__(self) -> None:
        self.waiting: Holders = {}  # readers that wait for a writer
        self.readers: Holders = {}
        self.writers: Holders = {}  # the first one is at work, or waits for readers
        self._at_work: _Name | None = None  # the last writer that stopped waiting
        self._is_broken = False
        _locks.add(self)

    def __reduce__(self) -> tuple[type["ReadWriteLock"], tuple[()]]:
        """Copy to a new lock, which nobody holds."""
        return type(self), ()

    def read(self) -> LockToken:
        """Return a context in which nothing changes."""
        if self._is_broken:
            self._refuse()
        thread = threading.get_ident()
        if _has(self.readers, thread) or (self.writers and _has(self.writers, thread)):
            return memoryview(b"")
        nameless = [memoryview(b"")]
        try:
            name = _Name(nameless[0])
            self.readers[name] = thread
            if self.writers:
                self._step_back(name, thread)
            return nameless.pop()
        except BaseException:
            nameless.clear()
            raise

    def _step_back(self, name: _Name, thread: int) -> None:
        """Wait while a writer is at work, or waits for earlier readers."""
        pause = PAUSE
        while _first(self.writers):
            self.waiting[name] = thread
            self.readers.pop(name, None)
            pause = _wait(pause)
            self.readers[name] = thread
        self.waiting.pop(name, None)

    def write(self) -> LockToken:
        """Return a context without readers and other writers; earlier readers go first."""
        if self._is_broken:
            self._refuse()
        thread = threading.get_ident()
        if self.writers and _has(self.writers, thread):
            return memoryview(b"")
        nameless = [memoryview(b"")]
        try:
            if self.waiting:
                self._let_pass()
            name = _Name(nameless[0])
            self.writers[name] = thread
            if len(self.writers) > 1 or self.readers:
                pause = PAUSE
                while _first(self.writers) is not name or _first(self.readers):
                    pause = _wait(pause)
            self._at_work = name
            return nameless.pop()
        except BaseException:
            nameless.clear()
            raise

    def _let_pass(self) -> None:
        """Wait for the readers that are waiting now, but for none that come later."""
        pause, before = PAUSE, tuple(self.waiting)
        while any(name in self.waiting and _is_held(name) for name in before):
            pause = _wait(pause)
        _has(self.waiting, 0)  # remove those that were interrupted

    def _forget_other_threads(self) -> None:
        """Remove what the threads held that a forked process does not have."""
        thread, writer = threading.get_ident(), self._at_work
        if writer is not None and _is_held(writer) and self.writers.get(writer) != thread:
            self._is_broken = True
        for holders in (self.waiting, self.readers, self.writers):
            for name in [name for name, other in holders.items() if other != thread]:
                del holders[name]

    def _refuse(self) -> NoReturn:
        raise RuntimeError(
            "another thread was changing this model when the process was forked, so it may be half "
            "changed in this child. Fork while no thread learns or forgets, start processes by "
            "'spawn', or pass the child a copy made before (copy.deepcopy, opforest.save)."
        )


def _after_fork() -> None:
    for lock in tuple(_locks):
        lock._forget_other_threads()


if hasattr(os, "register_at_fork"):  # nothing forks on Windows
    os.register_at_fork(after_in_child=_after_fork)
