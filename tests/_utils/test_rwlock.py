"""The read-write lock."""

import copy
import gc
import pickle
import signal
import sys
import threading
import time

import pytest
from tests.support.children import forks, in_a_child

from opforest._utils.rwlock import ReadWriteLock, _is_held


def start(target):
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def test_readers_do_not_wait_for_each_other():
    lock, barrier = ReadWriteLock(), threading.Barrier(5)

    def read():
        with lock.read():
            barrier.wait()

    threads = [start(read) for _ in range(4)]
    with lock.read():
        barrier.wait()
    for thread in threads:
        thread.join()
        assert not thread.is_alive()


def test_a_writer_is_alone():
    lock, inside, seen = ReadWriteLock(), [0, 0], []

    def read():
        for _ in range(200):
            with lock.read():
                inside[0] += 1
                seen.append(inside[1])
                inside[0] -= 1

    def write():
        for _ in range(200):
            with lock.write():
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
    lock, stop, read = ReadWriteLock(), threading.Event(), []

    def write():
        while not stop.is_set():
            with lock.write():
                time.sleep(1e-3)

    writer = start(write)
    while len(read) < 20:  # forever, if readers had to wait
        with lock.read():
            read.append(1)
    stop.set()
    writer.join()
    assert len(read) == 20


def test_inner_calls_do_nothing():
    lock = ReadWriteLock()
    with lock.write():
        with lock.write(), lock.read():
            pass
        assert lock.writers
    with lock.read():
        with lock.read():
            pass
        assert lock.readers
    assert not any(map(_is_held, {**lock.readers, **lock.writers}))


@pytest.mark.parametrize("event", ["line", "call", "return"])
@pytest.mark.parametrize("how", ["read", "write"])
def test_an_interrupt_at_any_moment_unlocks_it(how, event):
    """Even at the end of a with statement, and even if somebody keeps the traceback."""
    lock, places, kept = ReadWriteLock(), set(), []

    def hold():
        with getattr(lock, how)():
            pass

    for at in range(1, 40):
        count = 0

        def trace(frame, happens, argument):
            nonlocal count
            del argument  # what is returned should not live on in this frame
            if happens == event and frame.f_code.co_filename.endswith(("rwlock.py", __file__)):
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
        for other in (lock.write, lock.read):
            thread = start(lambda: other().__enter__())  # noqa: B023
            thread.join()
            assert not thread.is_alive(), (how, at)
    assert len(places) >= 3


def test_real_signals_unlock_it():
    """At the moments at which Python checks for signals; tracebacks are kept."""
    lock, kept, interrupts = ReadWriteLock(), [], 0

    def hear(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, hear)
    gc.disable()  # Python ignores errors in callbacks of the collector
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4)
                while True:
                    with lock.read():
                        pass
                    with lock.write():
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
    lock = ReadWriteLock()
    with lock.write():
        for other in (copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            assert not other.writers


# Forks: a child has only the thread that forked.


def occupy(context, is_held, stop):
    with context():
        is_held.set()
        stop.wait(60)


def enter(lock):
    """Read and write in a child, in two threads."""
    found = []

    def change():
        with lock.write():
            found.append("changed")

    with lock.read():
        found.append("read")
    thread = start(change)
    thread.join(30)
    return found


@forks
def test_a_child_does_not_wait_for_readers_that_it_does_not_have():
    lock, is_held, stop = ReadWriteLock(), threading.Event(), threading.Event()
    reader = start(lambda: occupy(lock.read, is_held, stop))
    is_held.wait(60)
    assert in_a_child(lambda: enter(lock)) == "['read', 'changed']"
    stop.set()
    reader.join(60)
    assert enter(lock) == ["read", "changed"]


@forks
def test_what_another_thread_was_changing_is_refused_in_a_child():
    lock, other, is_held, stop = (
        ReadWriteLock(),
        ReadWriteLock(),
        threading.Event(),
        threading.Event(),
    )
    writer = start(lambda: occupy(lock.write, is_held, stop))
    is_held.wait(60)
    for context in (lock.read, lock.write):
        said = in_a_child(context)
        assert said.startswith("RuntimeError: another thread was changing this model when")
    assert in_a_child(lambda: enter(other)) == "['read', 'changed']"
    stop.set()
    writer.join(60)
    assert in_a_child(lambda: enter(lock)) == "['read', 'changed']"  # no longer being changed
    assert enter(lock) == ["read", "changed"]


@forks
def test_a_writer_that_only_waits_has_changed_nothing():
    lock, is_held, stop = ReadWriteLock(), threading.Event(), threading.Event()
    reader = start(lambda: occupy(lock.read, is_held, stop))
    is_held.wait(60)
    writer = start(lambda: occupy(lock.write, threading.Event(), stop))
    while not lock.writers:
        time.sleep(1e-4)
    assert in_a_child(lambda: enter(lock)) == "['read', 'changed']"
    stop.set()
    for thread in (reader, writer):
        thread.join(60)


@forks
def test_who_forks_keeps_what_it_holds():
    lock = ReadWriteLock()

    def others_may_read(patience):
        found = []
        start(lambda: (lock.read(), found.append(True))).join(patience)
        return bool(found)

    with lock.write():
        assert in_a_child(lambda: (len(lock.writers), others_may_read(0.2))) == "(1, False)"
    with lock.read():
        assert in_a_child(lambda: (len(lock.readers), others_may_read(60))) == "(1, True)"
