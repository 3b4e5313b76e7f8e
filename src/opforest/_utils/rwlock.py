"""A lock that is held by many readers, or by one writer.

Kernels run without the GIL, so a prediction in one thread could see a forest that another thread is
changing. Predictions must not wait for each other, and the standard library has no read-write lock.
Its ``Lock`` also stays locked forever if Ctrl-C arrives between ``acquire`` and ``try``. Here, the
lock has only a weak reference to a token that its holder owns: when the ``with`` block ends, or the
token is deleted because an interrupt prevented that, the lock is free.

The token's ``__exit__`` is written in C, so no interrupt can precede it. No frame has a variable
for the token, so a traceback that is kept does not keep the token alive.

A forked process has only the thread that forked, and a copy of all objects. Tokens of other threads
would live forever there, so they are removed from all locks. A model that another thread was
changing may be inconsistent, so its lock raises an error in the child.
"""

import os
import threading
import time
import weakref

#: Seconds between two checks whether the lock is free: at first, and later on.
PAUSE, LONG_PAUSE = 2e-5, 1e-3

#: Any object with an ``__exit__`` in C that shows whether it was called: see ``_is_held``.
LockToken = memoryview


class _TokenRef(weakref.ref[LockToken]):
    """A weak reference to a token, compared by identity."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


#: Tokens that hold a lock or wait for it, in order of arrival, with their threads.
Holders = dict[_TokenRef, int]


def _is_held(ref: _TokenRef) -> bool:
    """Return whether a token is alive and inside its ``with`` block."""
    if ref() is None:  # the usual case, and faster than an exception
        return False
    try:
        return ref().nbytes >= 0  # type: ignore[union-attr]
    except (AttributeError, ValueError):  # deleted or released
        return False


def _first(holders: Holders) -> _TokenRef | None:
    """Return the first token that is held, and remove those before it."""
    for ref in tuple(holders):
        if _is_held(ref):
            return ref
        holders.pop(ref, None)
    return None


def _is_holding(thread: int, holders: Holders) -> bool:
    """Return whether a thread holds a token, and remove tokens that are not held."""
    found = False
    for ref, other in tuple(holders.items()):
        if not _is_held(ref):
            holders.pop(ref, None)
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
    """Let any number of threads read, or one thread change what they read.

    The lock is re-entrant: a reader may read again, and a writer may read and write. A reader must
    not write.

    In a forked process, tokens of other threads do not count. If one of them was writing, ``read``
    and ``write`` raise a ``RuntimeError`` there.

    Examples
    --------
    >>> from opforest._utils.rwlock import ReadWriteLock
    >>> lock = ReadWriteLock()
    >>> with lock.read():
    ...     print("no thread writes")
    no thread writes
    """

    def __init__(self) -> None:
        self.waiting: Holders = {}  # readers that wait for a writer
        self.readers: Holders = {}
        self.writers: Holders = {}  # the first one writes, or waits for readers
        self._active_writer: _TokenRef | None = None  # the last writer that stopped waiting
        self._is_broken = False
        _locks.add(self)

    def __reduce__(self) -> tuple[type["ReadWriteLock"], tuple[()]]:
        """Copy to a new lock that is free."""
        return type(self), ()

    def read(self) -> LockToken:
        """Return a context in which no other thread writes."""
        self._check_fork()
        thread = threading.get_ident()
        if _is_holding(thread, self.readers) or (
            self.writers and _is_holding(thread, self.writers)
        ):
            return memoryview(b"")
        box = [memoryview(b"")]  # the only strong reference, which an error clears
        try:
            ref = _TokenRef(box[0])
            self.readers[ref] = thread
            if self.writers:
                self._wait_for_writers(ref, thread)
            return box.pop()
        except BaseException:
            box.clear()
            raise

    def write(self) -> LockToken:
        """Return a context in which no other thread reads or writes; earlier readers go first."""
        self._check_fork()
        thread = threading.get_ident()
        if self.writers and _is_holding(thread, self.writers):
            return memoryview(b"")
        box = [memoryview(b"")]
        try:
            if self.waiting:
                self._wait_for_waiting_readers()
            ref = _TokenRef(box[0])
            self.writers[ref] = thread
            if len(self.writers) > 1 or self.readers:
                pause = PAUSE
                while _first(self.writers) is not ref or _first(self.readers):
                    pause = _wait(pause)
            self._active_writer = ref
            return box.pop()
        except BaseException:
            box.clear()
            raise

    def _wait_for_writers(self, ref: _TokenRef, thread: int) -> None:
        pause = PAUSE
        while _first(self.writers):
            self.waiting[ref] = thread
            self.readers.pop(ref, None)
            pause = _wait(pause)
            self.readers[ref] = thread
        self.waiting.pop(ref, None)

    def _wait_for_waiting_readers(self) -> None:
        """Wait for the readers that are waiting now, but not for any that come later."""
        pause, before = PAUSE, tuple(self.waiting)
        while any(ref in self.waiting and _is_held(ref) for ref in before):
            pause = _wait(pause)
        _is_holding(0, self.waiting)  # remove those that were interrupted

    def _remove_other_threads(self) -> None:
        """Remove tokens of threads that a forked process does not have."""
        thread, writer = threading.get_ident(), self._active_writer
        if writer is not None and _is_held(writer) and self.writers.get(writer) != thread:
            self._is_broken = True
        for holders in (self.waiting, self.readers, self.writers):
            for ref in [ref for ref, other in holders.items() if other != thread]:
                del holders[ref]

    def _check_fork(self) -> None:
        if self._is_broken:
            raise RuntimeError(
                "another thread was changing this model when the process was forked, so the model "
                "may be inconsistent in this child. Fork while no thread learns or forgets, start "
                "processes by 'spawn', or pass the child a copy made before (copy.deepcopy, "
                "opforest.save)."
            )


def _after_fork() -> None:
    for lock in tuple(_locks):
        lock._remove_other_threads()


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_after_fork)
