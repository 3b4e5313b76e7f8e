"""A lock that many readers share, or one writer has alone.

Whoever holds it may be interrupted at any moment, by Ctrl-C for instance, and a lock that stayed
locked then would be worse than none. So a holder is an object whose ``__exit__`` is not written in
Python, where an interrupt could come first, and which the lock knows by a weak reference: it holds
the lock until it is left, or until it dies because nobody reached the end of its ``with``. No frame
has a name for it, so that a traceback that somebody keeps does not keep it alive.
"""

import threading
import time
import weakref

#: Seconds between two looks at whether others have left: at first, and later on.
PAUSE, LONG_PAUSE = 2e-5, 1e-3

#: Any object will do that can be entered, left, and asked whether it was left: see ``_is_held``.
Holder = memoryview


class _Name(weakref.ref[Holder]):
    """A weak reference to a holder that is equal to itself alone."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


#: Who holds a lock, or waits for it, in the order in which they came, and their threads.
Holders = dict[_Name, int]


def _is_held(name: _Name) -> bool:
    """Tell whether a holder is alive and has not been left."""
    if name() is None:  # as a rule, and faster than an error
        return False
    try:
        return name().nbytes >= 0  # type: ignore[union-attr]
    except (AttributeError, ValueError):  # it has died, or it has been released
        return False


def _first(holders: Holders) -> _Name | None:
    """Return the first who holds a lock, and let go those who do not any more."""
    for name in tuple(holders):
        if _is_held(name):
            return name
        holders.pop(name, None)
    return None


def _has(holders: Holders, thread: int) -> bool:
    """Tell whether this thread holds a lock, and let go those who do not any more."""
    found = False
    for name, other in tuple(holders.items()):
        if not _is_held(name):
            holders.pop(name, None)
        elif other == thread:
            found = True
    return found


def _wait(pause: float) -> float:
    """Wait a little, and return how long to wait the next time: a little longer."""
    time.sleep(pause)
    return min(1.5 * pause, LONG_PAUSE)


class SharedLock:
    """Lets any number of threads read, or one thread change what they read.

    A thread that reads may read again, and one that changes may read and change: inner calls do
    nothing. One that reads must not change.

    Examples
    --------
    >>> from opforest._sharing import SharedLock
    >>> lock = SharedLock()
    >>> with lock.reading():
    ...     print("nobody changes anything")
    nobody changes anything
    """

    def __init__(self) -> None:
        self.waiting: Holders = {}  # those who would read
        self.readers: Holders = {}
        self.writers: Holders = {}  # the first of which is at work

    def __reduce__(self) -> tuple[type["SharedLock"], tuple[()]]:
        """Copy to a new lock, which nobody holds."""
        return type(self), ()

    def reading(self) -> Holder:
        """Keep changes away until what is returned is left."""
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
        """Wait while a writer is at work, or waits for those in front of us."""
        pause = PAUSE
        while _first(self.writers):
            self.waiting[name] = thread
            self.readers.pop(name, None)
            pause = _wait(pause)
            self.readers[name] = thread
        self.waiting.pop(name, None)

    def changing(self) -> Holder:
        """Keep readers and other changes away; readers who came before go first."""
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
            return nameless.pop()
        except BaseException:
            nameless.clear()
            raise

    def _let_pass(self) -> None:
        """Wait for those who are waiting now, and for none who come later."""
        pause, before = PAUSE, tuple(self.waiting)
        while any(name in self.waiting and _is_held(name) for name in before):
            pause = _wait(pause)
        _has(self.waiting, 0)  # those who were interrupted are let go
