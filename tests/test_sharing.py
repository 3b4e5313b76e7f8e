"""The lock that readers share."""

import copy
import gc
import pickle
import signal
import sys
import threading
import time

import pytest

from opforest._sharing import SharedLock, _is_held


def start(target):
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def test_readers_do_not_wait_for_each_other():
    lock, barrier = SharedLock(), threading.Barrier(5)

    def read():
        with lock.reading():
            barrier.wait()

    threads = [start(read) for _ in range(4)]
    with lock.reading():
        barrier.wait()
    for thread in threads:
        thread.join()
        assert not thread.is_alive()


def test_a_writer_is_alone():
    lock, inside, seen = SharedLock(), [0, 0], []

    def read():
        for _ in range(200):
            with lock.reading():
                inside[0] += 1
                seen.append(inside[1])
                inside[0] -= 1

    def write():
        for _ in range(200):
            with lock.changing():
                inside[1] += 1
                time.sleep(1e-6)
                seen.append(inside[1] - 1)
                inside[1] -= 1

    threads = [start(read) for _ in range(3)] + [start(write) for _ in range(2)]
    for thread in threads:
        thread.join()
    assert not any(seen)
    assert not any(map(_is_held, {**lock.readers, **lock.writers, **lock.waiting}))


def test_a_busy_writer_lets_readers_pass():
    lock, stop, read = SharedLock(), threading.Event(), []

    def write():
        while not stop.is_set():
            with lock.changing():
                time.sleep(1e-3)

    writer = start(write)
    while len(read) < 20:  # for ever, if it did not
        with lock.reading():
            read.append(1)
    stop.set()
    writer.join()
    assert len(read) == 20


def test_inner_calls_do_nothing():
    lock = SharedLock()
    with lock.changing():
        with lock.changing(), lock.reading():
            pass
        assert lock.writers
    with lock.reading():
        with lock.reading():
            pass
        assert lock.readers
    assert not any(map(_is_held, {**lock.readers, **lock.writers}))


@pytest.mark.parametrize("event", ["line", "call", "return"])
@pytest.mark.parametrize("how", ["reading", "changing"])
def test_an_interrupt_at_any_moment_unlocks_it(how, event):
    """Even at the end of a with statement, and even if somebody keeps the traceback."""
    lock, places, kept = SharedLock(), set(), []

    def hold():
        with getattr(lock, how)():
            pass

    for at in range(1, 40):
        count = 0

        def trace(frame, happens, argument):
            nonlocal count
            del argument  # what is returned should not live on in this frame
            if happens == event and frame.f_code.co_filename.endswith(("_sharing.py", __file__)):
                count += 1
                if count == at:  # noqa: B023
                    sys.settrace(None)
                    places.add((frame.f_code.co_name, frame.f_lineno))
                    raise KeyboardInterrupt
            return trace

        try:
            sys.settrace(trace)
            hold()
        except KeyboardInterrupt as error:
            kept.append(error)
        finally:
            sys.settrace(None)
        for other in (lock.changing, lock.reading):
            thread = start(lambda: other().__enter__())  # noqa: B023
            thread.join()
            assert not thread.is_alive(), (how, at)
    assert len(places) >= 3


def test_real_signals_unlock_it():
    """At the very moments at which Python looks for signals; tracebacks are kept."""
    lock, kept, interrupts = SharedLock(), [], 0

    def hear(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, hear)
    gc.disable()  # in what others call while it collects, Python ignores errors
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4)
                while True:
                    with lock.reading():
                        pass
                    with lock.changing():
                        pass
            except KeyboardInterrupt as error:
                kept.append(error)
                interrupts += 1
            assert not any(_is_held(name) for name in (*lock.readers, *lock.writers))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert interrupts == 300


def test_copies_are_new():
    lock = SharedLock()
    with lock.changing():
        for other in (copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            assert not other.writers
